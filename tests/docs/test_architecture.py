"""The files that the architecture page and the grammar's page name are there."""

import re

import pytest

from tests.docs.pages import ROOT

TOPS = ("rebuno/", "grammar/", "policies/", "cli/", "tests/", "docs/")


@pytest.mark.parametrize("page", ["docs/architecture.md", "grammar/README.md"])
def test_the_files_that_a_page_names_are_there(page: str) -> None:
    """A newcomer follows a path to a file, not to an error."""
    text = (ROOT / page).read_text(encoding="utf-8")
    named = [name for name in re.findall(r"`([\w./-]+)`", text) if name.startswith(TOPS)]
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("rebuno/policy/matcher/build.py", "def from_tree("),
        ("rebuno/policy/matcher/build.py", "def _default("),
        ("rebuno/policy/matcher/policy.py", "def decide("),
        ("rebuno/model/step.py", "STEP_TRANSITIONS"),
        ("rebuno/policy/syntax/keywords.py", "FACET_MODULES"),
        ("rebuno/server/clients.py", "ENDPOINTS"),
        ("rebuno/server/agents.py", "ENDPOINTS"),
        ("rebuno/server/operators.py", "ENDPOINTS"),
    ],
)
def test_the_names_that_the_page_mentions_are_in_their_files(file: str, name: str) -> None:
    """A function that moves takes its entry on the page along."""
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    assert f"`{file}`" in page
    assert name.removeprefix("def ").rstrip("(") in page
    assert name in (ROOT / file).read_text(encoding="utf-8")
