"""A tool with the calls of it that were seen, and which ways fit which of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rebuno.policy.suggest import folders, ways, words
from rebuno.policy.suggest.commands import commands_seen
from rebuno.policy.suggest.hints import Hints
from rebuno.policy.suggest.leaves import Shape, key_of, shape_of
from rebuno.policy.suggest.probe import Tried
from rebuno.policy.suggest.queries import reads_of
from rebuno.policy.suggest.seen import SeenCall
from rebuno.policy.suggest.text import Part, Path, quoted
from rebuno.policy.suggest.ways import LONGEST_LITERAL, MOST_LITERALS, Strength, Way


@dataclass(frozen=True, slots=True)
class SuggestSettings:
    """`often` is in how many executions a literal must have been seen, `asked` whether any execution has a request."""

    often: int
    asked: bool
    hints: Hints


@dataclass(eq=False)
class Tool:
    """A target with its calls. `ways` are those of each path, narrowest first, `fits` the numbers of the calls that a
    way fits, by path and place of the way. `doubtful` are the literals, as they are written, that only texts gave."""

    target: str
    calls: Sequence[SeenCall]
    looks: bool
    dangerous: bool
    shapes: dict[Path, Shape]
    ways: dict[Path, list[Way]] = field(default_factory=dict)
    fits: dict[tuple[Path, int], set[int]] = field(default_factory=dict)
    doubtful: dict[Path, set[str]] = field(default_factory=dict)

    def values(self, path: Path, calls: Iterable[int] | None = None) -> list[Any]:
        """The values at a path, in all calls or in some."""
        chosen = self.calls if calls is None else [self.calls[number] for number in sorted(calls)]
        return [value for call in chosen for value in call.args.leaves.get(path, ())]

    def present(self, path: Path) -> set[int]:
        """The calls that have a value at a path."""
        return {number for number, call in enumerate(self.calls) if path in call.args.leaves}

    def conditions(self) -> Iterable[str]:
        """All that must be asked to know which ways fit."""
        for path, each in self.ways.items():
            yield from (ways.condition(path, [way]) for way in each)

    def measure(self, probe: Tried) -> None:
        """Finds out which ways fit which calls."""
        for path, each in self.ways.items():
            present = self.present(path)
            for place, way in enumerate(each):
                asks = ways.condition(path, [way])
                self.fits[path, place] = {n for n in present if self._fits(way, n, path, asks, probe)}

    def _fits(self, way: Way, number: int, path: Path, asks: str, probe: Tried) -> bool:
        call = self.calls[number]
        if way.sort == "asked" and not all(map(ways.telling, call.args.leaves[path])):
            return False
        return probe.holds(asks, call.facts)


def read_tool(target: str, calls: Sequence[SeenCall], settings: SuggestSettings) -> Tool:
    """A tool with all ways but those by results, which need other tools to be known first."""
    paths = dict.fromkeys(path for call in calls for path in call.args.leaves)
    tool = Tool(target, calls, settings.hints.looks(target), words.dangerous(target), {})
    for path in paths:
        tool.shapes[path] = shape_of(path, tool.values(path))
    for path in paths:
        tool.ways[path] = list(_ways(tool, path, settings))
    return tool


def _ways(tool: Tool, path: Path, settings: SuggestSettings) -> Iterable[Way]:
    shape, values = tool.shapes[path], tool.values(path)
    runs = shape in (Shape.COMMAND, Shape.SQL, Shape.CODE)
    hosted = all(call.facts.workdir for call in tool.calls)
    if settings.asked and not runs and (way := ways.asked(shape, values)):
        yield folders.harmless(way, writes=not tool.looks) if shape is Shape.PATH and hosted else way
    bare = tuple(part for part in path if not isinstance(part, Part))
    declared = settings.hints.options(tool.target, bare)
    if declared and all(value in declared for value in values):
        yield ways.declared(values)
    secret = any(words.names_secret(part) for part in bare)
    found = [] if secret else literals(tool, path, settings.often)
    frequent = [value for value in found if not isinstance(value, float)]
    if shape is Shape.URL:
        if pages := [value for value in frequent if isinstance(value, str) and ways.host_in(value)]:
            yield ways.pages(pages)
    elif shape is Shape.COMMAND:
        yield from commands_seen(tool.calls, path, settings.often)
    elif shape is Shape.SQL:
        if (way := reads_of(literals(tool, path, settings.often))) is not None:
            yield way
        elif frequent and _few(frequent, values):
            yield ways.among(frequent)
    elif shape is Shape.PATH:
        places = [(value, call.facts.workdir) for call in tool.calls for value in call.args.leaves.get(path, ())]
        if way := folders.under(key_of(path), places, writes=not tool.looks):
            yield way
        if frequent:
            yield ways.among(frequent[:MOST_LITERALS])
    elif frequent and shape not in (Shape.TEXT, Shape.NUMBER) and _few(frequent, values):
        yield ways.among(frequent)
    if shape is Shape.NUMBER:
        yield ways.up_to(values)
    elif tool.looks and shape in (Shape.TEXT, Shape.TOKEN, Shape.EMAIL, Shape.DATE):
        yield _free(settings)
    elif shape is Shape.TEXT and words.runs(tool.target):
        return
    elif shape is Shape.TEXT and Shape.PATH in tool.shapes.values() and hosted:
        # What is written into a file of the project may name any page.
        yield Way("text", f"{ways.OPERAND} is string", Strength.WEAK)
    elif shape is Shape.TEXT:
        yield ways.prose(asked=settings.asked)
    elif shape is Shape.DATE:
        yield ways.ANY_DAY


def _few(frequent: Sequence[Any], values: Sequence[Any]) -> bool:
    """Whether the values are a few that come again, and not many of which some happened to come twice."""
    again = sum(
        any(value is one or (type(value) is type(one) and value == one) for one in frequent) for value in values
    )
    return len(frequent) <= MOST_LITERALS and 2 * again >= len(values)


def _free(settings: SuggestSettings) -> Way:
    way = ways.prose(asked=settings.asked)
    return Way("free", way.template, Strength.WEAK)


def literals(tool: Tool, path: Path, often: int) -> list[Any]:
    """The values that were seen in several executions.

    One that stands in what an earlier step brought, and not in the request, is doubtful: it counts once for each
    request, since the same trap may lie in the way of the same task each day, and a tool that changes something must
    have had it in one request more.
    """
    seen: dict[tuple[type, Any], dict[int, SeenCall]] = {}
    for call in tool.calls:
        for value in call.args.leaves.get(path, ()):
            if len(str(value)) <= LONGEST_LITERAL:
                seen.setdefault((type(value), value), {}).setdefault(call.run, call)
    found = []
    for (_, value), runs in seen.items():
        if len(runs) < often:
            continue
        sure = [run for run, call in runs.items() if not _brought(call, value)]
        if len(sure) < often:
            requests = {call.request for run, call in runs.items() if run not in sure}
            if len(sure) + len(requests) < (often if tool.looks else often + 1):
                continue
            tool.doubtful.setdefault(path, set()).add(quoted(value))
        found.append(value)
    return found


def _brought(call: SeenCall, value: Any) -> bool:
    """Whether an earlier step brought a text with the value, and the user wrote none; unknown without a request."""
    asked = call.request
    if not isinstance(value, str) or asked is None or value in asked:
        return False
    return call.brought.holds(value, call.facts.as_of)


def tools_of(calls: Iterable[SeenCall], settings: SuggestSettings) -> Mapping[str, Tool]:
    """The tools of some calls, by name, in the order of their first call."""
    found: dict[str, list[SeenCall]] = {}
    for call in calls:
        found.setdefault(call.target, []).append(call)
    return {target: read_tool(target, mine, settings) for target, mine in found.items()}
