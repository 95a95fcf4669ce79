"""Words beside a day that make it another day than the one written: they shift, repeat, bound it or rule it out."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from rebuno.policy.values import windows
from rebuno.policy.values.tokens import MONTH

_NEAR: Final = 4  # words before a day
_RULED_OUT: Final = 6
_FAR: Final = 8
_LOOK_BACK: Final = 160  # characters
_LOOK_AHEAD: Final = 60
_AFTER: Final = 64

_WORD: Final = re.compile(r"[^\W_]+(?:['’ʼ][^\W_]+)*")
_CLAUSE: Final = re.compile(r"[,;:()\[\]\n]")
# A blank line, or what ends a sentence before a word that begins one. Where that is not certain the sentence goes on.
_END: Final = re.compile(r"\n[^\S\n]*+\n|(?<![.!?。！？])[.!?。！？]++[\"'”’»)\]]*+\s++(?=[^a-z])")
_END_HEAD: Final = re.compile(r"\n|(?<![.!?。！？])[.!?。！？]")
_LONGEST_ABBREVIATION: Final = 3


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ABBREVIATIONS: Final = _words("approx incl excl sept resp")
_WEEKDAYS: Final = _words(
    "mon monday tue tues tuesday wed wednesday thu thur thurs thursday fri friday sat saturday sun sunday"
)
_REPEATING: Final = (
    r"every|each|daily|nightly|hourly|weekly|fortnightly|bi-?weekly|monthly|bi-?monthly|quarterly|yearly"
    r"|annual(?:ly)?|weekdays|weekends|recur(?:s|ring|rence)?|repeat(?:s|ed|ing|edly)?"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days|jede[nrsm]?|täglich|wöchentlich|monatlich|jährlich"
)
_REPEATS: Final = re.compile(
    rf"\b(?:{_REPEATING}|(?:once|twice|thrice|times)\s+(?:an?|per)|per\s+(?:day|week|month|year)|day\s+after\s+day"
    r"|week\s+after\s+week)\b",
    re.IGNORECASE,
)
_REPEATS_HEAD: Final = re.compile(
    rf"\b(?:(?:{_REPEATING})\b|(?:once|twice|thrice|times|per|day|week)\s)", re.IGNORECASE
)
# A few words may stand between these and the day.
_SHIFTS: Final = _words("until till til untill since before after")
_NEGATIONS: Final = _words(
    "not no never nor neither without except excepting excluding excl unless avoid skip instead rather cannot dont"
)
# These stand right before it, or with fillers between.
_BOUNDS: Final = _words(
    "by through thru past following preceding prior beyond between besides than plus minus upto within over ahead"
    " ending ends bis vor nach seit ab spätestens frühestens"
)
_FILLERS: Final = _WEEKDAYS | _words(
    "the a an this that next last on at of in to day date night eve evening morning afternoon noon midday midnight end"
    " close start beginning about around approximately circa ca approx least most latest earliest late later early"
    " sometime and dem den zum zur am"
)
_SPANS: Final = _words("days week weeks weekend fortnight month months year years hour hours eve anniversary")
# What bounds a day in several words, right before it: `up to May 5`, `the week starting May 5`, `until, say, May 5`,
# `any day but May 5`.
_AHEAD: Final = re.compile(
    r"\b(?:(?<!-)up\s+to|as\s+(?:late|early|far)\s+as|(?:until|till?|before|after|since)\b[,(\s]+\w+[,)]*"
    r"|(?:days?|weeks?|weekend|fortnight|months?|quarter|years?)\s+(?:starting|beginning|commencing|closing)"
    r"|(?:days?|dates?|time|any|all|everything|nothing)\s+but)(?:\s+(?:the|on|to|of|from|in))*\s+\Z",
    re.IGNORECASE,
)
# The other end of a range: `between May 3 and May 5`.
_BETWEEN: Final = re.compile(rf"\bbetween\s+(?:the\s+)?(?:[0-9]|{MONTH}\b)[^;]{{0,60}}\Z", re.IGNORECASE)
_AFTERWARDS: Final = re.compile(
    r"[\s,(]*(?:onwards?\b|forwards?\b|forth\b|on\b(?=\s*(?:[.,;:!?)]|\Z))"
    r"|and\s+(?:later|after|before|beyond|earlier|on)\b|or\s+(?:later|earlier|after|before|sooner|so|thereabouts)\b"
    r"|(?:an?|one|two|three|[0-9]+)\s+(?:days?|weeks?|fortnights?|months?|years?)\s+(?:later|earlier|before|after|on)\b"
    r"|eve\b|at\s+the\s+(?:very\s+)?(?:latest|earliest)\b|latest\b|earliest\b|plus\b|minus\b|give\s+or\s+take\b|[+±−]"
    r"|excluded\b|exclusive\b|excepted\b|aside\b)",
    re.IGNORECASE,
)
# What makes `today` and `tomorrow` the beginning of a span: `a week tomorrow`, `today week`, `tomorrow in two weeks`.
_UNITS: Final = r"(?:days?|weeks?|fortnights?|months?|years?)"
_SPAN_BEFORE: Final = re.compile(rf"\b{_UNITS}\s+\Z", re.IGNORECASE)
_SPAN_AFTER: Final = re.compile(rf"\s+(?:(?:in|plus|and)\s+)?(?:(?:an?|[a-z]+|[0-9]+)\s+)?{_UNITS}\b", re.IGNORECASE)
_ON: Final = re.compile(r"\s+on\b", re.IGNORECASE)
# A count of something, and not a time of day.
_COUNT: Final = re.compile(
    r"\s+[0-9]+\b(?![:.]?[0-9]|\s*(?:[ap]\.?m\b|o['’]?clock|h\b|hrs?\b|hours?\b|uhr\b))", re.IGNORECASE
)
_COUNTED: Final = re.compile(
    r"\s+(?:miles?|km|kms|kilomet(?:er|re)s?|met(?:er|re)s?|yards?|feet|foot|inch(?:es)?|steps?|blocks?|laps?|times"
    r"|people|persons?|men|women|children|guests?|percent|per\s+cent|%|points?|kg|kilos?|kilograms?|pounds?|tons?|tonnes?"
    r"|dollars?|euros?|eur|usd|gbp|pence|cents?|seconds?|minutes?|hours?|days|weeks|months|years|items?|copies|pages?"
    r"|units?|pieces?)\b",
    re.IGNORECASE,
)
# Names of months that are words of another kind too.
_VERBS: Final = _words("may march mar")
_BEFORE_VERBS: Final = _words(
    "they we i you he she it who that must will can could should would might let lets let's us them people"
)
# What follows such a word where it is no month.
_GOES_ON: Final = re.compile(r"\s+(?!(?:at|in|from|for|to|and|or|with|till?|until|is|was|as|please|the)\b)[a-z]")
_BEFORE_MONTHS: Final = _WEEKDAYS | _words(
    "on for from to of in this next last by until till til before after since and or between through is was are be"
)


def _ends(text: str) -> Iterator[re.Match[str]]:
    return windows.each(_END, text, ahead=_AFTER, head=_END_HEAD)


def _repeats(text: str) -> Iterator[re.Match[str]]:
    return windows.each(_REPEATS, text, ahead=_AFTER, head=_REPEATS_HEAD)


class Sentences:
    """The sentences of one text, and which of them say that something is repeated. Linear in the text."""

    __slots__ = ("_ends", "_repeated", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends = [match.end() for match in _ends(text) if _is_end(text, match)]
        self._repeated = {self._of(match.start()) for match in _repeats(text)}

    def _of(self, position: int) -> int:
        return bisect_right(self._ends, position)

    def doubtful(self, start: int, end: int, month: str, *, bare: bool) -> bool:
        """Whether the day written at `text[start:end]` may not be the one that is meant.

        `month` is its month where that is written as a word, and `bare` says that nothing but a number stands beside
        it, as in `may 5`.
        """
        sentence = self._of(start)
        if sentence in self._repeated:
            return True
        text = self._text
        first = max(self._ends[sentence - 1] if sentence else 0, start - _LOOK_BACK)
        before, after = text[first:start], text[end : end + _LOOK_AHEAD]
        clause = _lower(_CLAUSE.split(before)[-1])
        return (
            not _SHIFTS.isdisjoint(clause[-_NEAR:])
            or any(word in _NEGATIONS or word.endswith("n't") for word in clause[-_RULED_OUT:])
            or _bounded(_lower(before)[-_FAR:], after)
            or _AHEAD.search(before) is not None
            or _BETWEEN.search(before) is not None
            or _AFTERWARDS.match(after) is not None
            or _COUNT.match(after) is not None
            or (
                bare
                and (
                    _COUNTED.match(after) is not None or _is_verb(month, before, after, day_first=text[start].isdigit())
                )
            )
        )

    def doubtful_word(self, start: int, end: int) -> bool:
        """Whether the `today` or `tomorrow` at `text[start:end]` may not be the day that is meant."""
        return (
            self.doubtful(start, end, "", bare=False)
            or _SPAN_BEFORE.search(self._text[max(0, start - _LOOK_BACK) : start]) is not None
            or _SPAN_AFTER.match(self._text[end : end + _LOOK_AHEAD]) is not None
        )


def _lower(text: str) -> list[str]:
    return [word.lower().replace("’", "'") for word in _WORD.findall(text)]


def _is_end(text: str, match: re.Match[str]) -> bool:
    if match[0][0] != ".":
        return True
    start = match.start()
    word = _WORD.findall(text[max(0, start - 12) : start])[-1:]
    if not word or word[0].isdigit():
        return bool(word)
    return len(word[0]) > _LONGEST_ABBREVIATION and word[0].lower() not in _ABBREVIATIONS


def _bounded(words: list[str], after: str) -> bool:
    # `words` stand before the day, the nearest last.
    for position in range(len(words) - 1, -1, -1):
        word = words[position]
        if word in _SHIFTS or word in _BOUNDS or word in _NEGATIONS:
            return True
        spans = position > 0 and words[position - 1] in _SPANS
        if word == "from":
            return spans or (position > 0 and words[position - 1] == "day") or _ON.match(after) is not None
        if word == "of" and spans:
            return True
        if word not in _FILLERS:
            return False
    return False


def _is_verb(month: str, before: str, after: str, *, day_first: bool) -> bool:
    # `they march 5 miles`, `the 5 may leave`, `5 may come`
    if month.lower() not in _VERBS:
        return False
    words = _lower(before) if before[-1:].isspace() and before.rstrip()[-1:].isalpha() else []
    if not words:
        return day_first and month[0].islower() and _GOES_ON.match(after) is not None
    plain = words[-1] in _BEFORE_MONTHS or (words[-1] == "the" and not day_first)
    return words[-1] in _BEFORE_VERBS or (month[0].islower() and not plain)
