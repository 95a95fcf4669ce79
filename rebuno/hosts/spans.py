"""Spans of time as a hook's command line has them: `5m`, or `300`, which is in seconds."""

import re
from typing import Final

from rebuno.errors import ValidationError

_SPAN: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)([smhdw]?)")
_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def span_seconds(option: str, text: str) -> float:
    """The seconds that the value of an option stands for.

    Raises:
        ValidationError: it is no span; names the `option`.
    """
    match = _SPAN.fullmatch(text)
    if match is None:
        raise ValidationError(f"`{option}` is no span of time: `{text[:40]}`; write a number and s, m or h, such as 5m")
    return float(match[1]) * _SECONDS[match[2]]
