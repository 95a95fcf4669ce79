"""The coverage of a bundle by its cases: the rules that decided a case, and the answers of each test."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rebuno.model.dataclass import dataclass
from rebuno.policy.explain.trace import Trace, TraceAnswer, TraceNode
from rebuno.policy.explain.wording import one_line
from rebuno.policy.syntax import tree
from rebuno.policy.syntax.tree import Bundle

_OPPOSITE = {TraceAnswer.YES: TraceAnswer.NO, TraceAnswer.NO: TraceAnswer.YES, TraceAnswer.MAYBE: TraceAnswer.MAYBE}

# A test by the statement that holds it and its place in the text.
_Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class CoveredRule:
    """A rule; `cases` is the number of cases that it decided."""

    rule_id: str
    line: int
    cases: int

    def to_json(self) -> dict[str, Any]:
        """The rule as JSON data."""
        return {"rule": self.rule_id, "line": self.line, "cases": self.cases}


@dataclass(frozen=True, slots=True)
class CoveredTest:
    """A test, without any `not` before it, in the statement `within` (`rule pay`, `condition small`). `path` is the
    file that this stands in where the bundle takes it in, empty for its own.

    `yes`, `no` and `maybe` are how often it gave that answer where it mattered: what stands behind the part that
    settled the matter does not count. In a block it is the answers for the first few elements.
    """

    __test__ = False  # not a test of pytest

    within: str
    line: int
    column: int
    text: str
    yes: int
    no: int
    maybe: int
    path: str = ""

    @property
    def both(self) -> bool:
        """Whether the test has answered both yes and no."""
        return self.yes > 0 and self.no > 0

    def to_json(self) -> dict[str, Any]:
        """The test as JSON data."""
        out: dict[str, Any] = {"path": self.path} if self.path else {}
        return out | {
            "in": self.within,
            "line": self.line,
            "column": self.column,
            "text": self.text,
            "yes": self.yes,
            "no": self.no,
            "maybe": self.maybe,
        }


@dataclass(frozen=True, slots=True)
class Coverage:
    """The rules in the order of the bundle; the tests of rules, and of the conditions that rules use, likewise."""

    rules: tuple[CoveredRule, ...]
    tests: tuple[CoveredTest, ...]

    @property
    def unexercised(self) -> tuple[str, ...]:
        """The ids of the rules that decided no case."""
        return tuple(rule.rule_id for rule in self.rules if not rule.cases)

    @property
    def reached(self) -> int:
        """The number of rules that decided a case, plus the answers yes and no of each test that occurred."""
        return sum(rule.cases > 0 for rule in self.rules) + sum((t.yes > 0) + (t.no > 0) for t in self.tests)

    @property
    def whole(self) -> int:
        """The value of `reached` at full coverage."""
        return len(self.rules) + 2 * len(self.tests)

    @property
    def percent(self) -> float:
        """The coverage in percent, 0 to 100. An empty bundle has 100."""
        return 100 * self.reached / self.whole if self.whole else 100.0

    def to_json(self) -> dict[str, Any]:
        """`{"percent": n, "rules": […], "tests": […]}`."""
        return {
            "percent": round(self.percent, 1),
            "rules": [rule.to_json() for rule in self.rules],
            "tests": [test.to_json() for test in self.tests],
        }


class CoverageTally:
    """Counts the rules and tests of one bundle in explained decisions."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._rules = [line for line in bundle.statements if isinstance(line, tree.Rule)]
        self._conditions = {line.name.text: line.expr for line in bundle.statements if isinstance(line, tree.Condition)}
        self._decided: Counter[str] = Counter()
        self._answers: Counter[tuple[_Place, TraceAnswer]] = Counter()

    def add(self, trace: Trace) -> None:
        """Counts one decision of the bundle."""
        self._decided[trace.decision.rule_id] += 1
        for rule, told in zip(self._rules, trace.rules, strict=True):
            if told.tests:
                for clause, node in zip(_clauses(rule), told.tests, strict=True):
                    self._answers.update(_seen(f"rule {rule.id.text}", clause, node, self._conditions))

    def coverage(self) -> Coverage:
        """The coverage so far."""
        tests = []
        for within, expr in _used(self._rules, self._conditions):
            for test in _tests(expr):
                yes, no, maybe = (self._answers[(within, test.span.start), answer] for answer in TraceAnswer)
                text = one_line(self._bundle, test.span)
                path = "" if test.span.path == self._bundle.path else test.span.path
                tests.append(CoveredTest(within, test.span.line, test.span.column, text, yes, no, maybe, path))
        rules = (CoveredRule(rule.id.text, rule.span.line, self._decided[rule.id.text]) for rule in self._rules)
        return Coverage(tuple(rules), tuple(sorted(tests, key=lambda test: (test.path, test.line, test.column))))


def _clauses(rule: tree.Rule) -> list[tree.When | tree.Unless]:
    # In the order in which a trace lists them.
    return [clause for clause in rule.clauses if isinstance(clause, tree.When | tree.Unless)]


def _used(rules: Sequence[tree.Rule], conditions: dict[str, tree.Expr]) -> Iterator[tuple[str, tree.Expr]]:
    """The expressions of the rules, then of the conditions that they rest on, with the statement each stands in."""
    waiting = [(f"rule {rule.id.text}", clause.expr) for rule in rules for clause in _clauses(rule)]
    entered: set[str] = set()
    for within, expr in waiting:
        yield within, expr
        for name in _names(expr):
            if name not in entered:
                entered.add(name)
                waiting.append((f"condition {name}", conditions[name]))


def _parts(expr: tree.Expr) -> Iterator[tree.Expr]:
    """The tests and the names of conditions that an expression consists of, those in blocks too, in order."""
    waiting = [expr]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tree.And | tree.Or):
            waiting += reversed(part.items)
        elif isinstance(part, tree.Not):
            waiting.append(part.item)
        else:
            yield part
            if isinstance(part, tree.Test) and part.block is not None:
                waiting.append(part.block)


def _names(expr: tree.Expr) -> list[str]:
    return [part.name.text for part in _parts(expr) if isinstance(part, tree.ConditionRef)]


def _tests(expr: tree.Expr) -> list[tree.Expr]:
    return [part for part in _parts(expr) if not isinstance(part, tree.ConditionRef)]


def _seen(
    within: str, clause: tree.When | tree.Unless, node: TraceNode, conditions: dict[str, tree.Expr]
) -> Iterator[tuple[_Place, TraceAnswer]]:
    """The answers of the tests of one explained clause, walking its tree and its trace side by side."""
    waiting = [(within, clause.expr, node, isinstance(clause, tree.Unless))]
    while waiting:
        within, expr, node, negated = waiting.pop()
        if not node.counted:
            continue
        if isinstance(expr, tree.Not):
            waiting.append((within, expr.item, node, not negated))
        elif isinstance(expr, tree.And | tree.Or):
            waiting += [(within, item, child, negated) for item, child in zip(expr.items, node.children, strict=True)]
        elif isinstance(expr, tree.ConditionRef):
            name = expr.name.text
            waiting.append((f"condition {name}", conditions[name], node.children[0], negated))
        else:
            # A trace pushes `not` down to the tests, so what it says there is the answer of the negated test.
            yield (within, expr.span.start), _OPPOSITE[node.answer] if negated else node.answer
            if isinstance(expr, tree.Test) and expr.block is not None:
                inner = negated is not (expr.operand.quantifier is tree.Quantifier.NO)
                waiting += [(within, expr.block, child, inner) for child in node.children]
