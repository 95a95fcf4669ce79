"""Finds the earlier steps with `args.X == this.args.Y` by the value, so that no submission looks at all of them.

Two values of one form (their types, keys and lengths) are equal or different. Values of different forms may compare
maybe, so steps of such forms are looked at one by one; few histories have many forms.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from rebuno.policy.facets.predicates import predicate
from rebuno.policy.matcher.amounts import Number, Tally
from rebuno.policy.matcher.facts import Evidence, Facts
from rebuno.policy.matcher.operands import weight
from rebuno.policy.matcher.paths import one
from rebuno.policy.matcher.runs import Run, Runs
from rebuno.policy.syntax import tree
from rebuno.policy.syntax.tree import Op
from rebuno.policy.values.json_values import UNREADABLE, Tri, absent, key_of, type_name

# Larger and deeper values are looked at one by one.
_MOST_NODES: Final = 1_000
_DEEPEST: Final = 32

_equal: Final = predicate(Op.EQ, False)

# The form of a value and its key among values of that form.
_Keyed = tuple[Any, Any]


class Equality(NamedTuple):
    """A part of a `where` that compares a value of the earlier step with one of the submission, or of the enclosing
    step. `given` begins at `this` or `outer`; `rest` is what else the `where` asks."""

    step: tree.Path
    given: tree.Path
    rest: tree.Expr | None


def equality_first(where: tree.Expr) -> tuple[tree.Expr, Equality | None]:
    """The `where` with a part that an index answers before all others, and that part.

    INVARIANT: both evaluators ask in this order, so both count the same element tests.
    """
    items = where.items if isinstance(where, tree.And) else (where,)
    for position, item in enumerate(items):
        found = _sides(item)
        if found is not None:
            others = (*items[:position], *items[position + 1 :])
            if not others:
                return where, Equality(*found, None)
            rest = others[0] if len(others) == 1 else tree.And(others, where.span)
            ordered = tree.And((item, *others), where.span)
            return ordered, Equality(*found, rest)
    return where, None


def _sides(expr: tree.Expr) -> tuple[tree.Path, tree.Path] | None:
    if not isinstance(expr, tree.Test) or expr.op is not Op.EQ or expr.negated or expr.ignoring_case:
        return None
    left, right = expr.operand, expr.right
    if not isinstance(right, tree.Operand) or left.quantifier is not None or left.facets or right.facets:
        return None
    if len(left.paths) > 1 or left.paths[0].many or right.paths[0].many:
        return None
    one_side, other = left.paths[0], right.paths[0]
    for step, given in ((one_side, other), (other, one_side)):
        if step.root in ("args", "result", "target") and given.root in ("this", "outer"):
            return step, given
    return None


def _keyed(value: Any) -> _Keyed | None:
    """The form and the key of a value that is there; None for one that is looked at by itself."""
    if type(value) is not list and type(value) is not dict:
        key = key_of(value)
        return None if key is None else (type_name(value), key)
    left = [_MOST_NODES]
    return _keyed_parts(value, left, 0)


def _keyed_parts(value: Any, left: list[int], depth: int) -> _Keyed | None:
    left[0] -= 1
    if left[0] < 0 or depth > _DEEPEST:
        return None
    if type(value) is list:
        parts = [_keyed_parts(item, left, depth + 1) for item in value]
        keyed = [part for part in parts if part is not None]
        if len(keyed) < len(parts):
            return None
        return ("list", *[form for form, _ in keyed]), tuple([key for _, key in keyed])
    if type(value) is dict:
        names = list(value)
        if any(key_of(name) is None or type(name) is not str for name in names):
            return None
        names.sort()
        parts = [_keyed_parts(value[name], left, depth + 1) for name in names]
        keyed = [part for part in parts if part is not None]
        if len(keyed) < len(parts):
            return None
        forms = tuple([(name, form) for name, (form, _) in zip(names, keyed, strict=True)])
        return ("object", *forms), tuple([key for _, key in keyed])
    if value is None:
        return "null", None
    key = key_of(value)
    return None if key is None else (type_name(value), key)


def _may_be_equal(one_form: Any, other: Any) -> bool:
    """Whether values of two different forms can compare maybe; else they differ for sure."""
    if type(one_form) is not tuple or type(other) is not tuple or one_form[0] != other[0]:
        return True
    if len(one_form) != len(other):
        return False
    if one_form[0] == "list":
        return all(map(_may_be_equal, one_form[1:], other[1:]))
    return all(a == b and _may_be_equal(x, y) for (a, x), (b, y) in zip(one_form[1:], other[1:], strict=True))


# How a step counts, its amount, and the element tests that the rest of the `where` counts for it.
Part = tuple[Tri, Number | None, int]


class Bucket:
    """Steps with one value. If what else the `where` asks does not depend on the submission, `total` is what they come
    to, and `cost` the element tests that this counts for."""

    __slots__ = ("cost", "runs", "total")

    def __init__(self) -> None:
        self.runs: dict[Run, Part | None] = {}
        self.total = Tally()
        self.cost = 0

    def put(self, run: Run, part: Part | None) -> None:
        """Adds a step."""
        self.runs[run] = part
        if part is not None:
            self.total.add(part[1], part[0])
            self.cost += part[2]

    def take(self, run: Run) -> None:
        """Takes a step out."""
        part = self.runs.pop(run)
        if part is not None:
            self.total.add(part[1], part[0], -1)
            self.cost -= part[2]


class ValueIndex:
    """The steps of one history by their value at a path. `weight` is the sum of the element tests that the values count
    for. `part` finds out how a step counts, if that does not depend on the submission."""

    __slots__ = ("_forms", "_loose", "_part", "_path", "_place", "_read", "_values", "agent", "input", "runs", "weight")

    def __init__(self, path: tree.Path, runs: Runs, facts: Facts, part: Callable[[Run], Part] | None) -> None:
        self.agent = facts.agent
        self.input = facts.input
        self.runs = runs
        self.weight = 0
        self._path = path
        self._part = part
        self._read = 0
        self._forms: dict[Any, dict[Any, Bucket]] = {}
        self._loose = Bucket()
        self._place: dict[Run, Bucket | None] = {}
        self._values: dict[Run, Any] = {}

    def follow(self) -> None:
        """Files what has happened since."""
        for run in self.runs.changes[self._read :]:
            self._file(run)
        self._read = len(self.runs.changes)

    def _file(self, run: Run) -> None:
        if run in self._values:
            self.weight -= weight(self._values[run])
            place = self._place[run]
            if place is not None:
                place.take(run)
        value = self._values[run] = _value_of(run.last, self._path)
        self.weight += weight(value)
        place = self._place[run] = None if absent(value) else self._bucket(value)
        if place is not None:
            place.put(run, None if self._part is None else self._part(run))

    def _bucket(self, value: Any) -> Bucket:
        keyed = _keyed(value)
        if keyed is None:
            return self._loose
        buckets = self._forms.setdefault(keyed[0], {})
        bucket = buckets.get(keyed[1])
        if bucket is None:
            bucket = buckets[keyed[1]] = Bucket()
        return bucket

    def find(self, given: Any) -> tuple[Bucket, list[tuple[Run, Part | None]]] | None:
        """The steps whose value equals `given` for sure, and those whose value may; None if no key tells."""
        keyed = None if absent(given) else _keyed(given)
        if keyed is None:
            return None
        form, key = keyed
        perhaps = [(run, part) for run, part in self._loose.runs.items() if self._compare(run, given) is not False]
        for other, buckets in self._forms.items():
            if other != form and _may_be_equal(other, form):
                perhaps += [
                    (run, part)
                    for bucket in buckets.values()
                    for run, part in bucket.runs.items()
                    if self._compare(run, given) is not False
                ]
        return self._forms.get(form, {}).get(key, _NOTHING), perhaps

    def _compare(self, run: Run, given: Any) -> Tri:
        value = self._values[run]
        return None if value is UNREADABLE else _equal(value, given)


_NOTHING: Final = Bucket()


def _value_of(step: Evidence, path: tree.Path) -> Any:
    if path.root == "target":
        return one(step.target, path.parts)
    root = step.args if path.root == "args" else step.result if step.succeeded else UNREADABLE
    return one(root, path.parts)
