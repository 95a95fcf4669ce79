"""Writes JSON objects around recorded JSON texts, so that a recorded value is sent byte for byte."""

from collections.abc import Iterable
from typing import Any

from rebuno.model import identity
from rebuno.model.clock import rfc3339


class Json(str):
    """A text that is JSON."""

    __slots__ = ()


NULL = Json("null")


def raw(text: str | None) -> Json:
    """Canonical JSON as it is; null where there is none."""
    return NULL if text is None else Json(text)


def time(seconds: float) -> str | None:
    """Seconds since 1970 as RFC 3339 with `Z`; None for 0, which is no time."""
    return rfc3339(seconds) if seconds else None


def number(value: float) -> float | int:
    """Whole numbers without a fraction."""
    return int(value) if value == int(value) else value


def obj(**fields: Any) -> Json:
    """An object of these fields, in their order."""
    return Json("{" + ",".join([f'"{name}":{_text(value)}' for name, value in fields.items()]) + "}")


def array(items: Iterable[Any]) -> Json:
    """An array of these items."""
    return Json("[" + ",".join(map(_text, items)) + "]")


def _text(value: Any) -> str:
    return value if type(value) is Json else identity.canonical(value)
