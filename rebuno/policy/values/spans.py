"""Places in a text, and comments with their places."""

from dataclasses import field
from typing import Final

from rebuno.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a text. Lines and columns count from 1, in characters; the end is exclusive. `path` is the file of the
    text as diagnostics print it, empty if unknown."""

    line: int
    column: int
    end_line: int
    end_column: int
    start: int
    end: int
    path: str = field(default="", compare=False)

    def to(self, other: "Span") -> "Span":
        """From the start of this place to the end of `other`."""
        return Span(self.line, self.column, other.end_line, other.end_column, self.start, other.end, self.path)


NO_SPAN: Final = Span(1, 1, 1, 1, 0, 0)


@dataclass(frozen=True, slots=True)
class Comment:
    """`# …` without the sign; `own_line` tells a line of its own from the end of a line."""

    text: str
    own_line: bool
    span: Span = field(default=NO_SPAN, compare=False, repr=False)
