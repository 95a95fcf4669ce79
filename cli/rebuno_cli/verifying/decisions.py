"""What the bundle denies does not run, and what it asks about waits for a person."""

import asyncio
import glob
from typing import Any, Final

import rebuno
from rebuno.errors import NotFoundError
from rebuno.model.decision import Verdict
from rebuno.model.step import Kind
from rebuno_cli.verifying.bench import Bench
from rebuno_cli.verifying.outcome import DoesNotApplyError, Findings
from rebuno_cli.verifying.probes import AGENT

_TRIED: Final = 5
# How often a stopped run is looked at, in seconds.
_LOOKS: Final = 0.05


async def denied_does_not_run(bench: Bench, found: Findings) -> None:
    """Denied steps, each twice at once and again in a kernel that was opened anew."""
    probes = [one.probe for one in bench.probes.of(Verdict.DENY)[:_TRIED]]
    if not probes:
        raise DoesNotApplyError(f"the bundle denies none of the {bench.probes.tried} steps that were tried")
    for probe in probes:
        name, calls = bench.name("denied"), bench.calls("denied", [probe, probe])
        for _ in range(2):
            async with bench.kernel() as kernel:
                run = await bench.run(kernel, name, calls)
                steps = await kernel.operator.steps(run.execution.id)
            told = [end.how for end in run.ends if end is not None]
            found.expect(all(how == "denied" for how in told), f"{probe.named()} is denied, and its call gave {told}")
            odd = [step.status for step in steps if step.status != "denied"]
            found.expect(not odd, f"{probe.named()} is denied, and recorded as {odd}")
        found.expect(bench.ran(calls) == 0, f"{probe.named()} is denied, and its body ran")
        found.tried.append(probe.named())


async def asked_waits(bench: Bench, found: Findings) -> None:
    """Steps that a person is asked about: none runs before the grant, it runs once after it, and never if refused."""
    for one in bench.probes.asked(_TRIED):
        probe = one.probe
        name, calls = bench.name("asked"), bench.calls("asked", [probe])
        refused, no = bench.name("refused"), bench.calls("refused", [probe])
        async with bench.kernel() as kernel:
            for _ in range(2):
                run = await bench.run(kernel, name, calls)
                found.expect(run.execution.status == "blocked", f"{probe.named()} is asked about, and did not wait")
            found.expect(bench.ran(calls) == 0, f"{probe.named()} is asked about, and ran before an answer")
            if await bench.answer(kernel, run.execution) is not None:
                for _ in range(2):
                    await bench.run(kernel, name, calls)
                ran = bench.ran(calls)
                found.expect(ran == 1, f"{probe.named()} was granted once, and its body ran {ran} times")
            await bench.answer(kernel, (await bench.run(kernel, refused, no)).execution, granted=False)
            await bench.run(kernel, refused, no)
            found.expect(bench.ran(no) == 0, f"a person refused {probe.named()}, and its body ran")
        found.tried.append(probe.named())


async def stopped_does_not_run(bench: Bench, found: Findings) -> None:
    """A tool, an agent and everything are stopped: an allowed step does not run before the stop is lifted, and then it
    does."""
    probe = bench.probes.allowed(1)
    stops: dict[str, Any] = {"its agent": {"agent": probe.agent}, "everything": {"everything": True}}
    if probe.kind == Kind.TOOL.value:
        stops["its tool"] = {"tool": glob.escape(probe.target)}
    for what, stop in stops.items():
        name, calls = bench.name("stopped"), bench.calls("stopped", [probe])
        async with bench.kernel() as kernel:
            made = await kernel.operator.stop(**stop, by=AGENT)
            # It waits in its place until that is lifted.
            running = asyncio.create_task(bench.run(kernel, name, calls))
            try:
                while not running.done() and not await _is_held_back(kernel, name):
                    await asyncio.wait({running}, timeout=_LOOKS)
                found.expect(bench.ran(calls) == 0, f"{what} was stopped, and {probe.named()} ran")
            finally:
                # In force it would be in the way of all further checks.
                await kernel.operator.lift(made.id, by=AGENT)
            await running
        found.expect(bench.ran(calls) == 1, f"the stop of {what} was lifted, and {probe.named()} did not go on")
        found.tried.append(f"{probe.named()}: {what} stopped, and that lifted")


async def _is_held_back(kernel: rebuno.Kernel, name: str) -> bool:
    try:
        execution = await kernel.operator.execution(name)
    except NotFoundError:
        return False
    return any("stop_id" in event.payload for event in await kernel.operator.events(execution.id))
