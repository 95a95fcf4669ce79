"""Compiles one test to a closure: the elements of its operand, its quantifier, and its answer for absent values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final

from rebuno.policy.facets.path.begins import CWD
from rebuno.policy.facets.path.placed import unplaced
from rebuno.policy.facets.predicates import ANY_OF, NEGATIVE, Predicate, predicate
from rebuno.policy.facets.reading import NO_CONTEXT, Facet, PathContext
from rebuno.policy.matcher.beginnings import asks_around, single_holder
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.matcher.fast_tests import Check, constant_predicate, fast_test
from rebuno.policy.matcher.growing import AskedInWhere
from rebuno.policy.matcher.operands import (
    MAY_BE_MISSING,
    Block,
    Lens,
    chain_of,
    elements_around,
    is_given,
    lens,
    literal,
    looked_up_by,
    may_be_absent,
    normal_operand,
    normal_right,
    read_operand,
    read_single,
    right_of,
    root_of,
    unless_absent,
    values_of,
    weight,
)
from rebuno.policy.matcher.paths import one
from rebuno.policy.matcher.provenance import KnownSet
from rebuno.policy.syntax import tree
from rebuno.policy.syntax.tree import Op, Quantifier
from rebuno.policy.values.json_values import MISSING, UNREADABLE, Tri, absent, has_type, invert

# Takes an element and the value of the right side.
ElementCheck = Callable[[Any, Any], Tri]
Value = Callable[[Facts], Any]
Elements = Callable[[Facts], list[Any]]

# The bound of element tests in one decision. Beyond it, a quantifier and every test in a block answer maybe.
MAX_ELEMENT_TESTS: Final = 100_000


@dataclass(slots=True)
class Vocabulary:
    """The names that a test may use. `values` are those of `let`. `known` gives the set of a name, with or without
    `ignoring case` and for the facet that reads its values; None for a name of something else. `context` is where paths
    start. The values at paths that begin with a root in `changing` change during a decision."""

    values: Mapping[str, Any]
    known: Callable[[str, bool, Facet | None], KnownSet | AskedInWhere | None]
    context: PathContext = NO_CONTEXT
    changing: frozenset[str] = frozenset({"it"})
    _places: dict[tuple[object, ...], int] = field(default_factory=dict)

    def place(self, operand: tree.Operand, *extra: object) -> int:
        """The cache key for the values that facets read at an operand. Equal operands share it, so they are read
        once."""
        names = tuple(name.text for name in operand.facets)
        return self._places.setdefault((names, operand.paths, *extra), len(self._places))


def signs(test: tree.Test, negated: bool) -> tuple[Op, bool, bool | None]:
    """A test's plain predicate, whether it is negated, and whether every element must pass (None: no quantifier).

    `not every P` is `any not P`, `no P` is `every not P`.
    """
    quantifier = test.operand.quantifier
    op = NEGATIVE.get(test.op, test.op)
    inner = test.negated is not (test.op in NEGATIVE)
    if quantifier is None:
        return op, inner is not negated, None
    every = quantifier is not Quantifier.ANY
    if quantifier is Quantifier.NO:
        inner = not inner
    return op, inner is not negated, every is not negated


def compile_test(test: tree.Test, names: Vocabulary, negated: bool, block: Block | None = None) -> Check:
    """The check that answers one test, or its negation. `block` is the block around the test, if any."""
    op, negated, every = signs(test, negated)
    look = lens(test.operand, op, block)
    if op is Op.GIVEN and every is None:
        return _given(_elements(test.operand, look, names, apart=False), negated, block)
    check, right, multiplies = _element_check(test, op, look.facet, names, negated, block)
    if every is not None:
        if may_be_absent(look.chain):
            check = _unless_absent(check, every)
        return _quantified(_elements(test.operand, look, names, apart=True), check, right, every, multiplies, block)
    slow = _single(_single_value(test.operand, look, names), check, right, block)
    if block is not None or look.chain or test.ignoring_case or isinstance(test.right, tree.Operand):
        return slow
    if isinstance(test.right, tree.Name) and test.right.text not in names.values:
        return slow
    return fast_test(test.operand, op, literal(test.right, names.values), negated, slow)


def compile_block(test: tree.Test, inner: Check, every: bool, names: Vocabulary, block: Block | None) -> Check:
    """The check of `… has (…)`. `inner` answers for one element, which it finds in `facts.it`."""
    operand, look = test.operand, lens(test.operand, test.op, block)
    values = _elements(operand, look, names, apart=True, block=True)
    if may_be_absent(look.chain):
        inner = _block_unless_absent(inner, every)
    # A command is placed already.
    commands = look.facet is not None and look.facet.begins
    if test.block is not None and not commands and asks_around(test.block, chain_of):
        values = _entered(operand, look, names, values)
        inner = _with_around(inner)

    def check(facts: Facts) -> Tri:
        if facts.tests > MAX_ELEMENT_TESTS:
            return None
        found = values(facts)
        facts.tests += len(found)
        if facts.tests > MAX_ELEMENT_TESTS:
            return None
        outer = facts.it if block is not None else None
        answer: Tri = every
        for value in found:
            facts.it = value
            here = inner(facts)
            if here is (not every):
                answer = here
                break
            if here is None:
                answer = None
        facts.it = outer
        return answer

    return check


def _unless_absent(check: ElementCheck, every: bool) -> ElementCheck:
    return lambda value, right: unless_absent(value, lambda one: check(one, right), every)


def _block_unless_absent(inner: Check, every: bool) -> Check:
    def check(facts: Facts) -> Tri:
        def about(value: Any) -> Tri:
            facts.it = value
            return inner(facts)

        return unless_absent(facts.it, about, every)

    return check


def _entered(operand: tree.Operand, look: Lens, names: Vocabulary, values: Elements) -> Elements:
    # The elements of a block that asks what each of them stands in.
    chain, context = look.chain, names.context

    def pairs(facts: Facts) -> list[Any]:
        return list(zip(values(facts), elements_around(operand, chain, facts, context), strict=True))

    return pairs


def _with_around(inner: Check) -> Check:
    def check(facts: Facts) -> Tri:
        outer = facts.around
        facts.it, facts.around = facts.it
        answer = inner(facts)
        facts.around = outer
        return answer

    return check


def _element_check(
    test: tree.Test, op: Op, facet: Facet | None, names: Vocabulary, negated: bool, block: Block | None
) -> tuple[ElementCheck, Value, bool]:
    if op is Op.IS:
        if not isinstance(test.right, tree.Literal):
            raise AssertionError("`is` without a type")
        return _is(str(test.right.value), negated), _nothing, False
    if op is Op.GIVEN:
        return _is_given(negated), _nothing, False
    fold, context = test.ignoring_case, names.context
    if isinstance(test.right, tree.Name) and test.right.text not in names.values:
        known = names.known(test.right.text, fold, None if op is Op.CONTAINS_ANY else looked_up_by(facet))
        if known is not None:
            asked = known.mentioned if op is Op.CONTAINS_ANY else known.contains
            return _with_value(asked, negated), _facts, False
    answer = predicate(op, fold, facet)
    if isinstance(test.right, tree.Operand):
        read = _right_value(test.right, names)
        places = facet is not None and (op is Op.UNDER or (op is Op.LIKE and facet.pattern is not None))
        right: Value = (lambda facts: normal_operand(facet, op, read(facts), context)) if places else read
        return _with_path(answer, negated), right, op is Op.IN or op in ANY_OF
    value = normal_right(facet, op, literal(test.right, names.values), context)
    if op is not Op.UNDER:
        plain = constant_predicate(op, value, fold)
        answer = plain if facet is None and block is None else _fast(plain, answer)
    return _with_value(answer, negated), lambda facts: value, False


def _fast(plain: Predicate, general: Predicate) -> Predicate:
    # A `Reading` answers for itself. A plain text or number goes straight to the prepared predicate.
    def answer(value: Any, right: Any) -> Tri:
        kind = type(value)
        return plain(value, right) if kind is str or kind is int or kind is float else general(value, right)

    return answer


# ---------------------------------------------------------------- elements


def _with_value(answer: Callable[[Any, Any], Tri], negated: bool) -> ElementCheck:
    def check(value: Any, right: Any) -> Tri:
        if absent(value):
            return None if negated else False
        if value is UNREADABLE:
            return None
        found = answer(value, right)
        return invert(found) if negated else found

    return check


def _with_path(answer: Callable[[Any, Any], Tri], negated: bool) -> ElementCheck:
    def check(value: Any, right: Any) -> Tri:
        # INVARIANT: absence is tested first: an absent side decides the test even if the other side is unreadable.
        if absent(value) or absent(right):
            return None if negated else False
        if value is UNREADABLE or right is UNREADABLE:
            return None
        found = answer(value, right)
        return invert(found) if negated else found

    return check


def _is(name: str, negated: bool) -> ElementCheck:
    def check(value: Any, right: Any) -> Tri:
        if value is MISSING:
            return None if negated else False
        found = has_type(value, name)
        return invert(found) if negated else found

    return check


def _is_given(negated: bool) -> ElementCheck:
    def check(value: Any, right: Any) -> Tri:
        found = is_given(value)
        return invert(found) if negated else found

    return check


# ---------------------------------------------------------------- operands


def _nothing(facts: Facts) -> Any:
    return None


def _facts(facts: Facts) -> Any:
    return facts


def _right_value(operand: tree.Operand, names: Vocabulary) -> Value:
    # One value, `MISSING` or `UNREADABLE`; for a path with `[]` or a set, the list of the values that are there.
    path = operand.paths[0]
    if not operand.facets and not path.many:
        return _path_value(path)
    context = names.context
    if not operand.facets:
        return lambda facts: right_of(operand, facts, context)
    return _kept(
        names.place(operand, "right"), path.root in names.changing, lambda facts: right_of(operand, facts, context)
    )


def _root(name: str) -> Value:
    return (lambda facts: root_of(facts, name)) if name in MAY_BE_MISSING else attrgetter(name)


def _path_value(path: tree.Path) -> Value:
    root, parts = _root(path.root), path.parts
    if path.root == "it":
        return lambda facts: unplaced(one(facts.it, parts))
    return (lambda facts: one(root(facts), parts)) if parts else root


def _single_value(operand: tree.Operand, look: Lens, names: Vocabulary) -> Value:
    path, chain, context = operand.paths[0], look.chain, names.context
    if len(operand.paths) > 1 or path.many or any(facet.many for facet in chain):
        raise AssertionError("several values without a quantifier")
    if not chain:
        return _path_value(path)
    root, parts = _root(path.root), path.parts
    key = names.place(operand, chain[0].name, "one")
    if look.begins:
        return _kept(key, path.root in names.changing, lambda facts: read_single(operand, chain, facts, context))
    return _kept(
        key,
        path.root in names.changing,
        lambda facts: read_operand(operand, chain, [one(root(facts), parts)], facts, context)[0],
    )


def _elements(operand: tree.Operand, look: Lens, names: Vocabulary, *, apart: bool, block: bool = False) -> Elements:
    chain, context, begins = look.chain, names.context, look.begins
    inside = any(path.root in names.changing for path in operand.paths)
    # In a block, words keep their directories.
    placed = "block" if block and may_be_absent(chain) else ""
    key = names.place(operand, chain[0].name if chain else "", "apart" if apart else "whole", placed)

    def read(facts: Facts) -> list[Any]:
        return values_of(operand, chain, facts, context, apart=apart, block=block, begins=begins)

    holder = single_holder(operand, chain) if begins else None
    if holder is None:
        return _kept(key, inside, read) if chain else read
    root, parts = _root(operand.paths[0].root), holder

    def read_commands(facts: Facts) -> list[Any]:
        # Few calls have a `cwd`, and without one nothing has to be placed.
        found = one(root(facts), parts)
        if type(found) is dict and CWD in found:
            return read(facts)
        return values_of(operand, chain, facts, context, apart=apart, block=block)

    return _kept(key, inside, read_commands)


def _kept(key: int, changes: bool, read: Value) -> Value:
    """Caches the values of `read` for one decision, unless they change during the decision (`changes`)."""
    if changes:
        return read

    def value(facts: Facts) -> Any:
        kept = facts.readings
        if kept is None:
            kept = facts.readings = {}
        if key not in kept:
            kept[key] = read(facts)
        return kept[key]

    return value


# ---------------------------------------------------------------- tests


def _single(left: Value, check: ElementCheck, right_of: Value, block: Block | None) -> Check:
    if block is None:
        return lambda facts: check(left(facts), right_of(facts))

    def in_block(facts: Facts) -> Tri:
        if facts.tests > MAX_ELEMENT_TESTS:
            return None
        value, right = left(facts), right_of(facts)
        facts.tests += weight(value) + weight(right)
        return None if facts.tests > MAX_ELEMENT_TESTS else check(value, right)

    return in_block


def _given(values: Elements, negated: bool, block: Block | None) -> Check:
    def check(facts: Facts) -> Tri:
        if block is not None and facts.tests > MAX_ELEMENT_TESTS:
            return None
        found_values = values(facts)
        if block is not None:
            facts.tests += len(found_values)
        answer: Tri = False
        for value in found_values:
            found = is_given(value)
            if found:
                answer = True
                break
            if found is None:
                answer = None
        return invert(answer) if negated else answer

    return check


def _quantified(
    values: Elements, check: ElementCheck, right_of: Value, every: bool, multiplies: bool, block: Block | None
) -> Check:
    def quantified(facts: Facts) -> Tri:
        if facts.tests > MAX_ELEMENT_TESTS:
            return None
        found = values(facts)
        right = right_of(facts)
        facts.tests += len(found) * (len(right) if multiplies and type(right) is list and right else 1)
        if block is not None:
            facts.tests += sum(map(weight, found)) + weight(right)
        if facts.tests > MAX_ELEMENT_TESTS:
            return None
        answer: Tri = every
        for value in found:
            here = check(value, right)
            if here is (not every):
                return here
            if here is None:
                answer = None
        return answer

    return quantified
