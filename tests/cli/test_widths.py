"""Tables at every width: no ordinary word is broken, and what has no room for that stands as names with values."""

import io

import pytest
from rich.console import Console

from rebuno_cli.render.layout import Rows

HEADS = ("id", "agent", "status", "attempts", "updated")
ID = "01a22e1b-bdca-7301-b1a5-cc2548cae8a3"
ROWS: list[tuple[str, ...]] = [
    (ID, "banker", "completed", "1", "2026-11-30 20:18:19Z"),
    (ID[::-1], "b", "failed", "12", "never"),
]


def shown(width: int, heads: tuple[str, ...] = HEADS, rows: list[tuple[str, ...]] = ROWS) -> str:
    """A table as a terminal of this width shows it."""
    out = io.StringIO()
    Console(file=out, width=width).print(Rows(heads, rows))
    return out.getvalue()


@pytest.mark.parametrize("width", [50, 60, 79, 80, 81, 90, 100, 120, 200])
def test_no_word_is_broken(width: int) -> None:
    """Neither a state, nor an id, a date or a heading; and no line is longer than the terminal."""
    text = shown(width)
    words = {word for row in (HEADS, *ROWS) for cell in row for word in cell.split()}
    assert words <= set(text.split())
    assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("width", [40, 62, 80])
def test_a_table_that_fits_is_one(width: int) -> None:
    """On a narrow terminal, too."""
    lines = shown(width, ("case", "verdict"), [("reading", "allow"), ("paying", "require_approval")]).splitlines()
    assert len(lines) == 4
    assert lines[0].split() == ["case", "verdict"]


def test_long_values_are_folded() -> None:
    """A long argument alone does not take the table apart."""
    lines = shown(90, ("id", "args"), [(ID, '{"text":"' + "x" * 200 + '"}')]).splitlines()
    assert lines[0].split() == ["id", "args"]
    assert max(map(len, lines)) <= 90
