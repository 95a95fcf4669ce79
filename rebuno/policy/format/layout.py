"""Breaks lines: a group of tokens stands on one line if it fits, else every break in it is taken."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from rebuno.policy.format.tokens import SourceToken

WIDTH: Final = 100  # characters
STEP: Final = 2  # by which a line that goes on is indented


@dataclass(frozen=True, slots=True)
class LineBreak:
    """A place where a line may end; the next one then begins `offset` columns right of the group's edge. A `hard` one
    is always taken."""

    offset: int = 0
    hard: bool = False


class TokenGroup:
    """Tokens, breaks and groups that are laid out together.

    Its edge is that of the group around it or, where it is `hung`, the column at which it begins. `forced` tells that
    it takes more than one line because of a comment or a hard break.
    """

    __slots__ = ("comment_after", "comment_before", "forced", "hung", "items", "lead", "tight", "width")

    def __init__(self, items: "Iterable[Item]", *, hung: bool = False) -> None:
        self.items = tuple(items)
        self.hung = hung
        self.forced = False
        self.width = 0  # on one line, with the blank before the first token
        self.lead = 0  # as far as the first break
        self.tight = False
        self.comment_before = self.comment_after = False
        seen = broken = False
        for item in self.items:
            if isinstance(item, LineBreak):
                self.forced |= item.hard
                broken = True
                continue
            part = item if isinstance(item, TokenGroup) else TokenGroup.of(item)
            self.forced |= part.forced or (seen and (part.comment_before or self.comment_after))
            if not seen:
                self.tight, self.comment_before = part.tight, part.comment_before
            self.comment_after = part.comment_after
            self.width += part.width
            if not broken:
                self.lead += part.lead
                broken = part.lead < part.width
            seen = True

    @staticmethod
    def of(token: SourceToken) -> "TokenGroup":
        """A group of one token."""
        group = TokenGroup(())
        group.tight = token.tight
        group.width = group.lead = len(token.text) + (not token.tight)
        group.comment_before, group.comment_after = bool(token.comments), bool(token.after)
        return group


Item: TypeAlias = SourceToken | LineBreak | TokenGroup


def layout(group: TokenGroup, edge: int) -> list[str]:
    """The lines of a group that begins on a new line at the column `edge`."""
    page = _Page(edge)
    # What is left, the next item last: with the edge of its group, and whether that group's breaks are taken.
    left: list[tuple[Item, int, bool]] = [(group, edge, False)]
    while left:
        item, edge, taken = left.pop()
        if isinstance(item, LineBreak):
            if item.hard or taken:
                page.line(max(0, edge + item.offset))
        elif isinstance(item, SourceToken):
            page.clear(edge + STEP, above=bool(item.comments))
            page.token(item)
        else:
            page.clear(edge + STEP, above=item.comment_before)
            column = page.column(item.tight)
            room = WIDTH - column - (item.width - (not item.tight)) - _tail(left)
            inner = column if item.hung else edge
            left += [(each, inner, item.forced or room < 0) for each in reversed(item.items)]
    return page.done()


def _tail(left: list[tuple[Item, int, bool]]) -> int:
    # The width of what follows up to the next break that is taken.
    width = 0
    for item, _, taken in reversed(left):
        if width > WIDTH or (isinstance(item, LineBreak) and (item.hard or taken)):
            break
        if isinstance(item, SourceToken):
            width += len(item.text) + (not item.tight)
        elif isinstance(item, TokenGroup):
            width += item.lead
            if item.lead < item.width:
                break
    return width


class _Page:
    """The lines so far, and the one that is being written."""

    def __init__(self, indent: int) -> None:
        self._lines: list[str] = []
        self._indent = indent
        self._text = ""
        self._full = False  # a comment ends the line

    def column(self, tight: bool) -> int:
        """Where the next token begins."""
        return self._indent + len(self._text) + (bool(self._text) and not tight)

    def line(self, indent: int) -> None:
        """Goes on in a new line."""
        if self._text:
            self._lines.append(" " * self._indent + self._text)
        self._indent, self._text, self._full = indent, "", False

    def clear(self, indent: int, *, above: bool) -> None:
        """Goes on in a new line where a comment ends this one, or one has to stand above what follows."""
        if self._full or (above and self._text):
            self.line(indent)

    def token(self, token: SourceToken) -> None:
        self._lines += [" " * self._indent + comment for comment in token.comments]
        self._text += token.text if token.tight or not self._text else f" {token.text}"
        if token.after:
            self._text += f"  {token.after}"
            self._full = True

    def done(self) -> list[str]:
        self.line(0)
        return self._lines
