"""Random agents, interrupted at random moments and resumed: whatever happens, the promises hold."""

import asyncio
import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rebuno
from rebuno.model.step import Idempotency
from rebuno.types import Step
from tests.kernel.programs import Attempt, Key, Program, World, programs


@dataclass(frozen=True)
class Cut:
    """An interruption at a moment: the run is cancelled, or `killed`: what the disk holds then is all that is left."""

    moment: int
    killed: bool


cuts = st.lists(st.builds(Cut, moment=st.integers(1, 40), killed=st.booleans()), min_size=1, max_size=3)


def key(step: Step) -> Key:
    """The call that a step stands for."""
    return step.args["path"], step.occurrence


def outcome(step: Step) -> Any:
    """What a handler sees of a settled step; None where it has not settled, or nobody knows how it ended."""
    if step.error is not None:
        error = step.error
        return None if error.get("reason") == "indeterminate" else {"error": error}
    return step.result if step.result is not None else None


async def left(path: Path) -> dict[Key, Step]:
    """The steps that the store holds; its log has no gap, and its rows are what the log says."""
    async with rebuno.operate(path) as operator:
        rows = await operator.executions()
        if not rows:
            return {}
        assert (await operator.verify(rows[0].id)).fault == ""
        return {key(step): step for step in await operator.steps(rows[0].id)}


async def interrupted(path: Path, after: Path, attempt_of: Any, cut: Cut) -> rebuno.Execution | None:
    """Runs until the cut; the store that is left is `after`. The execution, if it ended before."""
    async with rebuno.open(path, policy=rebuno.PERMISSIVE) as kernel:

        def interrupt() -> None:
            if cut.killed:
                copy(path, after)
            running.cancel()

        attempt = attempt_of(interrupt)
        running = asyncio.create_task(kernel.run(attempt.handler, id="run", agent="agent"))
        await asyncio.wait({running})
        ended = None if running.cancelled() else running.result()
    if ended is not None or not cut.killed:
        copy(path, after)
    return ended


def copy(path: Path, after: Path) -> None:
    """The store's files as they are on the disk now; its owners' locks stay behind, as with a process that died."""
    for suffix in ("", "-wal"):
        if Path(f"{path}{suffix}").exists():
            shutil.copyfile(f"{path}{suffix}", f"{after}{suffix}")


async def uninterrupted(program: Program, steps: dict[Key, Step]) -> Any:
    """What the program comes to when nothing happens to it, with the random values that were recorded."""

    def recorded(key: Key) -> int:
        return int(outcome(steps[key])[0])

    attempt = Attempt(World(randoms=recorded), program)
    async with rebuno.open(":memory:", policy=rebuno.PERMISSIVE) as kernel:
        return (await kernel.run(attempt.handler, agent="agent")).output


async def hold_promises(folder: Path, program: Program, interruptions: list[Cut]) -> None:
    """Interrupts, looks at what is left, resumes; compares with the run that nothing happened to."""
    world = World()
    settled: dict[Key, Any] = {}
    ran: Counter[Key] = Counter()
    for n, cut in enumerate([*interruptions, Cut(0, False)]):
        attempts: list[Attempt] = []

        def attempt_of(interrupt: Any, moment: int = cut.moment, made: list[Attempt] = attempts) -> Attempt:
            made.append(Attempt(world, program, moment, interrupt))
            return made[0]

        path, after = folder / f"{n}.db", folder / f"{n + 1}.db"
        ended = await interrupted(path, after, attempt_of, cut)
        seen = attempts[0].seen
        for known, value in settled.items():
            assert seen.get(known, value) == value, "the handler sees what was recorded first"
            assert world.bodies[known] == ran[known], "the body of a settled step does not run again"
        steps = await left(after)
        settled |= {known: value for known, step in steps.items() if (value := outcome(step)) is not None}
        ran = world.bodies.copy()
        for known, step in steps.items():
            assert step.idempotency == Idempotency.SAFE or world.bodies[known] <= 1, "at most once"
    assert ended is not None
    assert ended.status == "completed"
    if not any(step.error is not None and outcome(step) is None for step in steps.values()):
        assert ended.output == await uninterrupted(program, steps)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs, cuts)
def test_whatever_interrupts_an_agent_the_promises_hold(program: Program, interruptions: list[Cut]) -> None:
    """No succeeded body runs twice, no at_most_once body runs twice, values stay, logs are whole, outputs are right."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(hold_promises(Path(folder), program, interruptions))
