"""Steps to try claims on: the cases, their mutations, and steps made of the values that stand in a bundle.

Everything is in a fixed order, so that a run finds what the last run found.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import islice
from random import Random
from typing import Any, Final

from rebuno.model.step import Kind, StepStatus
from rebuno.policy.facets.path.begins import CWD
from rebuno.policy.matcher.beginnings import begins
from rebuno.policy.matcher.build import names_of
from rebuno.policy.matcher.operands import chain_of
from rebuno.policy.matcher.sessions import of_session
from rebuno.policy.syntax import tree
from rebuno.policy.testing.cases import CaseSubmission, EarlierStep

# Steps that `policy test` tries, besides the cases.
MOST_TRIES: Final = 2_000

_KINDS: Final = {"tool": Kind.TOOL, "llm": Kind.LLM, "local": Kind.LOCAL}
_LEFT_OUT: Final = object()
# Values that tests of every sort meet at their edges.
_ODD: Final[tuple[Any, ...]] = (_LEFT_OUT, None, [], "", "x", 0, -1, 10**12, "5", True, ["x"], {}, [None])
_MOST_VALUES: Final = 40  # of one place
_MOST_COUNTED: Final = 60  # earlier steps
_TOGETHER: Final = 8  # changes of one seed before the next seed's
# Where bundles look for the user's words.
_BEGINNINGS: Final = ("src", "..", "/")
_KEYS_OF_INPUT: Final = ("request",)

Way = tuple[str, ...]


class NamedThings:
    """What a bundle names: its targets, the places that it looks at in arguments, and the values that it compares
    them with."""

    def __init__(self, bundle: tree.Bundle) -> None:
        self._values = names_of(bundle).values
        self.targets: dict[tuple[Kind, str], None] = {}
        self.places: dict[Way, list[Any]] = {}
        self.counts: dict[int, None] = {}
        # Where a session works, if relative paths start there.
        self.folders: tuple[str, ...] = ("/work", "", "/") if of_session(bundle) else ()
        loose: list[Any] = []
        for node in _nodes(bundle.statements):
            if isinstance(node, tree.Subject):
                self._subject(node)
            elif isinstance(node, tree.Test):
                self._test(node, loose)
            elif isinstance(node, tree.Count):
                self.counts.update(dict.fromkeys((node.number - 1, node.number, node.number + 1)))
        for found in self.places.values():
            found += [value for value in loose if not _among(value, found)]
            del found[_MOST_VALUES:]

    def full(self, kind: Kind, target: str) -> CaseSubmission:
        """A step with something at every place, all of which the user wrote."""
        args: Any = {}
        for place, values in self.places.items():
            args = _put(args, place, next((value for value in values if type(value) in (str, int, float)), "word"))
        return CaseSubmission(kind, target, args, input=_asked(args), workdir=next(iter(self.folders), ""))

    def _subject(self, subject: tree.Subject) -> None:
        for group in subject.groups:
            for item in group.patterns:
                listed = self._values[item.text] if isinstance(item, tree.Name) else [item.value]
                for text in listed if isinstance(listed, list) else [listed]:
                    if isinstance(text, str):
                        self.targets.setdefault((_KINDS[group.kind], _filled(text)))
        if not subject.groups:
            self.targets.setdefault((Kind.TOOL, "anything"))

    def _test(self, test: tree.Test, loose: list[Any]) -> None:
        compared = _compared(test.right, self._values)
        for path in test.operand.paths:
            keys = tuple(part.name for part in path.parts if isinstance(part, tree.Key))
            if path.root in ("args", "it") and (keys or path.root == "it"):
                found = self.places.setdefault(keys, []) if path.root == "args" else loose
                for value in compared:
                    found += [one for one in _near(value) if not _among(one, found)]
            if path.root == "args" and keys and begins(chain_of(test.operand.facets)):
                # Commands begin in the `cwd` beside them.
                beside = self.places.setdefault((*keys[:-1], CWD), [])
                beside += [one for one in _BEGINNINGS if not _among(one, beside)]
        right = test.right
        for path in right.paths if isinstance(right, tree.Operand) else ():
            if path.root in ("args", "this"):
                keys = tuple(part.name for part in path.parts if isinstance(part, tree.Key) and part.name != "args")
                self.places.setdefault(keys, [])


def steps_to_try(
    bundle: tree.Bundle, cases: Sequence[CaseSubmission], most: int = MOST_TRIES
) -> Iterator[CaseSubmission]:
    """Every case, then at most so many steps that are made of them and of the bundle."""
    around = NamedThings(bundle)
    yield from cases
    yield from islice(_made(around, cases), most)


def _made(around: NamedThings, cases: Sequence[CaseSubmission]) -> Iterator[CaseSubmission]:
    seeds = _distinct(cases)
    for kind, target in around.targets:
        seeds += [CaseSubmission(kind, target, {}), around.full(kind, target)]
    # A few changes of each seed in turn, so that a bound does not leave out those of the last seeds.
    waiting = [_changed(seed, around) for seed in seeds]
    while waiting:
        for changes in tuple(waiting):
            some = list(islice(changes, _TOGETHER))
            yield from some
            if len(some) < _TOGETHER:
                waiting.remove(changes)
        yield from islice(_random_steps(around, seeds, Random(len(waiting))), _TOGETHER * len(waiting))
    yield from _random_steps(around, seeds, Random(0))


def random_steps(bundle: tree.Bundle, seeds: Sequence[CaseSubmission], draw: Random) -> Iterator[CaseSubmission]:
    """Steps with several changes at once, without end; none where there is nothing to begin with."""
    return _random_steps(NamedThings(bundle), seeds, draw)


def _random_steps(around: NamedThings, seeds: Sequence[CaseSubmission], draw: Random) -> Iterator[CaseSubmission]:
    targets = list(around.targets)
    while seeds or targets:
        step = draw.choice(seeds) if seeds else CaseSubmission(*draw.choice(targets), {})
        if targets and draw.random() < 0.3:
            kind, target = draw.choice(targets)
            step = replace(step, kind=kind, target=target)
        for _ in range(draw.randint(1, 4)):
            step = _CHANGES[draw.randrange(len(_CHANGES))](step, around, draw)
        yield step


# ---------------------------------------------------------------- single changes


def _changed(seed: CaseSubmission, around: NamedThings) -> Iterator[CaseSubmission]:
    yield seed
    yield from _other_past(seed, around)
    for place, values in around.places.items():
        for value in (*_ODD, *values):
            changed = _put(seed.args, place, value)
            yield replace(seed, args=changed)
            if value:
                yield replace(seed, args=changed, input=_asked(changed))
    yield replace(seed, input=None)
    yield replace(seed, parent="other")
    yield replace(seed, args={})
    for folder in around.folders:
        if folder != seed.workdir:
            yield replace(seed, workdir=folder)
    for kind, target in around.targets:
        yield replace(seed, kind=kind, target=target)


def _other_past(seed: CaseSubmission, around: NamedThings) -> Iterator[CaseSubmission]:
    if seed.history:
        yield replace(seed, history=())
        for status in (StepStatus.EXECUTING, StepStatus.FAILED):
            yield replace(seed, history=tuple(replace(step, status=status) for step in seed.history))
    for number in around.counts:
        if 0 < number <= _MOST_COUNTED:
            for status in (StepStatus.SUCCEEDED, StepStatus.EXECUTING):
                yield replace(seed, history=(*seed.history, *_repeated(seed, number, status)))


def _repeated(step: CaseSubmission, number: int, status: StepStatus) -> tuple[EarlierStep, ...]:
    return (EarlierStep(step.kind, step.target, step.args, None, status),) * number


# ---------------------------------------------------------------- random changes


def _other_value(step: CaseSubmission, around: NamedThings, draw: Random) -> CaseSubmission:
    if not around.places:
        return step
    place = draw.choice(list(around.places))
    values = [*_ODD, *around.places[place]]
    value = draw.choice(values)
    if draw.random() < 0.2:
        value = [one for one in (value, draw.choice(values)) if one is not _LEFT_OUT]
    return replace(step, args=_put(step.args, place, value))


def _other_input(step: CaseSubmission, around: NamedThings, draw: Random) -> CaseSubmission:
    return replace(step, input=_asked(step.args))


def _other_history(step: CaseSubmission, around: NamedThings, draw: Random) -> CaseSubmission:
    counts = [number for number in around.counts if 0 < number <= _MOST_COUNTED] or [1]
    status = draw.choice((StepStatus.SUCCEEDED, StepStatus.EXECUTING, StepStatus.FAILED))
    if draw.random() < 0.3:
        return replace(step, history=step.history[: draw.randint(0, len(step.history))])
    return replace(step, history=(*step.history, *_repeated(step, draw.choice(counts), status)))


def _other_parent(step: CaseSubmission, around: NamedThings, draw: Random) -> CaseSubmission:
    return replace(step, parent="" if step.parent else "other")


_Change = Callable[[CaseSubmission, NamedThings, Random], CaseSubmission]
_CHANGES: Final[tuple[_Change, ...]] = (
    *(_other_value,) * 6,
    _other_input,
    _other_input,
    _other_history,
    _other_parent,
)


# ---------------------------------------------------------------- values


def _compared(right: Any, values: Any) -> list[Any]:
    """The values that a test compares with, as far as they stand in the bundle."""
    match right:
        case tree.Literal(value):
            return [value]
        case tree.ListLiteral(items):
            return [item.value for item in items if isinstance(item, tree.Literal)]
        case tree.Name(text) if text in values:
            found = values[text]
            return list(found) if isinstance(found, list) else [found]
        case _:
            return []


def _near(value: Any) -> list[Any]:
    if type(value) is str:
        filled = _filled(value)
        return [filled, f"{filled}x", f"x{filled}", filled.swapcase(), [filled]]
    if type(value) is int or type(value) is float:
        return [value, value + 1, value - 1, str(value), [value]]
    return [value]


def _filled(pattern: str) -> str:
    """A text that a glob matches, if it has no class."""
    return pattern.replace("*", "x").replace("?", "x")


def _put(args: Any, place: Way, value: Any) -> Any:
    """The arguments with a value at a place, or with nothing there."""
    if not place:
        return value if value is not _LEFT_OUT else {}
    out = dict(args) if type(args) is dict else {}
    key, *rest = place
    if rest:
        out[key] = _put(out.get(key), tuple(rest), value)
    elif value is _LEFT_OUT:
        out.pop(key, None)
    else:
        out[key] = value
    return out


def _asked(args: Any) -> dict[str, str]:
    """An input in which the user wrote every text and number of the arguments."""
    return dict.fromkeys(_KEYS_OF_INPUT, " ".join(_texts(args)))


def _texts(value: Any) -> Iterator[str]:
    stack = [value]
    while stack:
        one = stack.pop()
        if type(one) in (str, int, float):
            yield str(one)
        elif type(one) is list:
            stack.extend(one)
        elif type(one) is dict:
            stack.extend(one.values())


def _among(value: Any, found: Sequence[Any]) -> bool:
    # 1, 1.0 and true are equal in Python.
    return any(type(one) is type(value) and one == value for one in found)


def _distinct(cases: Sequence[CaseSubmission]) -> list[CaseSubmission]:
    found: list[CaseSubmission] = []
    for case in cases:
        if case not in found:
            found.append(case)
    return found


def _nodes(statements: tuple[tree.Statement, ...]) -> Iterator[Any]:
    stack: list[Any] = list(reversed(statements))
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            stack.extend(reversed(node))
        elif is_dataclass(node) and not isinstance(node, tree.Span):
            yield node
            stack.extend(getattr(node, field.name) for field in reversed(fields(node)))
