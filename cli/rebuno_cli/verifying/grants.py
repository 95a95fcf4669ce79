"""A grant holds for its step, its time and its bundle, and for nothing else."""

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final

import rebuno
from rebuno.errors import BundleError
from rebuno.journal.sqlite import SQLiteStore
from rebuno.kernel import GRANT_LASTS
from rebuno.model.clock import WallClock
from rebuno.model.decision import Verdict
from rebuno.policy import Policy, compile_policy, read_source
from rebuno_cli.verifying.bench import Bench
from rebuno_cli.verifying.outcome import DoesNotApplyError, Findings
from rebuno_cli.verifying.probes import JudgedProbe, Probe

_TRIED: Final = 3
_LATE: Final = 60.0  # seconds
_OTHER_BUNDLE: Final = "\n# Another text, and so another digest.\n"


async def expired_grant(bench: Bench, found: Findings) -> None:
    """A grant that is older than its rule allows lets nothing run; a person is asked anew."""
    for one in bench.probes.asked(_TRIED):
        probe, late = one.probe, _lasts(one) + _LATE
        then = bench.policy.decide(probe.facts(time.time() + late)).verdict
        name, calls = bench.name("expired"), bench.calls("expired", [probe])
        async with bench.kernel() as kernel:
            granted = await bench.answer(kernel, (await bench.run(kernel, name, calls)).execution)
        if granted is None or then is not Verdict.APPROVAL:
            continue
        async with _later(bench, late) as kernel:
            run = await bench.run(kernel, name, calls)
        end = run.ends[0]
        found.expect(bench.ran(calls) == 0, f"the grant for {probe.named()} is too old, and its body ran")
        found.expect(end is None or end.how != "value", f"the grant for {probe.named()} is too old, and gave {end}")
        found.tried.append(f"{probe.named()}, {late:,.0f} seconds after its grant")
    _check_tried(found)


def _check_tried(found: Findings) -> None:
    if not found.tried and not found.faults:
        raise DoesNotApplyError("no question could be granted, or none would be asked any more when the grant is old")


class _LateClock(WallClock):
    """The wall clock of a later time."""

    def __init__(self, late: float) -> None:
        self.late = late

    def now(self) -> float:
        """Seconds since 1970, UTC."""
        return super().now() + self.late


@asynccontextmanager
async def _later(bench: Bench, late: float) -> AsyncIterator[rebuno.Kernel]:
    store = await SQLiteStore.open(bench.store, clock=_LateClock(late))
    try:
        kernel = rebuno.Kernel(store, bench.policy, strict=False)
        try:
            yield kernel
        finally:
            await kernel.shut()
    finally:
        await store.close()


def _lasts(one: JudgedProbe) -> float:
    times = [each.asking.expires for each in one.decision.obligations if each.asking is not None]
    return float(max([GRANT_LASTS, *(time for time in times if time is not None)]))


async def foreign_grant(bench: Bench, found: Findings) -> None:
    """A grant for one step lets no other one run: the same call again, other arguments, another execution."""
    for one in bench.probes.asked(_TRIED):
        probe, other = one.probe, next(_others(bench, one), None)
        # Steps that may be repeated: about others of one tool the kernel may ask for a reason of its own.
        granted = bench.calls("granted", [probe], once=False)
        foreign = {"a second call": bench.calls("again", [probe], once=False)[0]}
        if other is not None:
            foreign["other arguments"] = bench.calls("other", [other], once=False)[0]
        foreign["another run"] = bench.calls("elsewhere", [probe], once=False)[0]
        *here, elsewhere = foreign.values()
        name = bench.name("foreign")
        async with bench.kernel() as kernel:
            if await bench.answer(kernel, (await bench.run(kernel, name, granted)).execution) is None:
                continue
            run = await bench.run(kernel, name, [*granted, *here])
            beside = await bench.run(kernel, bench.name("elsewhere"), [elsewhere])
            said = await bench.decisions(kernel, run.execution) | await bench.decisions(kernel, beside.execution)
        found.expect(bench.ran(granted) == 1, f"{probe.named()} was granted, and ran {bench.ran(granted)} times")
        if "allow" in said:
            # A rule that allows what a person has approved before: no grant is needed for it.
            continue
        for what, call in foreign.items():
            found.expect(bench.ran([call]) == 0, f"the grant for {probe.named()} let {what} run")
        found.tried.append(f"{probe.named()}: {', '.join(foreign)}")
    _check_tried(found)


async def grant_under_another_bundle(bench: Bench, found: Findings) -> None:
    """A grant for all steps of a rule ends with the bundle under which it was given."""
    policy = _another(bench)
    for one in bench.probes.asked(_TRIED):
        ran: list[tuple[int, int]] = []
        for under in (bench.policy, policy):
            name, first, second = bench.name("rule"), *(bench.calls("rule", [one.probe]) for _ in range(2))
            async with bench.kernel() as kernel:
                await bench.answer(kernel, (await bench.run(kernel, name, first)).execution, scope="rule")
            async with bench.kernel(under) as kernel:
                run = await bench.run(kernel, name, first + second, parallel=False)
                said = await bench.decisions(kernel, run.execution)
            ran.append((bench.ran(first), bench.ran(second)))
        if "allow" in said or ran[0] != (1, 1):
            # Under its own bundle it does not hold either: several layers ask, or the rule allows more by then.
            continue
        found.expect(ran[1][1] == 0, f"a grant for the rule's steps ({one.probe.named()}) held under another bundle")
        found.tried.append(f"{one.probe.named()}, under the bundle with one more comment")
    _check_tried(found)


def _another(bench: Bench) -> Policy:
    sources = [read_source(path) for path in bench.paths]
    try:
        return compile_policy([replace(sources[0], text=sources[0].text + _OTHER_BUNDLE), *sources[1:]])
    except BundleError:
        raise DoesNotApplyError("the bundle does not compile with one more comment at its end") from None


def _others(bench: Bench, one: JudgedProbe) -> Iterator[Probe]:
    """The same step with other arguments, of which the same rule asks."""
    for args in _changed(one.probe.args):
        other = one.probe.with_args(args)
        decision = bench.probes.decide(other)
        if (decision.verdict, decision.rule_id) == (one.decision.verdict, one.decision.rule_id):
            yield other


def _changed(args: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for key, value in args.items():
        if isinstance(value, str):
            yield args | {key: f"{value} "}
            yield args | {key: f"{value}x"}
            yield args | {key: value[:-1]}
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield args | {key: value + 1}
    yield args | {"rebuno_verify": 1}
