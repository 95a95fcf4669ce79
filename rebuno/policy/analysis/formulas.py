"""Conditions as formulas: named conditions written out, `not` pushed down to the tests, and each test taken apart."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rebuno.policy.analysis.accepted_values import accepted_values
from rebuno.policy.analysis.value_sets import ValueSet
from rebuno.policy.facets.reading import Facet, PathContext
from rebuno.policy.matcher.operands import Block, lens, literal, normal_right, path_context
from rebuno.policy.matcher.tests import signs
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.shapes import Shape, shape
from rebuno.policy.syntax.tree import Op

# Nodes of a formula; a larger one is not looked into.
_LARGEST: Final = 400


class Opaque:
    """The right side of a test that is only known once the step is."""

    __slots__ = ()


OPAQUE: Final = Opaque()


@dataclass(eq=False, slots=True)
class Atom:
    """A test, or what cannot be taken apart. `place` tells whose elements it is about, `text` what it asks of them,
    negation aside; equal ones are equal. `every` is as `signs` gives it; `hollow` tells that there may be no element
    at all. `raw` is the right side as written, `right` as the facet writes it."""

    test: s.Expr
    place: str
    text: str
    negated: bool
    every: bool | None = None
    op: Op | None = None
    raw: Any = OPAQUE
    right: Any = OPAQUE
    fold: bool = False
    facet: Facet | None = None
    hollow: bool = False
    inner: "Formula | None" = None
    _sets: dict[tuple[bool, bool], ValueSet] = field(default_factory=dict)

    def of(self, test: s.Test) -> "Atom":
        """The same of an equal test; the two share what they accept."""
        return Atom(
            test,
            self.place,
            self.text,
            self.negated,
            self.every,
            self.op,
            self.raw,
            self.right,
            self.fold,
            self.facet,
            self.hollow,
            self.inner,
            self._sets,
        )

    @property
    def drawn(self) -> bool:
        """Whether the values that it accepts can be drawn at all: no reading of a facet's own is compared."""
        return self.op is not None and self.inner is None and not isinstance(self.right, Opaque)

    def values(self, *, sure: bool, at_most: bool) -> ValueSet:
        """The element's values for which it is yes (`sure`), or yes or maybe; see `accepted`."""
        key = (sure, at_most)
        found = self._sets.get(key)
        if found is None and self.op is not None:
            found = self._sets[key] = accepted_values(
                self.op, self.right, self.fold, negated=self.negated, sure=sure, at_most=at_most
            )
        if found is None:
            raise AssertionError("no values of what is no test")
        return found


@dataclass(frozen=True, slots=True)
class AllOf:
    """Kleene's and."""

    items: "tuple[Formula, ...]"


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Kleene's or."""

    items: "tuple[Formula, ...]"


Formula = Atom | AllOf | AnyOf

# Facets whose values are always plain texts or numbers.
_PLAIN: Final = frozenset({"host", "scheme", "port", "address", "domain", "size", "number", "statement", "key"})

# Facets that give at least one element of every text that they can read.
_NEVER_EMPTY: Final = frozenset({"command", "program"})


class Formulas:
    """Makes the formulas of one bundle's conditions, in which `check` has found no error."""

    def __init__(self, bundle: s.Bundle) -> None:
        self.context: PathContext = path_context(bundle)
        self.values: dict[str, Any] = {}
        self._conditions: dict[str, s.Expr] = {}
        self._left = 0
        self._atoms: dict[tuple[Shape, bool], Atom] = {}
        for statement in bundle.statements:
            if isinstance(statement, s.Let) and not isinstance(statement.value, s.FileValue):
                self.values[statement.name.text] = literal(statement.value, {})
            elif isinstance(statement, s.Condition):
                self._conditions[statement.name.text] = statement.expr

    def rule(self, rule: s.Rule, *, negated: bool = False) -> Formula:
        """What a rule asks of a step that its subject means, or its negation."""
        self._left = _LARGEST
        parts = [
            self._formula(clause.expr, isinstance(clause, s.Unless) is not negated, None)
            for clause in rule.clauses
            if isinstance(clause, s.When | s.Unless)
        ]
        if len(parts) == 1:
            return parts[0]
        return AnyOf(tuple(parts)) if negated else AllOf(tuple(parts))

    def condition(self, expr: s.Expr) -> Formula:
        """What a condition asks."""
        self._left = _LARGEST
        return self._formula(expr, negated=False, block=None)

    def _formula(self, expr: s.Expr, negated: bool, block: Block | None) -> Formula:
        self._left -= 1
        if self._left < 0:
            return Atom(expr, "", repr(expr), negated)
        match expr:
            case s.Not(item):
                return self._formula(item, not negated, block)
            case s.And(items) | s.Or(items):
                parts = tuple(self._formula(item, negated, block) for item in items)
                return AllOf(parts) if isinstance(expr, s.And) is not negated else AnyOf(parts)
            case s.ConditionRef(name) if name.text in self._conditions:
                return self._formula(self._conditions[name.text], negated, None)
            case s.Test():
                return self._test(expr, negated, block) if block is not None else self._alike(expr, negated)
            case _:
                return Atom(expr, "", repr(expr), negated)

    def _alike(self, test: s.Test, negated: bool) -> Formula:
        # Equal tests are taken apart once, and what they accept is drawn once.
        look = shape(test)
        if look is None:
            return self._test(test, negated, None)
        one = self._atoms.get((look, negated))
        if one is None:
            one = self._atoms[look, negated] = self._test(test, negated, None)
        return one.of(test)

    def _test(self, test: s.Test, negated: bool, block: Block | None) -> Atom:
        op, flipped, every = signs(test, negated)
        look = lens(test.operand, op, block)
        many = len(test.operand.paths) > 1 or any(path.many for path in test.operand.paths)
        names = ",".join(facet.name for facet in look.chain)
        place = f"{names}|{look.facet.name if look.facet else ''}|{';'.join(map(_path, test.operand.paths))}"
        hollow = any(facet.many and facet.name not in _NEVER_EMPTY for facet in look.chain)
        if test.block is not None:
            inner = self._formula(test.block, flipped, Block(look.facet))
            return Atom(test, place, repr(test), flipped, every, op, facet=look.facet, hollow=hollow, inner=inner)
        raw = self._right(test)
        shown = repr(test.right) if isinstance(raw, Opaque) else repr(raw)
        text = f"{op.value} {shown}{' fold' if test.ignoring_case else ''}"
        if op is Op.GIVEN and (many or look.chain):
            return Atom(test, f"given {place}", text, flipped)
        right = self._normal(op, raw, look.facet)
        return Atom(test, place, text, flipped, every, op, raw, right, test.ignoring_case, look.facet, hollow)

    def _right(self, test: s.Test) -> Any:
        if isinstance(test.right, s.Operand) or (isinstance(test.right, s.Name) and test.right.text not in self.values):
            return OPAQUE
        return literal(test.right, self.values) if test.right is not None else None

    def _normal(self, op: Op, raw: Any, facet: Facet | None) -> Any:
        if facet is None or op is Op.GIVEN or isinstance(raw, Opaque):
            return raw
        if op is Op.UNDER or op is Op.IS or facet.name not in _PLAIN:
            return OPAQUE
        try:
            return normal_right(facet, op, raw, self.context)
        except ValueError:
            return OPAQUE


def branches(formula: Formula, most: int) -> list[tuple[Atom, ...]] | None:
    """The formula as alternatives, each a list of tests that hold together; None where there are more than `most`."""
    if isinstance(formula, Atom):
        return [(formula,)]
    parts = [branches(item, most) for item in formula.items]
    if any(part is None for part in parts):
        return None
    known = [part for part in parts if part is not None]
    out: list[tuple[Atom, ...]] = [()] if isinstance(formula, AllOf) else []
    for part in known:
        if isinstance(formula, AnyOf):
            out = [*out, *part]
        elif len(out) * len(part) > most:
            return None
        else:
            out = [(*one, *other) for one in out for other in part]
    return out if len(out) <= most else None


def atoms(formula: Formula) -> list[Atom]:
    """Every test of a formula."""
    out: list[Atom] = []
    stack: list[Formula] = [formula]
    while stack:
        found = stack.pop()
        if isinstance(found, Atom):
            out.append(found)
        else:
            stack.extend(reversed(found.items))
    return out


def together(formula: Formula) -> Iterator[Atom]:
    """The tests that hold wherever a formula holds."""
    if isinstance(formula, Atom):
        yield formula
    elif isinstance(formula, AllOf):
        for item in formula.items:
            yield from together(item)


def plain(found: Iterable[Atom]) -> list[Atom]:
    """These tests and those in blocks about elements that no facet has read."""
    out: list[Atom] = []
    for atom in found:
        within = [] if atom.inner is None or atom.facet is not None else plain(atoms(atom.inner))
        out += [atom, *within]
    return out


def _path(path: s.Path) -> str:
    # `args["a"]` and `args.a` are one place.
    parts: Sequence[s.PathPart] = path.parts
    return path.root + "".join(repr(part.name) if isinstance(part, s.Key) else f"[{part}]" for part in parts)
