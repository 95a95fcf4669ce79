"""Recorded steps as calls that were seen: which of them ran, with what result, after what."""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Final

from rebuno.model.decision import Verdict
from rebuno.model.step import Kind
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.suggest.leaves import SeenArguments, take_apart, texts_in
from rebuno.policy.testing.backtest import RecordedStep
from rebuno.policy.values.json_values import MISSING

# Between texts that are looked through as one.
SEPARATOR: Final = "\x1f"


class Brought:
    """The texts that the steps of an execution brought, in order."""

    def __init__(self, evidence: Iterable[Evidence]) -> None:
        self._seqs: list[int] = []
        self._ends: list[int] = []
        parts: list[str] = []
        length = 0
        for one in evidence:
            if one.succeeded:
                text = SEPARATOR.join(texts_in(one.result)) + SEPARATOR
                parts.append(text)
                length += len(text)
                self._seqs.append(one.seq)
                self._ends.append(length)
        self._text = "".join(parts)

    def holds(self, value: str, until: int | None) -> bool:
        """Whether a text that stood there before an event contains a value."""
        number = len(self._seqs) if until is None else bisect_left(self._seqs, until)
        return number > 0 and self._text.find(value, 0, self._ends[number - 1]) >= 0


@dataclass(frozen=True, slots=True, eq=False)
class SeenCall:
    """A step that ran. `run` is the number of its execution, `facts` those of its submission, with a history in which
    every step counts as let in by a rule; `result` is MISSING if it has none, and came with the event `ended`. `where`
    names the step for people, `brought` are the texts that its execution brought."""

    run: int
    facts: Facts
    args: SeenArguments
    result: Any
    ended: int
    where: str
    brought: Brought

    @property
    def request(self) -> str | None:
        """What the user wrote, as one text; None where nothing was recorded."""
        if self.facts.input is None and not self.facts.turns:
            return None
        return SEPARATOR.join(texts_in([self.facts.input, self.facts.turns]))

    @property
    def target(self) -> str:
        """The tool, or the model."""
        return self.facts.target


@dataclass(frozen=True, slots=True)
class SeenRun:
    """One execution: the calls that ran, oldest first, and the evidence that they left."""

    calls: tuple[SeenCall, ...]
    evidence: tuple[Evidence, ...]
    left_out: int


def read_run(number: int, steps: Sequence[RecordedStep]) -> SeenRun:
    """The calls of one execution. Steps that never started, such as those that were denied, are left out."""
    told = steps[0].facts.history.evidence if steps and steps[0].facts.history is not None else []
    evidence = tuple(let_in(one, "allowed") for one in told)
    history = History(evidence)
    brought = Brought(evidence)
    started = {(one.submitted, one.kind, one.target): one for one in evidence if not one.approved}
    calls = []
    for step in sorted(steps, key=lambda one: one.facts.as_of or 0):
        own = started.get((step.facts.as_of or 0, step.facts.kind, step.facts.target))
        if own is None or step.facts.kind == Kind.LOCAL.value or not step.facts.target:
            continue
        facts = with_history(step.facts, history)
        result = own.result if own.succeeded else MISSING
        calls.append(SeenCall(number, facts, take_apart(step.facts.args), result, own.seq, step.where, brought))
    never = sum(step.facts.kind != Kind.LOCAL.value for step in steps) - len(calls)
    return SeenRun(tuple(calls), evidence, never)


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


def replayed(run: SeenRun, decide: Any) -> list[tuple[SeenCall, Any]]:
    """Each call of a run with its decision by `decide`, where each earlier call counts as that same policy lets it in:
    alone, or with a person who was asked."""
    history = History()
    who: dict[tuple[int, str, str], str] = {}
    waiting = deque(run.evidence)
    out = []
    for call in run.calls:
        until = call.facts.as_of or 0
        while waiting and waiting[0].seq < until:
            one = waiting.popleft()
            found = who.get((one.submitted, one.kind, one.target), "allowed")
            if not one.approved or found == "approved":
                history.append(let_in(one, found))
        facts = with_history(call.facts, history)
        decision = decide(facts)
        who[until, facts.kind, facts.target] = "allowed" if decision.verdict is Verdict.ALLOW else "approved"
        out.append((call, decision))
    return out
