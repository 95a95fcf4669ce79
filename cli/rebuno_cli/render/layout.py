"""The building blocks of the output: tables, names with values, and hanging lines."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

# Blanks between two columns.
_GAP: Final = 3
# The narrowest terminal that a table is laid out for whose cells are folded.
_TABLE: Final = 80
# What is longer than this in a table is folded: no state, date or heading is.
_WORD: Final = 12
_NAME: Final = 10
_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
# However deep a line stands, its words get so many columns.
_ROOM: Final = 16


class Rows:
    """A table without frames whose cells are folded and never cut; where there is no room for it, one row below the
    other as names and values."""

    def __init__(self, heads: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
        self.heads = heads
        self.rows = [[cell if isinstance(cell, Text) else Text(cell) for cell in row] for row in rows]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        widths = [max(map(cell_len, map(str, column))) for column in zip(self.heads, *self.rows, strict=True)]
        gaps = _GAP * (len(widths) - 1)
        if sum(widths) + gaps <= options.max_width and not self._has_lines():
            yield from self._lines(widths)
            return
        if sum(self._narrowest()) + gaps > options.max_width or options.max_width < _TABLE:
            for number, row in enumerate(self.rows):
                if number:
                    yield Text()
                yield from fields(*zip(self.heads, row, strict=True))
            return
        made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
        for head, most in zip(self.heads, self._beside_ids(options.max_width - gaps), strict=True):
            made.add_column(Text(head), overflow="fold", no_wrap=head == "id", width=most)
        for row in self.rows:
            made.add_row(*row)
        yield made

    def _narrowest(self) -> Iterator[int]:
        """How narrow each column may be with its ordinary words whole."""
        for head, *cells in zip(self.heads, *self.rows, strict=True):
            words = [word for cell in (head, *cells) for word in str(cell).split()]
            widest = max(map(cell_len, words), default=0)
            # An id is there to be copied, wherever it stands.
            ids = (cell_len(word) for word in words if _ID.fullmatch(word))
            yield widest if head == "id" else max(min(widest, _WORD), *ids, 0)

    def _beside_ids(self, room: int) -> list[int | None]:
        """The widths of columns where one holds ids among other words, so that these stay whole; else None, and they
        are found by what is in them."""
        least = list(self._narrowest())
        mixed = [width > _WORD and head != "id" for head, width in zip(self.heads, least, strict=True)]
        if sum(mixed) != 1:
            return [None] * len(least)
        words = [
            max((cell_len(word) for cell in column for word in str(cell).split()), default=0)
            for column in zip(self.heads, *self.rows, strict=True)
        ]
        found = [narrow if ids else max(narrow, word) for ids, narrow, word in zip(mixed, least, words, strict=True)]
        while (over := sum(found) - room) > 0:
            at = max((one for one in range(len(found)) if found[one] > least[one]), key=lambda one: found[one])
            found[at] = max(least[at], found[at] - over)
        found[mixed.index(True)] += room - sum(found)
        return [*found]

    def _has_lines(self) -> bool:
        return any("\n" in cell.plain for row in self.rows for cell in row)

    def _lines(self, widths: list[int]) -> Iterator[Text]:
        # Where everything fits there is nothing to lay out, and a long table need not wait for it.
        gap = " " * _GAP
        for cells in ([Text(head, "bold") for head in self.heads], None, *self.rows):
            if cells is None:
                yield Text("─" * (sum(widths) + _GAP * (len(widths) - 1)))
                continue
            line = Text()
            for number, (cell, width) in enumerate(zip(cells, widths, strict=True)):
                line.append_text(cell)
                line.append((" " * (width - cell.cell_len) + gap) if number < len(widths) - 1 else "")
            yield line


def fields(*pairs: tuple[str, str | Text]) -> Iterator[RenderableType]:
    """A line for every name that has a value, the values below each other."""
    for name, said in pairs:
        if said:
            yield hanging(f"{name:<{_NAME}}", said if isinstance(said, Text) else Text(said), style="bold")


def hanging(mark: str, body: Text, *, margin: int = 0, style: str = "") -> RenderableType:
    """`mark` with `body` beside it; where the body is wrapped, its lines stay under its first."""
    return _Hanging(Text(" " * margin + mark, style), body)


class _Hanging:
    __slots__ = ("body", "mark")

    def __init__(self, mark: Text, body: Text) -> None:
        self.mark = mark
        self.body = body

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        margin = len(self.mark)
        room = max(_ROOM, options.max_width - margin)
        if len(self.body) * 2 <= room:  # no character is wider than two columns
            yield Text.assemble(self.mark, self.body)
            return
        for number, line in enumerate(self.body.wrap(console, room, overflow="fold")):
            yield Text.assemble(self.mark if number == 0 else " " * margin, line)
