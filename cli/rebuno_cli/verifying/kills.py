"""A run that is killed with SIGKILL: what ran does not run again, and what is recorded is given again."""

import asyncio
import json
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from rebuno_cli.verifying.bench import Bench, Call
from rebuno_cli.verifying.outcome import Findings

# The store's own runs that are asked for again.
_RUNS: Final = 20
# For how many seconds a process that is to be killed may live.
_LIMIT: Final = 60.0


async def at_most_once(bench: Bench, found: Findings) -> None:
    """A step that is `at_most_once`, killed in its body: it does not run again, and the handler is told so."""
    probe = bench.probes.allowed(1)
    name, calls = bench.name("killed"), bench.calls("killed", [probe])
    await _kill(bench, name, calls, at="body")
    found.expect(bench.ran(calls) == 1, f"{probe.named()} is allowed, and its body did not run")
    for _ in range(2):
        async with bench.kernel() as kernel:
            run = await bench.run(kernel, name, calls)
        for end in run.ends:
            told = end is not None and isinstance(end.said, dict) and end.said.get("reason") == "indeterminate"
            found.expect(end is None or told, f"nobody knows how {probe.named()} ended, and the handler got {end}")
    ran = bench.ran(calls)
    found.expect(ran == 1, f"{probe.named()} is at_most_once and was killed in its body, which ran {ran} times")
    found.tried.append(f"{probe.named()}, killed in its body and resumed twice")


async def replay_gives_what_is_recorded(bench: Bench, found: Findings) -> None:
    """Steps that ended before the kill give the recorded results, and no body of theirs runs again."""
    probe = bench.probes.allowed(3)
    name = bench.name("replayed")
    calls = [
        Call(probe, bench.name("replayed"), once=once, result={"n": [number, bench.name("value")]})
        for number, once in enumerate((True, False, True))
    ]
    await _kill(bench, name, calls, at="outcome")
    # A body that ran again would give another value.
    again = [Call(call.probe, call.label, call.once, {"n": "run again"}) for call in calls]
    for _ in range(2):
        async with bench.kernel() as kernel:
            run = await bench.run(kernel, name, again, parallel=False)
        for call, end in zip(calls, run.ends, strict=True):
            same = end is None or (end.how, end.said) == ("value", call.result)
            found.expect(same, f"{probe.named()} was recorded with {call.result}, and its replay gave {end}")
    ran = [bench.notes.times(call.label) for call in calls]
    found.expect(ran == [1, 1, 1], f"{probe.named()} was replayed, and its three bodies ran {ran} times")
    found.tried.append(f"{probe.named()} three times, killed after their outcomes and resumed twice")
    await _ended_runs(bench, found)


async def _ended_runs(bench: Bench, found: Findings) -> None:
    """The store's own runs that have ended are told as recorded; no handler of theirs is called."""
    called: list[str] = []

    def handler() -> None:
        called.append("handler")

    async with bench.kernel() as kernel:
        ended = [one for one in await kernel.operator.executions(status="completed", limit=_RUNS) if not one.served]
        for one in ended:
            told = await kernel.run(handler, id=one.id, agent=one.agent_id)
            same = (told.status, told.raw("output"), told.head_hash) == (one.status, one.raw("output"), one.head_hash)
            found.expect(same and not called, f"execution {one.id} has ended, and the same id gave something else")
            called.clear()
    if ended:
        found.tried.append(f"{len(ended)} executions that had ended, asked for again by their ids")


async def _kill(bench: Bench, name: str, calls: Sequence[Call], *, at: str) -> None:
    plan = bench.folder / f"{name}.json"
    told = {
        "store": str(bench.store),
        "policy": [str(path) for path in bench.paths],
        "run": name,
        "notes": str(bench.notes.path),
        "at": at,
        "calls": [asdict(call) for call in calls],
    }
    plan.write_text(json.dumps(told), "utf-8")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "rebuno_cli.verifying.killed", str(plan), stderr=asyncio.subprocess.PIPE
    )
    try:
        _, said = await asyncio.wait_for(process.communicate(), _LIMIT)
    except TimeoutError:
        process.kill()
        await process.wait()
        raise ChildProcessError(f"the process that was to be killed was not, after {_LIMIT:g} seconds") from None
    if process.returncode != -signal.SIGKILL:
        last = said.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise ChildProcessError(f"the process that was to be killed ended before: {''.join(last)[:300]}")
