"""Policy tests: submissions with their expected verdicts, and the report of a run."""

from collections.abc import Sequence
from typing import Any, Final

from rebuno.model.clock import rfc3339
from rebuno.model.dataclass import dataclass
from rebuno.model.decision import Decision, Verdict
from rebuno.model.step import Kind, StepStatus
from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.explain.trace import Trace
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.matcher.measures import Measured
from rebuno.policy.matcher.policy import Policy
from rebuno.policy.syntax.diagnostics import Diagnostic
from rebuno.policy.testing.coverage import Coverage, CoverageTally

# The states of a step that has started. A case cannot express a denial after the start.
RAN: Final = frozenset({StepStatus.EXECUTING, StepStatus.SUCCEEDED, StepStatus.FAILED, StepStatus.CANCELLED})


@dataclass(frozen=True, slots=True)
class EarlierStep:
    """A step that happened before the submission. `args` and `result` are JSON values; `approved` says that a person
    approved it, `allowed` that a rule or the default let it in (None: unless a person approved it). A step that is
    neither ran under a grant for more than this step.

    `at` and `ended_at` are the times of its start and end in seconds since 1970, `error` is `{"type", "message"}` of a
    failure and `nothing_done` whether its tool did nothing, `definition` is `{"server", "name", "digest"}` of the tool;
    each is None where it is unknown or absent."""

    kind: Kind
    target: str
    args: Any
    result: Any = None
    status: StepStatus = StepStatus.SUCCEEDED
    approved: bool = False
    at: float | None = None
    ended_at: float | None = None
    error: dict[str, str] | None = None
    nothing_done: bool | None = None
    definition: dict[str, str] | None = None
    allowed: bool | None = None

    @property
    def let_in(self) -> str:
        """Who let the step in, as `Evidence` says it."""
        if self.approved:
            return "approved"
        return "granted" if self.allowed is False else "allowed"

    def evidence(self, seq: int) -> Evidence:
        """What the step leaves behind; `seq` is the number of its outcome."""
        clean = self.nothing_done
        if clean is None and self.error is not None:
            clean = False
        return Evidence(
            seq,
            self.kind.value,
            self.target,
            self.args,
            self.result,
            status=self.status,
            at=self.at,
            ended_at=self.ended_at,
            error=self.error,
            nothing_done=clean,
            definition=self.definition,
            let_in=self.let_in,
        )

    def to_json(self) -> dict[str, Any]:
        """The step as JSON data, without what is unknown of it."""
        known: dict[str, Any] = {
            "at": None if self.at is None else rfc3339(self.at),
            "ended_at": None if self.ended_at is None else rfc3339(self.ended_at),
            "error": self.error,
            "nothing_done": self.nothing_done,
            "definition": self.definition,
            "allowed": self.allowed,
        }
        return {
            "kind": self.kind.value,
            "target": self.target,
            "args": self.args,
            "result": self.result,
            "status": self.status.value,
            "approved": self.approved,
            **{key: value for key, value in known.items() if value is not None},
        }


@dataclass(frozen=True, slots=True)
class Turn:
    """What the user wrote into the run after it began; `at` is when, in seconds since 1970 (None: unknown)."""

    text: str
    at: float | None = None

    def to_json(self) -> Any:
        """The turn as JSON data."""
        return self.text if self.at is None else {"text": self.text, "at": rfc3339(self.at)}


@dataclass(frozen=True, slots=True)
class CaseSubmission:
    """A submission for a policy: a step with the input and the history of its execution, oldest step first.

    `at` is the time of the submission in seconds since 1970, None if unknown. `parent` is the agent whose execution
    began this one; it is empty if a client began it. `turns` are what the user wrote into the run, `root_input` is the
    input of the execution at the root of a delegation (None: not said), `definition` is `{"server", "name",
    "digest"}` of the tool (None: it has none), `workdir` the folder of the session (empty: none).
    """

    kind: Kind
    target: str
    args: Any
    agent_id: str = ""
    input: Any = None
    history: tuple[EarlierStep, ...] = ()
    at: float | None = None
    parent: str = ""
    turns: tuple[Turn, ...] = ()
    root_input: Any = None
    definition: dict[str, str] | None = None
    workdir: str = ""

    def facts(self) -> Facts:
        """The submission as a policy sees it. An approval counts just before the outcome of the step."""
        evidence: list[Evidence] = []
        for number, step in enumerate(self.history):
            kind, seq = step.kind.value, 2 * number + 1
            if step.approved:
                evidence.append(Evidence(seq, kind, step.target, step.args, approved=True, definition=step.definition))
            if step.status in RAN:
                evidence.append(step.evidence(seq + 1))
        return Facts(
            self.kind.value,
            self.target,
            self.args,
            agent=self.agent_id,
            input=self.input,
            history=History(evidence),
            now=self.at,
            parent=self.parent,
            turns=[turn.text for turn in self.turns] or None,
            turn_times=[turn.at for turn in self.turns],
            root_input=self.root_input,
            definition=self.definition,
            workdir=self.workdir,
        )

    def to_json(self) -> dict[str, Any]:
        """The submission as JSON data, without an input, a history or a time that it does not have."""
        out = {"kind": self.kind.value, "target": self.target, "args": self.args, "agent_id": self.agent_id}
        if self.input is not None:
            out["input"] = self.input
        if self.parent:
            out["parent"] = self.parent
        if self.turns:
            out["turns"] = [turn.to_json() for turn in self.turns]
        if self.root_input is not None:
            out["root_input"] = self.root_input
        if self.definition is not None:
            out["definition"] = self.definition
        if self.workdir:
            out["workdir"] = self.workdir
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
