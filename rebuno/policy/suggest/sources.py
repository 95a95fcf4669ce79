"""Which results are trusted, and which values they hold.

A result counts if its tool only looks, and every argument of that call was tied: to the user's request, to another
trusted result, or to a literal that was seen often. What somebody else wrote does not count: the fields of an object
that names its sender or author, and fields of free text. Of a tool that makes something, the id of what it made counts.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rebuno.policy.suggest import words
from rebuno.policy.suggest.choose import Choice, tests_of
from rebuno.policy.suggest.leaves import Shape, is_email, key_of
from rebuno.policy.suggest.seen import SeenCall
from rebuno.policy.suggest.text import Part, Path, bare, pattern, quoted, relative
from rebuno.policy.suggest.tool import Tool
from rebuno.policy.values.json_values import MISSING

_LONGEST: Final = 100
_DEEPEST: Final = 6
_MOST: Final = 20_000


@dataclass(frozen=True, slots=True)
class ResultPath:
    """A path in the results of one tool."""

    target: str
    path: Path

    @property
    def order(self) -> tuple[str, str]:
        """What places are sorted by."""
        return self.target, relative(self.path)


@dataclass(frozen=True, slots=True)
class Held:
    """A value at a place, brought in a run by the event `seq`."""

    place: ResultPath
    run: int
    seq: int


def plain_values(result: Any, *, made: bool = False) -> Iterator[tuple[Path, Any]]:
    """The values of a result that nobody wrote in their own words, with their paths. Of what was `made`, only ids."""
    # A result that is one value is read as a list of it.
    root: Path = (Part.EACH,) if isinstance(result, str) else ()
    waiting: list[tuple[Path, Any]] = [(root, result)]
    for _ in range(_MOST):
        if not waiting:
            return
        path, value = waiting.pop()
        if isinstance(value, dict) and len(path) < _DEEPEST:
            if words.by_others(value):
                continue
            if _by_name(value):
                waiting += [((*path, Part.EACH_VALUE), each) for each in value.values()]
            else:
                waiting += [((*path, key), each) for key, each in value.items() if not words.free_field(key)]
        elif isinstance(value, list) and len(path) < _DEEPEST and not made:
            waiting += [((*path, Part.EACH), each) for each in value]
        elif path and _plain(path, value) and (not made or words.is_id(key_of(path))):
            yield path, value


def _by_name(value: Mapping[str, Any]) -> bool:
    """Whether the keys of an object are ids or names of its values, which are objects."""
    if not value or not all(isinstance(each, dict) for each in value.values()):
        return False
    alike = len(value) > 1 and len({frozenset(each) for each in value.values()}) == 1
    return alike or all(any(map(str.isdigit, key)) for key in value)


def _plain(path: Path, value: Any) -> bool:
    if isinstance(value, str):
        long_enough = len(value) >= 2 or (value and words.is_id(key_of(path)))
        return bool(long_enough) and len(value) <= _LONGEST and not any(map(str.isspace, value))
    return isinstance(value, int) and not isinstance(value, bool) and words.is_id(key_of(path))


class Results:
    """The trusted results of all runs. `choices` has of each tool the calls that were tied."""

    def __init__(self, tools: Mapping[str, Tool], choices: Mapping[str, Choice]) -> None:
        self._holds: dict[tuple[int, str], list[Held]] = {}
        self.values: dict[ResultPath, set[str]] = {}
        for target, choice in choices.items():
            tool = tools[target]
            if _trusted(tool):
                for number in sorted(choice.calls):
                    self._take(tool, tool.calls[number])

    def _take(self, tool: Tool, call: SeenCall) -> None:
        if call.result is MISSING:
            return
        echoed = {quoted(value) for values in call.args.leaves.values() for value in values}
        for path, value in plain_values(call.result, made=not tool.looks):
            said = quoted(value)
            if said not in echoed:
                place = ResultPath(tool.target, path)
                self._holds.setdefault((call.run, said), []).append(Held(place, call.run, call.ended))
                self.values.setdefault(place, set()).add(said)

    def before(self, call: SeenCall, value: Any) -> set[ResultPath]:
        """The places that held a value when a call was submitted."""
        until = call.facts.as_of or 0
        return {held.place for held in self._holds.get((call.run, quoted(value)), ()) if held.seq < until}

    def places_for(self, tool: Tool, path: Path, numbers: Iterable[int]) -> list[ResultPath]:
        """The fewest places that held the values of these calls, and those that are alike: with the same field and a
        value in common, or with addresses where the values are addresses."""
        wanted: dict[ResultPath, set[tuple[int, str]]] = {}
        for number in numbers:
            call = tool.calls[number]
            for value in call.args.leaves[path]:
                for place in self.before(call, value):
                    wanted.setdefault(place, set()).add((number, quoted(value)))
        # Small numbers are ids of many things: a result about the same thing is the likely one.
        topic = words.nouns(key_of(path)) or words.nouns(tool.target)
        about = {place: mine for place, mine in wanted.items() if topic & _nouns(place)}
        topic, wanted = (topic, about) if about else (frozenset(), wanted)
        chosen: list[ResultPath] = []
        covered: set[tuple[int, str]] = set()
        for place in sorted(wanted, key=lambda one: (-len(wanted[one]), one.order)):
            if wanted[place] - covered:
                chosen.append(place)
                covered |= wanted[place]
        if not chosen:
            return []
        addresses = tool.shapes[path] is Shape.EMAIL
        alike = [p for p in self.values if p not in chosen and self._alike(p, chosen, topic, addresses=addresses)]
        return sorted([*chosen, *alike], key=lambda one: one.order)

    def _alike(
        self, place: ResultPath, chosen: Iterable[ResultPath], topic: frozenset[str], *, addresses: bool
    ) -> bool:
        mine = self.values[place]
        if addresses:
            return all(is_email(value[1:-1]) for value in mine)
        key = key_of(place.path)
        if topic:
            return bool(topic & _nouns(place)) and any(key == key_of(other.path) for other in chosen)
        return any(key == key_of(other.path) != "" and mine & self.values[other] for other in chosen)


def _nouns(place: ResultPath) -> frozenset[str]:
    return words.nouns(place.target).union(*(words.nouns(part) for part in place.path if isinstance(part, str)))


def _trusted(tool: Tool) -> bool:
    return not (tool.dangerous or {Shape.URL, Shape.COMMAND, Shape.CODE} & set(tool.shapes.values()))


def statement(name: str, places: Iterable[ResultPath], tools: Mapping[str, Tool], choices: Mapping[str, Choice]) -> str:
    """The `known` that takes the values at these places from calls that are tied."""
    sources = []
    by_target: dict[str, list[ResultPath]] = {}
    for place in places:
        by_target.setdefault(place.target, []).append(place)
    for target, mine in by_target.items():
        paths = ", ".join(relative(place.path) for place in mine)
        # What was made was let in by a rule of its own.
        tests = tests_of(choices[target]) if tools[target].looks else []
        where = f" where ({bare(' and '.join(tests))})" if tests else ""
        sources.append(f"result of allowed tool {pattern(target)} at {paths}{where}")
    return f"known {name} = " + " or ".join(sources)
