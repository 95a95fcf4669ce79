"""Long texts are searched a window at a time: no answer changes by it, and no search goes through all of a text."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebuno.policy.facets.date import facets, words
from rebuno.policy.facets.reading import Surroundings
from rebuno.policy.facets.url import links
from rebuno.policy.values import tokens, windows

# What the patterns look at, in pieces that make and break matches.
_PIECES = (
    "may", "may ", "5", " 5", "2025-05-05", " 2025", "\n", "\n \n", ".", "! ", "?)", " A", " a", "day", " after ",
    "per",
    "once", "every", "times", "week", "1,100", ",000", "-", "$", "'", "12:30", "http:", "//", "/", "\\", "www.", "é",
    "b.example", "[", "@", ":80", "10.0.0.1", "한", "、", " " * 70, "7" * 70,
)  # fmt: skip
AROUND = Surroundings()
TEXTS = st.lists(st.sampled_from(_PIECES), max_size=24).map("".join)
EACH: dict[str, tuple[re.Pattern[str], dict[str, Any]]] = {
    "dates": (tokens._DATE, {"ahead": tokens.LONGEST_DATE}),
    "days": (facets._DATE, {"ahead": tokens.LONGEST_DATE}),
    "times": (facets._CLOCK, {"ahead": tokens.LONGEST_DATE}),
    "numbers": (tokens._NUMBER, {"ahead": tokens.LONGEST_DATE, "head": tokens._NUMBER_HEAD}),
    "sentences": (words._END, {"ahead": words._AFTER, "head": words._END_HEAD}),
    "repeats": (words._REPEATS, {"ahead": words._AFTER, "head": words._REPEATS_HEAD}),
    "links": (links._START, {"ahead": links._AHEAD}),
    "inner links": (links._INNER, {"ahead": links._AHEAD}),
}


@pytest.mark.parametrize("name", EACH)
@given(text=TEXTS, size=st.sampled_from([1, 2, 5, 16, 64]))
def test_windows_find_what_a_search_of_the_whole_finds(name: str, text: str, size: int) -> None:
    """Wherever a window ends: in a match, in what stands behind it, in blanks or digits longer than what is looked
    ahead."""
    pattern, more = EACH[name]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "WINDOW", size)
        assert [match.span() for match in windows.each(pattern, text, **more)] == [
            match.span() for match in pattern.finditer(text)
        ]
        if "head" not in more:
            assert windows.without(pattern, text, **more) == pattern.sub(" ", text)


class _Watched:
    """A pattern that says how many characters each of its searches may go through."""

    def __init__(self, pattern: re.Pattern[str], spans: list[int]) -> None:
        self._pattern = pattern
        self._spans = spans

    def search(self, text: str, start: int = 0, end: int | None = None) -> Any:
        end = len(text) if end is None else end
        self._spans.append(end - start)
        return self._pattern.search(text, start, end)

    def finditer(self, text: str, *where: int) -> Any:
        self._spans.append(len(text))
        return self._pattern.finditer(text, *where)

    def sub(self, by: Any, text: str) -> str:
        self._spans.append(len(text))
        return self._pattern.sub(by, text)

    def match(self, *where: Any) -> Any:
        return self._pattern.match(*where)


@pytest.mark.parametrize(
    ("module", "name", "ask"),
    [
        (facets, "_DATE", lambda text: facets.read(text, AROUND)),
        (facets, "_DATE", lambda text: list(facets.find(text, AROUND))),
        (facets, "_CLOCK", lambda text: facets.read(text, AROUND)),
        (words, "_END", lambda text: list(facets.find(text + " 2025-05-05", AROUND))),
        (words, "_REPEATS", lambda text: list(facets.find(text + " 2025-05-05", AROUND))),
        (tokens, "_NUMBER", lambda text: list(tokens.found_numbers(text))),
        (links, "_START", links.find_links),
        (links, "_INNER", lambda text: links.find_links("http://" + text)),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
@pytest.mark.parametrize("letter", ["é", "\n", "한", "a-"])
def test_no_search_goes_through_all_of_a_long_text(
    module: Any, name: str, ask: Any, letter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody else runs while one goes on."""
    spans: list[int] = []
    monkeypatch.setattr(module, name, _Watched(getattr(module, name), spans))
    ask(letter * 60_000)
    assert max(spans, default=0) <= windows.WINDOW + links._AHEAD
