"""Kills an agent with SIGKILL at random moments, resumes it, and counts broken promises on the committed log.

    .venv/bin/python tests/acceptance/kill.py --store sqlite --kills 50 --json

The agent takes 20 steps, tools and local ones of both idempotencies, some in parallel, some nested, some random. Every
body notes its start and end in a file that is synced line by line; the journal is read after each kill and at the end.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import rebuno
from rebuno.journal.chain import verify
from rebuno.journal.records import Event, Step
from rebuno.model import identity

POLICY = """bundle kill
default deny because "not a tool of this agent"
rule tools {
  allow tool "safe-*", "once-*", "outer"
}
"""
PRIME = 1_000_003
# How often one execution is killed before it may end.
KILLS_A_RUN = 4


# ---------------------------------------------------------------- the agent


def grown(acc: int, i: int) -> int:
    """What a step's body computes; the next step's arguments stand on it."""
    return (acc * 31 + i + 1) % PRIME


def lost(acc: int, i: int) -> int:
    """The agent's own branch where nobody knows how a step ended."""
    return (acc * 17 + i + 7) % PRIME


class Notes:
    """The file in which bodies say that they ran."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def write(self, **note: Any) -> None:
        os.write(self._file, json.dumps(note).encode() + b"\n")
        os.fdatasync(self._file)


async def effect(notes: Notes, name: str, i: int, acc: int) -> int:
    notes.write(name=name, i=i, at="start", pid=os.getpid())
    await asyncio.sleep(random.random() * 0.003)
    notes.write(name=name, i=i, at="end", pid=os.getpid())
    return grown(acc, i)


def agent(notes: Notes) -> Any:
    """A handler of 20 steps: 12 in a row, 4 in parallel, one with two inside it, and a random one that decides."""

    @rebuno.tool("safe-tool")
    async def safe(i: int, acc: int) -> int:
        return await effect(notes, "safe-tool", i, acc)

    @rebuno.tool("once-tool", idempotency="at_most_once")
    async def once(i: int, acc: int) -> int:
        return await effect(notes, "once-tool", i, acc)

    async def local(i: int, acc: int) -> int:
        return await effect(notes, "local", i, acc)

    @rebuno.tool("outer")
    async def outer(i: int, acc: int) -> int:
        acc = await tried(safe(i=i + 1, acc=acc), i + 1, acc)
        return await tried(once(i=i + 2, acc=acc), i + 2, acc)

    async def tried(call: Any, i: int, acc: int) -> int:
        try:
            return int(await call)
        except rebuno.ToolError as error:
            if error.reason != "indeterminate":
                raise
            return lost(acc, i)

    def one(i: int, acc: int) -> Any:
        match i % 4:
            case 0:
                return safe(i=i, acc=acc)
            case 1:
                return once(i=i, acc=acc)
            case 2:
                return rebuno.step("local-safe", local, {"i": i, "acc": acc})
            case _:
                return rebuno.step("local-once", local, {"i": i, "acc": acc}, idempotency="at_most_once")

    async def handler(start: int) -> dict[str, int]:
        acc = start
        for i in range(12):
            acc = await tried(one(i, acc), i, acc)
        parts = await asyncio.gather(*(tried(one(i, acc), i, acc) for i in range(12, 16)))
        acc = sum(parts) % PRIME
        acc = int(await outer(i=16, acc=acc))
        chosen = int(await rebuno.step("choose", random.randrange, {"start": 0, "stop": 1000}))
        return {"acc": acc, "chosen": chosen}

    return handler


def expected(start: int, steps: dict[tuple[str, int], Step]) -> dict[str, int]:
    """The output that the recorded outcomes demand: the agent's arithmetic, told which steps were left without one."""

    def tried(i: int, acc: int) -> int:
        name = ("safe-tool", "once-tool", "local-safe", "local-once")[i % 4] if i < 16 else ""
        name = {17: "safe-tool", 18: "once-tool"}.get(i, name)
        return lost(acc, i) if indeterminate(steps[name, i]) else grown(acc, i)

    acc = start
    for i in range(12):
        acc = tried(i, acc)
    acc = sum(tried(i, acc) for i in range(12, 16)) % PRIME
    acc = tried(18, tried(17, acc))
    return {"acc": acc, "chosen": identity.parse(steps["choose", 0].result or "null")}


def indeterminate(step: Step) -> bool:
    return step.error is not None and identity.parse(step.error).get("reason") == "indeterminate"


def child(folder: Path, run: str, start: int) -> None:
    """One process that runs or resumes the agent."""

    async def main() -> None:
        async with rebuno.open(folder / "kill.db", policy=folder / "kill.rbp") as kernel:
            print("ready", flush=True)
            await kernel.run(agent(Notes(folder / f"{run}.notes")), {"start": start}, id=run, agent="killed")
            print("ended", flush=True)

    asyncio.run(main())


# ---------------------------------------------------------------- the one who kills


class Count:
    """What was seen of broken promises, and where the kills fell."""

    def __init__(self) -> None:
        self.kills = 0
        self.double_runs = 0
        self.at_most_once_doubles = 0
        self.gaps = 0
        self.wrong_outputs = 0
        self.executions = 0
        self.indeterminate = 0
        self.points: Counter[str] = Counter()

    def report(self) -> dict[str, Any]:
        return {**vars(self), "points": dict(sorted(self.points.items()))}


async def look(folder: Path, run: str) -> tuple[rebuno.Execution | Any, dict[tuple[str, int], Step], list[Event]]:
    """The committed state of a run, or None where nothing is committed yet."""
    async with rebuno.operate(folder / "kill.db") as operator:
        try:
            execution = await operator.execution(run)
        except rebuno.NotFoundError:
            return None, {}, []
        steps = await operator.steps(execution.id)
        events = await operator.events(execution.id)
    return execution, {(s.target, int(identity.parse(s.args).get("i", 0))): s for s in steps}, events


def notes_of(folder: Path, run: str) -> list[dict[str, Any]]:
    path = folder / f"{run}.notes"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def step_of(note: dict[str, Any], steps: dict[tuple[str, int], Step]) -> Step | None:
    names = [note["name"]] if note["name"] != "local" else ["local-safe", "local-once"]
    return next((steps[name, note["i"]] for name in names if (name, note["i"]) in steps), None)


def point(steps: dict[tuple[str, int], Step], notes: list[dict[str, Any]], pid: int, ended: bool) -> str:
    """Where a kill fell, told from the journal and the notes that it left."""
    if ended:
        return "after the end"
    mine = [note for note in notes if note["pid"] == pid]
    open_steps = [step for step in steps.values() if step.status == "executing" and step.target != "outer"]
    began = {(note["name"], note["i"]) for note in mine if note["at"] == "start"}
    done = {(note["name"], note["i"]) for note in mine if note["at"] == "end"}
    if began - done:
        return "inside a body"
    if any(step_of({"name": name, "i": i}, steps) in (None, *open_steps) for name, i in done):
        return "after a body, before its outcome"
    if open_steps:
        return "after an intent, before its body"
    return "between steps" if steps else "before the first step"


def check_end(
    count: Count, start: int, execution: Any, steps: dict[tuple[str, int], Step], events: list[Event]
) -> None:
    chain = verify(events)
    if chain.fault or chain.seq != len(events) or chain.hash != execution.head_hash:
        count.gaps += 1
    output = identity.parse(execution.output) if execution.output else None
    if execution.status != "completed" or output != expected(start, steps):
        count.wrong_outputs += 1
    count.executions += 1
    count.indeterminate += sum(indeterminate(step) for step in steps.values())


def play(count: Count, kills: int, folder: Path, longest: float) -> float:
    """One execution, killed some times, then left to end and checked; how many seconds its last process worked."""
    run = f"run-{count.executions}"
    start = random.randrange(PRIME)
    settled: dict[str, int] = {}
    for attempt in range(KILLS_A_RUN + 1):
        last = attempt == KILLS_A_RUN or count.kills >= kills
        command = [sys.executable, __file__, "--child", str(folder), run, str(start)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        process.stdout.readline()
        began = time.monotonic()
        killed = False
        if not last:
            time.sleep(random.random() * longest)
            killed = process.poll() is None
            process.send_signal(signal.SIGKILL)
        process.stdout.readline()
        worked = time.monotonic() - began
        code = process.wait()
        process.stdout.close()
        if not killed and code not in (0, -signal.SIGKILL):
            raise SystemExit(f"the agent ended with {code}")
        execution, steps, events = asyncio.run(look(folder, run))
        notes = notes_of(folder, run)
        begun = Counter(
            step.step_id for note in notes if note["at"] == "start" and (step := step_of(note, steps)) is not None
        )
        count.double_runs += sum(begun[step_id] > before for step_id, before in settled.items())
        settled = {s.step_id: begun[s.step_id] for s in steps.values() if s.status == "succeeded"}
        if killed:
            count.kills += 1
            count.points[point(steps, notes, process.pid, execution is not None and execution.status.terminal)] += 1
        if execution is not None and execution.status.terminal:
            once = {s.step_id for s in steps.values() if s.idempotency == "at_most_once"}
            count.at_most_once_doubles += sum(begun[step_id] > 1 for step_id in once)
            check_end(count, start, execution, steps, events)
            return worked
    raise SystemExit(f"`{run}` did not end")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--store", choices=["sqlite"], default="sqlite")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=None, help="of the moments at which kills fall")
    parser.add_argument("--json", action="store_true", help="print only JSON")
    parser.add_argument("--child", nargs=3, metavar=("FOLDER", "RUN", "START"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        folder, run, start = options.child
        return child(Path(folder), run, int(start))
    random.seed(options.seed)
    count = Count()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "kill.rbp").write_text(POLICY)
        # An uninterrupted run first: how long may a kill wait?
        longest = play(count, 0, folder, 0)
        while count.kills < options.kills:
            play(count, options.kills, folder, longest)
            if not options.json:
                print(f"{count.kills} of {options.kills} kills", file=sys.stderr)
    report = count.report()
    if options.json:
        print(json.dumps(report))
    else:
        for key, value in report.items():
            print(f"{key:>22}  {value}")
    broken = count.double_runs + count.at_most_once_doubles + count.gaps + count.wrong_outputs
    with suppress(BrokenPipeError):
        sys.stdout.flush()
    raise SystemExit(1 if broken else 0)


if __name__ == "__main__":
    main()
