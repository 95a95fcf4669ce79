"""The table of commands names every command, and no command that there is not."""

import re

from rebuno_cli.tree import names
from tests.docs.pages import ROOT


def test_the_table_lists_the_commands() -> None:
    """The table is the list of all commands."""
    table = (ROOT / "docs/cli.md").read_text(encoding="utf-8").partition("## Commands")[2].partition("\n## ")[0]
    listed = set()
    for row in re.findall(r"^\| (`rebuno .+?) \|", table, re.MULTILINE):
        first, *others = re.findall(r"`([^`]+)`", row)
        words = re.findall(r"\b[a-z][a-z-]*\b", first)[1:]
        listed |= {" ".join(words), *(f"{words[0]} {name}" for name in others)}
    assert listed == set(names())
