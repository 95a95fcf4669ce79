"""Executions that steps of other executions begin: their ends settle those steps, whichever process runs, waits or
has died."""

import asyncio

import pytest

from rebuno.errors import ConflictError, LeaseSuperseded, ValidationError
from rebuno.kernel.lifecycle.cancel import cancel
from rebuno.kernel.served.kernel import ReportOutcome
from rebuno.model import identity
from rebuno.model.answer import Answer, AnswerKind
from rebuno.model.execution import ExecutionStatus
from tests.kernel.served import LEASE, Run, Scenario, World


async def family(w: World, *, idempotency: str = "safe_to_retry") -> tuple[Run, Answer, Run]:
    """A parent whose step has begun a subagent, and both are delivered."""
    await w.agent()
    await w.agent("child")
    parent = await w.begin()
    step = await parent.submit("ask", idempotency=idempotency)
    return parent, step, await spawn(w, parent, step)


async def spawn(w: World, parent: Run, step: Answer) -> Run:
    """The subagent of a step."""
    await w.create("child", input={"of": step.step_id}, spawned_by=(parent.id, step.step_id))
    return await w.run(agent="child")


def test_a_child_that_ends_before_the_suspend_lets_the_parent_go_on(serve: Scenario) -> None:
    """The step is settled already, the body reads its outcome and reports it in vain."""

    async def scenario(w: World) -> None:
        parent, step, child = await family(w)
        await child.complete({"n": 1})
        assert not await parent.suspend()
        row = await w.serving.step(parent.id, step.step_id)
        assert (row.status.value, row.result) == ("succeeded", '{"n":1}')
        late = await parent.done(step, {"n": 2})
        assert (late.outcome, late.result) == (ReportOutcome.REPLAY, '{"n":1}')
        await parent.complete()
        assert await w.status(parent) is ExecutionStatus.COMPLETED

    serve(scenario)


def test_a_parent_that_waits_is_delivered_when_its_last_child_ends(serve: Scenario) -> None:
    """Of two children the first end wakes nobody; the waking and the step are one change."""

    async def scenario(w: World) -> None:
        parent, _, one = await family(w)
        second = await parent.submit("ask", {"n": 2})
        two = await spawn(w, parent, second)
        assert await parent.suspend()
        waiting = (await w.serving.shown(await w.row(parent))).blocked_on
        assert [(each.type, each.id) for each in waiting] == [("execution", one.id), ("execution", two.id)]
        await two.complete(2)
        await w.quiet()
        assert await w.status(parent) is ExecutionStatus.BLOCKED
        await one.on(w.replicas[-1]).complete(None)
        again = await w.run(w.replicas[-1])
        assert again.id == parent.id
        assert [(await again.submit("ask", args)).result for args in ({}, {"n": 2})] == ["null", "2"]
        events = [event.type for event in await w.store.events(parent.id)]
        assert events[events.index("execution.resumed") - 1 :][:3] == [
            "step.succeeded",
            "execution.resumed",
            "dispatch.queued",
        ]

    serve(scenario)


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("fail", "subagent_failed"),  # its handler raised
        ("cancel", "subagent_cancelled"),  # somebody stopped it
    ],
)
def test_a_child_that_does_not_complete_fails_the_step(serve: Scenario, how: str, reason: str) -> None:
    """With the reason of its own failure."""

    async def scenario(w: World) -> None:
        parent, _, child = await family(w)
        assert await parent.suspend()
        if how == "fail":
            await w.serving.fail("child", child.id, child.dispatch, "tool_error: no")
        else:
            await w.serving.cancel(child.id)
        again = await w.run()
        error = identity.parse((await again.submit("ask")).error or "null")
        failure = "tool_error: no" if how == "fail" else "client_cancelled"
        assert error == {"reason": reason, "execution_id": child.id, "failure_reason": failure}

    serve(scenario)


@pytest.mark.parametrize("how", ["complete", "cancel"])
def test_the_end_of_a_parent_cancels_its_children(serve: Scenario, how: str) -> None:
    """Down to the grandchildren, and who runs them learns of it."""

    async def scenario(w: World) -> None:
        parent, _, child = await family(w)
        grandchild = await spawn(w, child, await child.submit("ask"))
        if how == "complete":
            await parent.complete()
        else:
            await w.serving.cancel(parent.id)
        for run in (child, grandchild):
            row = await w.row(run)
            assert (row.status, row.failure_reason) == (ExecutionStatus.CANCELLED, "parent_terminal")
            with pytest.raises(LeaseSuperseded):
                await run.beat()

    serve(scenario)


def test_an_agent_that_dies_while_its_step_waits_for_a_child_waits_again(serve: Scenario) -> None:
    """Also an at_most_once step is not taken for lost: its outcome is the child's."""

    async def scenario(w: World) -> None:
        parent, step, child = await family(w, idempotency="at_most_once")
        w.clock.advance(LEASE / 2)
        await child.beat()
        w.clock.advance(LEASE / 2 + 1)
        again = await w.run()
        assert again.id == parent.id
        waits = await again.submit("ask", idempotency="at_most_once")
        assert (waits.kind, waits.step_id, waits.approval_id) == (AnswerKind.BLOCKED, step.step_id, "")
        assert await w.status(parent) is ExecutionStatus.BLOCKED
        await child.complete("found")
        third = await w.run()
        assert (await third.submit("ask", idempotency="at_most_once")).result == '"found"'

    serve(scenario)


def test_a_step_has_one_child(serve: Scenario) -> None:
    """The same agent again gives the same one, also at once; another is refused."""

    async def scenario(w: World) -> None:
        parent, step, child = await family(w)
        spawned = (parent.id, step.step_id)
        creations = [w.create("child", input={"again": n}, spawned_by=spawned) for n in range(3)]
        assert {made.id for made in await asyncio.gather(*creations)} == {child.id}
        with pytest.raises(ConflictError):
            await w.create("agent", spawned_by=spawned)
        with pytest.raises(ValidationError):
            await w.create("child", spawned_by=(child.id, step.step_id))
        await parent.done(step)
        assert (await w.create("child", spawned_by=spawned)).id == child.id

    serve(scenario)


def test_a_subagent_is_refused_where_its_parent_cannot_have_one(serve: Scenario) -> None:
    """A step of another execution, one that does not execute, the parent's own session."""

    async def scenario(w: World) -> None:
        await w.agent()
        parent = await w.begin(session="s")
        step = await parent.submit("ask")
        other = await w.begin()
        with pytest.raises(ValidationError):
            await w.create(spawned_by=(other.id, step.step_id))
        with pytest.raises(ValidationError):
            await w.create(spawned_by=(parent.id, "s-none"))
        with pytest.raises(ValidationError):
            await w.create(spawned_by=(parent.id, step.step_id), session="s")
        await parent.done(step)
        with pytest.raises(ConflictError):
            await w.create(spawned_by=(parent.id, step.step_id))

    serve(scenario)


def test_what_a_dead_replica_left_undone_is_done_by_a_sweep(serve: Scenario) -> None:
    """A child's end that its parent was not told, children of a parent that has ended."""

    async def scenario(w: World) -> None:
        parent, _, child = await family(w)
        assert await parent.suspend()
        # Ended in the store alone, as by a replica that died right after that.
        await cancel(w.store, child.id)
        await w.quiet()
        await w.replicas[-1].sweep()
        again = await w.run()
        assert (again.id, (await again.submit("ask")).kind) == (parent.id, AnswerKind.REPLAY)
        orphan = await spawn(w, again, await again.submit("ask", {"n": 2}))
        await cancel(w.store, parent.id)
        await w.serving.sweep()
        assert (await w.row(orphan)).failure_reason == "parent_terminal"

    serve(scenario)


def test_a_policy_that_denies_a_started_step_cancels_its_child(serve: Scenario) -> None:
    """The step is denied for good, and nobody works for it any more."""

    async def scenario(w: World) -> None:
        parent, step, child = await family(w)
        await w.serving.set_policy("agent", 'bundle no\ndefault deny because "stop it"\n')
        w.clock.advance(LEASE / 2)
        await child.beat()
        w.clock.advance(LEASE / 2 + 1)
        again = await w.run()
        denied = await again.submit("ask")
        assert (again.id, denied.kind, denied.reason) == (parent.id, AnswerKind.DENIED, "stop it")
        assert (await w.serving.step(parent.id, step.step_id)).status.value == "failed"
        await w.serving.sweep()
        assert await w.status(child) is ExecutionStatus.CANCELLED

    serve(scenario)
