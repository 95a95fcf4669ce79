"""Spans of time as they are written on a command line: `30d`, `12h`."""

import re
from typing import Final

from rebuno.errors import ValidationError

_AGE: Final = re.compile(r"([0-9]{1,9})(s|m|h|d|w)")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def seconds(option: str, text: str) -> float:
    """The seconds that a number with a unit stands for.

    Raises:
        ValidationError: it is none; names the `option`.
    """
    match = _AGE.fullmatch(text)
    if match is None:
        raise ValidationError(f"`{option} {text}` is no age; write a number and s, m, h, d or w, such as 30d")
    return float(int(match[1]) * _SECONDS[match[2]])
