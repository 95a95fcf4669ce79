"""The decision table of the kernel, a row a cell: today's verdict against what the journal recorded."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from rebuno.journal.records import Execution
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.history.verify import check
from rebuno.model.answer import AnswerKind
from rebuno.policy.compile import compile_text
from tests.kernel.support import Bench, bench, policy

ONCE = "at_most_once"
SAFE = "safe_to_retry"

# ---------------------------------------------------------------- ways to bring the journal into a state


async def absent(b: Bench, idempotency: str) -> str:
    return ""


async def awaiting(b: Bench, idempotency: str) -> str:
    await b.begin(policy("ask"))
    answer = await b.submit(idempotency=idempotency)
    await b.suspend()
    return answer.approval_id


async def granted(b: Bench, idempotency: str) -> str:
    approval_id = await awaiting(b, idempotency)
    await b.answer(approval_id, granted=True)
    return approval_id


async def granted_long_ago(b: Bench, idempotency: str) -> str:
    approval_id = await granted(b, idempotency)
    b.clock.advance(15 * 60 + 1)
    return approval_id


async def started(b: Bench, idempotency: str) -> str:
    await b.begin(policy("allow"))
    await b.submit(idempotency=idempotency)
    return ""


async def started_after_grant(b: Bench, idempotency: str) -> str:
    approval_id = await granted(b, idempotency)
    await b.begin(policy("ask"))
    assert (await b.submit(idempotency=idempotency)).kind is AnswerKind.PROCEED
    return approval_id


async def started_after_grant_long_ago(b: Bench, idempotency: str) -> str:
    approval_id = await started_after_grant(b, idempotency)
    b.clock.advance(15 * 60 + 1)
    return approval_id


async def succeeded(b: Bench, idempotency: str) -> str:
    await b.begin(policy("allow"))
    await b.succeed(await b.submit(idempotency=idempotency))
    return ""


async def failed(b: Bench, idempotency: str) -> str:
    await b.begin(policy("allow"))
    await b.fail(await b.submit(idempotency=idempotency))
    return ""


async def revoked_while_started(b: Bench, idempotency: str) -> str:
    await started(b, idempotency)
    await b.begin(policy("deny"))
    await b.submit(idempotency=idempotency)
    return ""


async def revoked(b: Bench, idempotency: str) -> str:
    await b.begin(policy("deny"))
    question = await b.submit(idempotency=idempotency)
    await b.suspend()
    await b.answer(question.approval_id, granted=True)
    return question.approval_id


async def succeeded_and_let_stand(b: Bench, idempotency: str) -> str:
    await succeeded(b, idempotency)
    return await revoked(b, idempotency)


async def failed_and_let_stand(b: Bench, idempotency: str) -> str:
    await failed(b, idempotency)
    return await revoked(b, idempotency)


async def succeeded_after_grant(b: Bench, idempotency: str) -> str:
    approval_id = await started_after_grant(b, idempotency)
    (step,) = await b.store.steps(b.attempt.execution.id)
    await b.kernel.succeed(b.attempt, step.step_id, "1", 1)
    return approval_id


async def denied(b: Bench, idempotency: str) -> str:
    await b.begin(policy("deny", also="# as recorded\n"))
    await b.submit(idempotency=idempotency)
    return ""


async def denied_by_a_person(b: Bench, idempotency: str) -> str:
    approval_id = await awaiting(b, idempotency)
    await b.answer(approval_id, granted=False, rationale="not today")
    return approval_id


State = Callable[[Bench, str], Awaitable[str]]

# What a cell adds to the log of its step.
NOTHING: tuple[str, ...] = ()
STARTS = ("step.executing",)
FAILED = ("step.failed",)
DENIED = ("step.denied",)
ASKS = ("step.proposed", "step.awaiting_approval", "approval.requested")
ASKS_ANEW = ("step.awaiting_approval", "approval.requested")
REVOKES = ("step.revoked", "approval.requested")
WITHDRAWS = ("approval.withdrawn", "step.denied")

# Today's verdict · what the journal recorded · idempotency → the answer, the step's status after it, and its events.
TABLE: list[tuple[str, State, str, AnswerKind | str, str, tuple[str, ...]]] = [
    ("allow", absent, SAFE, AnswerKind.PROCEED, "executing", STARTS),
    ("allow", absent, ONCE, AnswerKind.PROCEED, "executing", STARTS),
    ("ask", absent, SAFE, AnswerKind.BLOCKED, "awaiting_approval", ASKS),
    ("ask", absent, ONCE, AnswerKind.BLOCKED, "awaiting_approval", ASKS),
    ("deny", absent, SAFE, AnswerKind.DENIED, "denied", DENIED),
    # Loosening the policy does not answer a question that was put to a person; no handler runs meanwhile.
    ("allow", awaiting, SAFE, "waits", "awaiting_approval", NOTHING),
    ("ask", awaiting, SAFE, "waits", "awaiting_approval", NOTHING),
    ("deny", awaiting, SAFE, AnswerKind.DENIED, "denied", WITHDRAWS),
    ("allow", granted, SAFE, AnswerKind.PROCEED, "executing", STARTS),
    ("allow", granted_long_ago, SAFE, AnswerKind.PROCEED, "executing", STARTS),
    ("ask", granted, ONCE, AnswerKind.PROCEED, "executing", STARTS),
    ("ask", granted_long_ago, SAFE, AnswerKind.BLOCKED, "awaiting_approval", ASKS_ANEW),
    ("deny", granted, SAFE, AnswerKind.DENIED, "denied", DENIED),
    ("allow", started, SAFE, AnswerKind.PROCEED, "executing", STARTS),
    ("allow", started, ONCE, AnswerKind.REPLAY, "failed", FAILED),
    ("ask", started, SAFE, AnswerKind.BLOCKED, "awaiting_approval", ASKS_ANEW),
    ("ask", started, ONCE, AnswerKind.REPLAY, "failed", FAILED),
    ("ask", started_after_grant, SAFE, AnswerKind.PROCEED, "executing", STARTS),
    ("ask", started_after_grant, ONCE, AnswerKind.REPLAY, "failed", FAILED),
    ("ask", started_after_grant_long_ago, SAFE, AnswerKind.BLOCKED, "awaiting_approval", ASKS_ANEW),
    ("allow", started_after_grant_long_ago, SAFE, AnswerKind.PROCEED, "executing", STARTS),
    ("deny", started_after_grant, SAFE, AnswerKind.DENIED, "failed", FAILED),
    ("deny", started, SAFE, AnswerKind.DENIED, "failed", FAILED),
    ("deny", started, ONCE, AnswerKind.DENIED, "failed", FAILED),
    ("allow", succeeded, SAFE, AnswerKind.REPLAY, "succeeded", NOTHING),
    ("ask", succeeded, ONCE, AnswerKind.REPLAY, "succeeded", NOTHING),
    # A done effect cannot be refused: a person decides whether the run goes on.
    ("deny", succeeded, SAFE, AnswerKind.BLOCKED, "succeeded", REVOKES),
    ("allow", failed, SAFE, AnswerKind.REPLAY, "failed", NOTHING),
    ("ask", failed, ONCE, AnswerKind.REPLAY, "failed", NOTHING),
    ("deny", failed, ONCE, AnswerKind.BLOCKED, "failed", REVOKES),
    # What a person has let stand replays, under the bundle that denies it and under others.
    ("deny", succeeded_and_let_stand, SAFE, AnswerKind.REPLAY, "succeeded", NOTHING),
    ("deny", succeeded_and_let_stand, ONCE, AnswerKind.REPLAY, "succeeded", NOTHING),
    ("deny", failed_and_let_stand, ONCE, AnswerKind.REPLAY, "failed", NOTHING),
    ("allow", succeeded_and_let_stand, SAFE, AnswerKind.REPLAY, "succeeded", NOTHING),
    # Leave to do it is no leave to let it stand.
    ("deny", succeeded_after_grant, SAFE, AnswerKind.BLOCKED, "succeeded", REVOKES),
    ("allow", revoked_while_started, SAFE, AnswerKind.DENIED, "failed", NOTHING),
    ("ask", revoked_while_started, ONCE, AnswerKind.DENIED, "failed", NOTHING),
    ("deny", revoked_while_started, SAFE, AnswerKind.DENIED, "failed", NOTHING),
    ("allow", denied, SAFE, AnswerKind.DENIED, "denied", NOTHING),
    ("ask", denied, ONCE, AnswerKind.DENIED, "denied", NOTHING),
    ("deny", denied, SAFE, AnswerKind.DENIED, "denied", NOTHING),
    ("allow", denied_by_a_person, SAFE, AnswerKind.DENIED, "denied", NOTHING),
]


@pytest.mark.parametrize(
    ("today", "state", "idempotency", "expected", "status", "events"),
    TABLE,
    ids=[f"{today}-{state.__name__}-{idempotency}" for today, state, idempotency, *_ in TABLE],
)
def test_cell(
    today: str, state: State, idempotency: str, expected: AnswerKind | str, status: str, events: tuple[str, ...]
) -> None:
    """The stricter of today's verdict and the journal decides, and the journal keeps what was decided: in the row, and
    in the events that say so, no more and no fewer."""

    async def scenario() -> None:
        async with bench() as b:
            approval_id = await state(b, idempotency)
            before = len(await b.events()) if state is not absent else 0
            begun = await b.begin(policy(today))
            if expected == "waits":
                assert isinstance(begun, Execution)
                assert begun.status == "blocked"
                waiting = await b.store.approvals(execution_id=begun.id, status="pending")
                assert [question.id for question in waiting] == [approval_id], "the same question, and only that"
                execution_id = begun.id
            else:
                assert isinstance(begun, Attempt)
                answer = await b.submit(idempotency=idempotency)
                assert answer.kind is expected
                execution_id = begun.execution.id
                if expected is AnswerKind.BLOCKED:
                    assert answer.approval_id not in ("", approval_id), "asked anew"
                if expected is AnswerKind.DENIED:
                    assert answer.reason
            (step,) = await b.store.steps(execution_id)
            assert step.status == status
            log = [event.type for event in await b.store.events(execution_id)][before:]
            assert tuple(said for said in log if not said.startswith("execution.")) == events
            assert (await check(b.store, execution_id)).fault == ""

    asyncio.run(scenario())


def run(scenario: Callable[[Bench], Awaitable[None]]) -> None:
    """Plays a scenario on a bench of its own."""

    async def whole() -> None:
        async with bench() as b:
            await scenario(b)

    asyncio.run(whole())


def test_the_first_verdict_is_kept_for_good() -> None:
    """A later bundle decides what happens, not what was decided."""

    async def scenario(b: Bench) -> None:
        await granted(b, SAFE)
        await b.begin(policy("deny"))
        await b.submit()
        (step,) = await b.store.steps(b.attempt.execution.id)
        assert (step.verdict, step.rule_id, step.digest) == ("require_approval", "ask-act", policy("ask").digest)

    run(scenario)


def test_a_denial_keeps_its_reason_through_every_bundle() -> None:
    """The rationale of a person is the reason that the agent receives, today and later."""

    async def scenario(b: Bench) -> None:
        await denied_by_a_person(b, SAFE)
        for today in ("ask", "allow", "deny"):
            await b.begin(policy(today))
            answer = await b.submit()
            assert (answer.kind, answer.reason) == (AnswerKind.DENIED, "not today")

    run(scenario)


def test_a_revoked_success_asks_once_a_digest() -> None:
    """One `step.revoked` and one question for each bundle that denies; granted, the result replays."""

    async def scenario(b: Bench) -> None:
        await succeeded(b, SAFE)
        await b.begin(policy("deny"))
        first = await b.submit()
        await b.suspend()
        begun = await b.begin(policy("deny"))
        assert isinstance(begun, Execution), "nothing runs while the question is open"
        assert (await b.events()).count("step.revoked") == 1
        await b.answer(first.approval_id, granted=True)
        await b.begin(policy("deny"))
        assert (await b.submit()).kind is AnswerKind.REPLAY
        await b.begin(policy("deny", also="# another digest\n"))
        second = await b.submit()
        assert (second.kind, second.approval_id == first.approval_id) == (AnswerKind.BLOCKED, False)
        assert (await b.events()).count("step.revoked") == 2

    run(scenario)


def test_what_stands_of_one_step_says_nothing_of_another() -> None:
    """A person lets one done effect stand; the next one that the bundle denies is asked about by itself."""

    async def scenario(b: Bench) -> None:
        await succeeded(b, SAFE)
        await b.succeed(await b.submit(args={"n": 2}))
        await revoked(b, SAFE)
        await b.begin(policy("deny"))
        assert (await b.submit()).kind is AnswerKind.REPLAY
        other = await b.submit(args={"n": 2})
        assert (other.kind, other.result) == (AnswerKind.BLOCKED, None)
        assert (await b.events()).count("step.revoked") == 2

    run(scenario)


def test_the_recorded_verdict_stands_under_its_digest_alone() -> None:
    """A step was asked about as its limit was full. Once the grant is too old it is asked about anew, though by now
    there would be room; under another digest its rule decides again, and that allows it."""
    text = 'bundle full\nrule act { allow tool "act" limit 1 per 60s else require approval because "one a minute" }\n'

    async def scenario(b: Bench) -> None:
        under = compile_text(text)
        await b.begin(under)
        await b.succeed(await b.submit())
        question = await b.submit(args={"n": 2})
        await b.suspend()
        await b.answer(question.approval_id, granted=True)
        b.clock.advance(15 * 60 + 1)
        await b.begin(under)
        again = await b.submit(args={"n": 2})
        assert (again.kind, again.approval_id != question.approval_id) == (AnswerKind.BLOCKED, True)
        await b.answer(again.approval_id, granted=True)
        b.clock.advance(15 * 60 + 1)
        await b.begin(compile_text(text + "# another digest\n"))
        assert (await b.submit(args={"n": 2})).kind is AnswerKind.PROCEED

    run(scenario)


def test_a_revoked_success_is_asked_about_no_more_once_the_bundle_allows_it() -> None:
    """Back to allow: the question is withdrawn and the result replays."""

    async def scenario(b: Bench) -> None:
        await succeeded(b, SAFE)
        await b.begin(policy("deny"))
        await b.submit()
        await b.suspend()
        await b.begin(policy("allow"))
        assert (await b.submit()).kind is AnswerKind.REPLAY
        assert "approval.withdrawn" in await b.events()

    run(scenario)


def test_a_digest_that_denies_again_asks_again_and_is_told_once() -> None:
    """A question that was withdrawn is asked anew; the log has one `step.revoked` a digest all the same."""

    async def scenario(b: Bench) -> None:
        await succeeded(b, SAFE)
        for today, say in (("deny", AnswerKind.BLOCKED), ("allow", AnswerKind.REPLAY), ("deny", AnswerKind.BLOCKED)):
            await b.begin(policy(today))
            assert (await b.submit()).kind is say
        events = await b.events()
        assert (events.count("step.revoked"), events.count("approval.requested")) == (1, 2)

    run(scenario)


def test_a_refused_revocation_ends_the_execution() -> None:
    """Denied: the run fails with `policy_revoked`, and nothing was raised into the handler."""

    async def scenario(b: Bench) -> None:
        await succeeded(b, SAFE)
        await b.begin(policy("deny"))
        answer = await b.submit()
        await b.suspend()
        await b.answer(answer.approval_id, granted=False)
        begun = await b.begin(policy("deny"))
        assert isinstance(begun, Execution)
        assert (begun.status, begun.failure_reason) == ("failed", "policy_revoked")

    run(scenario)


def test_an_indeterminate_step_is_not_retried() -> None:
    """The same `at_most_once` call again is denied by the kernel itself; another call is not."""

    async def scenario(b: Bench) -> None:
        await started(b, ONCE)
        await b.begin(policy("allow"))
        lost = await b.submit(idempotency=ONCE)
        assert lost.kind is AnswerKind.REPLAY
        assert lost.error is not None
        assert '"indeterminate"' in lost.error
        again = await b.submit(idempotency=ONCE)
        assert (again.kind, again.rule_id) == (AnswerKind.DENIED, "__indeterminate_retry")
        assert again.reason == "prior attempt outcome unknown; retry refused"
        other = await b.submit(idempotency=ONCE, args={"n": 2})
        assert other.kind is AnswerKind.PROCEED

    run(scenario)


@pytest.mark.parametrize("today", ["allow", "ask"])
def test_what_was_revoked_while_it_ran_stays_refused_and_is_not_tried_again(today: str) -> None:
    """It may have happened: under a bundle that allows it, its own answer is the denial of then, and the same call a
    second time is denied by the kernel itself."""

    async def scenario(b: Bench) -> None:
        await revoked_while_started(b, ONCE)
        await b.begin(policy(today))
        own = await b.submit(idempotency=ONCE)
        assert (own.kind, own.reason, own.rule_id) == (AnswerKind.DENIED, "deny it", "deny-act")
        twin = await b.submit(idempotency=ONCE)
        assert (twin.kind, twin.rule_id) == (AnswerKind.DENIED, "__indeterminate_retry")
        assert (await b.submit(idempotency=ONCE, args={"n": 2})).kind is not AnswerKind.DENIED

    run(scenario)


def test_the_stricter_idempotency_governs() -> None:
    """A step recorded as `at_most_once` does not become safe because the code now says so."""

    async def scenario(b: Bench) -> None:
        await started(b, ONCE)
        await b.begin(policy("allow"))
        assert (await b.submit(idempotency=SAFE)).kind is AnswerKind.REPLAY

    run(scenario)


def test_what_was_cut_off_and_may_not_run_again_any_more_is_not_started_by_a_grant() -> None:
    """A safe step was cut off and asked about again; the code now says `at_most_once`, and it may have run already."""

    async def scenario(b: Bench) -> None:
        await started(b, SAFE)
        await b.begin(policy("ask"))
        question = await b.submit(idempotency=SAFE)
        await b.suspend()
        await b.answer(question.approval_id, granted=True)
        await b.begin(policy("ask"))
        answer = await b.submit(idempotency=ONCE)
        assert (answer.kind, answer.rule_id) == (AnswerKind.DENIED, "__indeterminate_retry")

    run(scenario)


@pytest.mark.parametrize("seconds", [0.1234567 * n for n in range(1, 6)])
def test_a_grant_of_this_very_moment_is_not_from_the_future(seconds: float) -> None:
    """The journal rounds the time of an answer to microseconds; a clock between two of them is no clock set back."""

    async def scenario(b: Bench) -> None:
        b.clock.advance(seconds)
        await granted(b, SAFE)
        await b.begin(policy("ask"))
        assert (await b.submit()).kind is AnswerKind.PROCEED

    run(scenario)


def test_a_step_inside_an_at_most_once_body_does_not_wait() -> None:
    """A body that may not run twice cannot be interrupted to ask a person."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("ask", also='rule outer { allow tool "outer" }\n'))
        outer = await b.submit(target="outer", idempotency=ONCE)
        inner = await b.submit(parent=outer.step_id)
        assert (inner.kind, inner.rule_id) == (AnswerKind.DENIED, "__nested_wait")

    run(scenario)


@pytest.mark.parametrize("idempotency", [SAFE, ONCE])
def test_a_step_inside_a_body_that_outlives_the_step_around_it_does_not_wait(idempotency: str) -> None:
    """The outer step has ended and will be replayed, so that nobody would come to what is asked about inside it."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("ask", also='rule others { allow tool "*er" }\n'))
        outer = await b.submit(target="outer", idempotency=idempotency)
        inner = await b.submit(target="inner", parent=outer.step_id)
        await b.succeed(outer)
        innermost = await b.submit(parent=inner.step_id)
        assert (innermost.kind, innermost.rule_id) == (AnswerKind.DENIED, "__nested_wait")

    run(scenario)


def test_a_blocked_attempt_asks_further_questions_and_starts_nothing() -> None:
    """Another approval is recorded and asked for; any other new step records nothing; a running body may go on."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("ask", also='rule rest { allow tool "*" }\n'))
        outer = await b.submit(target="outer")
        assert (await b.submit()).kind is AnswerKind.BLOCKED
        assert (await b.submit(args={"n": 2})).kind is AnswerKind.BLOCKED
        assert (await b.submit(target="free")).kind is AnswerKind.EXECUTION_BLOCKED
        assert (await b.submit(target="free", parent=outer.step_id)).kind is AnswerKind.PROCEED
        steps = await b.store.steps(b.attempt.execution.id)
        assert [step.target for step in steps] == ["outer", "act", "act", "free"]

    run(scenario)
