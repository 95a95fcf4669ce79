"""Policy tests: submissions with their expected verdicts, and the report of a run."""

from collections.abc import Sequence
from typing import Any, Final

from rebuno.model.clock import rfc3339
from rebuno.model.dataclass import dataclass
from rebuno.model.decision import Decision, Verdict
from rebuno.model.step import Kind, StepStatus
from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.explain.trace import Trace
from rebuno.policy.matcher.amounts import Measured
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.matcher.policy import Policy
from rebuno.policy.syntax.diagnostics import Diagnostic
from rebuno.policy.testing.coverage import Coverage, CoverageTally

# The states of a step that has started. A case cannot express a denial after the start.
RAN: Final = frozenset({StepStatus.EXECUTING, StepStatus.SUCCEEDED, StepStatus.FAILED, StepStatus.CANCELLED})


@dataclass(frozen=True, slots=True)
class EarlierStep:
    """A step that happened before the submission. `args` and `result` are JSON values; `approved` says that a person
    approved it."""

    kind: Kind
    target: str
    args: Any
    result: Any = None
    status: StepStatus = StepStatus.SUCCEEDED
    approved: bool = False

    def to_json(self) -> dict[str, Any]:
        """The step as JSON data."""
        return {
            "kind": self.kind.value,
            "target": self.target,
            "args": self.args,
            "result": self.result,
            "status": self.status.value,
            "approved": self.approved,
        }


@dataclass(frozen=True, slots=True)
class CaseSubmission:
    """A submission for a policy: a step with the input and the history of its execution, oldest step first.

    `at` is the time of the submission in seconds since 1970, None if unknown. `parent` is the agent whose execution
    began this one; it is empty if a client began it.
    """

    kind: Kind
    target: str
    args: Any
    agent_id: str = ""
    input: Any = None
    history: tuple[EarlierStep, ...] = ()
    at: float | None = None
    parent: str = ""

    def facts(self) -> Facts:
        """The submission as a policy sees it. An approval counts just before the outcome of the step."""
        evidence: list[Evidence] = []
        for number, step in enumerate(self.history):
            kind, seq = step.kind.value, 2 * number + 1
            if step.approved:
                evidence.append(Evidence(seq, kind, step.target, step.args, approved=True))
            if step.status in RAN:
                evidence.append(Evidence(seq + 1, kind, step.target, step.args, step.result, status=step.status))
        return Facts(
            self.kind.value,
            self.target,
            self.args,
            agent=self.agent_id,
            input=self.input,
            history=History(evidence),
            now=self.at,
            parent=self.parent,
        )

    def to_json(self) -> dict[str, Any]:
        """The submission as JSON data, without an input, a history or a time that it does not have."""
        out = {"kind": self.kind.value, "target": self.target, "args": self.args, "agent_id": self.agent_id}
        if self.input is not None:
            out["input"] = self.input
        if self.parent:
            out["parent"] = self.parent
        if self.history:
            out["history"] = [step.to_json() for step in self.history]
        if self.at is not None:
            out["at"] = rfc3339(self.at)
        return out


@dataclass(frozen=True, slots=True)
class Case:
    """One test. `expect` and `expect_rule` are None if the case does not set them. `line` is its first line."""

    name: str
    submission: CaseSubmission
    expect: Verdict | None
    expect_rule: str | None
    line: int


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A file of cases, with its warnings."""

    path: str
    cases: tuple[Case, ...]
    warnings: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The decision of a policy on a case. `failure` is empty if it was expected, else `trace` explains the decision."""

    case: Case
    decision: Decision
    failure: str = ""
    trace: Trace | None = None
    # What each limit by amount measures of the step, by the limit's name, or else by the rule's.
    takes: tuple[tuple[str, Measured], ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the decision is the expected one."""
        return not self.failure

    def to_json(self) -> dict[str, Any]:
        """The case with the policy's answer, as JSON data."""
        case = self.case
        out: dict[str, Any] = {"name": case.name, "line": case.line, **case.submission.to_json()}
        if case.expect is not None:
            out["expect"] = case.expect.value
        if case.expect_rule is not None:
            out["expect_rule"] = case.expect_rule
        out["decision"] = self.decision.verdict.value
        out["rule_id"] = self.decision.rule_id
        out["reason"] = self.decision.reason
        out["pass"] = self.passed
        if self.takes:
            out["takes"] = {name: measured.amount or None for name, measured in self.takes}
        if self.failure:
            out["failure"] = self.failure
        if self.trace is not None:
            out["trace"] = self.trace.to_json()
        return out


@dataclass(frozen=True, slots=True)
class CaseReport:
    """The results of all cases of a policy, and their coverage."""

    results: tuple[CaseResult, ...]
    coverage: Coverage

    @property
    def failed(self) -> int:
        """The number of cases with an unexpected decision."""
        return sum(not result.passed for result in self.results)

    def to_json(self) -> dict[str, Any]:
        """`{"results": […], "failed": n, "unexercised_rules": […], "coverage": {…}}`."""
        return {
            "results": [result.to_json() for result in self.results],
            "failed": self.failed,
            "unexercised_rules": list(self.coverage.unexercised),
            "coverage": self.coverage.to_json(),
        }


def run_cases(policy: Policy, cases: Sequence[Case]) -> CaseReport:
    """Runs every case against a policy. If it has several layers, the coverage is that of the last one."""
    tally = CoverageTally(policy.bundles[-1])
    results = []
    for case in cases:
        trace = explain_decision(policy, case.submission.facts())
        tally.add(trace.layers[-1] if trace.layers else trace)
        results.append(_case_result(case, policy.decide(case.submission.facts()), trace))
    return CaseReport(tuple(results), tally.coverage())


def _case_result(case: Case, decision: Decision, trace: Trace) -> CaseResult:
    wrong: list[str] = []
    if case.expect not in (None, decision.verdict):
        wrong.append(f"expected {case.expect}, got {decision.verdict.value}")
    if case.expect_rule not in (None, decision.rule_id):
        wrong.append(f"expected rule `{case.expect_rule}`, `{decision.rule_id}` decided")
    takes = tuple(
        (limit.name or obligation.rule_id, measured) for obligation, limit, measured in trace.limits() if limit.measure
    )
    return CaseResult(case, decision, "; ".join(wrong), trace if wrong else None, takes)
