"""Reads the literals of a bundle: strings, numbers and durations."""

import math
import re
from typing import Final

from rebuno.policy.syntax.diagnostics import Code

_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))")
_SHORT: Final = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_UNITS: Final = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_DURATION: Final = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?\Z", re.ASCII)

_FILLED_PATH: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[(?:0|[1-9][0-9]{0,8})\])*", re.ASCII)

LONGEST_NUMBER: Final = 1_000  # digits
LONGEST_DURATION: Final = 3_660 * 86_400  # seconds: ten years


class LiteralError(ValueError):
    """A literal that cannot be read; `start` and `end` are offsets into it."""

    def __init__(self, code: Code, message: str, help: str, start: int, end: int) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.help = help
        self.start = start
        self.end = end


def string(raw: str) -> str:
    """The value of a string as written, with its quotes: `"…"` as in JSON, or `r"…"` word for word.

    Raises:
        LiteralError: the string has an escape that JSON does not have, half a surrogate pair, or a raw tab.
    """
    tab = raw.find("\t")
    if tab >= 0:
        raise LiteralError(Code.BAD_STRING, "a tab inside a string", "write `\\t`", tab, tab + 1)
    if raw.startswith("r"):
        return raw[2:-1]
    if "\\" not in raw:
        return raw[1:-1]
    out: list[str] = []
    at, high = 1, None
    for match in _ESCAPE.finditer(raw):
        start, end = match.span()
        if start > at or match[1] is None:
            _alone(high, raw)
            high = None
        out.append(raw[at:start])
        at = end
        if match[1] is None:
            out.append(_short(raw, start, match[2]))
            continue
        unit = int(match[1], 16)
        if high is not None:
            if not 0xDC00 <= unit <= 0xDFFF:
                _alone(high, raw)
            out.append(chr(0x10000 + ((int(raw[high + 2 : high + 6], 16) - 0xD800) << 10) + unit - 0xDC00))
            high = None
        elif 0xD800 <= unit <= 0xDBFF:
            high = start
        elif 0xDC00 <= unit <= 0xDFFF:
            _alone(start, raw)
        else:
            out.append(chr(unit))
    _alone(high, raw)
    out.append(raw[at:-1])
    return "".join(out)


def _short(raw: str, start: int, letter: str) -> str:
    if letter in _SHORT:
        return _SHORT[letter]
    found = f"\\{letter}"
    help = "write four hex digits after `\\u`" if letter == "u" else f'write `\\\\{letter}` for a backslash, or `r"…"`'
    raise LiteralError(Code.BAD_STRING, f"`{found}` is not an escape", help, start, start + 2)


def _alone(start: int | None, raw: str) -> None:
    if start is None:
        return
    message = f"`{raw[start : start + 6]}` is half a surrogate pair"
    raise LiteralError(Code.BAD_STRING, message, "write both halves, or the character itself", start, start + 6)


def filled_parts(raw: str) -> tuple[tuple[int, int, bool], ...]:
    """The parts of an `f"…"` as written: their offsets in it, the end exclusive, and whether the part is a path, which
    stood in braces.

    Raises:
        LiteralError: a brace is alone, or what stands in braces is no path of names and positions.
    """
    found: list[tuple[int, int, bool]] = []
    start = at = 2
    end = len(raw) - 1
    while at < end:
        if raw[at] in "{}" and raw[at : at + 2] in ("{{", "}}"):
            at += 2
        elif raw[at] == "{":
            path = _FILLED_PATH.match(raw, at + 1)
            if path is None or raw[path.end()] != "}":
                help = "write `{args.amount}`: a path without a facet and without `[]`; a brace is written `{{`"
                raise LiteralError(Code.BAD_PATH, "no path stands in these braces", help, at, at + 1)
            found += [(start, at, False)] * (at > start) + [(*path.span(), True)]
            start = at = path.end() + 1
        elif raw[at] == "}":
            raise LiteralError(Code.BAD_STRING, "a closing brace without an opening one", "write `}}`", at, at + 1)
        else:
            at += 2 if raw[at] == "\\" else 1
    return (*found, *([(start, end, False)] if end > start or not found else []))


def filled_text(raw: str) -> str:
    """The value of a text part of an `f"…"` as written.

    Raises:
        LiteralError: as `string`.
    """
    try:
        return string(f'"{raw}"').replace("{{", "{").replace("}}", "}")
    except LiteralError as error:
        raise LiteralError(error.code, error.message, error.help, error.start - 1, error.end - 1) from None


def number(raw: str) -> int | float:
    """The value of a number as written: an exact int, or a float where there is a fraction or an exponent.

    Raises:
        LiteralError: the number has a leading zero, too many digits, or is too large for a double.
    """
    text = raw.replace("_", "")
    digits = text.removeprefix("-")
    if len(digits) > LONGEST_NUMBER:
        raise _number(raw, f"a number of {len(digits):,} characters", f"at most {LONGEST_NUMBER:,} are read")
    if len(digits) > 1 and digits[0] == "0" and digits[1].isdigit():
        raise _number(raw, f"`{raw}` begins with a zero", "leave the zero out")
    if text.lstrip("-").isdigit():
        return int(text)
    value = float(text)
    if math.isinf(value):
        raise _number(raw, f"`{raw}` is more than a double can hold", "write a smaller number")
    return value


def whole(raw: str) -> int:
    """The value of a whole number that is not negative.

    Raises:
        LiteralError: the number has a sign, a fraction or an exponent, or `number` refuses it.
    """
    value = number(raw)
    if isinstance(value, float) or raw.startswith("-"):
        raise _number(raw, f"`{raw}` is not a whole number", "write digits only")
    return value


def _number(raw: str, message: str, help: str) -> LiteralError:
    return LiteralError(Code.BAD_NUMBER, message, help, 0, len(raw))


def parse_duration(raw: str) -> int:
    """The seconds of a duration as written (`30s`, `5m`, `1h30m`, `2d`).

    Raises:
        LiteralError: the units are unknown or in another order, or the duration is zero or more than ten years.
    """
    match = _DURATION.match(raw) if len(raw) <= 40 else None
    if match is None:
        raise _duration(raw, f"`{raw[:40]}` is not a duration")
    seconds = sum(int(count) * size for count, size in zip(match.groups("0"), _UNITS.values(), strict=True))
    if seconds == 0:
        raise _duration(raw, f"the duration `{raw}` is zero")
    if seconds > LONGEST_DURATION:
        raise _duration(raw, f"the duration `{raw}` is longer than ten years")
    return seconds


def _duration(raw: str, message: str) -> LiteralError:
    return LiteralError(
        Code.BAD_DURATION, message, "write days, hours, minutes, seconds: `2d`, `1h30m`, `45s`", 0, len(raw)
    )
