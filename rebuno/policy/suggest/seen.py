"""Recorded steps as calls that were seen: which of them ran, with what result, after what."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from rebuno.model.decision import Verdict
from rebuno.model.step import Kind
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.suggest.leaves import Arguments, take_apart
from rebuno.policy.testing.backtest import RecordedStep
from rebuno.policy.values.json_values import MISSING


@dataclass(frozen=True, slots=True, eq=False)
class SeenCall:
    """A step that ran. `run` is the number of its execution, `facts` those of its submission, with a history in which
    every step counts as let in by a rule; `result` is MISSING if it has none, and came with the event `ended`. `where`
    names the step for people."""

    run: int
    facts: Facts
    args: Arguments
    result: Any
    ended: int
    where: str

    @property
    def target(self) -> str:
        """The tool, or the model."""
        return self.facts.target


@dataclass(frozen=True, slots=True)
class Run:
    """One execution: the calls that ran, oldest first, and the evidence that they left."""

    calls: tuple[SeenCall, ...]
    evidence: tuple[Evidence, ...]
    left_out: int


def read_run(number: int, steps: Sequence[RecordedStep]) -> Run:
    """The calls of one execution. Steps that never started, such as those that were denied, are left out."""
    told = steps[0].facts.history.evidence if steps and steps[0].facts.history is not None else []
    evidence = tuple(let_in(one, "allowed") for one in told)
    history = History(evidence)
    started = {(one.submitted, one.kind, one.target): one for one in evidence if not one.approved}
    calls = []
    for step in sorted(steps, key=lambda one: one.facts.as_of or 0):
        own = started.get((step.facts.as_of or 0, step.facts.kind, step.facts.target))
        if own is None or step.facts.kind == Kind.LOCAL.value or not step.facts.target:
            continue
        facts = with_history(step.facts, history)
        result = own.result if own.succeeded else MISSING
        calls.append(SeenCall(number, facts, take_apart(step.facts.args), result, own.seq, step.where))
    never = sum(step.facts.kind != Kind.LOCAL.value for step in steps) - len(calls)
    return Run(tuple(calls), evidence, never)


def let_in(evidence: Evidence, who: str) -> Evidence:
    """The same evidence, let in by `who`."""
    found = copy(evidence)
    found.let_in = who
    return found


def with_history(facts: Facts, history: History) -> Facts:
    """The same submission after another past."""
    found = copy(facts)
    found.history = history
    found.readings = None
    found.tests = 0
    found.doubted = ()
    return found


def replayed(run: Run, decide: Any) -> list[tuple[SeenCall, Any]]:
    """Each call of a run with its decision by `decide`, where each earlier call counts as that same policy lets it in:
    alone, or with a person who was asked."""
    history = History()
    who: dict[tuple[int, str, str], str] = {}
    waiting = list(run.evidence)
    out = []
    for call in run.calls:
        until = call.facts.as_of or 0
        while waiting and waiting[0].seq < until:
            one = waiting.pop(0)
            found = who.get((one.submitted, one.kind, one.target), "allowed")
            if not one.approved or found == "approved":
                history.append(let_in(one, found))
        facts = with_history(call.facts, history)
        decision = decide(facts)
        who[until, facts.kind, facts.target] = "allowed" if decision.verdict is Verdict.ALLOW else "approved"
        out.append((call, decision))
    return out
