"""Restores a copy of a store behind the world, goes on with every execution, and counts broken promises.

    .venv/bin/python tests/acceptance/restore.py --executions 40 --json

Each execution does ten effects that may not be done twice. A copy is made at a random moment of the work, which then
ends; the copy is put back, and every execution is run again, by its own id. `once_without_person` counts effects that
were done after that and that no person was asked about, `lost` executions of the copy that are gone or whose log is not
whole, and steps that it had recorded and that ran again. Then copies are put over files that are in use: `unnoticed`
counts those after which the store took a further change.
"""

import argparse
import asyncio
import json
import random
import shutil
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import rebuno
from rebuno.errors import StoreError
from rebuno.journal.sqlite import copies
from rebuno.policy import compile_text

EFFECTS = 10
POLICY = "bundle restore\ndefault allow\n"


@dataclass(slots=True)
class Count:
    """What happened."""

    executions: int = 0
    asked: int = 0
    once_without_person: int = 0
    lost: int = 0
    unnoticed: int = 0

    @property
    def broken(self) -> bool:
        """Whether a promise was broken."""
        return bool(self.once_without_person or self.lost or self.unnoticed)


# What was done, in order: it is no part of the store, and a copy does not bring it back.
done: list[tuple[str, int]] = []


class Now:
    """The moment of the copy: after so many effects."""

    def __init__(self) -> None:
        self.at = 0
        self.come = asyncio.Event()


now = Now()


@rebuno.tool("effect", idempotency="at_most_once")
async def effect(run: str, n: int) -> int:
    """Does something that may not be done twice."""
    done.append((run, n))
    if len(done) == now.at:
        now.come.set()
    return n


async def agent(run: str) -> int:
    """Does its effects one after the other."""
    total = 0
    for n in range(EFFECTS):
        try:
            total += int(await effect(run, n))
        except rebuno.ToolError:
            # It was under way when the copy was made: nobody knows whether it was done.
            continue
        await asyncio.sleep(0)
    return total


async def play(folder: Path, executions: int) -> Count:
    """The whole story, on stores in this folder."""
    count = Count(executions)
    path, copy = folder / "store.db", folder / "copy.db"
    runs = [f"run {n}" for n in range(executions)]
    now.at = random.randrange(1, executions * EFFECTS)

    async def copied() -> None:
        await now.come.wait()
        await asyncio.to_thread(copies.backup, path, copy)

    async with rebuno.open(path, policy=compile_text(POLICY)) as kernel:
        copying = asyncio.create_task(copied())
        await asyncio.gather(*(kernel.run(agent, {"run": run}, id=run) for run in runs))
        await copying
    recorded = await _recorded(copy)
    copies.restore(copy, path, by="acceptance")
    async with rebuno.open(path, policy=compile_text(POLICY)) as kernel:
        for run in runs:
            await _goes_on(kernel, run, recorded.get(run, set()), count)
        found = {one.idempotency_key for one in await kernel.operator.executions(limit=executions + 1)}
        count.lost += len(set(recorded) - found)
        for run in recorded:
            count.lost += bool((await kernel.operator.verify(run)).fault)
    for number in range(5):
        count.unnoticed += await _put_over(folder / f"live {number}.db", copy)
    return count


async def _recorded(copy: Path) -> dict[str, set[int]]:
    """The effects of each execution that the copy holds as done."""
    async with rebuno.operate(copy) as operator:
        found = await operator.executions(limit=10_000)
        return {
            one.idempotency_key or one.id: {
                step.args["n"] for step in await operator.steps(one.id) if step.status == "succeeded"
            }
            for one in found
        }


async def _goes_on(kernel: rebuno.Kernel, run: str, recorded: set[int], count: Count) -> None:
    """Runs an execution to its end, and grants what is asked: the person has seen that the effect is not there."""
    asked: set[int] = set()
    while True:
        before = len(done)
        ended = await kernel.run(agent, {"run": run}, id=run)
        for name, n in done[before:]:
            count.lost += name == run and n in recorded
            count.once_without_person += name != run or n not in asked
        if ended.status != "blocked":
            return
        for question in ended.approvals:
            assert question.args is not None
            asked.add(question.args["n"])
            count.asked += 1
            await kernel.operator.grant(question.id, decided_by="person")


async def _put_over(path: Path, copy: Path) -> bool:
    """Whether a store takes a change after its file was written over."""
    async with rebuno.open(path, policy=compile_text(POLICY)) as kernel:
        await kernel.run(agent, {"run": "live"}, id="live")
        await asyncio.to_thread(shutil.copyfile, copy, path)
        try:
            await kernel.run(agent, {"run": "after"}, id="after")
        except StoreError:
            return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--executions", type=int, default=40)
    parser.add_argument("--seed", type=int, default=None, help="of the moment at which the copy is made")
    parser.add_argument("--json", action="store_true", help="print only JSON")
    options = parser.parse_args()
    random.seed(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        count = asyncio.run(play(Path(folder), options.executions))
    report = asdict(count)
    if options.json:
        print(json.dumps(report))
    else:
        for key, value in report.items():
            print(f"{key:>20}  {value}")
    sys.exit(1 if count.broken else 0)


if __name__ == "__main__":
    main()
