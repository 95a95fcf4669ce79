"""The input of a handler as a JSON Schema, shown to the agent's callers."""

import inspect
import typing
from collections.abc import Callable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, create_model
from pydantic.errors import PydanticUserError

from rebuno.sdk.binding import annotation_of, model_of

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def input_schema(handler: Callable[..., Any]) -> dict[str, Any] | None:
    """The schema of the inputs that `rebuno.sdk.binding.bind` hands to a handler; None where it takes any, or where an
    annotation says nothing in JSON."""
    signature = inspect.signature(handler)
    parameters = list(signature.parameters.values())
    annotations = {p.name: annotation_of(handler, p) for p in parameters}
    if len(parameters) == 1 and parameters[0].kind in _NAMED:
        only = annotations[parameters[0].name]
        if only in (inspect.Parameter.empty, Any, dict) or typing.get_origin(only) is dict:
            return None
        if (model := model_of(only)) is not None:
            return schema_of(model)
    return _named(handler, parameters, annotations, "ignore")


def tool_schema(function: Callable[..., Any]) -> dict[str, Any] | None:
    """The schema of a tool's arguments by name, which takes no others, as the call takes none. None where an annotation
    says nothing in JSON."""
    parameters = list(inspect.signature(function).parameters.values())
    return _named(function, parameters, {p.name: annotation_of(function, p) for p in parameters}, "forbid")


def _named(
    function: Callable[..., Any],
    parameters: list[inspect.Parameter],
    annotations: dict[str, Any],
    extra: Literal["ignore", "forbid"],
) -> dict[str, Any] | None:
    fields: dict[str, Any] = {}
    for p in parameters:
        if p.kind in _NAMED:
            kind = annotations[p.name]
            fields[p.name] = (
                Any if kind is inspect.Parameter.empty else kind,
                ... if p.default is inspect.Parameter.empty else p.default,
            )
    more = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
    config = ConfigDict(extra="allow" if more else extra, arbitrary_types_allowed=True, protected_namespaces=())
    try:
        return schema_of(create_model(getattr(function, "__name__", "Input"), __config__=config, **fields))
    except NameError:
        return None


def schema_of(schema: dict[str, Any] | type[BaseModel] | None) -> dict[str, Any] | None:
    """A schema as it is, or that of a model; None where it has none."""
    if not isinstance(schema, type):
        return schema
    try:
        return schema.model_json_schema()
    except (PydanticUserError, NameError):
        return None
