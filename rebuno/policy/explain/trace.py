"""The explanation of one decision, as plain data: rules in order, each test with the value it saw, its answer and why.

The JSON form (`Trace.to_json`) is stable and documented in `docs/policy-test.md`.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any, Final

from rebuno.model.dataclass import dataclass
from rebuno.model.decision import Decision
from rebuno.model.obligation import Limit, LimitScope, Obligation
from rebuno.policy.matcher.measures import Measured


class TraceAnswer(StrEnum):
    """The three values of a test."""

    YES = "yes"
    NO = "no"
    MAYBE = "maybe"


@dataclass(frozen=True, slots=True)
class TraceNode:
    """One test, or a connective over others.

    `text` is the source as written (one line), `line` where it stands. `answer` is what it came to; `why` says so in
    words (`args.amount is 12, which is <= 2500`). `seen` holds the values that the test looked at, JSON values, at most
    eight; empty for connectives. `label` is `and`, `or`, `condition NAME`, or empty for a plain test: a `not` is pushed
    down to the tests, and the text and answer are those of the negated test.
    `counted` is False where an earlier part had settled the answer already and this one is shown for the reader only.
    """

    text: str
    line: int
    answer: TraceAnswer
    why: str
    seen: tuple[Any, ...] = ()
    label: str = ""
    children: tuple["TraceNode", ...] = ()
    counted: bool = True

    def to_json(self) -> dict[str, Any]:
        """The node as JSON data."""
        out: dict[str, Any] = {"text": self.text, "line": self.line, "answer": self.answer.value, "why": self.why}
        if self.seen:
            out["seen"] = list(self.seen)
        if self.label:
            out["label"] = self.label
        if not self.counted:
            out["counted"] = False
        if self.children:
            out["children"] = [child.to_json() for child in self.children]
        return out


class RuleOutcome(StrEnum):
    """What became of a rule."""

    DECIDED = "decided"
    OTHER_SUBJECT = "other subject"
    NO_MATCH = "no match"
    NOT_REACHED = "not reached"


# Where the tests of a rule alone would be sure: all tests of a decision together are bounded.
BEYOND_BOUND: Final = "the bound on the tests of a decision"


def first_maybe(tests: Iterable[TraceNode]) -> str:
    """The text of the first of these tests that was maybe, as written; empty where there is none."""
    for node in tests:
        if node.answer is TraceAnswer.MAYBE and node.counted:
            return first_maybe(node.children) or node.text
    return ""


@dataclass(frozen=True, slots=True)
class RuleTrace:
    """One rule. `verdict` is what it would say; `tests` is its `when` and `unless`, empty where the subject differs or
    an earlier rule decided. `answer` is what the conditions came to (yes where there are none)."""

    rule_id: str
    verdict: str
    line: int
    outcome: RuleOutcome
    subject: str
    answer: TraceAnswer | None = None
    tests: tuple[TraceNode, ...] = ()

    @property
    def doubt(self) -> str:
        """The text of the first test that was maybe, of a rule that decided on a maybe; else empty."""
        if self.outcome is not RuleOutcome.DECIDED or self.answer is not TraceAnswer.MAYBE:
            return ""
        return first_maybe(self.tests) or BEYOND_BOUND

    def to_json(self) -> dict[str, Any]:
        """The rule as JSON data."""
        out: dict[str, Any] = {
            "rule": self.rule_id,
            "verdict": self.verdict,
            "line": self.line,
            "outcome": self.outcome.value,
            "subject": self.subject,
        }
        if self.answer is not None:
            out["answer"] = self.answer.value
        if self.tests:
            out["tests"] = [node.to_json() for node in self.tests]
        return out


@dataclass(frozen=True, slots=True)
class Trace:
    """Why one submission got its decision. `source` is the deciding statement's line of the bundle as written.

    Where the policy has several layers, `layers` holds each one's own trace, and the rest is the deciding one's.
    """

    decision: Decision
    rules: tuple[RuleTrace, ...]
    source: str = ""
    path: str = ""
    layers: "tuple[Trace, ...]" = ()
    # For each obligation of the decision, what its limit measures of the submission; None where it has no limit.
    measured: tuple[Measured | None, ...] = ()

    def limits(self) -> Iterator[tuple[Obligation, Limit, Measured]]:
        """The limits that count the step, with what they measure of it."""
        for obligation, amount in zip(self.decision.obligations, self.measured, strict=False):
            if obligation.limit is not None and amount is not None:
                yield obligation, obligation.limit, amount

    def to_json(self) -> dict[str, Any]:
        """The trace as JSON data: `{"version": 1, "decision": …, "rule": …, "reason": …, "bundle": …, "line": …,
        "source": …, "rules": […]}`, and where there are any `"obligations": […]` and `"layers": […]`."""
        out = {"version": 1, **self._body()}
        if self.layers:
            out["layers"] = [layer._body() for layer in self.layers]
        return out

    def _body(self) -> dict[str, Any]:
        d = self.decision
        out: dict[str, Any] = {
            "decision": d.verdict.value,
            "rule": d.rule_id,
            "reason": d.reason,
            "bundle": d.bundle,
            "line": d.line,
            "source": self.source,
            "rules": [rule.to_json() for rule in self.rules],
        }
        if d.obligations:
            amounts = self.measured or (None,) * len(d.obligations)
            out["obligations"] = [obligation_json(*one) for one in zip(d.obligations, amounts, strict=True)]
        return out


def obligation_json(obligation: Obligation, amount: Measured | None = None) -> dict[str, Any]:
    """What a rule asks for as JSON data: `{"bundle", "rule"}` and what there is of `limit`, `budget` and `asking`. In
    `limit`, `takes` is what it measures of the submission, null where that is no amount."""
    out: dict[str, Any] = {"bundle": obligation.bundle, "rule": obligation.rule_id}
    if limit := obligation.limit:
        out["limit"] = {
            "number": limit.number,
            "window": limit.window,
            "scope": limit.scope.value,
            "otherwise": limit.otherwise.value,
            "wait": limit.wait,
            "unavailable": "allow" if limit.unavailable_allows else "deny",
        }
        more = {"name": limit.name, "of": [path.text for path in limit.measure]}
        more |= {"key": limit.key.text} if limit.key is not None else {}
        out["limit"] |= {name: value for name, value in more.items() if value}
        if amount is not None and (limit.measure or limit.name or limit.key is not None):
            out["limit"] |= {"takes": amount.amount or None} | ({"value": amount.key} if amount.key else {})
    if budget := obligation.budget:
        out["budget"] = {"tokens": budget.tokens, "otherwise": budget.otherwise.value}
        if budget.scope is not LimitScope.EXECUTION:
            out["budget"]["scope"] = budget.scope.value
    if asking := obligation.asking:
        out["asking"] = {
            "approvers": list(asking.approvers),
            "quorum": asking.quorum,
            "expires": asking.expires,
            "message": asking.message,
        }
        if asking.edits:
            out["asking"]["edits"] = [path.text for path in asking.edits]
    return out
