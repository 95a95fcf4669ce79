"""What the page about the language says in tables and lists is what the language does."""

import re
from typing import Any

import pytest

from rebuno.policy.compile import compile_text
from rebuno.policy.facts import Facts
from rebuno.policy.names import TYPES
from tests.docs.pages import ROOT

TEXT = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
COLUMNS: dict[str, Any] = {
    "left out": {},
    "`null`": {"a": None},
    "`[]`": {"a": []},
    "`true`": {"a": True},
    "cannot be reached": "a text has no names in it",
}
ROWS = re.findall(r"^\| `([^`]+)` \| ((?:(?:yes|no|maybe) \|? ?){5})$", TEXT, re.MULTILINE)


def _answer(test: str, args: Any) -> str:
    """What the test answers: an allow rule matches on yes alone, a deny rule on yes and maybe."""
    matched = []
    for verdict in ("allow", "deny"):
        other = "deny" if verdict == "allow" else "allow"
        known = "known asked = input" if "asked" in test else ""
        text = f'default {other}\n{known}\nrule r {{\n  {verdict} tool "t"\n  when {test}\n}}\n'
        decision = compile_text(text).decide(Facts("tool_call", "t", args, input="x"))
        matched.append(decision.rule_id == "r")
    return "yes" if matched[0] else "maybe" if matched[1] else "no"


def test_the_table_of_doubt_is_read() -> None:
    """The pattern above finds the rows, and the columns are those that are tried."""
    assert len(ROWS) > 15
    assert f"| test | {' | '.join(COLUMNS)} |" in TEXT


@pytest.mark.parametrize(("test", "cells"), ROWS, ids=[row[0] for row in ROWS])
def test_the_table_of_doubt_is_true(test: str, cells: str) -> None:
    """Which way doubt falls is the promise that a reviewer relies on."""
    answers = [_answer(test, args) for args in COLUMNS.values()]
    assert [cell.strip() for cell in cells.rstrip("| ").split("|")] == answers


def test_the_page_names_the_types() -> None:
    """`is` knows these types."""
    assert f"`{' '.join(TYPES)}`" in TEXT
