"""The public names are those that were decided on."""

import difflib
import importlib
import re

import pytest

from tests.house.api import FILE, MODULES, text


def test_the_public_names_are_those_that_are_written_down() -> None:
    """A name or a signature that changes by accident breaks users; `make api` writes it down on purpose."""
    difference = list(
        difflib.unified_diff(FILE.read_text(encoding="utf-8").split("\n"), text().split("\n"), lineterm="")
    )
    assert difference == [], (
        "the public names have changed: if that is meant, run `make api` and say so in CHANGELOG.md"
    )


@pytest.mark.parametrize("module", MODULES)
def test_every_name_that_is_written_down_is_there(module: str) -> None:
    """What is read from the sources is what an import gives."""
    sections = dict(section.split("\n", 1) for section in f"{FILE.read_text(encoding='utf-8')}\n".split("# ")[1:])
    names = set(re.findall(r"^(?:[a-z]+ )*(\w+)", sections[module], re.MULTILINE))
    there = importlib.import_module(module)
    assert names == set(getattr(there, "__all__", ()))
    assert [name for name in sorted(names) if not hasattr(there, name)] == []
