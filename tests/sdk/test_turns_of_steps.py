"""The turn of a step that works on resources, while bodies in it wait for subagents."""

import asyncio

from rebuno.sdk.resources import StepTurn
from tests.embedded.support import in_loop


async def settled() -> None:
    """Everything that can go on has done so."""
    for _ in range(10):
        await asyncio.sleep(0)


@in_loop
async def test_a_turn_is_taken_back_once() -> None:
    """By two bodies that come back at once; the step's end gives it to the next one."""
    lock = asyncio.Lock()
    turn = StepTurn(lock, set())
    await turn.take()
    turn.step_aside()
    turn.step_aside()
    async with lock:
        back = [asyncio.create_task(turn.come_back(take=True)) for _ in range(2)]
        await settled()
    await settled()
    assert [task.done() for task in back] == [True, True]
    assert turn.held
    turn.leave()
    assert not lock.locked()


@in_loop
async def test_nobody_has_the_turn_of_a_step_that_waits() -> None:
    """Also where one of its bodies comes back before the other, or another goes while one waits for the turn."""
    lock = asyncio.Lock()
    turn = StepTurn(lock, set())
    await turn.take()
    turn.step_aside()
    turn.step_aside()
    await turn.come_back(take=True)
    assert not lock.locked()
    await lock.acquire()
    back = asyncio.create_task(turn.come_back(take=True))
    await settled()
    turn.step_aside()
    lock.release()
    await back
    assert not lock.locked()


@in_loop
async def test_a_step_that_is_over_takes_no_turn() -> None:
    """A body that outlives it, because it was cancelled or left alone, keeps nobody waiting."""
    lock = asyncio.Lock()
    turn = StepTurn(lock, set())
    await turn.take()
    turn.step_aside()
    await lock.acquire()
    back = asyncio.create_task(turn.come_back(take=True))
    await settled()
    turn.leave()
    lock.release()
    await back
    assert not lock.locked()
    turn.step_aside()
    await turn.come_back(take=True)
    assert not lock.locked()
