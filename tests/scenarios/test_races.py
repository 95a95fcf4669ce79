"""Answers, cancellations, expiries and takeovers at the same moment: one of them counts, the others are told."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from rebuno.errors import ConflictError, NotFoundError
from rebuno.kernel import Kernel, cancel_execution, verify_execution
from rebuno.kernel.lifecycle import votes
from rebuno.model.answer import AnswerKind
from rebuno.policy import compile_text
from tests.kernel.support import Bench, Play, policy

ASK = compile_text('bundle ask\ndefault deny\nrule act { require approval for tool "act" expires 60s because "ask" }\n')
ROUNDS = 6


async def _taken_over(b: Bench) -> None:
    begun = await Kernel(b.store, policy("deny")).begin(agent_id="agent", input="{}", key=b.attempt.execution.key)
    if not isinstance(begun, type(b.attempt)):
        return
    b.store.drop(begun.lease)


# What happens to the question at one moment; the state that it leaves where it comes first.
DEEDS: dict[str, Callable[[Bench, str], Awaitable[object]]] = {
    "granted": lambda b, question: b.answer(question, granted=True, by="ana"),
    "denied": lambda b, question: b.answer(question, granted=False, by="ben"),
    "expired": lambda b, question: votes.expire(b.store, b.attempt.execution.id),
    "withdrawn": lambda b, question: cancel_execution(b.store, b.attempt.execution.id),
    "taken over": lambda b, question: _taken_over(b),
}

RACES = [
    ("granted", "denied"),
    ("granted", "withdrawn"),
    ("denied", "withdrawn"),
    ("granted", "taken over"),  # under a bundle that denies: the question is withdrawn, or the grant is void
    ("denied", "taken over"),
    ("withdrawn", "taken over"),
    ("granted", "denied", "withdrawn", "taken over"),
]


@pytest.mark.parametrize("deeds", RACES, ids=" and ".join)
@pytest.mark.parametrize("late", [False, True], ids=["in time", "overdue"])
def test_of_several_that_settle_a_question_at_once_one_does(play: Play, deeds: tuple[str, ...], late: bool) -> None:
    """The log is whole, the question has one end, and nobody else is told that it was theirs."""

    async def scenario(b: Bench) -> None:
        for number in range(ROUNDS):
            await b.begin(ASK, key=f"run-{number}")
            question = (await b.submit()).approval_id
            await b.suspend()
            if late:
                b.clock.advance(61)
            order = deeds[number % len(deeds) :] + deeds[: number % len(deeds)]
            told = await asyncio.gather(*(DEEDS[deed](b, question) for deed in order), return_exceptions=True)
            refusals = [said for said in told if isinstance(said, BaseException)]
            assert all(isinstance(said, ConflictError) for said in refusals), refusals
            row = await b.store.approval(question)
            for deed, said in zip(order, told, strict=True):
                if deed in ("granted", "denied"):
                    assert (row.status == deed) == (not isinstance(said, BaseException))
            assert row.status in ({"expired", "withdrawn"} if late else {"granted", "denied", "withdrawn"})
            events = await b.events()
            ends = [event for event in events if event.startswith("approval.") and event != "approval.requested"]
            assert ends == [f"approval.{row.status}"]
            assert (await verify_execution(b.store, b.attempt.execution.id)).fault == ""

    play(scenario)


def test_an_answer_to_nothing_is_not_found(play: Play) -> None:
    """And nothing changes."""

    async def scenario(b: Bench) -> None:
        await b.begin(ASK)
        with pytest.raises(NotFoundError):
            await b.answer("01920000-0000-7000-8000-000000000000", granted=True)
        assert await b.events() == ["execution.created", "execution.started"]

    play(scenario)


AFTER = """bundle office
default allow
rule act { deny tool "act" when after tool "web" because "the web was read" }
rule mail { deny tool "mail" when after tool "act" because "act has ended" }
"""


@pytest.mark.parametrize("edition", ["", "# another digest\n"])
@pytest.mark.parametrize("first", [0, 1])
def test_parallel_steps_are_judged_as_when_they_were_submitted(play: Play, edition: str, first: int) -> None:
    """Whichever ended first, under the same rules both replay: what ended later was not known then."""

    async def scenario(b: Bench) -> None:
        await b.begin(compile_text("bundle open\ndefault allow\n"))
        answers = [await b.submit(target="act"), await b.submit(target="web")]
        assert [answer.kind for answer in answers] == [AnswerKind.PROCEED] * 2
        await b.succeed(answers[first])
        await b.succeed(answers[1 - first])
        for text in (AFTER, AFTER + edition):
            await b.begin(compile_text(text))
            for target in ("web", "act") if first else ("act", "web"):
                assert (await b.submit(target=target)).kind is AnswerKind.REPLAY
        assert (await b.submit(target="mail")).kind is AnswerKind.DENIED

    play(scenario)
