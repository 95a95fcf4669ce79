"""The project is written in words that people use and search for."""

import re

import pytest

from tests.house.project import ROOT, files

# Written in pieces, so that this file is no finding.
AVOIDED = ["m" + "end", "m" + "ends", "m" + "ended", "who" + "ever", "whoso" + "ever", "sh" + "all", "no" + "body's to"]
PATTERN = re.compile(rf"\b(?:{'|'.join(AVOIDED)})\b", re.IGNORECASE)
# Texts of others.
QUOTED = {"LICENSE", "tests/vectors/README.md"}


def test_no_file_uses_words_that_nobody_searches_for() -> None:
    """`fix`, `anyone who` and `must` are found by readers and by search."""
    found = []
    for path in files():
        if str(path) in QUOTED or "NOTICE" in path.name:
            continue
        text = (ROOT / path).read_text(encoding="utf-8", errors="replace")
        found += [f"{path}: {match[0]}" for match in PATTERN.finditer(text)]
    assert found == []


@pytest.mark.parametrize(("text", "odd"), [("Who" + "ever asks", True), ("commended, a shallow bend", False)])
def test_whole_words_are_looked_for(text: str, odd: bool) -> None:
    """Words that only contain one are none."""
    assert (PATTERN.search(text) is not None) is odd
