"""The reference evaluator: walks a condition's tree and writes down, for every test, what it saw and why."""

from collections.abc import Callable, Sequence
from typing import Any

from rebuno.policy.explain.elements import element_names
from rebuno.policy.explain.history import HistoryReader, explain_time
from rebuno.policy.explain.provenance import KnownReader
from rebuno.policy.explain.trace import TraceAnswer, TraceNode
from rebuno.policy.explain.wording import MAX_SEEN, absence, note, one_line, short, state, unreadable, verb, visible
from rebuno.policy.facets.predicates import ANY_OF, predicate
from rebuno.policy.facets.reading import Perhaps
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.matcher.operands import (
    Block,
    Lens,
    elements_around,
    is_given,
    lens,
    literal,
    looked_up_by,
    normal_operand,
    normal_right,
    path_context,
    right_of,
    values_of,
    weight,
)
from rebuno.policy.matcher.tests import MAX_ELEMENT_TESTS
from rebuno.policy.syntax import tree
from rebuno.policy.syntax.tree import Op, Quantifier
from rebuno.policy.values.json_values import MISSING, UNREADABLE, Tri, absent, has_type, invert

ANSWERS = {True: TraceAnswer.YES, False: TraceAnswer.NO, None: TraceAnswer.MAYBE}
_TRI = {TraceAnswer.YES: True, TraceAnswer.NO: False, TraceAnswer.MAYBE: None}

# Whether every element must pass, and whether each is asked the opposite.
_SIGNS = {
    (Quantifier.ANY, False): (False, False),
    (Quantifier.ANY, True): (True, True),
    (Quantifier.EVERY, False): (True, False),
    (Quantifier.EVERY, True): (False, True),
    (Quantifier.NO, False): (True, True),
    (Quantifier.NO, True): (False, False),
}
_TOO_MANY = f"has too many elements: the bound is {MAX_ELEMENT_TESTS:,} element tests a decision"


def answer_of(node: TraceNode) -> Tri:
    """A node's answer as True, False or None."""
    return _TRI[node.answer]


class Evaluator:
    """Evaluates the conditions of one bundle. Every part is evaluated, settled or not; only what counts is counted."""

    def __init__(self, bundle: tree.Bundle) -> None:
        self.bundle = bundle
        self.values: dict[str, Any] = {}
        self.conditions: dict[str, tree.Expr] = {}
        self.known: dict[str, tree.Known] = {}
        for statement in bundle.statements:
            if isinstance(statement, tree.Let) and not isinstance(statement.value, tree.FileValue):
                self.values[statement.name.text] = literal(statement.value, self.values)
            elif isinstance(statement, tree.Condition):
                self.conditions[statement.name.text] = statement.expr
            elif isinstance(statement, tree.Known):
                self.known[statement.name.text] = statement
        self.context = path_context(bundle)
        self.history = HistoryReader(self.values, self.context, self._where)
        self.reader = KnownReader(
            bundle, self.values, self.context, lambda expr, item: answer_of(self.node(expr, item))
        )

    def node(
        self,
        expr: tree.Expr,
        facts: Facts,
        negated: bool = False,
        counted: bool = True,
        block: Block | None = None,
    ) -> TraceNode:
        """What `expr`, or with `negated` `not expr`, comes to. `counted` is False where it no longer matters, and
        `block` is the one that it stands in."""
        if isinstance(expr, tree.Not):
            return self.node(expr.item, facts, not negated, counted, block)
        text = _negated(one_line(self.bundle, expr.span), negated)
        if isinstance(expr, tree.And | tree.Or):
            both = isinstance(expr, tree.And) is not negated
            makers = [self._maker(item, facts, negated, block) for item in expr.items]
            children = in_turn(makers, facts, both, counted)
            answer, why = combined([answer_of(child) for child in children], both)
            label = "and" if both else "or"
            return TraceNode(text, expr.span.line, ANSWERS[answer], why, (), label, tuple(children), counted)
        if isinstance(expr, tree.ConditionRef):
            name = expr.name.text
            inner = self.node(self.conditions[name], facts, negated, counted, Block(None) if block else None)
            why = f"`{name}` is {ANSWERS[invert(answer_of(inner))] if negated else inner.answer}"
            return TraceNode(text, expr.span.line, inner.answer, why, (), f"condition {name}", (inner,), counted)
        if isinstance(expr, tree.Test):
            if expr.block is not None:
                return self._block(expr, expr.block, facts, negated, counted, block)
            answer, why, seen = self._test(expr, facts, negated, block)
            return TraceNode(text, expr.span.line, ANSWERS[answer], why, visible(seen), counted=counted)
        if isinstance(expr, tree.During):
            answer, why, seen = explain_time(expr, facts, negated)
        elif isinstance(expr, tree.After | tree.Count | tree.Sum):
            answer, why, seen = self.history.explain(expr, facts, negated)
        else:
            raise AssertionError(f"no evaluation for {type(expr).__name__}")
        return TraceNode(text, expr.span.line, ANSWERS[answer], why, visible(seen), counted=counted)

    def _where(self, expr: tree.Expr, past: Facts, negated: bool, block: Block | None) -> Tri:
        # Only the answer is wanted, so what stands after the part that settles it is left out.
        if isinstance(expr, tree.Not):
            return self._where(expr.item, past, not negated, block)
        if not isinstance(expr, tree.And | tree.Or):
            return answer_of(self.node(expr, past, negated, block=block))
        both = isinstance(expr, tree.And) is not negated
        answer: Tri = both
        for item in expr.items:
            here = self._where(item, past, negated, block)
            if here is (not both):
                return here
            answer = None if here is None else answer
        return answer

    def _maker(self, expr: tree.Expr, facts: Facts, negated: bool, block: Block | None) -> Callable[[bool], TraceNode]:
        return lambda counted: self.node(expr, facts, negated, counted, block)

    # ------------------------------------------------------------ tests

    def _test(self, test: tree.Test, facts: Facts, negated: bool, block: Block | None) -> tuple[Tri, str, list[Any]]:
        name = f"`{short(self._name(test.operand))}`"
        quantifier = test.operand.quantifier
        if facts.tests > MAX_ELEMENT_TESTS and (block is not None or quantifier is not None):
            return None, f"{name} {_TOO_MANY}", []
        look = lens(test.operand, test.op, block)
        apart = quantifier is not None
        values = values_of(test.operand, look.chain, facts, self.context, apart=apart, begins=look.begins)
        if test.op in (Op.GIVEN, Op.MISSING) and quantifier is None:
            facts.tests += 0 if block is None else len(values)
            return self._given(test, values, name, negated)
        right = self._right(test, look, facts)
        seen = [*values, right] if isinstance(test.right, tree.Operand) else values
        if block is not None:
            facts.tests += sum(weight(value) for value in values) + weight(right)
        if quantifier is None:
            if block is not None and facts.tests > MAX_ELEMENT_TESTS:
                return None, f"{name} {_TOO_MANY}", seen
            answer, why = self._element(test, name, values[0], right, look, facts, negated)
            return answer, why, seen
        every, flipped = _SIGNS[quantifier, negated]
        facts.tests += len(values) * self._weight(test, right)
        if facts.tests > MAX_ELEMENT_TESTS:
            return None, f"{name} {_TOO_MANY}", seen
        names = element_names(test.operand, look.chain, facts, self.context, len(values))
        elements = ["the element"] * len(values) if names is None else [f"`{element}`" for element in names]
        found = [
            self._element_of_set(test, element, value, right, look, facts, flipped, every)
            for element, value in zip(elements, values, strict=True)
        ]
        answer, _ = combined([one for one, _ in found], every)
        why = next((f"; {words}" for one, words in found if one is answer), "")
        return answer, f"{name} {_count(len(values))}{why}", seen

    def _block(
        self, test: tree.Test, inner: tree.Expr, facts: Facts, negated: bool, counted: bool, block: Block | None
    ) -> TraceNode:
        name = f"`{short(self._name(test.operand))}`"
        text = _negated(one_line(self.bundle, test.span), negated)
        if facts.tests > MAX_ELEMENT_TESTS or test.operand.quantifier is None:
            return TraceNode(text, test.span.line, TraceAnswer.MAYBE, f"{name} {_TOO_MANY}", counted=counted)
        look = lens(test.operand, test.op, block)
        values = values_of(test.operand, look.chain, facts, self.context, apart=True, block=True, begins=look.begins)
        facts.tests += len(values)
        if facts.tests > MAX_ELEMENT_TESTS:
            return TraceNode(
                text, test.span.line, TraceAnswer.MAYBE, f"{name} {_TOO_MANY}", visible(values), counted=counted
            )
        every, flipped = _SIGNS[test.operand.quantifier, negated]
        outer, outside = facts.it if block is not None else None, facts.around
        placed = look.facet is not None and look.facet.begins
        objects = [MISSING] * len(values) if placed else elements_around(test.operand, look.chain, facts, self.context)
        # The first few are shown, and the one that settles the answer.
        shown: list[TraceNode] = []
        answer: Tri = every
        why = ""
        names = element_names(test.operand, look.chain, facts, self.context, len(values))
        for at, value in enumerate(values):
            facts.it, facts.around = value.value if type(value) is Perhaps else value, objects[at]
            node = self.node(inner, facts, flipped, counted, Block(look.facet))
            here = answer_of(node)
            if type(value) is Perhaps and here is (not every):
                here = None
            if len(shown) < MAX_SEEN:
                shown.append(node)
            if here is not every and (here is not None or answer is every):
                element = state(value) if names is None else f"`{names[at]}`"
                answer, why = here, f"; for {element} it is {node.answer}"
                shown[-1] = node
            if here is (not every):
                break
        facts.it, facts.around = outer, outside
        why = f"{name} {_count(len(values))}{why}"
        return TraceNode(text, test.span.line, ANSWERS[answer], why, visible(values), "has", tuple(shown), counted)

    def _weight(self, test: tree.Test, right: Any) -> int:
        # Against a list that the submission brought along every element is tested with every other.
        if isinstance(test.right, tree.Operand) and (test.op is Op.IN or test.op in ANY_OF) and type(right) is list:
            return max(1, len(right))
        return 1

    def _given(self, test: tree.Test, values: list[Any], name: str, negated: bool) -> tuple[Tri, str, list[Any]]:
        answers = [is_given(value) for value in values]
        found, _ = combined(answers, False)
        why = {True: "is given", False: "is absent", None: "may be there: it cannot be read"}[found]
        flip = negated is not (test.op is Op.MISSING)
        return invert(found) if flip else found, f"{name} {why}", values

    def _right(self, test: tree.Test, look: Lens, facts: Facts) -> Any:
        if test.right is None or (isinstance(test.right, tree.Name) and test.right.text in self.known):
            return None
        if test.op is Op.IS:
            return literal(test.right, self.values)
        if isinstance(test.right, tree.Operand):
            return normal_operand(look.facet, test.op, right_of(test.right, facts, self.context), self.context)
        return normal_right(look.facet, test.op, literal(test.right, self.values), self.context)

    def _element_of_set(
        self, test: tree.Test, name: str, value: Any, right: Any, look: Lens, facts: Facts, negated: bool, every: bool
    ) -> tuple[Tri, str]:
        if type(value) is not Perhaps:
            return self._element(test, name, value, right, look, facts, negated)
        found, why = self._element(test, name, value.value, right, look, facts, negated)
        settles = found is (not every)
        return (None, f"{why}, and may not be there") if settles else (found, why)

    def _element(
        self, test: tree.Test, name: str, value: Any, right: Any, look: Lens, facts: Facts, negated: bool
    ) -> tuple[Tri, str]:
        # The answer for one element, with every negation of the test counted in.
        inverted = (test.negated + negated + (test.op in (Op.NE, Op.MISSING))) % 2 == 1
        if test.op in (Op.GIVEN, Op.MISSING):
            found = is_given(value)
            why = f"is {state(value)}"
        elif value is MISSING or (absent(value) and test.op is not Op.IS):
            return None if inverted else False, f"{name} is {absence(value, inverted)}"
        elif test.op is Op.IS:
            found = has_type(value, str(right))
            why = f"is {state(value)}, which {verb(Op.IS, found)} {right}"
        elif isinstance(test.right, tree.Operand) and absent(right):
            return None if inverted else False, f"`{self._text(test.right)}` is {absence(right, inverted)}"
        elif value is UNREADABLE:
            return None, f"{name} {unreadable(look.chain)}"
        elif right is UNREADABLE:
            return None, f"`{self._text(test.right)}` {unreadable(look.chain)}"
        elif isinstance(test.right, tree.Name) and test.right.text in self.known:
            known = self.known[test.right.text]
            if test.op is Op.CONTAINS_ANY:
                found, why = self.reader.mentions(known, value, facts, name)
                return invert(found) if inverted else found, why
            found, reason = self.reader.contains(known, value, facts, test.ignoring_case, looked_up_by(look.facet))
            why = f"is {state(value)}, {reason}"
        else:
            op = Op.EQ if test.op is Op.NE else test.op
            found = predicate(op, test.ignoring_case, look.facet)(value, right)
            against = f"`{self._text(test.right)}`"
            if isinstance(test.right, tree.Operand):
                against += f", {state(right)}"
            why = f"is {state(value)}, which {verb(op, found)} {against}{note(value)}"
        return invert(found) if inverted else found, f"{name} {why}"

    def _name(self, operand: tree.Operand) -> str:
        paths = ", ".join(one_line(self.bundle, path.span) for path in operand.paths)
        facets = "".join(f"{facet.text} of " for facet in operand.facets)
        return f"{facets}({paths})" if facets and len(operand.paths) > 1 else facets + paths

    def _text(self, right: tree.Right | None) -> str:
        return short(one_line(self.bundle, right.span)) if right is not None else ""


def in_turn(makers: Sequence[Callable[[bool], TraceNode]], facts: Facts, both: bool, counted: bool) -> list[TraceNode]:
    """The parts of an `and` (`both`) or an `or`, in order.

    INVARIANT: what stands after the part that settles the answer is shown, but leaves the count of tests alone, as
    `decide` never looks at it.
    """
    nodes: list[TraceNode] = []
    settled = False
    for make in makers:
        before = facts.tests
        node = make(counted and not settled)
        if settled:
            facts.tests = before
        nodes.append(node)
        settled = settled or (answer_of(node) is not both and node.answer is not TraceAnswer.MAYBE)
    return nodes


def combined(answers: Sequence[Tri], both: bool) -> tuple[Tri, str]:
    """Kleene's and (`both`) or or, with the reason."""
    word = "no" if both else "yes"
    if (not both) in answers:
        return not both, f"one part is {word}"
    if None in answers:
        return None, f"no part is {word}, and one is maybe"
    return both, f"every part is {'yes' if both else 'no'}"


def _negated(text: str, negated: bool) -> str:
    return f"not ({text})" if negated else text


def _count(elements: int) -> str:
    return f"has {elements or 'no'} element{'' if elements == 1 else 's'}"
