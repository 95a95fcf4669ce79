"""Optimistic writes: tried again as long as the log grows meanwhile, and all of them in one place."""

import asyncio
import re
from pathlib import Path

import pytest

import rebuno.kernel
from rebuno.errors import Stale, Terminated
from rebuno.journal.records import Batch, NewEvent
from rebuno.kernel.core.effects import ExecutionChanges
from rebuno.kernel.core.transact import transact, write
from tests.kernel.support import Bench, Play, policy

ROOT = Path(rebuno.kernel.__path__[0])


def test_it_is_tried_again_while_the_log_grows(play: Play) -> None:
    """Each try reads anew and is told how many came before; what is written once stands once."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("allow"))
        execution_id = b.attempt.execution.id
        tries: list[int] = []

        async def one_try(tried: int) -> int:
            tries.append(tried)
            base = (await b.store.execution(execution_id)).head_seq
            if tried < 2:
                await write(b.store, execution_id, ExecutionChanges([NewEvent("approval.voted", {"n": tried})]))
            return await write(b.store, execution_id, ExecutionChanges([NewEvent("approval.voted", {})]), base=base)

        newest = await transact(one_try)
        assert tries == [0, 1, 2]
        events = await b.store.events(execution_id)
        assert events[-1].event_seq == newest
        assert [event.payload for event in events if event.type == "approval.voted"] == [{"n": 0}, {"n": 1}, {}]

    play(scenario)


def test_what_ends_it() -> None:
    """The most tries, and whatever is not to be retried."""
    tries: list[int] = []

    async def never(tried: int) -> None:
        tries.append(tried)
        raise Stale("grown")

    async def ended(tried: int) -> None:
        tries.append(tried)
        if tried == 0:
            raise Stale("grown")
        raise Terminated

    with pytest.raises(Stale):
        asyncio.run(transact(never, most=3))
    assert tries == [0, 1, 2]
    tries.clear()
    with pytest.raises(Terminated):
        asyncio.run(transact(ended))
    assert tries == [0, 1]


def test_batches_are_made_in_one_place_besides_the_attempt() -> None:
    """So that none is written without somebody who looks again where it is `Stale`."""
    assert Batch.__module__ == "rebuno.journal.records"
    made = {
        str(path.relative_to(ROOT)) for path in ROOT.rglob("*.py") if re.search(r"\bBatch\(", path.read_text("utf-8"))
    }
    assert made == {"core/attempt.py", "core/transact.py"}
