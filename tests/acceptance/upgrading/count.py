"""Counts what became of executions: what callers were told and bodies noted, against the journal."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg

from rebuno.journal.chain import verify
from rebuno.kernel import Operator
from tests.acceptance.replicating.job import output
from tests.acceptance.replicating.killer import ONCE, STEPS
from tests.rows import rows

MOST: Final = 100_000
LOOKS: Final = 2


@dataclass(slots=True)
class Tally:
    """What was seen. `told` are the ends that callers were told, by execution: its number, status and output; `did`
    counts what was done to replicas and servers; `said` is a line for each broken promise."""

    executions: int
    told: dict[str, tuple[int, str, Any]] = field(default_factory=dict)
    did: Counter[str] = field(default_factory=Counter)
    completed: int = 0
    lost: int = 0
    doubled: int = 0
    said: list[str] = field(default_factory=list)

    @property
    def broken(self) -> bool:
        """Whether anything is not as promised."""
        return self.completed < self.executions or self.lost > 0 or self.doubled > 0

    def report(self) -> dict[str, int]:
        """The counts by name."""
        counts = {
            "executions": self.executions,
            "completed": self.completed,
            "lost": self.lost,
            "doubled": self.doubled,
        }
        return counts | self.did

    def loses(self, said: str) -> None:
        """Notes something that is gone, or not what was told."""
        self.lost += 1
        self.said.append(f"lost: {said}")

    def doubles(self, said: str) -> None:
        """Notes something that was done twice."""
        self.doubled += 1
        self.said.append(f"doubled: {said}")

    def ends(self, id: str, n: int, status: str, came_to: Any, reason: str | None) -> None:
        """Notes the end of an execution that its caller was told."""
        self.told[id] = (n, status, came_to)
        if status == "completed":
            self.completed += 1
        else:
            self.said.append(f"{id} is {status}: {reason}")
        if status == "completed" and came_to != output(n):
            self.loses(f"{id} came to {came_to}")


async def look_through(operator: Operator, ledger: Iterable[str], tally: Tally) -> None:
    """Holds the journal against what was told, and against the notes of bodies, a line of JSON each."""
    found = {row.id: row for row in await operator.executions(limit=MOST)}
    for n, times in Counter(row.input["n"] for row in found.values()).items():
        if times > 1:
            tally.doubles(f"{times} executions are {n}")
    for id, (n, status, came_to) in tally.told.items():
        row = found.get(id)
        if row is None or (row.input, row.status.value, row.output) != ({"n": n}, status, came_to):
            tally.loses(f"{id} was told to be {status} with {came_to}, and is {row and (row.status.value, row.output)}")
        elif status == "completed":
            await _look_at(operator, id, row.head_hash, tally)
    begun = Counter(tuple(json.loads(line)) for line in ledger)
    for (id, target, *args), times in begun.items():
        if target in ONCE and times > 1:
            tally.doubles(f"{id} began {target}{args} {times} times")


def look_at_places(url: str, tally: Tally) -> None:
    """Holds the places that are counted in windows against those that were taken, two for each execution."""
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT coalesce(sum(taken), 0)::bigint, (SELECT count(*) FROM rebuno.spends) FROM rebuno.windows"
        ).fetchone()
    if found != (LOOKS * tally.executions,) * 2:
        tally.loses(f"(counted, taken) places are {found}")


async def _look_at(operator: Operator, id: str, head_hash: str, tally: Tally) -> None:
    chain = verify(rows(await operator.events(id)))
    if chain.fault or chain.hash.hex() != head_hash:
        tally.loses(f"{id} has a broken log: {chain.fault or 'its head is another one'}")
    steps = await operator.steps(id)
    succeeded = sum(step.status == "succeeded" for step in steps)
    if (succeeded, len(steps)) != (STEPS, STEPS):
        tally.loses(f"{id} has {succeeded} of {len(steps)} steps")
