"""What cannot be judged or recorded does not run: a broken bundle, a store that is gone or another one."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import rebuno
from rebuno.errors import BundleError, LeaseSuperseded, StoreError
from rebuno.journal.sqlite import SQLiteStore
from rebuno_cli.verifying.bench import Bench, Call, submit
from rebuno_cli.verifying.outcome import Findings

_BROKEN: Final = {
    "a rule without an end": "\nrule rebuno_verify {\n",
    "a file that is not there": '\nuse "rebuno_verify_missing.rbp"\n',
}


async def broken_bundle(bench: Bench, found: Findings) -> None:
    """The bundle with an error in it, and no bundle: the kernel does not open, and nothing runs or is recorded."""
    probe = bench.probes.allowed(1)
    places = {what: _written(bench, what, bench.paths[0].read_text("utf-8") + end) for what, end in _BROKEN.items()}
    places["no file"] = bench.folder / "missing.rbp"
    for what, place in places.items():
        calls = bench.calls("broken", [probe])
        name = bench.name("broken")
        try:
            async with rebuno.open(bench.store, policy=[place, *bench.paths[1:]]) as kernel:
                await bench.run(kernel, name, calls)
            found.expect(False, f"the kernel opened under the bundle with {what}")
        except (BundleError, OSError):
            pass
        found.expect(bench.ran(calls) == 0, f"a step ran under the bundle with {what}")
        async with rebuno.operate(bench.store) as operator:
            keys = [one.idempotency_key for one in await operator.executions(limit=5)]
        found.expect(name not in keys, f"a run was recorded under the bundle with {what}")
        found.tried.append(f"the bundle with {what}" if what != "no file" else "no bundle at its place")


def _written(bench: Bench, what: str, text: str) -> Path:
    # In a folder of its own, so that other bundles of this name are in nobody's way.
    folder = bench.folder / what.replace(" ", "-")
    folder.mkdir()
    place = folder / bench.paths[0].name
    place.write_text(text, "utf-8")
    return place


async def store_gone(bench: Bench, found: Findings) -> None:
    """The store is taken away between two steps: the second does not run, and the same line goes on once it is back.
    It is replaced by another one: the second does not run. Nothing can be tried with this copy after that."""
    probe = bench.probes.allowed(2)
    calls, name = bench.calls("moved", [probe, probe]), bench.name("gone")
    aside = bench.store.parent.with_name("aside")
    await _run(bench, found, name, calls, "moved away", lambda: os.rename(bench.store.parent, aside))
    os.rename(aside, bench.store.parent)
    async with bench.kernel() as kernel:
        await bench.run(kernel, name, calls, parallel=False)
    ran = [bench.ran([call]) for call in calls]
    found.expect(ran == [1, 1], f"the store was moved away and brought back, and its two steps ran {ran} times")

    other = bench.folder / "other.db"
    await (await SQLiteStore.open(other)).close()
    calls, name = bench.calls("replaced", [probe, probe]), bench.name("gone")
    await _run(bench, found, name, calls, "replaced by another one", lambda: os.replace(other, bench.store))


async def _run(
    bench: Bench, found: Findings, name: str, calls: Sequence[Call], what: str, away: Callable[[], None]
) -> None:
    """A run of two steps, between which `away` is called; it must end with an error before the second."""
    first, second = calls
    probe = first.probe
    raised = ""

    async def handler() -> None:
        await submit(first, bench.notes)
        away()
        await submit(second, bench.notes)

    try:
        async with bench.kernel() as kernel:
            await kernel.run(handler, probe.input, id=name, agent=probe.agent, workdir=probe.workdir)
    except (StoreError, LeaseSuperseded) as error:
        raised = type(error).__name__
    found.expect(bench.ran([first]) == 1, f"the store was there, and {probe.named()} ran {bench.ran([first])} times")
    found.expect(bench.ran([second]) == 0, f"the store was {what}, and {probe.named()} ran")
    found.expect(bool(raised), f"the store was {what}, and the run ended as if it had been there")
    found.tried.append(f"{probe.named()}, the store {what} before it: {raised or 'no error'}")
