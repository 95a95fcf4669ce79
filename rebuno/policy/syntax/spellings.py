"""Hints for spellings that other policy languages use, or that people guess."""

import re
from collections.abc import Mapping
from typing import Final

_ASK: Final = 'to ask a person, write `require approval for tool "…"`'
# Words that stand where a verdict must stand.
_VERDICTS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("ask", "approve", "confirm", "prompt", "review"), _ASK),
    **dict.fromkeys(("permit", "accept", "grant", "pass"), "write `allow`"),
    **dict.fromkeys(("block", "forbid", "refuse", "reject", "disallow", "drop"), "write `deny`"),
}
_WHEN: Final = frozenset({"if", "where", "provided", "with", "while"})
_REASON: Final = frozenset({"reason", "why", "comment", "description"})
# How a span of time that is named by a word is written.
_SPANS: Final = {
    "second": "1s", "sec": "1s", "minute": "1m", "min": "1m", "hour": "1h", "day": "1d", "week": "7d", "month": "30d",
    "year": "365d",
}  # fmt: skip
_OPEN_LIST: Final = re.compile(r"\b(in|like|contains|matches)\s+(\"[^\"\n]*\"|[\w.]+)\s*\Z")
_TOTAL_OF: Final = re.compile(r"\b(sum|count)\s*\(\s*\Z")


def spelling_hint(token: str, accepts: frozenset[str], before: str) -> str:
    """What to write in the place of `token`, where only terminals of `accepts` may follow the line's beginning
    `before`; empty for a spelling that is not known."""
    word = token.lower()
    if "ALLOW" in accepts and word in _VERDICTS:
        return _VERDICTS[word]
    if "_WHEN" in accepts and word in _WHEN:
        return "write `when TEST`"
    if "_BECAUSE" in accepts and word in _REASON:
        return 'write `because "…"`'
    if "_FOR" in accepts and "_PER" not in accepts and before.rstrip().endswith("approval"):
        return 'write `require approval for tool "…"`'
    if "DURATION" in accepts and (span := _SPANS.get(word) or _SPANS.get(word.removesuffix("s"))):
        return f"write `{span}`"
    if accepts >= {"_OF", "_PER"} and (token.isupper() or not token[0].isascii()):
        return f"a limit of an amount names its argument: `limit {_number(before)} of args.amount per 1d`"
    if token == "," and (found := _OPEN_LIST.search(before)):
        return f"write a list in brackets: `{found[1]} [{found[2]}, …]`"
    return ""


def total_hint(before: str) -> str:
    """How a sum or a count is written, where the line's beginning `before` opens one; else empty."""
    found = _TOTAL_OF.search(before)
    if found is None:
        return ""
    if found[1] == "count":
        return 'a count is of earlier steps: `count(tool "pay" within 24h) < 3`'
    return 'a sum is over earlier steps: `sum(tool "pay" at args.amount within 24h) + args.amount <= 500`'


def _number(before: str) -> str:
    digits = re.search(r"([0-9][0-9_]*(?:\.[0-9]+)?)\s*\Z", before)
    return digits[1] if digits else "500"
