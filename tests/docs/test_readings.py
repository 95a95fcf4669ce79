"""What the pages on facets show in tables is what the facets read."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from rebuno.policy import MISSING, NO_CONTEXT, UNREADABLE, PathContext, Reading, find_facet
from tests.docs.pages import ROOT


def _tables(page: str) -> Iterator[tuple[list[str], list[list[str]]]]:
    text = (ROOT / "docs" / "facets" / page).read_text(encoding="utf-8")
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
        yield rows[0], rows[2:]


def _codes(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def _read(name: str, value: str) -> Any:
    facet = find_facet(name)
    assert facet is not None
    found = facet.read(value, NO_CONTEXT)
    return found.json() if isinstance(found, Reading) else found


WRITTEN = [
    (head[column], value, cells[column])
    for page in ("urls.md", "mail.md")
    for head, rows in _tables(page)
    if head[0] == "written"
    for cells in rows
    for value in _codes(cells[0])
    for column in range(1, len(head))
]


@pytest.mark.parametrize(("facet", "value", "cell"), WRITTEN, ids=[f"{row[0]} {row[1]}" for row in WRITTEN])
def test_urls_and_addresses_are_read_as_shown(facet: str, value: str, cell: str) -> None:
    """A host, a port, a domain, or nothing of the kind."""
    found = _read(_codes(facet)[0], value.replace("…", "x"))
    if cell == "absent":
        assert found is MISSING
    elif cell == "as written":
        assert found == value.partition(":")[0]
    else:
        assert str(found) == (_codes(cell) or [cell])[0].split(",")[0]


def _column(page: str, head: list[str]) -> list[tuple[list[str], str]]:
    return [(_codes(cells[0]), cells[1]) for shown, rows in _tables(page) if shown == head for cells in rows]


@pytest.mark.parametrize(("values", "cell"), _column("numbers-and-dates.md", ["text", "amount"]))
def test_amounts_are_found_as_shown(values: list[str], cell: str) -> None:
    """The amounts that a text holds, those that it may not mean after *perhaps*."""
    facet = find_facet("amount")
    assert facet is not None
    assert facet.find is not None
    shown = [] if cell == "none" else [part.split(":")[0].strip() for part in cell.split(", ")]
    for text in values:
        found = list(facet.find(text, NO_CONTEXT))
        told = [str(one) if isinstance(one, int | float) else f"perhaps {one.value}" for one in found]
        assert told == shown


@pytest.mark.parametrize(("values", "cell"), _column("numbers-and-dates.md", ["text", "number"]))
def test_numbers_are_read_as_shown(values: list[str], cell: str) -> None:
    """What a text says, or doubt."""
    found = [_read("number", json.loads(value)) for value in values]
    if cell.startswith("maybe"):
        assert all(number is UNREADABLE for number in found)
    else:
        assert found == [float(number) for number in cell.split(", ")]


@pytest.mark.parametrize(("values", "cell"), _column("numbers-and-dates.md", ["text", "day"]))
def test_dates_are_read_as_shown(values: list[str], cell: str) -> None:
    """A day with its year, a day of any year, or doubt."""
    facet = find_facet("date")
    assert facet is not None
    for value in values:
        found = facet.read(value, NO_CONTEXT)
        if cell.startswith("maybe"):
            assert found is UNREADABLE
        else:
            day = re.split(r" of any year|:", cell)[0]
            assert found.json() == facet.literal(day, NO_CONTEXT).json()


@pytest.mark.parametrize(("values", "cell"), _column("paths.md", ["value", "is"]))
def test_paths_are_read_as_shown(values: list[str], cell: str) -> None:
    """With the directories of the page, the path that a value is, or doubt."""
    facet = find_facet("path")
    assert facet is not None
    for value in values:
        found = facet.read(value, PathContext("/proj", "/home/bot"))
        if cell.startswith("maybe"):
            assert found is UNREADABLE
        else:
            assert found.json() == _codes(cell)[0]


def test_the_tables_are_found() -> None:
    """A head that is worded anew must not leave its table untried."""
    assert {facet for facet, _, _ in WRITTEN} == {"`host`", "`scheme`", "`port`", "`address`", "`domain`"}
    columns = [
        ("numbers-and-dates.md", "text", "number"),
        ("numbers-and-dates.md", "text", "day"),
        ("paths.md", "value", "is"),
    ]
    assert all(_column(page, list(head)) for page, *head in columns)
