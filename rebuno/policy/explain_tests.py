"""The reference evaluator: walks a condition's tree and writes down, for every test, what it saw and why."""

from collections.abc import Callable, Sequence
from typing import Any

from rebuno.policy import syntax
from rebuno.policy.element_tests import MAX_TESTS, literal
from rebuno.policy.explain_known import KnownReader
from rebuno.policy.explain_words import absence, one_line, short, state, verb, visible
from rebuno.policy.facts import Facts
from rebuno.policy.paths import elements
from rebuno.policy.predicates import ANY_OF, predicate
from rebuno.policy.syntax import Op, Quantifier
from rebuno.policy.trace import Answer, Node
from rebuno.policy.values import MISSING, UNREADABLE, Tri, absent, given, has_type, invert

ANSWERS = {True: Answer.YES, False: Answer.NO, None: Answer.MAYBE}
_TRI = {Answer.YES: True, Answer.NO: False, Answer.MAYBE: None}


def answer_of(node: Node) -> Tri:
    """A node's answer as True, False or None."""
    return _TRI[node.answer]


class Evaluator:
    """Evaluates the conditions of one bundle. Every part is evaluated, settled or not; only what counts is counted."""

    def __init__(self, bundle: syntax.Bundle) -> None:
        self.bundle = bundle
        self.values: dict[str, Any] = {}
        self.conditions: dict[str, syntax.Expr] = {}
        self.known: dict[str, syntax.Known] = {}
        for statement in bundle.statements:
            if isinstance(statement, syntax.Let) and not isinstance(statement.value, syntax.FileValue):
                self.values[statement.name.text] = literal(statement.value, self.values)
            elif isinstance(statement, syntax.Condition):
                self.conditions[statement.name.text] = statement.expr
            elif isinstance(statement, syntax.Known):
                self.known[statement.name.text] = statement
        self.reader = KnownReader(bundle, self.values, lambda expr, item: answer_of(self.node(expr, item)))

    def node(self, expr: syntax.Expr, facts: Facts, negated: bool = False, counted: bool = True) -> Node:
        """What `expr`, or with `negated` `not expr`, comes to. `counted` is False where it no longer matters."""
        if isinstance(expr, syntax.Not):
            return self.node(expr.item, facts, not negated, counted)
        text = one_line(self.bundle, expr.span)
        if negated:
            text = f"not ({text})"
        if isinstance(expr, syntax.And | syntax.Or):
            both = isinstance(expr, syntax.And) is not negated
            makers = [self._maker(item, facts, negated) for item in expr.items]
            children = in_turn(makers, facts, both, counted)
            answer, why = combined([answer_of(child) for child in children], both)
            label = "and" if both else "or"
            return Node(text, expr.span.line, ANSWERS[answer], why, (), label, tuple(children), counted)
        if isinstance(expr, syntax.ConditionRef):
            name = expr.name.text
            inner = self.node(self.conditions[name], facts, negated, counted)
            why = f"`{name}` is {ANSWERS[invert(answer_of(inner))] if negated else inner.answer}"
            return Node(text, expr.span.line, inner.answer, why, (), f"condition {name}", (inner,), counted)
        if isinstance(expr, syntax.Test):
            answer, why, seen = self._test(expr, facts, negated)
            return Node(text, expr.span.line, ANSWERS[answer], why, visible(seen), counted=counted)
        raise AssertionError(f"no evaluation for {type(expr).__name__}")

    def _maker(self, expr: syntax.Expr, facts: Facts, negated: bool) -> Callable[[bool], Node]:
        return lambda counted: self.node(expr, facts, negated, counted)

    # ------------------------------------------------------------ tests

    def _test(self, test: syntax.Test, facts: Facts, negated: bool) -> tuple[Tri, str, list[Any]]:
        quantifier = test.operand.quantifier
        values = self._elements(test.operand, facts, apart=quantifier is not None)
        name = f"`{short(one_line(self.bundle, test.operand.paths[0].span))}`"
        if len(test.operand.paths) > 1:
            name = f"`{short(', '.join(one_line(self.bundle, path.span) for path in test.operand.paths))}`"
        if test.op in (Op.GIVEN, Op.MISSING) and quantifier is None:
            return self._given(test, values, name, negated)
        right = self._right(test, facts)
        seen = [*values, right] if isinstance(test.right, syntax.Operand) else values
        if quantifier is None:
            answer, why = self._element(test, name, values[0], right, facts, negated)
            return answer, why, seen
        every, flipped = {
            (Quantifier.ANY, False): (False, False),
            (Quantifier.ANY, True): (True, True),
            (Quantifier.EVERY, False): (True, False),
            (Quantifier.EVERY, True): (False, True),
            (Quantifier.NO, False): (True, True),
            (Quantifier.NO, True): (False, False),
        }[quantifier, negated]
        facts.tests += len(values) * self._weight(test, right)
        if facts.tests > MAX_TESTS:
            return None, f"{name} has too many elements: the bound is {MAX_TESTS:,} element tests a decision", seen
        found = [self._element(test, "the element", value, right, facts, flipped) for value in values]
        answer, _ = combined([one for one, _ in found], every)
        why = next(words for one, words in found if one is answer)
        count = f"{name} has {len(values)} element{'' if len(values) == 1 else 's'}"
        return answer, f"{count}; {why}", seen

    def _weight(self, test: syntax.Test, right: Any) -> int:
        # Against a list that the submission brought along every element is tested with every other.
        if isinstance(test.right, syntax.Operand) and (test.op is Op.IN or test.op in ANY_OF) and type(right) is list:
            return max(1, len(right))
        return 1

    def _elements(self, operand: syntax.Operand, facts: Facts, *, apart: bool) -> list[Any]:
        roots = [getattr(facts, path.root) for path in operand.paths]
        return elements(roots, [path.parts for path in operand.paths], apart=apart)

    def _given(self, test: syntax.Test, values: list[Any], name: str, negated: bool) -> tuple[Tri, str, list[Any]]:
        answers = [given(value) for value in values]
        there, _ = combined(answers, False)
        why = {True: "is given", False: "is absent", None: "may be there: it cannot be read"}[there]
        flip = negated is not (test.op is Op.MISSING)
        return invert(there) if flip else there, f"{name} {why}", values

    def _right(self, test: syntax.Test, facts: Facts) -> Any:
        if test.right is None or (isinstance(test.right, syntax.Name) and test.right.text in self.known):
            return None
        if isinstance(test.right, syntax.Operand):
            found = self._elements(test.right, facts, apart=False)
            return [value for value in found if not absent(value)] if test.right.paths[0].many else found[0]
        return literal(test.right, self.values)

    def _element(
        self, test: syntax.Test, name: str, value: Any, right: Any, facts: Facts, negated: bool
    ) -> tuple[Tri, str]:
        # The answer for one element, with every negation of the test counted in.
        inverted = (test.negated + negated + (test.op in (Op.NE, Op.MISSING))) % 2 == 1
        if test.op in (Op.GIVEN, Op.MISSING):
            found = given(value)
            why = f"is {state(value)}"
        elif value is MISSING or (absent(value) and test.op is not Op.IS):
            return None if inverted else False, f"{name} is {absence(value, inverted)}"
        elif test.op is Op.IS:
            found = has_type(value, str(right))
            why = f"is {state(value)}, which {verb(Op.IS, found)} {right}"
        elif isinstance(test.right, syntax.Operand) and absent(right):
            return None if inverted else False, f"`{self._text(test.right)}` is {absence(right, inverted)}"
        elif value is UNREADABLE:
            return None, f"{name} is {state(value)}"
        elif right is UNREADABLE:
            return None, f"`{self._text(test.right)}` is {state(right)}"
        elif isinstance(test.right, syntax.Name) and test.right.text in self.known:
            found, reason = self.reader.contains(self.known[test.right.text], value, facts, test.ignoring_case)
            why = f"is {state(value)}, {reason}"
        else:
            op = Op.EQ if test.op is Op.NE else test.op
            found = predicate(op, test.ignoring_case)(value, right)
            against = f"`{self._text(test.right)}`"
            if isinstance(test.right, syntax.Operand):
                against += f", {state(right)}"
            why = f"is {state(value)}, which {verb(op, found)} {against}"
        return invert(found) if inverted else found, f"{name} {why}"

    def _text(self, right: syntax.Right | None) -> str:
        return short(one_line(self.bundle, right.span)) if right is not None else ""


def in_turn(makers: Sequence[Callable[[bool], Node]], facts: Facts, both: bool, counted: bool) -> list[Node]:
    """The parts of an `and` (`both`) or an `or`, in order.

    INVARIANT: what stands after the part that settles the answer is shown, but leaves the count of tests alone, as
    `decide` never looks at it.
    """
    nodes: list[Node] = []
    settled = False
    for make in makers:
        before = facts.tests
        node = make(counted and not settled)
        if settled:
            facts.tests = before
        nodes.append(node)
        settled = settled or (answer_of(node) is not both and node.answer is not Answer.MAYBE)
    return nodes


def combined(answers: Sequence[Tri], both: bool) -> tuple[Tri, str]:
    """Kleene's and (`both`) or or, with the reason."""
    word = "no" if both else "yes"
    if (not both) in answers:
        return not both, f"one part is {word}"
    if None in answers:
        return None, f"no part is {word}, and one is maybe"
    return both, f"every part is {'yes' if both else 'no'}"
