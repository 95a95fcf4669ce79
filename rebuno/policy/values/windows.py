"""Searches long texts a window at a time, with what a search of the whole would find.

INVARIANT: one search holds the interpreter to its end, so that nobody else runs: a millionth of a second a character,
and texts have a million. Between two windows others run.
"""

import re
from collections.abc import Iterator
from typing import Final

# Characters.
WINDOW: Final = 8_192


def search(
    pattern: re.Pattern[str], text: str, start: int, end: int, *, ahead: int, head: re.Pattern[str] | None = None
) -> re.Match[str] | None:
    """What `pattern.search(text, start, end)` finds. `head` (else the pattern itself) matches wherever the pattern may,
    and whether it does at a place must be seen from that place and the `ahead` characters behind it; how far a match of
    the pattern reaches, need not."""
    head = head or pattern
    while start < end:
        stop = min(start + WINDOW, end)
        match = head.search(text, start, min(stop + ahead, end))
        if match is None or match.start() >= stop:
            start = stop
        elif (whole := pattern.match(text, match.start(), end)) is not None:
            return whole
        else:
            start = match.start() + 1
    return None


def each(
    pattern: re.Pattern[str],
    text: str,
    start: int = 0,
    end: int | None = None,
    *,
    ahead: int,
    head: re.Pattern[str] | None = None,
) -> Iterator[re.Match[str]]:
    """What `pattern.finditer` finds, for a pattern that never matches an empty text; the rest is as in `search`."""
    end = len(text) if end is None else end
    while match := search(pattern, text, start, end, ahead=ahead, head=head):
        yield match
        start = match.end()


def without(pattern: re.Pattern[str], text: str, *, ahead: int) -> str:
    """`pattern.sub(" ", text)`, for such a pattern."""
    spans = [0]
    for match in each(pattern, text, ahead=ahead):
        spans += match.span()
    spans.append(len(text))
    return " ".join([text[begin:end] for begin, end in zip(spans[::2], spans[1::2], strict=True)])
