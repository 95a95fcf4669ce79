"""A grant holds for its step, its time and its bundle, and for nothing else."""

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
from rebuno_cli.verifying.probes import Judged, Probe

_TRIED: Final = 3
_LATE: Final = 60.0  # seconds
_OTHER_BUNDLE: Final = "\n# Another text, and so another digest.\n"


async def expired_grant(bench: Bench, found: Findings) -> None:
    """A grant that is older than its rule allows lets nothing run; a person is asked anew."""
    for one in _asked(bench):
        probe, late = one.probe, _lasts(one) + _LATE
        name, calls = bench.name("expired"), bench.calls("expired", [probe])
        async with bench.kernel() as kernel:
            granted = await bench.grant(kernel, (await bench.run(kernel, name, calls)).execution)
        if granted is None or granted.status != "granted":
            found.expect(False, f"{probe.named()} is asked about, and no question could be granted")
            continue
        async with _later(bench, late) as kernel:
            run = await bench.run(kernel, name, calls)
        told = run.ends[0].how if run.ends[0] is not None else run.execution.status
        found.expect(bench.ran(calls) == 0, f"the grant for {probe.named()} is too old, and its body ran")
        found.expect(told != "value", f"the grant for {probe.named()} is too old, and its call gave a value")
        found.tried.append(f"{probe.named()}, {late:,.0f} seconds after its grant")


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


def _lasts(one: Judged) -> float:
    times = [each.asking.expires for each in one.decision.obligations if each.asking is not None]
    return float(max([GRANT_LASTS, *(time for time in times if time is not None)]))


async def foreign_grant(bench: Bench, found: Findings) -> None:
    """A grant for one step lets no other one run: the same call again, other arguments, another execution."""
    for one in _asked(bench):
        probe, other = one.probe, next(_others(bench, one), None)
        # Steps that may be repeated: of others the kernel would ask for another reason, where two of a tool come at once.
        name, granted = bench.name("foreign"), bench.calls("granted", [probe], once=False)
        foreign = bench.calls("again", [probe], once=False)
        foreign += bench.calls("other", [other], once=False) if other is not None else []
        elsewhere = bench.calls("elsewhere", [probe])
        async with bench.kernel() as kernel:
            await bench.grant(kernel, (await bench.run(kernel, name, granted)).execution)
            await bench.run(kernel, name, granted + foreign)
            await bench.run(kernel, bench.name("elsewhere"), elsewhere)
        found.expect(bench.ran(granted) == 1, f"{probe.named()} was granted, and ran {bench.ran(granted)} times")
        for call in foreign + elsewhere:
            what = {"again": "a second call", "other": "other arguments"}.get(call.label.split("-")[2], "another run")
            found.expect(bench.ran([call]) == 0, f"the grant for {probe.named()} let {what} run")
        said = "a second call, another run" + (", other arguments" if other is not None else "")
        found.tried.append(f"{probe.named()}: {said}")


async def grant_under_another_bundle(bench: Bench, found: Findings) -> None:
    """A grant for all steps of a rule ends with the bundle under which it was given."""
    policy = _another(bench)
    one = _asked(bench)[0]
    ran = {}
    for under in (bench.policy, policy):
        name, first, second = bench.name("rule"), bench.calls("first", [one.probe]), bench.calls("more", [one.probe])
        async with bench.kernel() as kernel:
            await bench.grant(kernel, (await bench.run(kernel, name, first)).execution, scope="rule")
        async with bench.kernel(under) as kernel:
            await bench.run(kernel, name, first + second, parallel=False)
        ran[under.digest] = (bench.ran(first), bench.ran(second))
    same, other = ran[bench.policy.digest], ran[policy.digest]
    found.expect(same == (1, 1), f"the rule's steps were granted ({one.probe.named()}), and ran {same} times")
    found.expect(other[1] == 0, f"a grant for the rule's steps ({one.probe.named()}) held under another bundle")
    found.tried.append(f"{one.probe.named()}, under the bundle with one more comment")


def _another(bench: Bench) -> Policy:
    sources = [read_source(path) for path in bench.paths]
    try:
        return compile_policy([replace(sources[0], text=sources[0].text + _OTHER_BUNDLE), *sources[1:]])
    except BundleError:
        raise DoesNotApplyError("the bundle does not compile with one more comment at its end") from None


def _asked(bench: Bench) -> list[Judged]:
    asked = bench.probes.of(Verdict.APPROVAL)[:_TRIED]
    if not asked:
        raise DoesNotApplyError(f"the bundle asks about none of the {bench.probes.tried} steps that were tried")
    return asked


def _others(bench: Bench, one: Judged) -> Iterator[Probe]:
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
