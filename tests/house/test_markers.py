"""The table of markers names files that are there, and no test sets a marker of it by hand."""

import re

import pytest

from tests.conftest import HERE, MARKED
from tests.house.project import ROOT, files


@pytest.mark.parametrize("marker", MARKED)
def test_every_place_is_there(marker: str) -> None:
    """A file that was moved would lose its marker in silence; sorted, so that it is found."""
    assert [place for place in MARKED[marker] if not (HERE / place).exists()] == []
    assert list(MARKED[marker]) == sorted(set(MARKED[marker]))


def test_no_test_sets_a_marker_by_hand() -> None:
    """There is one place to look at."""
    by_hand = re.compile(rf"pytest\.mark\.({'|'.join(MARKED)})\b")
    paths = [path for path in files() if path.parts[0] == "tests" and path.suffix == ".py"]
    assert [str(path) for path in paths if by_hand.search((ROOT / path).read_text(encoding="utf-8"))] == []
