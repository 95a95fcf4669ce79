"""What the pages about the language list in tables is what the language has, no more and no less."""

import re

import pytest

from rebuno.policy import (
    BUILT_IN_FACETS,
    CLAUSE_WORDS,
    EXAMPLE_SCHEDULE,
    MAX_ELEMENT_TESTS,
    MAX_JSON_DEPTH,
    MAX_KNOWN_VALUES,
    MAX_PATH_LENGTH,
    MAX_SEARCHED_TEXT,
    MAX_SHELL_BYTES,
    MAX_SQL_BYTES,
    ROOT_WORDS,
    STATEMENT_WORDS,
    TYPE_WORDS,
    WEEKDAYS,
    Op,
    find_facet,
    parse_schedule,
)
from tests.docs.pages import ROOT


def _text(page: str) -> str:
    return (ROOT / "docs" / page).read_text(encoding="utf-8")


def _section(page: str, heading: str) -> str:
    return re.split(r"^##? ", _text(page).partition(f"# {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def _shown(text: str) -> list[str]:
    """What the first cells of a table show as code."""
    cells = re.findall(r"^\| (`.+?) \|", text, re.MULTILINE)
    return [code for cell in cells for code in re.findall(r"`([^`]+)`", cell)]


@pytest.mark.parametrize(
    ("page", "heading", "words"),
    [
        ("language/statements.md", "Statements", [*STATEMENT_WORDS, "zone", "effects", "limit", "secret"]),
        ("language/rules.md", "Clauses", CLAUSE_WORDS),
        ("language/tests.md", "What a test asks", [op.value for op in Op]),
    ],
)
def test_tables_name_every_word(page: str, heading: str, words: list[str]) -> None:
    """A reader finds each statement, clause and predicate, and nothing that there is not."""
    shown = [code for code in _shown(_section(page, heading)) if not code.startswith(("… ", "not "))]
    found = [max((word for word in words if f"{code} ".startswith(f"{word} ")), key=len, default="") for code in shown]
    odd = [code for code, word in zip(shown, found, strict=True) if not word and not code.startswith(("deny", "else "))]
    assert odd == []
    assert set(words) <= set(found)


def test_predicates_are_shown_with_their_opposites() -> None:
    """`not` stands inside the test, and for `is` after the word."""
    shown = set(_shown(_section("language/tests.md", "What a test asks")))
    for code in shown:
        word, _, rest = code.partition(" ")
        if word in ("in", "like", "matches", "contains", "starts", "ends", "under"):
            assert f"not {code}" in shown
        elif word == "is" and not rest.startswith("not"):
            assert f"is not {rest}" in shown


def test_the_page_names_where_a_path_may_start() -> None:
    """Each root has its row."""
    shown = _shown(_section("language/tests.md", "What a test looks at"))
    roots = {code.removesuffix(".args") for code in shown}
    assert set(ROOT_WORDS) <= roots <= {*ROOT_WORDS, "turns", "parent", "definition", "error", "outer"}


def test_the_page_names_the_types_and_the_facets() -> None:
    """`is` knows these types, and `of` these facets."""
    text = " ".join(_text("language/tests.md").split())
    assert f"`{' '.join(TYPE_WORDS)}`" in text
    listed = re.search(r"There are `([a-z_ ]+)`", text)
    assert listed is not None
    assert set(listed[1].split()) == set(BUILT_IN_FACETS)


def test_the_page_names_the_sets() -> None:
    """These facets take `any`, `every` or `no`."""
    listed = re.search(r"facet that gives a set \(([^)]+)\)", _text("language/tests.md").replace("\n", " "))
    sets = [name for name in BUILT_IN_FACETS if (found := find_facet(name)) and found.many]
    assert listed is not None
    assert set(re.findall(r"`(\w+)`", listed[1])) == set(sets)


@pytest.mark.parametrize(
    ("number", "bound"),
    [
        ("100,000", MAX_KNOWN_VALUES),
        ("100,000", MAX_ELEMENT_TESTS),
        ("128", MAX_JSON_DEPTH),
        ("1,048,576", MAX_SEARCHED_TEXT),
        ("65,536 bytes", MAX_SHELL_BYTES),
        ("65,536 bytes", MAX_SQL_BYTES),
        ("65,536 characters", MAX_PATH_LENGTH),
    ],
)
def test_the_bounds_are_those_of_the_code(number: str, bound: int) -> None:
    """Somebody counts on them."""
    assert f"| {number}" in _section("language.md", "Bounds")
    assert int(number.split()[0].replace(",", "")) == bound


@pytest.mark.parametrize("code", [*_shown(_section("language/history.md", "The time")), EXAMPLE_SCHEDULE])
def test_the_schedules_of_the_page_can_be_read(code: str) -> None:
    """Days, times and zones, each put where it belongs in a whole schedule."""
    days, times, zone = "Mon", "09:00-17:00", "UTC"
    if len(code.split()) == 3:
        days, times, zone = code.split()
    elif code[0].isdigit():
        times = code
    elif code[:3] in WEEKDAYS:
        days = code
    else:
        zone = code
    assert parse_schedule(f"{days} {times} {zone}").days
