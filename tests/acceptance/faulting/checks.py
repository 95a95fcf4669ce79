"""Counts broken promises: what bodies noted and callers were told, against the journal."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from rebuno.journal.chain import verify
from rebuno.journal.records import Execution, Step
from rebuno.kernel import Operator
from rebuno.model import identity
from tests.acceptance.faulting.agent import ONCE, wanted
from tests.acceptance.faulting.proxy import Fault

MOST: Final = 100_000
PROMISES: Final = ("double_runs", "at_most_once_doubles", "lost", "duplicates", "failed_by_us", "hung")
# Each kind of fault falls so often at least, of so many in all.
LEAST: Final = 50
OF: Final = 600


@dataclass(slots=True)
class Count:
    """What was seen. `acknowledged` are the ends that callers were told, by execution; `asked` the numbers of the
    executions that were begun; `said` a line for each promise that was broken."""

    faults: Counter[Fault] = field(default_factory=Counter)
    broken: Counter[str] = field(default_factory=Counter)
    executions: int = 0
    acknowledged: dict[str, tuple[str, Any]] = field(default_factory=dict)
    asked: set[int] = field(default_factory=set)
    said: list[str] = field(default_factory=list)

    def breaks(self, promise: str, said: str) -> None:
        """Notes a promise that was broken."""
        self.broken[promise] += 1
        self.said.append(f"{promise}: {said}")

    def add(self, other: "Count") -> None:
        """Adds what was seen elsewhere."""
        self.faults += other.faults
        self.broken += other.broken
        self.executions += other.executions
        self.said += other.said

    def enough(self, executions: int, faults: int) -> bool:
        """Whether as much was seen as was to be."""
        rarest = min(self.faults[fault] for fault in Fault)
        return self.executions >= executions and self.faults.total() >= faults and rarest * OF >= LEAST * faults

    def report(self) -> dict[str, Any]:
        """The figures by their names, as JSON data."""
        faults = {fault.value: self.faults[fault] for fault in Fault}
        return {"executions": self.executions, "faults": faults} | {each: self.broken[each] for each in PROMISES}


async def look_through(operator: Operator, ledger: Iterable[str], count: Count) -> None:
    """Counts what is left of all executions of a store. The line to it must be sound."""
    rows = await operator.executions(limit=MOST)
    count.executions += len(rows)
    begun = Counter(identity.parse(row.input)["n"] for row in rows if not row.forked_from)
    for n, times in begun.items():
        if times > 1 or n not in count.asked:
            count.breaks("duplicates", f"the execution {n} was begun {times} times")
    for source, times in Counter(row.forked_from for row in rows if row.forked_from).items():
        if times > 1:
            count.breaks("duplicates", f"the execution {source} was forked {times} times")
    notes: dict[str, list[tuple[str, int, str, str]]] = defaultdict(list)
    for line in ledger:
        execution_id, *rest = json.loads(line)
        notes[execution_id].append(tuple(rest))
    found = {row.id: row for row in rows}
    for execution_id, (status, output) in count.acknowledged.items():
        row = found.get(execution_id)
        there = None if row is None else (row.status.value, None if row.output is None else identity.parse(row.output))
        if there != (status, output) and not (status == "begun" and row is not None):
            count.breaks("lost", f"{execution_id} was told to be {status} with {output}, and is {there}")
    for row in rows:
        await _look_at(operator, row, notes[row.id], count)


async def _look_at(operator: Operator, row: Execution, notes: list[tuple[str, int, str, str]], count: Count) -> None:
    chain, steps = verify(await operator.events(row.id)), await operator.steps(row.id)
    if chain.fault or chain.hash != row.head_hash:
        count.breaks("lost", f"{row.id} has a broken log: {chain.fault or 'its head is another one'}")
    if row.status == "failed":
        count.breaks("failed_by_us", f"{row.id} failed: {row.failure_reason}")
    elif row.status == "completed":
        expected = wanted(int(identity.parse(row.input)["n"]))
        unknown = {_args(step)["n"] for step in steps if step.error is not None}
        if identity.parse(row.output or "null") != [None if value in unknown else value for value in expected]:
            count.breaks("lost", f"{row.id} has the output {row.output}")
    else:
        count.breaks("hung", f"{row.id} is {row.status.value}")
    starts = Counter((target, n) for target, n, _, at in notes if at == "start")
    for (target, n), times in starts.items():
        if target in ONCE and times > 1:
            count.breaks("at_most_once_doubles", f"{row.id} began {target}({n}) {times} times")
    for step in steps:
        if step.status == "succeeded" and _ran_again(step, notes):
            count.breaks("double_runs", f"{row.id} ran {step.target}({_args(step)['n']}) after it had succeeded")


def _args(step: Step) -> dict[str, int]:
    args: dict[str, int] = identity.parse(step.args)
    return args


def _ran_again(step: Step, notes: list[tuple[str, int, str, str]]) -> bool:
    """Whether a body of the step began after the one that is recorded had ended. One that another attempt began before
    has none: its lease was lost, and what is recorded is the other's."""
    value, run = identity.parse(step.result or "null")
    # Of what a fork copied there is nothing.
    ended = next((i for i, (_, _, name, at) in enumerate(notes) if name == run and at == "end"), len(notes))
    return any((target, n, at) == (step.target, value, "start") for target, n, _, at in notes[ended:])
