"""Pages of recorded successes in few values: what a replay that comes to them in their order needs, and no more."""

from dataclasses import dataclass
from typing import Any, Final

from rebuno.model.answer import CallKey

# What stands between two lines, and how many there are of each step.
END: Final = "\n"
LINES: Final = 7

# The id of a step, what was said of it, its number among identical ones in digits, and its result.
Success = tuple[str, CallKey, str, str]


@dataclass(slots=True)
class Successes:
    """Steps that follow each other in the log and succeeded, all decided under one bundle. `tokens` is what they used,
    `last` the `decided_seq` of the newest. Nobody has looked at their texts."""

    rows: list[Success]
    digest: str
    tokens: int
    last: int


def read(row: tuple[Any, ...]) -> Successes | None:
    """A row of `successes`. None where not all succeeded under one bundle, or a text is long or has several lines."""
    count, short, last, oldest, newest, tokens, text = row
    if count == 0 or short != count or oldest != newest:
        return None
    lines = text.split(END)
    # INVARIANT: each step has a line at least for each text, so that none has more where all have so many. `concat_ws`
    # leaves out what is NULL, but that may be a result only, and then the step is not among the short ones.
    if len(lines) != LINES * count:
        return None
    line = iter(lines)
    said = zip(line, line, line, line, strict=True)
    return Successes(list(zip(line, said, line, line, strict=True)), oldest, tokens, last)
