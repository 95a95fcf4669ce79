"""Pieces of output on their way to those who listen."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from rebuno.journal.served import ServedStore
from rebuno.kernel.served.streams import StepDelta, Streams

ONE, TWO = StepDelta("s", 0, "a"), StepDelta("s", 1, "b")
SAME_AGAIN = StepDelta("s", 1, "a")
OTHER = StepDelta("t", 0, "a")

SAID: list[tuple[str, list[StepDelta], list[StepDelta]]] = [
    ("each once", [ONE, TWO], [ONE, TWO]),
    ("one twice, as where a store lost its answer", [ONE, ONE, TWO], [ONE, TWO]),
    ("the last twice", [ONE, TWO, TWO], [ONE, TWO]),
    ("twice, with another step's between", [ONE, OTHER, ONE, OTHER, TWO], [ONE, OTHER, TWO]),
    ("three times", [ONE, ONE, ONE], [ONE]),
    ("equal texts are two pieces", [ONE, SAME_AGAIN], [ONE, SAME_AGAIN]),
    ("a body that runs again begins at 0", [ONE, TWO, ONE, TWO], [ONE, TWO, ONE, TWO]),
]


class Said:
    """A store's channel that says what it is given to say."""

    def __init__(self, deltas: list[StepDelta]) -> None:
        self.texts = [f"e1 {each.step_id} {each.seq} {each.data}" for each in deltas]

    async def listen(self) -> AsyncIterator[str]:
        for text in (*self.texts, "e2 s 0 nobody listens"):
            yield text


@pytest.mark.parametrize(("reason", "said", "heard"), SAID, ids=[row[0] for row in SAID])
def test_a_piece_is_heard_once(reason: str, said: list[StepDelta], heard: list[StepDelta]) -> None:
    """By each who listens, whatever the channel repeats."""

    async def scenario() -> None:
        streams = Streams(cast(ServedStore, Said(said)))
        with streams.listen("e1") as one, streams.listen("e1") as other:
            await streams.run()
            for queue in (one, other):
                assert [queue.get_nowait() for _ in range(queue.qsize())] == heard
        assert (streams._listening, streams._newest) == ({}, {})

    asyncio.run(scenario())


def test_what_was_heard_before_is_no_matter_to_the_next_listener() -> None:
    """Nothing is kept for an execution to which nobody listens."""

    async def scenario() -> None:
        store: Any = Said([ONE])
        streams = Streams(store)
        for _ in range(2):
            with streams.listen("e1") as queue:
                await streams.run()
                assert queue.get_nowait() == ONE

    asyncio.run(scenario())
