"""Writes JSON objects around recorded JSON texts, so that a recorded value is sent byte for byte."""

import re
from collections.abc import Iterable
from datetime import datetime
from enum import Enum
from typing import Any, Final

from rebuno.model import identity
from rebuno.model.clock import rfc3339
from rebuno.types import Absent, Model, RawJson, Seconds


class Json(str):
    """A text that is JSON."""

    __slots__ = ()


# Nothing in such a text is escaped: ids, hashes, names.
_PLAIN: Final = re.compile(r"[\w .,:;/@+()=-]{0,200}", re.ASCII).fullmatch

# Of each model that was sent, its fields.
_SENT: Final[dict[str, tuple[tuple[str, str, str], ...]]] = {}

NULL = Json("null")


def raw(text: str | None) -> Json:
    """Canonical JSON as it is; null where there is none."""
    return NULL if text is None else Json(text)


def model(one: Model) -> Json:
    """A public model as the protocol has it: PROTOCOL.md, "Never null"."""
    # What a field holds, and not what its reader is shown: a recorded text is not parsed for this.
    held = vars(one)
    parts = []
    for name, key, absent in _sent(type(one)):
        value = held[name]
        if value is None:
            if absent:
                parts.append(absent)
        elif type(value) is str and _PLAIN(value):
            parts.append(f'{key}"{value}"')
        else:
            parts.append(key + _held(value))
    return Json("{" + ",".join(parts) + "}")


def models(several: Iterable[Model]) -> Json:
    """An array of public models."""
    return Json("[" + ",".join(map(model, several)) + "]")


def number(value: float) -> float | int:
    """Whole numbers without a fraction."""
    return int(value) if value == int(value) else value


def obj(**fields: Any) -> Json:
    """An object of these fields, in their order."""
    return Json("{" + ",".join([f'"{name}":{_text(value)}' for name, value in fields.items()]) + "}")


def array(items: Iterable[Any]) -> Json:
    """An array of these items."""
    return Json("[" + ",".join(map(_text, items)) + "]")


def _sent(kind: type[Model]) -> tuple[tuple[str, str, str], ...]:
    """The fields of a model that are sent: name, how it begins in JSON, and what is sent where there is no value."""
    if (known := _SENT.get(kind.__name__)) is not None:
        return known
    absent = {None: '"{}":null', Absent.BLANK: '"{}":""', Absent.LEFT_OUT: ""}
    found = tuple(
        (name, f'"{alias}":', absent[rule].format(alias)) for name, alias, rule in kind.shape if rule in absent
    )
    _SENT[kind.__name__] = found
    return found


def _held(value: Any) -> str:
    kind = type(value)
    if kind is int:
        return str(value)
    if kind is RawJson:
        return str(value)
    if kind is Seconds:
        return f'"{rfc3339(value)}"'
    if kind is list:
        return "[" + ",".join(map(_held, value)) + "]"
    if isinstance(value, Model):
        return model(value)
    if isinstance(value, datetime):
        return f'"{rfc3339(value.timestamp())}"'
    if kind is float:
        value = number(value)
    return identity.canonical(value.value if isinstance(value, Enum) else value)


def _text(value: Any) -> str:
    return value if type(value) is Json else identity.canonical(value)
