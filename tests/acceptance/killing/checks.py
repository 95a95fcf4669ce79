"""Counts broken promises on the trail of a run."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from rebuno.journal.chain import verify
from rebuno.types import Event, Step
from tests.acceptance.killing import program
from tests.acceptance.killing.program import ABREAST, ASK, CHOOSE, INSIDE, LAST, OUTER, ROW, SLOW, WAYS
from tests.acceptance.killing.trail import Trail, effect, unknown
from tests.rows import rows


@dataclass(slots=True)
class Count:
    """What was seen. `kills` are those of processes and of servers (`server_kills`) together, `points` where the
    executions stood that a kill hit, several a kill; `store_errors` are processes that ended with a typed error of the
    store, `crashes` those that ended otherwise than killed, at their end, or so; `said` is what these said."""

    kills: int = 0
    server_kills: int = 0
    executions: int = 0
    indeterminate: int = 0
    double_runs: int = 0
    at_most_once_doubles: int = 0
    gaps: int = 0
    broken_chains: int = 0
    wrong_outputs: int = 0
    crashes: int = 0
    store_errors: int = 0
    points: Counter[str] = field(default_factory=Counter)
    said: list[str] = field(default_factory=list)

    @property
    def broken(self) -> int:
        """How many promises were broken; must be 0."""
        doubles = self.double_runs + self.at_most_once_doubles
        return doubles + self.gaps + self.broken_chains + self.wrong_outputs + self.crashes

    def report(self) -> dict[str, Any]:
        """The figures by their names, as JSON data."""
        figures = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "said"}
        return figures | {"points": dict(sorted(self.points.items()))}

    def on_the_way(self, trail: Trail, before: Sequence[Event]) -> None:
        """Counts what must hold after each kill; `before` are the events that were seen after the one before."""
        self.gaps += gaps(trail, before)
        self.broken_chains += broken_chain(trail)

    def at_the_end(self, trail: Trail) -> None:
        """Counts what an execution that has ended must keep."""
        self.executions += 1
        self.indeterminate += sum(unknown(step) for step in trail.steps)
        self.double_runs += double_runs(trail)
        self.at_most_once_doubles += at_most_once_doubles(trail)
        self.wrong_outputs += wrong_output(trail)


def double_runs(trail: Trail) -> int:
    """How often the body of a step ran that had succeeded: a second time in one process, or in one that began after
    the outcome was committed."""
    begun = Counter((mark.i, mark.pid) for mark in trail.begun())
    settled = {effect(step): step.outcome_seq for step in trail.steps if step.status == "succeeded"}
    found = 0
    for (i, pid), times in begun.items():
        if i in settled:
            late = (trail.first_start(pid) or 0) > settled[i]
            found += times if late else times - 1
    return found


def at_most_once_doubles(trail: Trail) -> int:
    """How many effects of idempotency `at_most_once` began more than once, whatever became of their steps."""
    begun = Counter(mark.i for mark in trail.begun())
    return sum(times > 1 for i, times in begun.items() if WAYS[i].once)


def gaps(trail: Trail, before: Sequence[Event]) -> int:
    """1 where the numbers of the events are not 1, 2, 3… to the head, where an event that was there is gone or another
    one, or where a body ran of which the log knows no attempt; else 0."""
    head = (trail.execution.head_seq or 0) if trail.execution is not None else 0
    whole = [event.event_seq for event in trail.events] == list(range(1, head + 1))
    kept = list(trail.events[: len(before)]) == list(before)
    known = all(trail.first_start(mark.pid) is not None for mark in trail.begun())
    return 0 if whole and kept and known else 1


def broken_chain(trail: Trail) -> int:
    """1 where a hash of an event, an outcome or the head is not the one that it must be; else 0."""
    if trail.execution is None:
        return 0
    chain = verify(rows(trail.events))
    return 1 if chain.fault or trail.fault or chain.hash.hex() != trail.execution.head_hash else 0


def wrong_output(trail: Trail) -> int:
    """1 where the output is not the one that the recorded outcomes demand, or where an outcome is recorded of a body
    that did not run so; else 0."""
    steps = {effect(step): step for step in trail.steps}
    execution = trail.execution
    if execution is None or execution.status != "completed" or sorted(steps) != list(range(len(WAYS))):
        return 1
    if len(steps) < len(trail.steps) or not all(_backed(trail, i, step) for i, step in steps.items()):
        return 1
    return 0 if execution.output == expected(trail.start, steps) else 1


def _backed(trail: Trail, i: int, step: Step) -> bool:
    """Whether what is recorded of a step is what its body, or the provider, says."""
    if step.status != "succeeded":
        return WAYS[i].once and unknown(step)
    if not WAYS[i].model:
        return any(mark.i == i and mark.at == "end" for mark in trail.marks)
    answered = trail.asked.get(program.number_of(_body(step)))
    return answered is not None and answered.i == i


def _body(step: Step) -> str:
    return str(step.result["body"])


def expected(start: int, steps: dict[int, Step]) -> dict[str, Any]:
    """The output that the recorded outcomes demand: the agent's arithmetic, told which steps were left without one."""

    def tried(i: int, acc: int) -> int:
        step = steps[i]
        if unknown(step):
            return program.lost(acc, i)
        return program.heard(acc, i, _body(step)) if WAYS[i].model else program.grown(acc, i)

    acc = start
    for i in ROW:
        acc = tried(i, acc)
    acc = sum(tried(i, acc) for i in ABREAST) % program.PRIME
    inside = acc
    for i in INSIDE:
        inside = tried(i, inside)
    acc = program.lost(acc, OUTER) if unknown(steps[OUTER]) else inside
    acc = (tried(SLOW, acc) + tried(ASK, acc)) % program.PRIME
    for i in LAST:
        acc = tried(i, acc)
    return {"acc": acc, "chosen": steps[CHOOSE].result}
