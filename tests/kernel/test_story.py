"""The story of an execution: attempts, steps and answers as they are told from the log."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from rebuno.errors import NotFoundError
from rebuno.kernel.history.timeline import ApprovalView, StepOutcome, Timeline, tell
from rebuno.kernel.lifecycle import execution
from tests.kernel.support import Bench, bench, policy

ONCE = "at_most_once"

Scenario = Callable[[Bench], Awaitable[None]]


def _story(scenario: Scenario) -> Timeline:
    async def whole() -> Timeline:
        async with bench() as b:
            await scenario(b)
            return await tell(b.store, b.attempt.execution.id)

    return asyncio.run(whole())


def _attempts(story: Timeline) -> list[tuple[int, str, int | None]]:
    return [(run.number, run.ended, run.replayed) for run in story.runs]


async def _finish(b: Bench) -> None:
    await execution.finish(b.attempt, output='"done"')


async def asked_and_granted(b: Bench) -> None:
    """A step that runs, one that is denied, one that a person lets go ahead in the second attempt."""
    await b.begin(policy("ask"))
    await b.succeed(await b.submit(kind="local", target="plan"))
    await b.submit(target="other")
    question = await b.submit()
    await b.suspend()
    b.clock.advance(60)
    await b.answer(question.approval_id, granted=True, rationale="fine")
    await b.begin(policy("ask"))
    await b.submit(kind="local", target="plan")
    await b.submit(target="other")
    answer = await b.submit()
    b.clock.advance(2.5)
    await b.succeed(answer)
    await _finish(b)


def test_a_granted_step_tells_who_decided_and_in_which_attempt_it_ran() -> None:
    """The whole way of three steps through two attempts."""
    story = _story(asked_and_granted)
    assert _attempts(story) == [(1, "blocked", 0), (2, "completed", 1)]
    plan, other, act = story.steps
    assert (plan.went, plan.rule_id, plan.ran, plan.replayed) == (StepOutcome.SUCCEEDED, "local", (1,), (2,))
    assert (other.went, other.rule_id, other.ran, other.replayed) == (StepOutcome.DENIED, "default", (), ())
    assert (act.went, act.verdict, act.submitted, act.ran, act.seconds) == (
        StepOutcome.SUCCEEDED,
        "require_approval",
        1,
        (2,),
        2.5,
    )
    [asked] = act.asked
    assert asked == ApprovalView(asked.approval_id, "policy", "granted", "ana", "fine", granted_by=("ana",))
    assert story.runs[1].seconds == 2.5


async def killed_inside_bodies(b: Bench) -> None:
    await b.begin(policy("allow"))
    await b.submit(args={"safe": True})
    await b.submit(args={"safe": False}, idempotency=ONCE)
    await b.begin(policy("allow"))
    await b.succeed(await b.submit(args={"safe": True}))
    await b.submit(args={"safe": False}, idempotency=ONCE)
    await _finish(b)


def test_an_attempt_without_an_end_was_cut_off() -> None:
    """Its safe step ran again, of the other one nobody knows the outcome."""
    story = _story(killed_inside_bodies)
    assert _attempts(story) == [(1, "cut off", None), (2, "completed", 1)]
    safe, once = story.steps
    assert (safe.went, safe.ran) == (StepOutcome.SUCCEEDED, (1, 2))
    assert (once.went, once.ran, once.replayed) == (StepOutcome.INDETERMINATE, (1,), (2,))


async def nested(b: Bench) -> None:
    await b.begin(policy("allow"))
    outer = await b.submit()
    inner = await b.submit(kind="local", target="inner", parent=outer.step_id)
    await b.succeed(inner)
    await b.succeed(outer)
    await b.begin(policy("allow"))
    await b.submit()
    await _finish(b)


def test_a_step_stands_inside_the_step_that_ran_it() -> None:
    """What stood inside a replayed step was not submitted again, so it was not replayed either."""
    [outer] = _story(nested).steps
    assert outer.replayed == (2,)
    [inner] = outer.inner
    assert (inner.target, inner.replayed) == ("inner", ())


async def some_left_out(b: Bench) -> None:
    await b.begin(policy("allow"))
    await b.succeed(await b.submit(args={"n": 1}))
    await b.succeed(await b.submit(args={"n": 2}))
    await b.begin(policy("allow"))
    await b.submit(args={"n": 2})
    await _finish(b)


def test_a_count_that_does_not_cover_every_known_step_names_none() -> None:
    """The log does not say which of two steps was asked for again."""
    story = _story(some_left_out)
    assert story.runs[1].replayed == 1
    assert [step.replayed for step in story.steps] == [(), ()]


async def waits(b: Bench) -> None:
    await b.begin(policy("ask"))
    await b.submit()
    await b.suspend()


async def granted(b: Bench) -> None:
    await b.begin(policy("ask"))
    question = await b.submit()
    await b.suspend()
    await b.answer(question.approval_id, granted=True)


async def refused(b: Bench) -> None:
    await b.begin(policy("ask"))
    question = await b.submit()
    await b.suspend()
    await b.answer(question.approval_id, granted=False, rationale="wrong folder")


async def failed(b: Bench) -> None:
    await b.begin(policy("allow"))
    await b.fail(await b.submit())


async def running(b: Bench) -> None:
    await b.begin(policy("allow"))
    await b.submit()


async def let_go(b: Bench) -> None:
    await running(b)
    await execution.abandon(b.attempt)


async def revoked(b: Bench) -> None:
    await running(b)
    await b.begin(policy("deny"))
    await b.submit()


@pytest.mark.parametrize(
    ("scenario", "went", "why"),
    [
        (waits, StepOutcome.WAITS, ""),
        (granted, StepOutcome.GRANTED, ""),
        (refused, StepOutcome.DENIED, "wrong folder"),  # the person's words, not the rule's
        (failed, StepOutcome.FAILED, "no"),
        (running, StepOutcome.RUNNING, ""),
        (let_go, StepOutcome.CUT_OFF, ""),  # nobody runs it any more
        (revoked, StepOutcome.REVOKED, "deny it"),  # started once, and today's bundle denies it
    ],
)
def test_how_a_step_went(scenario: Scenario, went: StepOutcome, why: str) -> None:
    """One row for each way that a step can stand."""
    [step] = _story(scenario).steps
    assert (step.went, step.why) == (went, why)


def test_the_story_as_json_has_the_documented_keys() -> None:
    """Programs read it; a key that goes missing is a broken promise."""
    data = _story(asked_and_granted).to_json()
    assert list(data) == [
        "execution_id",
        "agent_id",
        "idempotency_key",
        "status",
        "failure_reason",
        "pinned",
        "forked_from",
        "fork_seq",
        "attempts",
        "steps",
        "rate_limited",
        "failure",
        "turns",
        "resources",
    ]
    assert list(data["attempts"][0]) == [
        "attempt",
        "host",
        "pid",
        "started_at",
        "status",
        "ended_at",
        "replayed_steps",
        "digest",
        "divergence",
    ]
    act = data["steps"][2]
    assert (act["args"], act["decision"], act["executed_attempts"]) == ({}, "require_approval", [2])
    assert (act["outcome"], act["submitted_attempt"], act["replayed_attempts"]) == ("succeeded", 1, [])
    assert act["approvals"][0]["decided_by"] == "ana"
    assert data["steps"][0]["steps"] == []


def test_there_is_no_story_of_what_does_not_exist() -> None:
    """An id that names nothing is an error, not an empty story."""

    async def look() -> None:
        async with bench() as b:
            with pytest.raises(NotFoundError):
                await tell(b.store, "nobody")

    asyncio.run(look())
