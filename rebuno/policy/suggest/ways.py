"""The ways in which a value may be let pass: tied to the request or to a result, among what was seen, or anything."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from rebuno.policy.suggest.leaves import Shape
from rebuno.policy.suggest.text import Part, Path, listed, operand, quoted

OPERAND: Final = "\0"
# A list of literals in a rule is read by people.
MOST_LITERALS: Final = 12
LONGEST_LITERAL: Final = 200
_LETTERS: Final = re.compile(r"[^\W\d_]")
_HOST: Final = re.compile(r"(?i)(?:[a-z][a-z0-9+.-]*://)?([a-z0-9.-]+)(?::\d+)?(?:[/?#].*)?")
_SHORTEST_DIGITS: Final = 5


class Strength(IntEnum):
    """How much a way asks of a value. A lower one is narrower."""

    TIED = 0
    LITERAL = 1
    WEAK = 2


@dataclass(frozen=True)
class Way:
    """A test with a place for its operand. `narrow` gives the way for fewer values, None where nothing depends on them.
    `compound` says that the test needs parentheses beside others."""

    sort: str
    template: str
    strength: Strength
    narrow: Callable[[Sequence[Any]], "Way"] | None = None
    compound: bool = False

    def test(self, what: str) -> str:
        """The test of an operand."""
        return self.template.replace(OPERAND, what)


def condition(path: Path, ways: Sequence[Way], *, optional: bool = False) -> str:
    """What a rule asks of the values at a path: that one of the ways fits each of them."""
    short = path[:-1] if path[-1] is Part.EACH else path
    what = operand("args", short)
    if Part.EACH in path or Part.EACH_VALUE in path:
        if len(ways) == 1 and not ways[0].compound and not ways[0].template.startswith("every "):
            said = f"every {ways[0].test(what)}"
        else:
            said = f"every {what} has ({_either(ways, 'it')})"
    else:
        said = _either(ways, what)
        if len(ways) > 1 and not optional:
            return f"({said})"
    return (
        f"({what} missing or {said})"
        if optional and not (len(ways) == 1 and ways[0].compound)
        else (f"({what} missing or ({said}))" if optional else said)
    )


def _either(ways: Sequence[Way], what: str) -> str:
    if len(ways) == 1:
        return ways[0].test(what)
    return " or ".join(f"({way.test(what)})" if way.compound else way.test(what) for way in ways)


def asked(shape: Shape, values: Iterable[Any]) -> Way | None:
    """The user wrote the value. A short number in digits is no evidence: it is part of any date."""
    if shape is Shape.TRUTH:
        return None
    if shape is Shape.EMAIL:
        test = f"{OPERAND} in asked and domain of {OPERAND} given"
        return Way("asked", test, Strength.TIED, compound=True)
    if shape is Shape.DATE:
        return Way("asked", f"date of {OPERAND} in asked", Strength.TIED)
    if shape is not Shape.NUMBER and all(isinstance(v, str) and not _telling(v) for v in values):
        return None
    return Way("asked", f"{OPERAND} in asked", Strength.TIED)


def telling(value: Any) -> bool:
    """Whether a value that stands in the request can stand there only as itself."""
    return not isinstance(value, str) or _telling(value)


def _telling(value: str) -> bool:
    return len(value) >= 2 and (_LETTERS.search(value) is not None or len(value) >= _SHORTEST_DIGITS)


def known(name: str) -> Way:
    """A trusted result holds the value."""
    return Way("known", f"{OPERAND} in {name}", Strength.TIED)


def declared(values: Iterable[Any]) -> Way:
    """The value is one of the few that the tool's own definition names."""

    def narrow(seen: Sequence[Any]) -> Way:
        return Way("declared", one_of(seen), Strength.TIED)

    return Way("declared", one_of(list(values)), Strength.TIED, narrow)


def is_one_of(values: Sequence[Any]) -> str:
    """The predicate of a test that a value is one of these."""
    if len(set(map(quoted, values))) == 1:
        return f"== {quoted(values[0])}"
    return f"in {listed(values)}"


def one_of(values: Sequence[Any]) -> str:
    """The test that a value is one of these."""
    return f"{OPERAND} {is_one_of(values)}"


def among(values: Sequence[Any]) -> Way:
    """The value was seen as often as a literal must be."""

    def narrow(seen: Sequence[Any]) -> Way:
        return Way("among", one_of([value for value in seen if value in values]), Strength.LITERAL)

    return Way("among", one_of(values), Strength.LITERAL, narrow)


def up_to(values: Sequence[Any]) -> Way:
    """The number lies within what was seen, down to zero."""
    low, high = min(0, *values), max(values)
    test = f"{OPERAND} >= {quoted(low)} and {OPERAND} <= {quoted(high)}"
    return Way("number", test, Strength.LITERAL, up_to_of, compound=True)


def up_to_of(values: Sequence[Any]) -> Way:
    """`up_to`, as a function that narrows."""
    return up_to([value for value in values if isinstance(value, int | float)])


def host_in(url: str) -> str:
    """The host of a plain URL, empty where it is not plainly one."""
    found = _HOST.fullmatch(url)
    return found[1].lower() if found and "." in found[1] else ""


def pages(frequent: Sequence[str]) -> Way:
    """The URL was seen as often as a literal must be, or its host was, with several pages."""

    def narrow(seen: Sequence[Any]) -> Way:
        by_host: dict[str, set[str]] = {}
        for url in seen:
            if isinstance(url, str) and url in frequent:
                by_host.setdefault(host_in(url), set()).add(url)
        hosts = sorted(host for host, urls in by_host.items() if len(urls) > 1)
        single = sorted(url for urls in by_host.values() if len(urls) == 1 for url in urls)
        tests = [one_of(single)] if single else []
        tests += [f"host of {OPERAND} in {listed(hosts)}"] if hosts else []
        return Way("page", " or ".join(tests), Strength.LITERAL, narrow, compound=len(tests) > 1)

    return narrow(frequent)


ANY_DAY: Final = Way("any day", f"date of {OPERAND} given", Strength.WEAK)


def prose(*, asked: bool) -> Way:
    """Any text without a link that the user did not write."""
    if asked:
        return Way("text", f"every link of {OPERAND} in asked", Strength.WEAK)
    return Way("text", f"link of {OPERAND} missing", Strength.WEAK)
