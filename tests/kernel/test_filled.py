"""Texts with values are filled at the decision and recorded; a replay tells what was recorded."""

import asyncio

from rebuno.journal.records import StepRow
from rebuno.model.answer import AnswerKind
from rebuno.policy import Policy, compile_text
from tests.kernel.support import Bench, bench


def made(verdict: str, word: str) -> Policy:
    """One rule that tells the account of a payment, after a word."""
    clause = f'message f"{word} {{args.to}}?"' if verdict != "deny" else ""
    rule = f'rule r {{ {verdict} tool "act" {clause} because f"{word} {{args.to}}: {{args.n}}" }}'
    return compile_text(f"bundle {word}\ndefault deny\n{rule}\n")


def test_a_denial_tells_the_recorded_text() -> None:
    """Also where today's bundle says it in other words."""

    async def scenario(b: Bench) -> None:
        args = {"to": "a\u202eb", "n": 5}
        await b.begin(made("deny", "first"))
        answer = await b.submit(args=args)
        assert (answer.kind, answer.reason) == (AnswerKind.DENIED, 'first "a\\u202eb": 5')
        for word in ("first", "second"):
            await b.begin(made("deny", word))
            assert (await b.submit(args=args)).reason == 'first "a\\u202eb": 5'
        other = await b.submit(args={"to": "x"})
        assert other.reason == 'second "x": (left out)'

    async def whole() -> None:
        async with bench() as b:
            await scenario(b)

    asyncio.run(whole())


def test_a_question_is_recorded_as_it_was_asked() -> None:
    """The message and the reason of the question hold the values of the step."""

    async def whole() -> None:
        async with bench() as b:
            await b.begin(made("require approval for", "ask"))
            answer = await b.submit(args={"to": "DE75"})
            row = b.attempt.approvals[answer.approval_id]
            assert row.message == 'ask "DE75"?'
            step = b.attempt.find(row.step_id)
            assert isinstance(step, StepRow)
            assert step.reason == 'ask "DE75": (left out)'

    asyncio.run(whole())
