"""The short way of a new step: it is handed to the store at once, and who asked is told when that is on the disk."""

import asyncio

import pytest

from rebuno.journal.records import Batch, NewEvent
from rebuno.kernel.core import recorded_steps
from rebuno.kernel.core.attempt import MOST_FRESH
from rebuno.kernel.core.submit import start
from rebuno.model.answer import Answer, AnswerKind, Submission
from tests.kernel.support import Bench, Play, policy

ALSO = 'rule other { deny tool "other" because "no" }\n'
Said = Answer | BaseException | None


def _submission(n: int, target: str = "act") -> Submission:
    return Submission("tool_call", target, f'{{"n":{n}}}', "safe_to_retry")


async def _begun(b: Bench) -> None:
    """An attempt that has read the log and come to its end."""
    await b.begin(policy("allow", also=ALSO))
    await b.succeed(await b.submit(args={"first": True}))


async def _started(b: Bench, *submissions: Submission) -> list[Said]:
    """What is told of steps that are started in one turn of the event loop."""
    told: asyncio.Queue[Said] = asyncio.Queue()
    assert [start(b.attempt, submission, told.put_nowait) for submission in submissions] == [True] * len(submissions)
    assert told.empty(), "nothing is on the disk yet"
    return [await told.get() for _ in submissions]


async def _grown(b: Bench) -> None:
    """Somebody else has written to the log."""
    foreign = Batch(b.attempt.execution.id, (NewEvent("approval.voted", {}),) * 3)
    b.store.write(foreign)
    await foreign.committed


def test_a_new_step_is_told_what_submit_would_answer(play: Play) -> None:
    """Whether it may run or is denied; identical ones are numbered in the order of calls."""

    async def scenario(b: Bench) -> None:
        for _ in range(2):
            await b.begin(policy("allow", also=ALSO))
        assert not start(b.attempt, _submission(0), lambda _: None), "the log was not read yet"
        await _begun(b)
        answers = await _started(b, _submission(1), _submission(1, "other"), _submission(1), _submission(1, "other"))
        assert [said.kind for said in answers if isinstance(said, Answer)] == [
            AnswerKind.PROCEED,
            AnswerKind.DENIED,
        ] * 2
        ids = [said.step_id for said in answers if isinstance(said, Answer)]
        steps = {step.step_id: step for step in await b.store.steps(b.attempt.execution.id)}
        assert [(steps[id].target, steps[id].occurrence) for id in ids] == [
            ("act", 0),
            ("other", 0),
            ("act", 1),
            ("other", 1),
        ]
        assert b.attempt.bodies == {ids[0], ids[2]}

    play(scenario)


def test_what_was_judged_on_an_older_log_is_asked_again_under_its_own_number(play: Play) -> None:
    """Somebody else has written meanwhile: nothing is recorded, no body runs, and `submit` gives the same step."""

    async def scenario(b: Bench) -> None:
        await _begun(b)
        await _grown(b)
        assert await _started(b, _submission(1), _submission(1)) == [None, None]
        assert not b.attempt.bodies
        assert not start(b.attempt, _submission(1), lambda _: None), "the log has to be read first"
        answers = [await b.submit(args={"n": 1}), await b.submit(args={"n": 1})]
        steps = {step.step_id: step.occurrence for step in await b.store.steps(b.attempt.execution.id)}
        assert [steps[answer.step_id] for answer in answers] == [0, 1]

    play(scenario)


def test_what_is_tried_again_counts_once(play: Play) -> None:
    """As a new step or as a replayed one, however often the log has grown under it."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("allow"))
        await b.submit(args={"lost": True}, idempotency="at_most_once")
        await b.begin(policy("allow"))
        for n in range(MOST_FRESH):
            await b.succeed(await b.submit(args={"n": n}))
        await _grown(b)
        assert (await b.submit(args={"n": MOST_FRESH})).kind is AnswerKind.PROCEED
        assert (b.attempt.fresh_count, len(b.attempt.fresh)) == (MOST_FRESH + 1, MOST_FRESH)
        await _grown(b)
        assert (await b.submit(args={"lost": True}, idempotency="at_most_once")).kind is AnswerKind.REPLAY
        assert b.attempt.replayed == 1

    play(scenario)


def test_an_ended_attempt_reads_nothing_anew(play: Play) -> None:
    """A log that has grown is not read again for callers who are gone: the store may be closed by then."""

    async def scenario(b: Bench) -> None:
        await _begun(b)
        await _grown(b)
        assert await _started(b, _submission(1)) == [None]
        asks = asyncio.create_task(b.submit(args={"n": 1}))
        for _ in range(2):
            await asyncio.sleep(0)
        before = asyncio.all_tasks()
        asks.cancel()
        b.attempt.forget()
        await asyncio.wait(before - {asyncio.current_task()})
        assert not b.attempt.undisturbed(), "it was read anew"

    play(scenario)


@pytest.mark.parametrize("grown", [False, True])
def test_a_number_is_kept_by_what_is_recorded_for_nobody(
    play: Play, monkeypatch: pytest.MonkeyPatch, grown: bool
) -> None:
    """A caller who is gone before the step is on the disk has used its number up, unless nothing could be recorded."""

    async def scenario(b: Bench) -> None:
        await _begun(b)
        handed: asyncio.Queue[Batch] = asyncio.Queue()
        with monkeypatch.context() as held:
            held.setattr(b.store, "write", handed.put_nowait)
            asks = asyncio.create_task(b.submit(target="other"))
            batch = await handed.get()
        if grown:
            await _grown(b)
        asks.cancel()
        await asyncio.wait({asks})
        b.store.write(batch)
        await asyncio.wait({batch.committed})
        async with asyncio.timeout(5):
            assert (await b.submit(target="other")).kind is AnswerKind.DENIED
        steps = await b.store.steps(b.attempt.execution.id)
        assert [step.occurrence for step in steps if step.target == "other"] == ([0] if grown else [0, 1])

    play(scenario)


def test_who_stops_asking_for_a_recorded_step_has_not_come_to_it(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for again it is the same step, however much of it had been read."""
    monkeypatch.setattr(recorded_steps, "PAGE", 1)

    async def scenario(b: Bench) -> None:
        await b.begin(policy("allow"))
        for n in range(4):
            await b.succeed(await b.submit(args={"n": n}))
        await b.begin(policy("allow"))
        await b.attempt.all_known()
        asks = asyncio.create_task(b.submit(args={"n": 3}))
        await asyncio.sleep(0)
        asks.cancel()
        await asyncio.wait({asks})
        assert asks.cancelled()
        assert (await b.submit(args={"n": 3})).kind is AnswerKind.REPLAY

    play(scenario)
