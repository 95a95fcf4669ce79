"""Pages of recorded successes in few values: what a replay that comes to them in their order needs, and no more."""

from dataclasses import dataclass
from typing import Any, Final

from rebuno.model.answer import Said

# What ends a line of a column.
END: Final = "\n"

# The id of a step, what was said of it, its number among identical ones in digits, and its result.
Success = tuple[str, Said, str, str]


@dataclass(slots=True)
class Successes:
    """Steps that follow each other in the log and succeeded, all decided under one bundle. `tokens` is what they used,
    `last` the `decided_seq` of the newest. Nobody has looked at their texts."""

    rows: list[Success]
    digest: str
    tokens: int
    last: int


def read(row: tuple[Any, ...]) -> Successes | None:
    """A row of `successes`. None where a column has not a line for each step: not all succeeded, or a text is long, or
    has several lines."""
    count, last, oldest, newest, tokens, *columns = row
    if count == 0 or oldest != newest or None in columns:
        return None
    lines = [column.split(END) for column in columns]
    if any(len(column) != count for column in lines):
        return None
    ids, parents, kinds, targets, args, occurrences, results = lines
    said = zip(parents, kinds, targets, args, strict=True)
    return Successes(list(zip(ids, said, occurrences, results, strict=True)), oldest, tokens, last)
