"""What people wrote is stored beside its events, in order, and goes with its execution."""

import asyncio

import pytest

from rebuno.errors import Stale, Terminated
from rebuno.journal.records import Batch, Copied, Tombstone
from rebuno.journal.words import RootRow, TurnRow, TurnWrite
from rebuno.model.clock import from_rfc3339
from rebuno.model.execution import ExecutionStatus
from tests.journal.builders import Opener, batch, ending, event, execution, in_loop, started, starting, step, written


def saying(number: int, text: str = "x", **more: object) -> Batch:
    """The batch of a turn."""
    turn = TurnRow("e1", number, 0, 0.0, "ana", text)
    return batch("e1", event("execution.said", number=number), turns=(TurnWrite(turn, 0),), **more)


@in_loop
async def test_a_turn_has_the_number_and_the_time_of_its_event(opener: Opener) -> None:
    """Any text comes back as it was, also through another open store."""
    async with opener() as store:
        await started(store)
        for number, text in enumerate(["pay DE75", "nul \0 and \x1a", "ü 🎉\n"], 1):
            await written(store, saying(number, text))
        log = await store.events("e1")
        turns = await store.turns("e1")
        assert [(turn.number, turn.event_seq, turn.text) for turn in turns] == [
            (1, 2, "pay DE75"),
            (2, 3, "nul \0 and \x1a"),
            (3, 4, "ü 🎉\n"),
        ]
        assert [turn.said_at for turn in turns] == [from_rfc3339(one.occurred_at) for one in log[1:]]
        assert {turn.said_by for turn in turns} == {"ana"}
        assert await store.turns("e2") == []


@in_loop
async def test_of_two_turns_of_one_number_the_second_is_stale(opener: Opener) -> None:
    """It leaves nothing, and takes along nothing that was handed over at the same time."""
    async with opener() as store:
        lease = await started(store)
        batches = [saying(1), saying(1, "late"), starting(step()), saying(2), batch("e1", lease=lease)]
        for one in batches:
            store.write(one)
        came = await asyncio.gather(*(one.committed for one in batches), return_exceptions=True)
        assert [type(one) for one in came] == [int, Stale, int, int, int]
        assert [turn.text for turn in await store.turns("e1")] == ["x", "x"]
        assert len(await store.events("e1")) == 5


@in_loop
async def test_an_ended_execution_hears_nothing(opener: Opener) -> None:
    """A turn after the end is refused."""
    async with opener() as store:
        await started(store)
        await written(store, ending())
        with pytest.raises(Terminated):
            await written(store, saying(1))
        assert await store.turns("e1") == []


@in_loop
async def test_what_was_said_goes_with_the_execution(opener: Opener) -> None:
    """Copied with a new one, and removed with an old one."""
    async with opener() as store:
        turns = (TurnRow("e1", 1, 2, 7.5, "ana", "a"), TurnRow("e1", 2, 3, 8.5, "ben", "b"))
        root = RootRow("e1", "e0", '{"request":"pay"}', '["a"]', '{"to":"\\u0000"}')
        events = [event("execution.created"), event("execution.said"), event("execution.said")]
        copied = Copied(turns=turns, root=root)
        ended = execution("e1", status=ExecutionStatus.CANCELLED)
        assert await store.create(ended, events, copied)
        assert await store.create(execution("e2"), [event("execution.created")])
        assert tuple(await store.turns("e1")) == turns
        assert await store.root("e1") == root
        assert await store.root("e2") is None
        assert await store.bury(Tombstone("e1", "agent", None, ExecutionStatus.CANCELLED, "", bytes(32), 9.0))
        assert (await store.turns("e1"), await store.root("e1")) == ([], None)
