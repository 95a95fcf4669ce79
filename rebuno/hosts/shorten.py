"""Shortens what is recorded of a call: results, errors, prompts and the raw call."""

from typing import Any, Final

# Of a recorded value, in bytes of its JSON, about.
LONGEST: Final = 65_536
# What a text and a list are cut to, in rounds, until the whole is short enough.
_ROUNDS: Final = ((16_384, 512), (4_096, 128), (1_024, 64), (256, 32), (64, 16))
_MAX_DEPTH: Final = 32


def shortened_text(text: str, longest: int = LONGEST) -> str:
    """A text of at most `longest` bytes; what is cut is said at its end."""
    whole = text.encode("utf-8", "surrogatepass")
    if len(whole) <= longest:
        return text
    note = f"… [shortened: {len(whole)} bytes]"
    return whole[: longest - len(note.encode())].decode("utf-8", "ignore") + note


def shortened(value: Any) -> Any:
    """A JSON value of at most about 64 KiB. Texts and lists are cut, the longest first, and say so."""
    if _size(value, LONGEST) <= LONGEST:
        return value
    if isinstance(value, str):
        return shortened_text(value)
    for letters, items in _ROUNDS:
        cut = _cut(value, letters, items, 0)
        if _size(cut, LONGEST) <= LONGEST:
            return cut
    return {"shortened": True}


def _cut(value: Any, letters: int, items: int, depth: int) -> Any:
    if isinstance(value, str):
        return shortened_text(value, letters)
    if depth > _MAX_DEPTH:
        return "… [shortened]"
    if isinstance(value, list):
        cut = [_cut(one, letters, items, depth + 1) for one in value[:items]]
        return cut if len(value) <= items else [*cut, f"… [shortened: {len(value)} items]"]
    if isinstance(value, dict):
        kept = list(value.items())[:items]
        named = {shortened_text(name, letters): _cut(one, letters, items, depth + 1) for name, one in kept}
        return named if len(value) <= items else {**named, "…": f"[shortened: {len(value)} fields]"}
    return value


def _size(value: Any, enough: int) -> int:
    """The bytes of a value as JSON, about; more than `enough` where it is more."""
    size, left = 0, [value]
    while left and size <= enough:
        one = left.pop()
        if isinstance(one, str):
            size += len(one.encode("utf-8", "surrogatepass")) + 2
        elif isinstance(one, list):
            size += 2 + len(one)
            left += one
        elif isinstance(one, dict):
            size += 2 + sum(len(name.encode("utf-8", "surrogatepass")) + 4 for name in one)
            left += one.values()
        else:
            size += 12
    return size
