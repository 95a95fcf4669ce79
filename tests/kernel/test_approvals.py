"""Answers to questions: the first one counts, once, and says who gave it."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from rebuno.errors import ConflictError, NotFoundError, ValidationError
from rebuno.journal.records import ApprovalRow
from rebuno.kernel.core.loading import load
from rebuno.kernel.lifecycle import execution, votes
from rebuno.model.answer import AnswerKind
from tests.kernel.support import Bench, bench, policy


def run(scenario: Callable[[Bench], Awaitable[None]]) -> None:
    """Plays a scenario on a bench of its own."""

    async def whole() -> None:
        async with bench() as b:
            await scenario(b)

    asyncio.run(whole())


@pytest.mark.parametrize("granted", [True, False])
def test_a_second_answer_is_told_who_gave_the_first(granted: bool) -> None:
    """Whatever it says, it changes nothing."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("ask"))
        question = await b.submit()
        await b.suspend()
        await b.answer(question.approval_id, granted=granted)
        before = await b.events()
        for again in (True, False):
            with pytest.raises(ConflictError, match=f"is {'granted' if granted else 'denied'} by ana already"):
                await b.answer(question.approval_id, granted=again)
        assert await b.events() == before

    run(scenario)


def test_of_two_answers_at_once_one_counts() -> None:
    """The other is told so; the log holds one answer."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("ask"))
        question = await b.submit()
        await b.suspend()
        answers = await asyncio.gather(
            *(b.answer(question.approval_id, granted=n % 2 == 0) for n in range(6)), return_exceptions=True
        )
        assert [type(a) for a in answers if not isinstance(a, ApprovalRow)] == [ConflictError] * 5
        events = await b.events()
        assert events.count("approval.granted") + events.count("approval.denied") == 1
        assert events.count("execution.resumed") == 1

    run(scenario)


@pytest.mark.parametrize(
    ("rationale", "reason"), [("not today", "not today"), ("", "approval_denied"), (" ", "approval_denied")]
)
def test_a_denial_s_rationale_is_the_agent_s_reason(rationale: str, reason: str) -> None:
    """Where the person gives none, the agent is told that a person denied it."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("ask"))
        question = await b.submit()
        await b.suspend()
        await b.answer(question.approval_id, granted=False, rationale=rationale)
        await b.begin(policy("ask"))
        answer = await b.submit()
        assert (answer.kind, answer.reason, answer.rule_id) == (AnswerKind.DENIED, reason, "ask-act")

    run(scenario)


def test_an_end_withdraws_what_is_asked() -> None:
    """Nobody answers for an execution that has ended: the waiting step is denied, the started one cancelled."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("ask"))
        await b.submit(kind="local", target="started")
        question = await b.submit()
        await execution.finish(b.attempt, output="null")
        with pytest.raises(ConflictError, match="is withdrawn already"):
            await b.answer(question.approval_id, granted=True)
        started, waiting = await b.store.steps(b.attempt.execution.id)
        assert (started.status, waiting.status, waiting.error) == (
            "cancelled",
            "denied",
            '{"reason":"execution_completed"}',
        )

    run(scenario)


def test_an_answer_needs_a_question_and_a_name() -> None:
    """An unknown approval, or nobody who decides, is refused."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("ask"))
        question = await b.submit()
        with pytest.raises(NotFoundError):
            await b.answer("nothing", granted=True)
        with pytest.raises(ValidationError, match="needs the name of the person"):
            await votes.resolve(b.store, question.approval_id, granted=True, decided_by=" ")
        assert (await b.store.approval(question.approval_id)).status == "pending"

    run(scenario)


def test_a_grant_while_the_attempt_runs_does_not_resume_it_twice() -> None:
    """The attempt notices at its end that nothing is left to wait for."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("ask"))
        question = await b.submit()
        await b.answer(question.approval_id, granted=True)
        assert await b.suspend() is None
        await b.begin(policy("ask"))
        assert (await b.submit()).kind is AnswerKind.PROCEED
        assert (await b.events()).count("execution.resumed") == 1

    run(scenario)


def test_a_run_may_ask_more_than_a_page_of_questions() -> None:
    """The next attempt knows every one of them, so that it finds each grant."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("ask"))
        asked = await asyncio.gather(*(b.submit(args={"n": n}) for n in range(1001)))
        _, known = await load(b.store, b.attempt.execution.id)
        assert list(known) == [question.approval_id for question in asked]

    run(scenario)
