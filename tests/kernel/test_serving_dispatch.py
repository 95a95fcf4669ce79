"""Deliveries: tried again with growing pauses, counted until something comes of them, one at a time, and never held by
a replica that cannot post them."""

import asyncio
import logging
from dataclasses import replace

import pytest

from rebuno.journal.records import DispatchState
from rebuno.kernel.served import dispatcher
from rebuno.kernel.served.kernel import Settings, Webhook
from rebuno.model.answer import AnswerKind
from rebuno.model.clock import FixedClock
from rebuno.model.execution import ExecutionStatus
from tests.kernel.served import LEASE, SETTINGS, Run, Scenario, World, eventually, opened, world

MOST = SETTINGS.max_attempts
SCATTER = 0.4


@pytest.mark.parametrize(
    "status",
    [
        500,  # the agent failed
        301,  # redirects are not followed
        204,  # only 200 acknowledges
    ],
)
def test_a_webhook_that_is_not_taken_is_tried_again_until_it_is_given_up(serve: Scenario, status: int) -> None:
    """Each pause is longer than the one before; then the execution fails."""

    async def scenario(w: World) -> None:
        await w.agent()
        w.statuses += [status] * MOST
        run = await w.begin()
        numbers = [run.dispatch.attempt]
        for pause in (1, 2, 4, 8, 16, 32, *[60] * (MOST - 7)):
            await until(w, run, DispatchState.QUEUED)
            dispatch = await w.store.dispatch(run.id)
            assert dispatch is not None
            assert pause / 2 <= dispatch.due_at - w.clock.now() <= pause
            w.clock.advance(pause)
            numbers.append((await w.run()).dispatch.attempt)
        assert numbers == list(range(1, MOST + 1))
        events = await w.until(run, "execution.failed")
        assert events.count("dispatch.failed") == MOST
        row = await w.row(run)
        assert row.status is ExecutionStatus.FAILED
        said = f"no end after {MOST} deliveries that reached the agent; the last one: status {status}"
        assert row.failure_reason == f"dispatch_exhausted: {said}"
        w.clock.advance(3600)
        await w.quiet()

    serve(scenario)


async def until(w: World, run: Run, state: DispatchState) -> None:
    """Returns once the dispatch is in this state."""

    async def is_so() -> bool:
        dispatch = await w.store.dispatch(run.id)
        return dispatch is not None and dispatch.state is state

    await eventually(is_so)


@pytest.mark.parametrize("progress", [False, True], ids=["the same step each time", "a new step each time"])
def test_a_handler_that_kills_its_process_each_time_is_given_up(
    serve: Scenario, caplog: pytest.LogCaptureFixture, progress: bool
) -> None:
    """A body begins as often as is allowed and not once more, with growing pauses, whatever came before it; the log
    tells of it as an error, with the agent and its host and nothing more of its URL."""

    async def scenario(w: World) -> None:
        await w.agent()
        run = await w.begin()
        began, rested = 0, []
        for n in range(MOST):
            if progress:
                began += (await run.act("send", {"n": n})).kind is AnswerKind.PROCEED
            else:
                began += (await run.submit("poison")).kind is AnswerKind.PROCEED
            w.clock.advance(LEASE + 1)
            if n + 1 < MOST:
                rested.append(await again(w, run))
                run = await w.run()
        await w.until(run, "execution.failed")
        row = await w.row(run)
        said = f"no end after {MOST} deliveries that reached the agent; the last one: lease_expired"
        assert (began, row.failure_reason) == (MOST, f"dispatch_exhausted: {said}")
        assert len(await w.store.steps(run.id)) == (MOST if progress else 1)
        assert rested[0] == 0
        for pause, least in zip(rested[1:], (1, 2, 4, 8, 16, 32, *[60] * MOST), strict=False):
            assert least / 2 <= pause <= least
        (told,) = [one for one in caplog.records if one.levelno >= logging.ERROR]
        assert told.getMessage() == f"the execution failed: {said}"
        expected = {"agent_id": "agent", "host": "agent.test", "reason": "dispatch_exhausted", "execution_id": run.id}
        assert expected.items() <= vars(told).items()
        await w.quiet()

    serve(scenario)


async def again(w: World, run: Run) -> float:
    """Has a lost execution delivered again; how many seconds it rested."""

    async def noticed() -> bool:
        dispatch = await w.store.dispatch(run.id)
        return dispatch is not None and (
            dispatch.attempt > run.dispatch.attempt or dispatch.state is DispatchState.QUEUED
        )

    await eventually(noticed)
    dispatch = await w.store.dispatch(run.id)
    assert dispatch is not None
    if dispatch.state is DispatchState.CLAIMED:
        return 0.0
    pause = dispatch.due_at - w.clock.now()
    w.clock.advance(pause + 0.01)
    return pause


def test_a_lost_handler_may_come_back_while_its_execution_rests(serve: Scenario) -> None:
    """Its lease counts until the next attempt begins, and none begins while it lives."""

    async def scenario(w: World) -> None:
        await w.agent()
        run = await w.begin()
        await run.act("look")
        w.clock.advance(LEASE + 1)
        run = await w.run()
        await run.submit("look")
        w.clock.advance(LEASE + 1)
        await until(w, run, DispatchState.QUEUED)
        await run.beat()
        w.clock.advance(LEASE / 2)
        await w.quiet()
        await run.complete()
        assert await w.status(run) is ExecutionStatus.COMPLETED

    serve(scenario)


def test_what_no_replica_knows_to_have_arrived_is_not_counted(serve: Scenario) -> None:
    """Replicas that die between claim and post take nothing from the attempts of the handler."""

    async def scenario(w: World) -> None:
        await w.agent()
        hangs: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def never(webhook: Webhook) -> int:
            return await asyncio.shield(hangs)

        w.answers = never
        run = await w.begin()
        for _ in range(MOST):
            w.clock.advance(36)
            run = await w.run()
        dispatch = await w.store.dispatch(run.id)
        assert dispatch is not None
        assert (dispatch.attempt, dispatch.failures) == (MOST + 1, 1)

    serve(scenario)


@pytest.mark.parametrize(("status", "times"), [(0, MOST + 2), (429, 2), (502, 2), (503, 2), (504, 2)])
def test_an_agent_that_is_away_is_tried_until_it_is_there(
    serve: Scenario, caplog: pytest.LogCaptureFixture, status: int, times: int
) -> None:
    """However often that is, it takes no attempt; meanwhile the execution says for whom it waits, and why."""

    async def scenario(w: World) -> None:
        await w.agent()
        began = w.clock.now()
        error = f"status {status}" if status else "nobody listens"
        w.statuses += [status] * times
        run = await w.begin()
        for n in range(times):
            await until(w, run, DispatchState.QUEUED)
            waits = await w.serving.delivery(await w.row(run))
            assert waits is not None
            assert (waits.agent_id, waits.error) == ("agent", error)
            assert (waits.attempts, waits.unreached) == (0, n + 1)
            assert waits.unreachable_since is not None
            assert waits.unreachable_since.timestamp() == pytest.approx(began)
            assert waits.next_at is not None
            pause = waits.next_at.timestamp() - w.clock.now()
            longest = min(2.0**n, 300)
            assert longest / 2 - 0.001 <= pause <= longest + 0.001
            w.clock.advance(pause + 0.01)
            run = await w.run()
        assert await w.serving.delivery(await w.row(run)) is None
        failed = [e.payload for e in await w.store.events(run.id) if e.type == "dispatch.failed"]
        assert {(one["reason"], one["error"]) for one in failed} == {("unreachable", error)}
        told = [one.levelname for one in caplog.records if "was not reached" in one.getMessage()]
        assert told.count("WARNING") <= 1
        # Nothing of that counts: the handler has all its attempts.
        dispatch = await w.store.dispatch(run.id)
        assert dispatch is not None
        assert dispatch.failures == 1
        await run.complete()

    serve(scenario)


def test_an_agent_that_stays_away_is_given_up(serve: Scenario, caplog: pytest.LogCaptureFixture) -> None:
    """At the end of the time that one may be away, and with a last try then."""

    async def scenario(w: World) -> None:
        await w.agent()
        began = w.clock.now()
        w.statuses += [0] * 1000
        run = await w.begin()
        while True:
            await w.until(run, "dispatch.failed")
            dispatch = await w.store.dispatch(run.id)
            if dispatch is None:
                break
            assert w.clock.now() <= dispatch.due_at <= began + SETTINGS.unreachable_for
            w.clock.advance(
                max(dispatch.due_at, min(began + SETTINGS.unreachable_for, w.clock.now() + 6 * 3600)) - w.clock.now()
            )
            run = await w.run()
        assert w.clock.now() == pytest.approx(began + SETTINGS.unreachable_for)
        row = await w.row(run)
        assert row.status is ExecutionStatus.FAILED
        assert row.failure_reason.startswith("dispatch_exhausted: the agent was not reached for 86400 s, in ")
        assert row.failure_reason.endswith("the last one: nobody listens")
        (told,) = [one for one in caplog.records if one.levelno >= logging.ERROR]
        assert {"agent_id": "agent", "host": "agent.test"}.items() <= vars(told).items()
        assert await w.serving.delivery(row) is None

    serve(scenario)


def test_who_was_reached_once_may_be_away_anew(serve: Scenario) -> None:
    """The time without an agent begins with the first try that reaches nobody, and attempts are kept."""

    async def scenario(w: World) -> None:
        await w.agent()
        w.statuses += [503, 200, 503]
        run = await w.begin()
        await again(w, run)
        run = await w.run()
        await run.act("look")
        w.clock.advance(LEASE + 1)
        run = await w.run()
        await until(w, run, DispatchState.QUEUED)
        dispatch = await w.store.dispatch(run.id)
        assert dispatch is not None
        assert (dispatch.failures, dispatch.unreached, dispatch.since) == (1, 1, w.clock.now())

    serve(scenario)


@pytest.mark.parametrize("before", [0, MOST - 1])
def test_an_agent_that_is_at_work_keeps_what_it_did_not_acknowledge(serve: Scenario, before: int) -> None:
    """Its answer was lost, its requests say enough: nobody else is told before its lease runs out, and its last chance
    is not over."""

    async def scenario(w: World) -> None:
        await w.agent()
        working = asyncio.Event()
        answered = asyncio.Event()

        async def at_last(webhook: Webhook) -> int:
            await working.wait()
            answered.set()
            return 500

        w.statuses += [503] * before
        if not before:
            w.answers = at_last
        await w.create()
        for n in range(before):
            await until(w, await w.run(), DispatchState.QUEUED)
            w.answers = at_last if n + 1 == before else None
            # Longer than any pause before the next try.
            w.clock.advance(600)
        run = await w.run()
        await run.submit()
        working.set()
        await answered.wait()
        w.answers = None
        w.clock.advance(LEASE / 2)
        await w.quiet()
        assert (await run.submit()).kind is AnswerKind.PROCEED

    serve(scenario)


def test_a_replica_that_dies_between_claim_and_post_is_replaced(serve: Scenario) -> None:
    """The claim runs out, and the execution is delivered under the next number."""

    async def scenario(w: World) -> None:
        await w.agent()
        hangs: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def never(webhook: Webhook) -> int:
            return await asyncio.shield(hangs)

        # A dead replica, as others see it: it has claimed, and nothing more comes.
        w.answers = never
        run = await w.begin()
        w.answers = None
        w.clock.advance(30)
        await w.quiet()
        w.clock.advance(6)
        again = await w.run()
        assert (again.dispatch.id, again.dispatch.attempt) == (run.dispatch.id, 2)

    serve(scenario)


@pytest.mark.parametrize("at_work", [False, True])
def test_a_replica_that_is_stopped_gives_back_what_no_agent_has_answered(
    monkeypatch: pytest.MonkeyPatch, at_work: bool
) -> None:
    """At once and without counting it, unless the agent is at work; its store has time for that of its own."""
    monkeypatch.setattr(dispatcher, "_GRACE", 0.0)

    async def whole() -> None:
        clock = FixedClock()
        stopping = asyncio.Event()

        async def never(webhook: Webhook) -> int:
            hangs: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            try:
                return await hangs
            finally:
                stopping.set()

        async with opened(None, clock) as stores:
            async with world(stores, clock) as w:
                await w.agent()
                w.answers = never
                run = await w.begin()
                if at_work:
                    await run.submit()
            # With no time of grace the replica does not wait for the end of what it has cancelled.
            async with asyncio.timeout(30):
                await stopping.wait()
            dispatch = await stores[0].dispatch(run.id)
            assert dispatch is not None
            if at_work:
                assert (dispatch.state, dispatch.failures) == (DispatchState.CLAIMED, 1)
                return
            assert (dispatch.state, dispatch.failures, dispatch.due_at) == (DispatchState.QUEUED, 0, clock.now())
            async with world(stores, clock) as w:
                again = await w.run()
                assert (again.dispatch.id, again.dispatch.attempt) == (run.dispatch.id, 2)
                reasons = [e.payload["reason"] for e in await w.store.events(run.id) if e.type == "dispatch.failed"]
                assert reasons == ["stopped"]

    asyncio.run(whole())


def test_what_was_lost_at_one_instant_comes_back_at_several(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours of a handler that kills their process get time to go on without it; what was not lost has no pause."""
    pauses = iter([0.0, 0.3, 0.05])
    asked: list[float] = []

    def pause(least: float, most: float) -> float:
        if (least, most) != (0, SCATTER):
            return most
        asked.append(most)
        return next(pauses)

    monkeypatch.setattr("rebuno.kernel.served.dispatcher.random.uniform", pause)

    async def whole() -> None:
        clock = FixedClock()
        async with opened(None, clock) as stores, world(stores, clock, replace(SETTINGS, scatter=SCATTER)) as w:
            await w.agent()
            for _ in range(3):
                await w.create()
            for _ in range(3):
                await w.run()
            assert asked == []
            clock.advance(LEASE + 1)
            began, came = asyncio.get_running_loop().time(), []
            for _ in range(3):
                await w.run()
                came.append(asyncio.get_running_loop().time() - began)
            assert len(asked) == 3
            assert came[1] >= 0.05
            assert came[2] >= 0.3

    asyncio.run(whole())


def test_a_replica_takes_no_more_than_it_posts() -> None:
    """What is beyond its limit stays for others, and is taken as soon as there is room."""

    async def whole() -> None:
        clock = FixedClock()
        busy, most, let_go = 0, 0, asyncio.Event()

        async def send(webhook: Webhook) -> int:
            nonlocal busy, most
            busy += 1
            most = max(most, busy)
            await let_go.wait()
            busy -= 1
            return 200

        async with opened(None, clock) as stores:
            settings = Settings(poll=0.02, sweep=3600.0, deliveries=2)
            async with world(stores, clock, settings) as w:
                w.answers = send
                await w.agent()
                made = [await w.create() for _ in range(5)]
                await eventually(lambda: claimed(w, 2))
                for _ in range(2):
                    await w.posted.get()
                await w.quiet()
                counts = await w.serving.counts()
                assert (counts.queued, counts.claimed) == (3, 2)
                let_go.set()
                await eventually(lambda: claimed(w, len(made)))
                assert most == 2

    asyncio.run(whole())


def test_a_dispatch_that_is_not_needed_any_more_is_discarded(serve: Scenario) -> None:
    """The log tells of it, and nobody is told to run what was cancelled."""

    async def scenario(w: World) -> None:
        await w.agent()
        w.statuses.append(503)
        run = await w.begin()
        await until(w, run, DispatchState.QUEUED)
        await w.serving.cancel(run.id)
        events = [event.type for event in await w.store.events(run.id)]
        assert events[-2:] == ["dispatch.discarded", "execution.cancelled"]
        w.clock.advance(60)
        await w.quiet()

    serve(scenario)


async def claimed(w: World, count: int) -> bool:
    """Whether so many dispatches are on their way or delivered."""
    return (await w.serving.counts()).claimed == count


def test_many_executions_are_delivered_once_each(serve: Scenario) -> None:
    """However many replicas look for work at once."""

    async def scenario(w: World) -> None:
        await w.agent()
        made = await asyncio.gather(*(w.serving.create(agent_id="agent", input="1") for _ in range(30)))
        runs = [await w.run() for _ in made]
        assert sorted(run.id for run in runs) == sorted(execution.id for execution in made)
        assert {run.dispatch.attempt for run in runs} == {1}
        await w.quiet()

    serve(scenario)
