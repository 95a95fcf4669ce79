"""Passes an execution's input to a handler according to its signature."""

import inspect
import sys
import typing
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from rebuno.errors import ValidationError

if TYPE_CHECKING:
    import pydantic

_UNNAMED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def bind(handler: Callable[..., Any], input: Any) -> Callable[[], Any]:
    """The handler with its input bound.

    A handler of one parameter without annotation, or annotated `dict` or `Any`, gets the input as it is; one whose only
    parameter is a pydantic model gets the input as that model. Any other gets the fields of the input that it names as
    keyword arguments (all of them, if it takes `**fields`).

    Raises:
        ValidationError: a required field is missing, the input does not fit the model, or the handler takes one by
            position; nothing was recorded.
    """
    signature = inspect.signature(handler)
    parameters = list(signature.parameters.values())
    if len(parameters) == 1 and parameters[0].kind in _NAMED:
        name, annotation = parameters[0].name, annotation_of(handler, parameters[0])
        if annotation in (inspect.Parameter.empty, Any, dict) or typing.get_origin(annotation) is dict:
            return partial(handler, **{name: input})
        if (model := model_of(annotation)) is not None:
            return partial(handler, **{name: _fit(model, input)})
    for parameter in parameters:
        if parameter.kind in _UNNAMED and parameter.default is inspect.Parameter.empty:
            raise ValidationError(f"the handler takes `{parameter}` by position; input is handed over by name")
    fields = input if isinstance(input, dict) else {}
    named = [p for p in parameters if p.kind in _NAMED]
    missing = [p.name for p in named if p.default is inspect.Parameter.empty and p.name not in fields]
    if missing:
        raise ValidationError(f"input_invalid: the input lacks the field{'s'[: len(missing) > 1]} {', '.join(missing)}")
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters):
        return partial(handler, **fields)
    return partial(handler, **{p.name: fields[p.name] for p in named if p.name in fields})


def annotation_of(handler: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """The annotation of a parameter. A text is resolved, and stays a text if that fails."""
    annotation = parameter.annotation
    if isinstance(annotation, str):
        function = handler if inspect.isroutine(handler) else type(handler).__call__
        try:
            annotation = typing.get_type_hints(function).get(parameter.name, annotation)
        except (NameError, TypeError):
            return annotation
    return annotation


def model_of(annotation: Any) -> "type[pydantic.BaseModel] | None":
    """The annotation, if it is a pydantic model."""
    # A program with a model has imported pydantic; no other program waits for it.
    if "pydantic" not in sys.modules or not isinstance(annotation, type):
        return None
    from pydantic import BaseModel

    return annotation if issubclass(annotation, BaseModel) else None


def _fit(model: "type[pydantic.BaseModel]", input: Any) -> Any:
    from pydantic import ValidationError as Misfit

    try:
        return model.model_validate(input)
    except Misfit as error:
        wrong = "; ".join(
            f"`{'.'.join(map(str, one['loc'])) or 'input'}`: {one['msg']}" for one in error.errors(include_url=False)
        )
        raise ValidationError(f"input_invalid: {wrong}") from error
