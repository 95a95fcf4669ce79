"""A long recorded run, made at once, and a process that resumes it: `python -m tests.embedded.long_run PATH STEPS`.

It prints the peak of its own memory in KiB, how many steps it replayed, and the processor time of that in seconds.
"""

import asyncio
import sys
import time
from dataclasses import replace
from pathlib import Path

import rebuno
from rebuno.journal.records import Copied, ExecutionRow, StepRow
from rebuno.journal.sqlite import SQLiteStore
from rebuno.kernel.core import events as new_event
from rebuno.model import identity
from rebuno.model.decision import Decision, Verdict
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import Idempotency, Kind, StepStatus
from rebuno.policy import compile_text

POLICY = compile_text(
    'bundle b\ndefault deny\nknown seen = result of tool "watched" at result.n\n'
    + "".join(f'rule r{n} {{ deny tool "t{n}" when args.n == {n} }}\n' for n in range(100))
    + 'rule all { allow tool "*" unless args.n in seen }\n'
)
TEXT = "x" * 2000


async def made(path: Path, count: int, *, execution_id: str = "long") -> None:
    """A store with a run of so many succeeded steps, as it stands after its process died."""
    store = await SQLiteStore.open(path)
    decision = Decision(Verdict.ALLOW, "all", bundle="b", digest=POLICY.digest)
    run = ExecutionRow(execution_id, "agent", "run", ExecutionStatus.RUNNING, "null", POLICY.digest, attempt=1)
    events, steps = [new_event.created(run)], []
    for n in range(count):
        args = identity.canonical({"n": n, "text": TEXT})
        hashed = identity.args_hash(args)
        step = StepRow(
            identity.step_id(run.id, Kind.TOOL, "work", hashed, 0),
            run.id,
            "",
            Kind.TOOL,
            "work",
            args,
            hashed,
            0,
            Idempotency.SAFE,
            StepStatus.EXECUTING,
            "allow",
            "all",
            "b",
            POLICY.digest,
            "",
            attempt=1,
            decided_seq=len(events) + 1,
            started_seq=len(events) + 1,
            outcome_seq=len(events) + 2,
            decided_at=1.0,
            started_at=1.0,
            completed_at=1.0,
        )
        events.append(new_event.executing(step, decision, first=True))
        step = replace(step, status=StepStatus.SUCCEEDED, result=args)
        events.append(new_event.succeeded(step))
        steps.append(step)
    await store.create(run, events, Copied(tuple(steps)))
    await store.close()


@rebuno.tool
def work(n: int, text: str) -> None:
    """Never runs: every step is recorded."""
    raise AssertionError(n)


async def resumed(path: Path, count: int) -> tuple[rebuno.Execution, float]:
    """How the run ended, and the processor time that it took in seconds."""

    async def handler() -> int:
        total = 0
        for n in range(count):
            total += (await work(n, TEXT))["n"]
        return total

    async with rebuno.open(path, policy=POLICY) as kernel:
        began = time.process_time()
        ended = await kernel.run(handler, id="run", agent="agent")
        return ended, time.process_time() - began


def own_peak() -> int:
    """The peak of this program's memory in KiB since it was loaded.

    `ru_maxrss` would not do: it begins at the peak of the process that started this one.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))


if __name__ == "__main__":
    execution, seconds = asyncio.run(resumed(Path(sys.argv[1]), int(sys.argv[2])))
    assert execution.output == sum(range(int(sys.argv[2])))
    sys.stdout.write(f"{own_peak()} {execution.replayed} {seconds}\n")
