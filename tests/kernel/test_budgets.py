"""Budgets: what model calls have used decides whether the next step may start."""

import pytest

from rebuno.model import identity
from rebuno.model.answer import Answer, AnswerKind, Submission
from rebuno.policy.compile import compile_policy, compile_text
from rebuno.policy.matcher.policy import Policy
from rebuno.policy.syntax.source import Source
from tests.embedded.support import in_loop
from tests.kernel.support import Bench, Opener, bench


def budget(clauses: str, name: str = "b") -> Policy:
    """A bundle in which the rule `r` allows model calls within a budget."""
    return compile_text(f'bundle {name}\ndefault allow\nrule r {{ allow llm "gpt*" {clauses} }}\n')


async def call(b: Bench, n: int = 0) -> Answer:
    """A model call of its own."""
    submission = Submission("llm_call", "gpt-5", identity.canonical({"n": n}), "safe_to_retry")
    return await b.kernel.submit(b.attempt, submission)


async def used(b: Bench, answer: Answer, *tokens: int) -> None:
    """Its response, which says so many input and output tokens; or says nothing about them."""
    body = {"usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}} if tokens else {}
    response = {"status": 200, "headers": {"content-type": "application/json"}, "body": identity.canonical(body)}
    await b.succeed(answer, response)


@pytest.mark.parametrize(
    ("otherwise", "say", "status"),
    [
        ("", AnswerKind.DENIED, "denied"),
        (" else deny", AnswerKind.DENIED, "denied"),
        (" else require approval", AnswerKind.BLOCKED, "awaiting_approval"),
    ],
)
@in_loop
async def test_what_becomes_of_a_call_over_the_budget(
    opener: Opener, otherwise: str, say: AnswerKind, status: str
) -> None:
    """The calls before it count input and output; at the cap it is refused as the rule says, by the rule's name."""
    async with bench(opener) as b:
        await b.begin(budget(f"budget 100 tokens per execution{otherwise}"))
        await used(b, await call(b, 0), 60, 39)
        await used(b, await call(b, 1), 1, 0)
        answer = await call(b, 2)
        assert (answer.kind, answer.rule_id) == (say, "r")
        row = (await b.store.steps(b.attempt.execution.id))[-1]
        assert (row.status, row.reason, row.rule_id) == (status, "execution_token_budget_exceeded", "r")


@in_loop
async def test_what_a_call_used_stands_in_the_journal(opener: Opener) -> None:
    """On the row and in the event; a response that does not say leaves a gap that can be seen, and counts nothing."""
    async with bench(opener) as b:
        await b.begin(budget("budget 10 tokens per execution"))
        await used(b, await call(b, 0), 5, 4)
        await used(b, await call(b, 1))
        rows = await b.store.steps(b.attempt.execution.id)
        assert [(row.input_tokens, row.output_tokens) for row in rows] == [(5, 4), (None, None)]
        events = await b.store.events(b.attempt.execution.id)
        said = [event.payload["usage"] for event in events if event.type == "step.succeeded"]
        assert said == [{"input_tokens": 5, "output_tokens": 4}, None]
        assert (await call(b, 2)).kind is AnswerKind.PROCEED


@in_loop
async def test_a_call_in_flight_is_not_reserved(opener: Opener) -> None:
    """What is not known yet counts nothing: a call beside it starts, and the next one after both does not."""
    async with bench(opener) as b:
        await b.begin(budget("budget 10 tokens per execution"))
        first, second = await call(b, 0), await call(b, 1)
        await used(b, first, 9, 9)
        await used(b, second, 9, 9)
        assert (await call(b, 2)).kind is AnswerKind.DENIED


@in_loop
async def test_what_earlier_attempts_used_counts(opener: Opener) -> None:
    """Once, however often it is replayed."""
    async with bench(opener) as b:
        rules = budget("budget 20 tokens per execution")
        await b.begin(rules)
        await used(b, await call(b, 0), 9, 0)
        await b.begin(rules)
        assert (await call(b, 0)).kind is AnswerKind.REPLAY
        await used(b, await call(b, 1), 9, 0)
        # 18 so far; 27 if the replay had counted again.
        await used(b, await call(b, 2), 2, 0)
        assert (await call(b, 3)).kind is AnswerKind.DENIED


@in_loop
async def test_a_grant_lets_one_call_pass_and_is_no_new_budget(opener: Opener) -> None:
    """The question names the budget; the next call asks again."""
    async with bench(opener) as b:
        rules = budget('budget 5 tokens per execution else require approval message "go on?"')
        await b.begin(rules)
        await used(b, await call(b, 0), 5, 0)
        asked = await call(b, 1)
        await b.suspend()
        question = await b.store.approval(asked.approval_id)
        assert (question.message, question.rule_id) == ("go on?", "r")
        await b.answer(asked.approval_id, granted=True)
        await b.begin(rules)
        assert [(await call(b, n)).kind for n in (0, 1, 2)] == [
            AnswerKind.REPLAY,
            AnswerKind.PROCEED,
            AnswerKind.BLOCKED,
        ]


@in_loop
async def test_a_call_over_its_budget_takes_no_place(opener: Opener) -> None:
    """A denied step spends nothing of a limit."""
    async with bench(opener) as b:
        await b.begin(budget("limit 2 per execution budget 5 tokens per execution"))
        await used(b, await call(b, 0), 5, 0)
        assert (await call(b, 1)).kind is AnswerKind.DENIED
        b.attempt.policy = budget("limit 2 per execution")
        assert [(await call(b, n)).kind for n in (2, 3)] == [AnswerKind.PROCEED, AnswerKind.RATE_LIMITED]


@in_loop
async def test_the_strictest_layer_decides_over_the_budget(opener: Opener) -> None:
    """One layer asks, another denies."""
    async with bench(opener) as b:
        rules = [
            f'bundle {name}\ndefault allow\nrule r {{ allow llm "gpt*" budget 5 tokens per execution{otherwise} }}\n'
            for name, otherwise in (("a", " else require approval"), ("b", " else deny"))
        ]
        await b.begin(compile_policy([Source(text, f"{n}.rbp") for n, text in enumerate(rules)]))
        await used(b, await call(b, 0), 5, 0)
        answer = await call(b, 1)
        row = (await b.store.steps(b.attempt.execution.id))[-1]
        assert (answer.kind, row.bundle) == (AnswerKind.DENIED, "b")
