"""Whether one condition always holds where another does, told from the text alone. A yes is certain; a no only means
that it could not be shown.

The bounds of a decision are left aside: what is maybe only because there were too many elements is taken for itself.
"""

from collections.abc import Sequence
from typing import Final, Literal

from rebuno.policy.analysis.formulas import OPAQUE, AllOf, AnyOf, Atom, Formula, atoms, branches
from rebuno.policy.analysis.glob_sets import within
from rebuno.policy.analysis.value_sets import ValueSet
from rebuno.policy.facets.predicates import predicate
from rebuno.policy.facets.reading import Facet, PathContext
from rebuno.policy.facets.shell.command import CommandPattern
from rebuno.policy.matcher.operands import normal
from rebuno.policy.syntax.keywords import FACET_MODULES as OWN
from rebuno.policy.syntax.tree import Op

# Alternatives of a condition that are looked at.
_MOST: Final = 64
_SINGLE: Final = (Op.EQ, Op.IN, Op.LIKE, Op.MATCHES, Op.STARTS, Op.ENDS, Op.LT, Op.LE, Op.GT, Op.GE)
_PARTS: Final = (Op.LIKE, Op.MATCHES, Op.STARTS, Op.ENDS, Op.CONTAINS, Op.CONTAINS_ANY)


class CountedCondition:
    """A condition and when it counts: where it is yes (`sure`), or where it is yes or maybe."""

    __slots__ = ("_alternatives", "formula", "needed", "places", "sure")

    def __init__(self, formula: Formula, *, sure: bool) -> None:
        self.formula = formula
        self.sure = sure
        parts = formula.items if isinstance(formula, AllOf) else (formula,)
        # Of each of these sets whatever implies it must ask about one place.
        self.needed = tuple(frozenset(atom.place for atom in atoms(part)) for part in parts)
        self.places: frozenset[str] = frozenset[str]().union(*self.needed)
        self._alternatives: list[_Conjunction] | Literal[False] | None = False  # False: not drawn yet

    @property
    def alternatives(self) -> "list[_Conjunction] | None":
        """What holds together, one way or another; None where there are too many ways. Most conditions are compared
        with none that asks about the same places, so they are drawn only where one does."""
        if self._alternatives is False:
            found = branches(self.formula, _MOST)
            self._alternatives = None if found is None else [_Conjunction(one, self.sure) for one in found]
        return self._alternatives

    def near(self, places: frozenset[str]) -> bool:
        """Whether what asks about these places only may imply it."""
        return not any(needed.isdisjoint(places) for needed in self.needed)

    def never(self) -> bool:
        """Whether it can be shown never to count."""
        return self.alternatives is not None and all(one.contradicts for one in self.alternatives)


class _Conjunction:
    """Tests that hold together. `met` tells of each place with a single value what that can be."""

    __slots__ = ("atoms", "contradicts", "met", "places", "sure")

    def __init__(self, atoms: tuple[Atom, ...], sure: bool) -> None:
        self.atoms = atoms
        self.sure = sure
        self.places = frozenset(atom.place for atom in atoms)
        self.met: dict[str, ValueSet] = {}
        for atom in atoms:
            if _single(atom):
                values = atom.values(sure=sure, at_most=True)
                before = self.met.get(atom.place)
                self.met[atom.place] = values if before is None else before.meet(values)
        self.contradicts = _contradicts(self)


def implied(premise: CountedCondition, goals: Sequence[CountedCondition], context: PathContext) -> list[int] | None:
    """Which of the goals, between them, hold wherever the premise does; None where that cannot be shown, and where the
    premise never holds."""
    if not any(goal.near(premise.places) for goal in goals) or premise.alternatives is None:
        return None
    used: set[int] = set()
    possible = [one for one in premise.alternatives if not one.contradicts]
    for alternative in possible:
        found = _one_of(alternative, goals, context)
        if found is None:
            return None
        used |= found
    return sorted(used) if possible else None


def _one_of(known: _Conjunction, goals: Sequence[CountedCondition], context: PathContext) -> set[int] | None:
    near = [(at, goal) for at, goal in enumerate(goals) if goal.near(known.places)]
    for at, goal in near:
        if _holds(known, goal.formula, goal.sure, context):
            return {at}
    # Goals about one place may cover it between them.
    for place, mine in known.met.items():
        sets = [
            (at, goal.formula.values(sure=goal.sure, at_most=False))
            for at, goal in near
            if isinstance(goal.formula, Atom) and goal.formula.place == place and _single(goal.formula)
        ]
        sets = [(at, values) for at, values in sets if not values.apart(mine)]
        if len(sets) > 1 and mine.within(_joined([values for _, values in sets])):
            return {at for at, _ in sets}
    return None


def _holds(known: _Conjunction, goal: Formula, sure: bool, context: PathContext) -> bool:
    if isinstance(goal, AllOf):
        return all(_holds(known, item, sure, context) for item in goal.items)
    if isinstance(goal, AnyOf):
        if any(_holds(known, item, sure, context) for item in goal.items):
            return True
        parts = [item for item in goal.items if isinstance(item, Atom) and _single(item)]
        for place, mine in known.met.items():
            sets = [part.values(sure=sure, at_most=False) for part in parts if part.place == place]
            if len(sets) > 1 and mine.within(_joined(sets)):
                return True
        return False
    if _single(goal) and goal.place in known.met:
        return known.met[goal.place].within(goal.values(sure=sure, at_most=False)) or any(
            atom.text == goal.text and _test_implies(atom, known.sure, goal, sure, context) for atom in known.atoms
        )
    return any(_test_implies(atom, known.sure, goal, sure, context) for atom in known.atoms)


def _single(atom: Atom) -> bool:
    return atom.every is None and atom.drawn


def _joined(sets: Sequence[ValueSet]) -> ValueSet:
    out = sets[0]
    for one in sets[1:]:
        out = out.join(one)
    return out


def _contradicts(known: _Conjunction) -> bool:
    if any(values.none for values in known.met.values()):
        return True
    if len(known.atoms) > 1:
        said = {(atom.place, atom.text, atom.every, atom.negated) for atom in known.atoms}
        opposites = ((p, t, e if e is None else not e, not n) for p, t, e, n in said)
        # No test and its negation are yes together.
        if known.sure and not said.isdisjoint(opposites):
            return True
    sets: dict[str, list[ValueSet]] = {}
    for atom in known.atoms:
        if _single(atom):
            values = atom.values(sure=known.sure, at_most=True)
            if any(values.apart(other) for other in sets.setdefault(atom.place, [])):
                return True
            sets[atom.place].append(values)
    return False


# ---------------------------------------------------------------- one test and another


def _test_implies(one: Atom, sure: bool, other: Atom, other_sure: bool, context: PathContext) -> bool:
    if one.place != other.place or not _lifts(one, sure, other):
        return False
    weaker = sure or not other_sure
    if one.text == other.text and one.negated is other.negated and one.op is other.op:
        return weaker
    if one.op is None or other.op is None:
        return False
    if one.inner is not None or other.inner is not None:
        return one.inner is not None and other.inner is not None and _block(one, sure, other, other_sure, context)
    if one.drawn and other.drawn:
        return one.values(sure=sure, at_most=True).within(other.values(sure=other_sure, at_most=False))
    if one.facet is None or not weaker or one.negated is not other.negated or OPAQUE in (one.raw, other.raw):
        return False
    # Where both are negated the other way about: no to one is no to the other where yes or maybe to the second is yes
    # or maybe to the first. Absence and doubt fall on the same side of both.
    if one.negated:
        pairs = [(other, one, False)] if sure else []
        pairs += [(other, one, True)] if not other_sure else []
    else:
        pairs = [(one, other, True)] if sure else []
        pairs += [(one, other, False)] if not other_sure else []
    return any(_reading_implies(a, b, level, one.facet, context) for a, b, level in pairs)


def _lifts(one: Atom, sure: bool, other: Atom) -> bool:
    # From elements to a quantifier: alike ones keep what holds of each element.
    if one.every is other.every:
        return True
    if one.every is None:
        # A yes to these is a single text or number, which a quantifier takes for a list of one.
        return sure and not one.negated and one.op in _SINGLE and one.drawn and one.facet is None
    if other.every is None or not one.every:
        return False
    return not one.hollow


def _block(one: Atom, sure: bool, other: Atom, other_sure: bool, context: PathContext) -> bool:
    if one.inner is None or other.inner is None:
        return False
    return (
        implied(CountedCondition(one.inner, sure=sure), [CountedCondition(other.inner, sure=other_sure)], context)
        is not None
    )


def _reading_implies(one: Atom, other: Atom, sure: bool, facet: Facet, context: PathContext) -> bool:
    """Whether yes (`sure`), or yes or maybe, to one plain test of what a facet read is the same to another."""
    mine, theirs = _options(one), _options(other)
    if one.op is other.op and one.fold is other.fold and {repr(x) for x in mine} <= {repr(x) for x in theirs}:
        return one.op in (*_PARTS, Op.UNDER, Op.EQ, Op.IN)
    if facet.name not in OWN:
        return False
    if one.op is Op.UNDER and other.op is Op.UNDER:
        return all(any(_asked(Op.UNDER, False, facet, a, [b], context) for b in theirs) for a in mine)
    if one.op is Op.LIKE and other.op is Op.LIKE and facet.name == "command" and not (one.fold or other.fold):
        return all(any(_command(a, b, facet, sure, context) for b in theirs) for a in mine)
    if other.op in _PARTS and facet.name in ("link", "email"):
        return False
    if one.op in (Op.EQ, Op.IN) and sure and facet.value == "string" and not one.fold and other.op is not None:
        return all(_asked(other.op, other.fold, facet, value, theirs, context) for value in mine)
    return False


def _options(atom: Atom) -> list[object]:
    return list(atom.raw) if isinstance(atom.raw, list) else [atom.raw]


def _asked(op: Op, fold: bool, facet: Facet, value: object, options: Sequence[object], context: PathContext) -> bool:
    # Whether the value that a rule writes down is one of the options for sure.
    try:
        read = facet.literal(value, context)
        rights = [normal(facet, op, option, context) for option in options]
    except ValueError:
        return False
    ask = predicate(op, fold, facet)
    return any(ask(read, [right] if op is Op.IN else right) is True for right in rights)


def _command(inner: object, outer: object, facet: Facet, sure: bool, context: PathContext) -> bool:
    try:
        one, other = normal(facet, Op.LIKE, inner, context), normal(facet, Op.LIKE, outer, context)
    except ValueError:
        return False
    if not isinstance(one, CommandPattern) or not isinstance(other, CommandPattern):
        return False
    if not other.words:
        return True
    if not one.words or len(one.words) < len(other.words) or (one.rest and not other.rest):
        return False
    if len(one.words) > len(other.words) and not other.rest:
        return False
    # A directory before a program, and case, are in doubt; then only what is spelled out can be compared.
    plain = one.words[0] == other.words[0] or not any(sign in one.words[0] + other.words[0] for sign in "?[/")
    return (sure or plain) and all(within(a, b) for a, b in zip(one.words, other.words, strict=False))
