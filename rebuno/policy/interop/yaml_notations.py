"""The small notations inside YAML bundles: durations as Go writes them, globs as Go's `path.Match` reads them."""

import re
from fractions import Fraction
from typing import Final

from rebuno.policy.syntax.literals import LONGEST_DURATION

_DURATION: Final = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_UNITS: Final = {"ns": -9, "us": -6, "µs": -6, "μs": -6, "ms": -3}
_LONG: Final = {"s": 1, "m": 60, "h": 3600}
# What means something inside a class of ours.
_SPECIAL: Final = frozenset("!^-[]\\")


class UnreadableError(ValueError):
    """A notation that cannot be read, or that our language cannot express."""

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.help = help


def seconds(text: str) -> int:
    """The whole seconds of a duration such as `30s`, `1.5h` or `1h30m`.

    Raises:
        UnreadableError: it is no duration, or no whole number of seconds from 1 to ten years.
    """
    help = "write `30s`, `5m` or `1h30m`"
    parts = _DURATION.findall(text) if len(text) <= 100 else []
    if not parts or "".join(parts) != text:
        raise UnreadableError(f"`{text[:40]}` is no duration", help)
    total = Fraction(0)
    for part in parts:
        unit = part.lstrip("0123456789.")
        count = Fraction(part.removesuffix(unit).removesuffix("."))
        total += count * (_LONG[unit] if unit in _LONG else Fraction(10) ** _UNITS[unit])
    if total.denominator != 1 or not 1 <= total <= LONGEST_DURATION:
        raise UnreadableError(f"`{text}` is no whole number of seconds from 1 to ten years", help)
    return int(total)


def duration(total: int) -> str:
    """Seconds as a duration of our language."""
    out = ""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")):
        count, total = divmod(total, size)
        out += f"{count}{unit}" if count else ""
    return out


def glob(pattern: str) -> str:
    """A glob of `path.Match`, where `*` and `?` pass over `/` too, as a glob of our language.

    Raises:
        UnreadableError: a class without end or content, a range that runs backwards, or a `\\` at the end.
    """
    out: list[str] = []
    at = 0
    while at < len(pattern):
        character = pattern[at]
        at += 1
        if character == "[":
            text, at = _class(pattern, at)
            out.append(text)
        elif character == "\\":
            if at == len(pattern):
                raise UnreadableError("a `\\` at the end escapes nothing", "write `\\\\` for the character itself")
            out.append("\\" + pattern[at])
            at += 1
        else:
            out.append(character)
    return "".join(out)


def _class(pattern: str, at: int) -> tuple[str, int]:
    out = "["
    if pattern.startswith("^", at):
        out += "!"
        at += 1
    first = True
    while first or not pattern.startswith("]", at):
        low, at = _member(pattern, at)
        out += _escaped(low)
        if pattern.startswith("-", at):
            high, at = _member(pattern, at + 1)
            if high < low:
                raise UnreadableError(f"the range `{low}-{high}` runs backwards")
            out += f"-{_escaped(high)}"
        first = False
    return f"{out}]", at + 1


def _member(pattern: str, at: int) -> tuple[str, int]:
    escaped = pattern.startswith("\\", at)
    at += escaped
    if at >= len(pattern) or (not escaped and pattern[at] in "-]"):
        raise UnreadableError("the class begun by `[` cannot be read", "escape `-`, `[` and `]` with `\\`")
    return pattern[at], at + 1


def _escaped(character: str) -> str:
    return f"\\{character}" if character in _SPECIAL else character
