"""Chooses for each tool the narrowest rule that lets the calls pass that are tied to something; the others ask."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from rebuno.policy.suggest import ways
from rebuno.policy.suggest.leaves import Shape
from rebuno.policy.suggest.text import Part, Path, listed, operand, quoted
from rebuno.policy.suggest.tool import Tool
from rebuno.policy.suggest.ways import Strength, Way

# Of so many values that all came from the request, the next one is expected to come from there too.
_PATTERN = 3


@dataclass(frozen=True, slots=True)
class Choice:
    """The calls that a rule lets pass, by number, and the ways of each path that occurs in them; a path that is not in
    all of them is `optional`."""

    calls: frozenset[int]
    ways: dict[Path, list[Way]]
    optional: frozenset[Path]

    @property
    def free(self) -> bool:
        """Whether no value is asked about but for links."""
        return all(way.sort == "free" for each in self.ways.values() for way in each)


def tied(tool: Tool) -> Choice | None:
    """The calls of which every value came from somewhere or is a literal that was seen often: their results tell of
    what the user asked about."""
    return _pick(tool, range(len(tool.calls)), lambda way: way.strength is not Strength.WEAK)


def choose(tool: Tool, often: int) -> Choice | None:
    """The calls that may run without a person, None if there are none."""
    if tool.dangerous:
        return None
    if tool.looks:
        closed = {path for path in tool.shapes if _from_request(tool, path)}
        return _pick(tool, range(len(tool.calls)), lambda way: True, closed=closed, loose=set(tool.shapes) - closed)
    found = _pick(tool, range(len(tool.calls)), lambda way: True)
    if found is None:
        return None
    solid = [number for number in sorted(found.calls) if _directed(tool, number)]
    if not solid:
        solid = [number for number in sorted(found.calls) if _only_prose(tool, number)]
        if len({tool.calls[number].run for number in solid}) < often:
            return None
    elif len(solid) == 1 and not _all_tied(tool, solid[0]):
        return None
    return _pick(tool, solid, lambda way: True)


def _from_request(tool: Tool, path: Path) -> bool:
    values = tool.values(path)
    runs = {tool.calls[number].run for number in tool.present(path)}
    narrow = [place for place, way in enumerate(tool.ways[path]) if way.strength is Strength.TIED]
    covered = set[int]().union(*(tool.fits[path, place] for place in narrow))
    several = len(set(map(quoted, values))) >= _PATTERN and len(runs) >= _PATTERN
    return several and covered >= tool.present(path)


def _fitting(tool: Tool, number: int, path: Path) -> list[Way]:
    return [way for place, way in enumerate(tool.ways[path]) if number in tool.fits.get((path, place), ())]


def _directed(tool: Tool, number: int) -> bool:
    """Whether something other than prose and numbers says what the call is about, and any day stands beside what is
    tied."""
    best = {
        path: min(way.strength for way in fitting)
        for path in tool.calls[number].args.leaves
        if (fitting := _fitting(tool, number, path))
    }
    loose = any(tool.shapes[path] is Shape.DATE and each is Strength.WEAK for path, each in best.items())
    if any(each is Strength.TIED and tool.shapes[path] is not Shape.TEXT for path, each in best.items()):
        return True
    return not loose and any(
        each is Strength.LITERAL and tool.shapes[path] is not Shape.NUMBER for path, each in best.items()
    )


def _only_prose(tool: Tool, number: int) -> bool:
    return all(tool.shapes[path] is Shape.TEXT for path in tool.calls[number].args.leaves)


def _all_tied(tool: Tool, number: int) -> bool:
    """Whether a single call is tied in all but its prose."""
    for path in tool.calls[number].args.leaves:
        best = min(way.strength for way in _fitting(tool, number, path))
        # A number is held to what was seen, and prose and a day say nothing that something tied does not.
        if best is not Strength.TIED and tool.shapes[path] not in (Shape.TEXT, Shape.DATE, Shape.NUMBER):
            return False
    return _directed(tool, number)


def _pick(
    tool: Tool,
    numbers: Iterable[int],
    usable: Callable[[Way], bool],
    *,
    closed: Collection[Path] = (),
    loose: Collection[Path] = (),
) -> Choice | None:
    def may(path: Path, way: Way) -> bool:
        if not usable(way) or (way.sort == "free" and path in closed):
            return False
        if path in loose and way.sort != "free" and any(other.sort == "free" for other in tool.ways[path]):
            return False
        return way.sort != "any day" or not _ever_tied(tool, path)

    places = {path: [place for place, way in enumerate(each) if may(path, way)] for path, each in tool.ways.items()}
    solid = set()
    for number in numbers:
        call = tool.calls[number]
        if call.args.whole and all(any(number in tool.fits[p, w] for w in places[p]) for p in call.args.leaves):
            solid.add(number)
    if not solid:
        return None
    chosen: dict[Path, list[Way]] = {}
    optional = set()
    for path in tool.ways:
        need = tool.present(path) & solid
        if need:
            chosen[path] = _cover(tool, path, need, places[path])
            if need != solid:
                optional.add(path)
    return Choice(frozenset(solid), chosen, frozenset(optional))


def _ever_tied(tool: Tool, path: Path) -> bool:
    return any(way.strength is Strength.TIED and tool.fits[path, n] for n, way in enumerate(tool.ways[path]))


def _cover(tool: Tool, path: Path, need: set[int], places: Sequence[int]) -> list[Way]:
    chosen: list[int] = []
    left = set(need)
    for place in places:
        if left & tool.fits[path, place]:
            chosen.append(place)
            left -= tool.fits[path, place]
    # A folder that holds all files needs no list of some of them.
    for place in [p for p in chosen if tool.ways[path][p].sort == "among"]:
        rest = [p for p in chosen if p != place]
        if rest and need <= set[int]().union(*(tool.fits[path, p] for p in rest)):
            chosen = rest
    weak = [place for place in chosen if tool.ways[path][place].strength is Strength.WEAK]
    if weak and need <= tool.fits[path, weak[0]]:
        chosen = weak[:1]
    # What the user names is as good as what a result holds, and a number that the user names may be any.
    sorts = {tool.ways[path][place].sort for place in chosen}
    if sorts & {"number", "known"} and places[0] not in chosen and tool.ways[path][places[0]].sort == "asked":
        chosen.insert(0, places[0])
    out, before = [], set[int]()
    for place in chosen:
        way, fits = tool.ways[path][place], tool.fits[path, place] & need
        out.append(way.narrow(tool.values(path, fits - before)) if way.narrow and fits - before else way)
        before |= fits
    return out


def tests_of(choice: Choice) -> list[str]:
    """What a rule asks of the values, a test a path."""
    return [ways.condition(path, each, optional=path in choice.optional) for path, each in choice.ways.items()]


def closed_keys(tool: Tool, choice: Choice) -> list[str]:
    """Tests that no object in the arguments has a key that was not seen."""
    objects: dict[Path, set[str]] = {}
    for number in choice.calls:
        for path, found in tool.calls[number].args.objects.items():
            objects.setdefault(path, set()).update(found)
    out = []
    for path, keys in sorted(objects.items(), key=lambda one: len(one[0])):
        what = operand("args", path)
        if keys:
            test = f"every key of {what} in {listed(keys)}"
            whole = path[:-1] if path and path[-1] is Part.EACH else path
            out.append(f"({operand('args', whole)} missing or {test})" if _left_out(tool, choice, path) else test)
        else:
            out.append(f"key of {what} missing")
    return out


def _left_out(tool: Tool, choice: Choice, path: Path) -> bool:
    """Whether an object is not in every call, or a call has no arguments at all."""
    calls = [tool.calls[number] for number in choice.calls]
    if not path:
        return any(call.facts.args is None for call in calls)
    return any(path not in call.args.objects for call in calls)


def something_given(tool: Tool, choice: Choice) -> list[str]:
    """Where every value that directs a call may be left out: a test that not all of them are."""
    directing = [path for path, each in choice.ways.items() if all(w.strength is not Strength.WEAK for w in each)]
    if not directing or tool.looks or any(path not in choice.optional for path in directing):
        return []
    names = [operand("args", path[:-1] if path[-1] is Part.EACH else path) for path in directing]
    return ["(" + " or ".join(f"{name} given" for name in names) + ")"]
