"""Lists that a row stores as one JSON text: an approval's approvers and votes.

What reads a text raises a `ValueError`, `TypeError` or `KeyError` where it was damaged.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rebuno.errors import ValidationError
from rebuno.journal.records import VoteRow
from rebuno.model.identity import canonical, parse


def names_text(names: Sequence[str]) -> str:
    """Names as a JSON array of strings."""
    return canonical(list(names))


def names_from(text: str) -> tuple[str, ...]:
    """The names of such a text."""
    names = tuple(_items(text))
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"`{text[:80]}` is no list of names")
    return names


def votes_text(votes: Sequence[VoteRow]) -> str:
    """Votes as a JSON array of objects with the fields of `Vote`."""
    return canonical([asdict(vote) for vote in votes])


def votes_from(text: str) -> tuple[VoteRow, ...]:
    """The votes of such a text."""
    return tuple(_vote(item) for item in _items(text))


def _items(text: str) -> list[Any]:
    try:
        items = parse(text)
    except ValidationError as error:
        raise ValueError(str(error)) from None
    if not isinstance(items, list):
        raise TypeError(f"`{text[:80]}` is no list")
    return items


def _vote(item: Any) -> VoteRow:
    words = [item[name] for name in ("decided_by", "decision", "asserted_by", "rationale")]
    at = item["at"]
    if type(at) not in (int, float) or not all(isinstance(word, str) for word in words):
        raise TypeError(f"`{item}` is no vote"[:200])
    return VoteRow(words[0], words[1], at, words[2], words[3])
