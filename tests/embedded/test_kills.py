"""Kill -9 at an instant, then a resume: what the committed log and the bodies' own notes say."""

import asyncio
import signal
from pathlib import Path

import pytest

import rebuno
from rebuno.journal.opening import open_store
from rebuno.model.clock import rfc3339
from tests.embedded import agents
from tests.embedded.support import bundle, in_loop, journal, line, process, run

OPEN = bundle("allow")


async def settled(path: Path) -> list[str]:
    """What the kill left on the disk as succeeded."""
    steps, _ = await journal(path)
    return [step.target for step in steps if step.status == "succeeded"]


@pytest.mark.parametrize("kind", ["tool", "local"])
@pytest.mark.parametrize(
    ("moment", "idempotency", "noted", "output"),
    [
        ("inside the body", "safe_to_retry", 2, "acted"),  # it runs again
        ("inside the body", "at_most_once", 1, "indeterminate"),  # nobody knows, and nobody tries
        ("before the body", "safe_to_retry", 1, "acted"),
        ("before the body", "at_most_once", 0, "indeterminate"),  # the intent alone is enough not to try
    ],
)
def test_a_kill_around_a_body(
    tmp_path: Path, kind: str, moment: str, idempotency: str, noted: int, output: str
) -> None:
    """A settled step is not run again, a safe one without an outcome is, an at_most_once one never."""
    path = tmp_path / "store.db"
    with process("die", path, kind, idempotency, moment) as other:
        assert other.wait(20) == -signal.SIGKILL
    handler = agents.dies_in_a_body(path, kind, idempotency, moment, mortal=False)
    before = asyncio.run(settled(path))
    ended = asyncio.run(run(path, OPEN, handler))
    assert (ended.status, ended.output, ended.attempt) == ("completed", [None, output], 2)
    notes = agents.notes(path)
    assert notes.count("act") == noted
    # Its outcome may wait 2 ms for company, so the kill may have taken it.
    assert notes.count("before") == (1 if "before" in before else 2)
    asyncio.run(journal(path))


@pytest.mark.parametrize("idempotency", ["safe_to_retry", "at_most_once"])
@pytest.mark.parametrize("kind", ["tool", "local"])
def test_an_outcome_is_on_the_disk_while_the_handler_computes(tmp_path: Path, kind: str, idempotency: str) -> None:
    """2 ms at most after the step, even where the handler lets nobody else run; so the kill loses nothing."""
    path = tmp_path / "store.db"
    with process("busy", path, kind, idempotency) as other:
        assert other.wait(20) == -signal.SIGKILL
    (step,), _ = asyncio.run(journal(path))
    assert (step.status, step.result) == ("succeeded", "acted")
    ended = asyncio.run(run(path, OPEN, agents.busy(path, kind, idempotency, mortal=False)))
    assert (ended.output, ended.replayed, agents.notes(path)) == ("acted", 1, ["act"])


def test_a_handler_that_kills_its_process_each_time_corrupts_nothing(tmp_path: Path) -> None:
    """What succeeded runs once, the deadly safe body each time, and each attempt is in the log."""
    path = tmp_path / "store.db"
    for _ in range(3):
        with process("poison", path) as other:
            assert other.wait(20) == -signal.SIGKILL
    assert agents.notes(path) == ["before", "pay", "act", "act", "act"]
    assert asyncio.run(settled(path)) == ["before", "pay"]
    _, events = asyncio.run(journal(path))
    assert [event.type for event in events].count("execution.started") == 3


@in_loop
async def test_a_second_process_is_told_who_runs_an_execution_and_takes_it_over_when_that_is_killed(
    tmp_path: Path,
) -> None:
    """A `ConflictError` that names the holder; after kill -9 the run goes on at once, whatever the lease says."""
    path = tmp_path / "store.db"
    with process("hold", path) as other:
        assert line(other) == "held"
        with pytest.raises(rebuno.ConflictError, match="is running in process") as caught:
            await run(path, OPEN, agents.busy(path, "tool", "safe_to_retry", mortal=False))
        assert caught.value.holder is not None
        assert caught.value.holder.startswith(f"process {other.pid} on ")
        store = await open_store(path, create=False)
        (row,) = await store.executions(limit=1)
        held_until = row.lease_until
        await store.close()
        other.kill()
        other.wait()
        ended = await run(path, OPEN, agents.busy(path, "tool", "safe_to_retry", mortal=False))
        assert (ended.status, ended.attempt) == ("completed", 2)
        # The second attempt began before the lease of the killed process had run out.
        begun = [event for event in (await journal(path))[1] if event.type == "execution.started"][-1]
        assert begun.occurred_at < rfc3339(held_until)
