"""What the bundle denies does not run, and what it asks about waits for a person."""

from rebuno.model.decision import Verdict
from rebuno_cli.verifying.bench import Bench
from rebuno_cli.verifying.outcome import DoesNotApplyError, Findings

_TRIED = 5


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
