"""What the pages about the language list in tables is what the language has, no more and no less."""

import re

import pytest

from rebuno.policy.facets import registry
from rebuno.policy.facets.path import facets as path
from rebuno.policy.facets.shell import tree as shell_tree
from rebuno.policy.facets.sql import tree as sql_tree
from rebuno.policy.matcher.provenance import MAX_VALUES
from rebuno.policy.matcher.schedule import DAYS, EXAMPLE, schedule
from rebuno.policy.matcher.tests import MAX_TESTS
from rebuno.policy.syntax.keywords import CLAUSES, ROOTS, STATEMENTS, TYPES
from rebuno.policy.syntax.tree import Op
from rebuno.policy.values.json_values import MAX_DEPTH
from rebuno.policy.values.tokens import MAX_TEXT
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
        ("language/statements.md", "Statements", STATEMENTS),
        ("language/rules.md", "Clauses", CLAUSES),
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
    assert sorted(code.removesuffix(".args") for code in shown) == sorted(ROOTS)


def test_the_page_names_the_types_and_the_facets() -> None:
    """`is` knows these types, and `of` these facets."""
    text = " ".join(_text("language/tests.md").split())
    assert f"`{' '.join(TYPES)}`" in text
    listed = re.search(r"There are `([a-z_ ]+)`", text)
    assert listed is not None
    assert set(listed[1].split()) == set(registry.OWN)


def test_the_page_names_the_sets() -> None:
    """These facets take `any`, `every` or `no`."""
    listed = re.search(r"facet that gives a set \(([^)]+)\)", _text("language/tests.md").replace("\n", " "))
    sets = [name for name in registry.OWN if (found := registry.facet(name)) and found.many]
    assert listed is not None
    assert set(re.findall(r"`(\w+)`", listed[1])) == set(sets)


@pytest.mark.parametrize(
    ("number", "bound"),
    [
        ("100,000", MAX_VALUES),
        ("100,000", MAX_TESTS),
        ("128", MAX_DEPTH),
        ("1,048,576", MAX_TEXT),
        ("65,536 bytes", shell_tree.MAX_BYTES),
        ("65,536 bytes", sql_tree.MAX_BYTES),
        ("65,536 characters", path.MAX_LENGTH),
    ],
)
def test_the_bounds_are_those_of_the_code(number: str, bound: int) -> None:
    """Somebody counts on them."""
    assert f"| {number}" in _section("language.md", "Bounds")
    assert int(number.split()[0].replace(",", "")) == bound


@pytest.mark.parametrize("code", [*_shown(_section("language/history.md", "The time")), EXAMPLE])
def test_the_schedules_of_the_page_can_be_read(code: str) -> None:
    """Days, times and zones, each put where it belongs in a whole schedule."""
    days, times, zone = "Mon", "09:00-17:00", "UTC"
    if len(code.split()) == 3:
        days, times, zone = code.split()
    elif code[0].isdigit():
        times = code
    elif code[:3] in DAYS:
        days = code
    else:
        zone = code
    assert schedule(f"{days} {times} {zone}").days
