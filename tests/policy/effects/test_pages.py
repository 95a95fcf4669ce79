"""The pages on effects: the list of programs is that of the tables, and each key of a table is explained."""

from rebuno.policy.facets.shell.effects.found import EFFECT_FACETS
from rebuno.policy.facets.shell.effects.table import KINDS
from tests.docs.pages import ROOT
from tests.policy.effects.programs_page import FILE, text

PAGE = (ROOT / "docs/effects.md").read_text(encoding="utf-8")
TABLES = ROOT / "rebuno/policy/facets/shell/effects/tables/README.md"


def test_the_list_of_programs_is_that_of_the_tables() -> None:
    """`make programs` writes it."""
    assert FILE.read_text(encoding="utf-8") == text(), "run `make programs`"


def test_the_page_names_each_facet() -> None:
    """With what its members are."""
    rows = {line.split("`")[1].split()[0] for line in PAGE.splitlines() if line.startswith("| `")}
    assert rows >= EFFECT_FACETS


def test_the_kinds_of_words_are_explained() -> None:
    """Beside the tables."""
    explained = TABLES.read_text(encoding="utf-8")
    assert sorted(kind for kind in KINDS if f"`{kind}`" not in explained and not kind.startswith("pattern-")) == []
