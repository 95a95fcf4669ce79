"""The limits of the language's pages, whole: one pot for several tools, one refund a charge, tokens of a session."""

import asyncio

from rebuno.kernel.lifecycle import execution
from rebuno.model import identity
from rebuno.model.answer import Answer, AnswerKind
from rebuno.policy import compile_text
from tests.embedded.support import in_loop
from tests.kernel.support import Bench, Opener, bench

WRITTEN = compile_text("""bundle spends
default deny because "not a tool of this agent"
limit daily = 500 of args.amount per 24h for all agents together

rule pay {
  allow tool "pay", "order"
  when args.amount > 0
  limit daily else require approval
}

rule refund {
  allow tool "refund"
  limit 1 per 90d for each args.charge else deny
}

rule think {
  allow llm "*"
  budget 200_000 tokens per session
}
""")
WEEK = 7 * 86_400


async def spends(b: Bench, amount: object, target: str = "pay") -> Answer:
    """Spends so much."""
    return await b.submit(target=target, args={"amount": amount}, idempotency="at_most_once")


@in_loop
async def test_two_runs_pay_at_the_same_moment(opener: Opener) -> None:
    """One runs, one is asked about; which of them is open. What fits beside it runs, by whatever tool."""
    async with bench(opener) as one:
        other = Bench(one.store, one.clock)
        await one.begin(WRITTEN)
        await other.begin(WRITTEN, key="run-2")
        said = await asyncio.gather(spends(one, 300), spends(other, 300))
        assert sorted(answer.kind for answer in said) == [AnswerKind.BLOCKED, AnswerKind.PROCEED]
        free = one if said[0].kind is AnswerKind.PROCEED else other
        assert (await spends(free, 200, "order")).kind is AnswerKind.PROCEED


@in_loop
async def test_an_amount_that_is_a_text_is_no_amount() -> None:
    """`args.amount > 0` is maybe, so the rule does not match and the default denies; the pot is not asked."""
    async with bench() as b:
        await b.begin(WRITTEN)
        said = await spends(b, "9")
        assert (said.kind, said.rule_id) == (AnswerKind.DENIED, "default")
        assert await b.store.pots() == []


@in_loop
async def test_a_payment_that_was_declined_may_be_tried_again(opener: Opener) -> None:
    """Its tool said that nothing was done: 300, then 300 again. After any other failure a person is asked."""
    async with bench(opener) as b:
        await b.begin(WRITTEN)
        first = await spends(b, 300)
        error = identity.canonical({"type": "Declined", "message": "no such account"})
        await b.kernel.fail(b.attempt, first.step_id, error, nothing_done=True)
        second = await spends(b, 300)
        assert second.kind is AnswerKind.PROCEED
        await b.fail(second)
        assert (await spends(b, 300)).kind is AnswerKind.BLOCKED


@in_loop
async def test_a_charge_is_refunded_once(opener: Opener) -> None:
    """A second refund of the charge, in other words, in another run, a week later: denied. Another charge is free."""
    async with bench(opener) as b:
        await b.begin(WRITTEN)
        await b.succeed(await b.submit(target="refund", args={"charge": "ch_1", "amount": 40}))
        await execution.end(b.attempt, output="null")
        b.clock.advance(WEEK)
        later = Bench(b.store, b.clock)
        await later.begin(WRITTEN, key="run-2")
        for charge in ("ch_1", " CH_1 "):
            reworded = {"charge": charge, "amount": 39.99, "note": "the customer asked again"}
            assert (await later.submit(target="refund", args=reworded)).kind is AnswerKind.DENIED
        assert (await later.submit(target="refund", args={"charge": "ch_2"})).kind is AnswerKind.PROCEED
        b.clock.advance(90 * 86_400)
        assert (await later.submit(target="refund", args={"charge": "ch_1"})).kind is AnswerKind.PROCEED
