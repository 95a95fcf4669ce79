"""Hands an execution's input to a handler the way its signature asks for it."""

import inspect
import typing
from collections.abc import Callable
from functools import partial
from typing import Any

from rebuno.errors import ValidationError

_UNNAMED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def bind(handler: Callable[..., Any], input: Any) -> Callable[[], Any]:
    """The handler with its input bound.

    A handler of one parameter without annotation, or annotated `dict` or `Any`, gets the input as it is; any other gets
    the fields of the input that it names as keyword arguments (all of them, if it takes `**fields`).

    Raises:
        ValidationError: a required field is missing, or the handler takes one by position; nothing was recorded.
    """
    signature = inspect.signature(handler)
    parameters = list(signature.parameters.values())
    if len(parameters) == 1 and parameters[0].kind in _NAMED and _raw(handler, parameters[0]):
        return partial(handler, **{parameters[0].name: input})
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


def _raw(handler: Callable[..., Any], parameter: inspect.Parameter) -> bool:
    annotation = parameter.annotation
    if isinstance(annotation, str):
        try:
            annotation = typing.get_type_hints(handler).get(parameter.name, annotation)
        except (NameError, TypeError):
            return False
    return annotation in (inspect.Parameter.empty, Any, dict) or typing.get_origin(annotation) is dict
