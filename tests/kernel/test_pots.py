"""Limits by amount, by value, by session and with a name: what a step takes, when, and what comes back."""

import pytest

from rebuno.errors import ConflictError
from rebuno.kernel.history.archive import record, restore
from rebuno.kernel.lifecycle import execution
from rebuno.kernel.lifecycle.fork import fork
from rebuno.model import identity
from rebuno.model.answer import Answer, AnswerKind, Submission
from rebuno.policy import Policy, compile_text
from tests.embedded.support import in_loop
from tests.kernel.support import Bench, Opener, bench

PAY = "limit 500 of args.amount per 24h for all agents together"


def rules(*written: str, before: str = "") -> Policy:
    """A bundle of these rules."""
    return compile_text("\n".join(["bundle b", "default deny", before, *written]))


def pays(otherwise: str = "", *, verdict: str = "allow", limit: str = PAY) -> Policy:
    """A bundle in which `pay` has a limit."""
    return rules(f'rule pay {{ {verdict} tool "pay" {limit}{otherwise} }}')


async def pay(b: Bench, amount: object, **more: object) -> Answer:
    """Pays so much."""
    return await b.submit(target="pay", args={"amount": amount, **more}, idempotency="at_most_once")


async def taken(b: Bench) -> list[str]:
    """What stands in each pot."""
    return sorted(state.taken for state in await b.store.pots())


@in_loop
async def test_amounts_add_up_to_the_limit(opener: Opener) -> None:
    """Exactly to it, whatever the order; the window frees what it leaves."""
    async with bench(opener) as b:
        await b.begin(pays())
        assert [(await pay(b, amount)).kind for amount in (300, 300, 200, 0.5, 0)] == [
            AnswerKind.PROCEED,
            AnswerKind.RATE_LIMITED,
            AnswerKind.PROCEED,
            AnswerKind.RATE_LIMITED,
            AnswerKind.PROCEED,
        ]
        b.clock.advance(86_400)
        assert (await pay(b, 500)).kind is AnswerKind.PROCEED


@pytest.mark.parametrize("amount", ["9", None, True, -1, -0.5, [1], {"n": 1}, 10**41, 1e-41, 1e300])
@in_loop
async def test_what_is_no_amount_is_over_every_limit(amount: object) -> None:
    """A text, nothing, a truth value, less than nothing, more than forty digits: never free of charge."""
    async with bench() as b:
        await b.begin(pays())
        assert (await pay(b, amount)).kind is AnswerKind.RATE_LIMITED
        await b.begin(pays(" else require approval"))
        asked = await pay(b, amount)
        assert asked.kind is AnswerKind.BLOCKED
        await b.answer(asked.approval_id, granted=True)
        await b.begin(pays(" else require approval"))
        assert (await pay(b, amount)).kind is AnswerKind.PROCEED
        assert await taken(b) == []


@pytest.mark.parametrize(
    ("measure", "args", "fits", "over"),
    [
        ("(args.a, args.b)", {"a": 2}, "2", "1"),
        ("(args.a, args.b)", {"a": 2, "b": 0.5}, "2.5", "2.4"),
        ("args.items[].price", {"items": [{"price": 1}, {"price": 2}]}, "3", "2"),
        ("args.items[].price", {"items": {"price": 1}}, "1", "0.9"),
        ("args.prices.*", {"prices": {"x": 1, "y": 4}}, "5", "4"),
        ("args.items[].price", {"items": [{"price": 1}, {}]}, "", "99"),
        ("args.items[]", {"items": []}, "", "99"),
        ("(args.a, args.items[])", {"a": 1, "items": []}, "1", "0.5"),
        ("args[0]", {"a": 1}, "", "99"),
    ],
)
@in_loop
async def test_measures(measure: str, args: object, fits: str, over: str) -> None:
    """The sum of those given, and of all elements; one element without an amount makes it none."""
    for number, kind in ((fits, AnswerKind.PROCEED), (over, AnswerKind.RATE_LIMITED)):
        if number:
            async with bench() as b:
                await b.begin(rules(f'rule r {{ allow tool "act" limit {number} of {measure} per 1h }}'))
                assert (await b.submit(args=args)).kind is kind


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("ch_1", "CH_1", True),
        ("ch_1", " ch\u200b_1 ", True),
        ("ch_1", "\uff43\uff48_1", True),
        (5, "5", True),
        (5, 5.0, True),
        ("5.0", 5, True),
        (10**30, 1e30, True),
        (None, {"id": 1}, True),
        ("ch_1", "ch_2", False),
        (5, 6, False),
        (5, None, False),
    ],
)
@in_loop
async def test_a_pot_for_each_value(first: object, second: object, same: bool) -> None:
    """By what it means; all that is no value shares one pot."""
    async with bench() as b:
        await b.begin(rules('rule r { allow tool "act" limit 1 per 90d for each args.id else deny }'))
        assert (await b.submit(args={"id": first, "n": 1})).kind is AnswerKind.PROCEED
        said = await b.submit(args={"id": second, "n": 2})
        assert said.kind is (AnswerKind.DENIED if same else AnswerKind.PROCEED)


@in_loop
async def test_rules_share_a_named_limit(opener: Opener) -> None:
    """One pot for both, and another name is another pot."""
    async with bench(opener) as b:
        named = "limit daily = 500 of args.amount per 24h for all agents together"
        await b.begin(
            rules(
                'rule pay { allow tool "pay" limit daily }',
                'rule order { allow tool "order" limit daily else deny }',
                before=named,
            )
        )
        assert (await pay(b, 300)).kind is AnswerKind.PROCEED
        assert (await b.submit(target="order", args={"amount": 300})).kind is AnswerKind.DENIED
        assert (await b.submit(target="order", args={"amount": 200})).kind is AnswerKind.PROCEED
        events = await b.store.events(b.attempt.execution.id)
        first = next(event.payload["limits"] for event in events if event.type == "step.executing")
        assert first == [
            {
                "bundle": "b",
                "rule_id": "pay",
                "scope": "global",
                "amount": "300",
                "number": "500",
                "per": 86_400,
                "name": "daily",
                "of": ["args.amount"],
            }
        ]


@in_loop
async def test_a_replay_takes_nothing(opener: Opener) -> None:
    """Neither of what ended nor of what was cut off."""
    async with bench(opener) as b:
        await b.begin(pays())
        await b.succeed(await pay(b, 300))
        await b.submit(target="pay", args={"amount": 200})
        await b.begin(pays())
        assert (await pay(b, 300)).kind is AnswerKind.REPLAY
        assert (await b.submit(target="pay", args={"amount": 200})).kind is AnswerKind.PROCEED
        assert await taken(b) == ["500"]


@in_loop
async def test_a_person_lets_a_step_over_the_limit(opener: Opener) -> None:
    """When granted it is added, beyond the number; denied it never was."""
    async with bench(opener) as b:
        under = pays(" else require approval")
        await b.begin(under)
        await b.succeed(await pay(b, 400))
        asked = await pay(b, 300)
        assert await taken(b) == ["400"]
        await b.answer(asked.approval_id, granted=True)
        assert await taken(b) == ["700"]
        await b.begin(under)
        assert (await pay(b, 400)).kind is AnswerKind.REPLAY
        assert (await pay(b, 300)).kind is AnswerKind.PROCEED
        asked = await pay(b, 301)
        await b.answer(asked.approval_id, granted=False)
        assert await taken(b) == ["700"]


@in_loop
async def test_a_grant_for_the_whole_run_lets_later_steps_over(opener: Opener) -> None:
    """Each is added."""
    async with bench(opener) as b:
        under = pays(" else require approval")
        await b.begin(under)
        asked = await pay(b, 600)
        await b.answer(asked.approval_id, granted=True, scope="execution")
        await b.begin(under)
        assert (await pay(b, 600)).kind is AnswerKind.PROCEED
        assert (await pay(b, 50)).kind is AnswerKind.PROCEED
        assert await taken(b) == ["650"]


@in_loop
async def test_a_question_takes_the_amount_and_a_denial_gives_it_back(opener: Opener) -> None:
    """Asked 200, denied: the next 500 fits."""
    async with bench(opener) as b:
        await b.begin(pays(verdict="require approval for"))
        asked = await pay(b, 200)
        assert [(state.taken, state.asked) for state in await b.store.pots()] == [("200", "200")]
        await b.answer(asked.approval_id, granted=False)
        assert await taken(b) == ["0"]
        await b.begin(pays(verdict="require approval for"))
        await pay(b, 200)
        again = await pay(b, 250)
        assert await taken(b) == ["250"]
        await execution.end(b.attempt, output="1")
        assert again.kind is AnswerKind.BLOCKED


@in_loop
async def test_questions_of_one_execution_hold_half(opener: Opener) -> None:
    """What is beyond it is taken when granted, and a grant without room is refused; the question stays."""
    async with bench(opener) as b:
        under = pays(verdict="require approval for")
        await b.begin(under)
        first, second, third = await pay(b, 200), await pay(b, 100), await pay(b, 300)
        assert await taken(b) == ["200"]
        await b.answer(second.approval_id, granted=True)
        assert await taken(b) == ["300"]
        with pytest.raises(ConflictError, match="no room for 300 of 500; there is room at"):
            await b.answer(third.approval_id, granted=True)
        await b.answer(first.approval_id, granted=False)
        assert (await b.answer(third.approval_id, granted=True)).status == "granted"
        assert await taken(b) == ["400"]
        await b.begin(under)
        assert [(await pay(b, amount)).kind for amount in (200, 100, 300)] == [
            AnswerKind.DENIED,
            AnswerKind.PROCEED,
            AnswerKind.PROCEED,
        ]


@in_loop
async def test_a_failure_that_did_nothing_gives_its_amount_back(opener: Opener) -> None:
    """`pay 300` declined, then `pay 300`: runs. Any other failure counts."""
    async with bench(opener) as b:
        await b.begin(pays())
        error = identity.canonical({"type": "ToolError", "message": "declined"})
        first = await pay(b, 300)
        await b.kernel.fail(b.attempt, first.step_id, error, nothing_done=True)
        second = await pay(b, 300)
        assert second.kind is AnswerKind.PROCEED
        await b.fail(second)
        assert (await pay(b, 300)).kind is AnswerKind.RATE_LIMITED


@in_loop
async def test_a_fork_counts_in_its_own_pots_and_keeps_its_place_in_shared_ones(opener: Opener) -> None:
    """No derived execution holds more than its rules allow, and no copy counts twice."""
    async with bench(opener) as b:
        under = rules(
            'rule pay { allow tool "pay" limit 500 of args.amount per execution }',
            'rule act { allow tool "act" limit 3 per 1h for each args.id }',
        )
        await b.begin(under)
        await b.succeed(await pay(b, 300))
        await b.succeed(await b.submit(args={"id": 1}))
        await execution.end(b.attempt, output="1")
        b.attempt.ended = True
        done = await b.store.execution(b.attempt.execution.id)
        copy = await fork(b.store, done, done.head_seq - 1, key="copy")
        assert await taken(b) == ["1", "300", "300"]
        again = await fork(b.store, copy, copy.head_seq, key="again")
        assert await taken(b) == ["1", "300", "300", "300"]
        await b.begin(under, key="again")
        assert b.attempt.execution.id == again.id
        assert (await pay(b, 300)).kind is AnswerKind.REPLAY
        assert (await b.submit(args={"id": 1})).kind is AnswerKind.REPLAY
        assert (await b.submit(target="pay", args={"amount": 201})).kind is AnswerKind.RATE_LIMITED
        said = [(await b.submit(args={"id": 1, "n": n})).kind for n in range(3)]
        assert said == [AnswerKind.PROCEED, AnswerKind.PROCEED, AnswerKind.RATE_LIMITED]


@in_loop
async def test_without_a_session_the_execution_is_one(opener: Opener) -> None:
    """Each counts for itself then."""
    async with bench(opener) as b:
        under = rules('rule act { allow tool "act" limit 1 per session else deny }')
        for key in ("one", "two"):
            await b.begin(under, key=key)
            assert (await b.submit(args=1)).kind is AnswerKind.PROCEED
            assert (await b.submit(args=2)).kind is AnswerKind.DENIED


@in_loop
async def test_an_import_brings_what_its_steps_took(opener: Opener) -> None:
    """Once, however often its forks come along; what was given back stays free."""
    async with bench() as source, bench(opener) as b:
        await source.begin(pays())
        await source.succeed(await pay(source, 200))
        declined = await pay(source, 250)
        error = identity.canonical({"type": "ToolError", "message": "declined"})
        await source.kernel.fail(source.attempt, declined.step_id, error, nothing_done=True)
        await execution.end(source.attempt, output="1")
        done = await source.store.execution(source.attempt.execution.id)
        copy = await fork(source.store, done, done.head_seq - 1, key="copy")
        for made in (copy, done):
            await restore(b.store, await record(source.store, made.id))
        assert await taken(b) == ["200"]
        await b.begin(pays(), key="other")
        assert (await pay(b, 301)).kind is AnswerKind.RATE_LIMITED
        assert (await pay(b, 300)).kind is AnswerKind.PROCEED


@in_loop
async def test_a_fork_of_a_question_that_was_let_over_the_limit(opener: Opener) -> None:
    """In pots of one execution it counts for the copy too."""
    async with bench(opener) as b:
        under = pays(" else require approval", limit="limit 500 of args.amount per execution")
        await b.begin(under)
        asked = await pay(b, 600)
        await b.answer(asked.approval_id, granted=True)
        await b.begin(under)
        await b.succeed(await pay(b, 600))
        await execution.end(b.attempt, output="1")
        done = await b.store.execution(b.attempt.execution.id)
        await fork(b.store, done, done.head_seq - 1, key="copy")
        assert await taken(b) == ["600", "600"]


@in_loop
async def test_a_step_waits_until_enough_has_left_the_window(opener: Opener) -> None:
    """For the oldest amounts that make room together; an amount that never fits is refused at once."""
    async with bench(opener) as b:
        await b.begin(pays(" else wait up to 2d"))
        await pay(b, 100)
        b.clock.advance(60)
        await pay(b, 400)

        async def says(amount: int) -> Answer:
            args = identity.canonical({"amount": amount})
            return await b.kernel.submit(b.attempt, Submission("tool_call", "pay", args, "safe_to_retry"), wait=False)

        started = b.clock.now()
        small, large, never = await says(100), await says(101), await says(501)
        assert [one.kind for one in (small, large)] == [AnswerKind.PARKED] * 2
        assert small.due is not None
        assert large.due is not None
        assert 0 <= small.due - (started + 86_340) <= 1
        assert 0 <= large.due - (started + 86_400) <= 1
        assert never.kind is AnswerKind.RATE_LIMITED
        b.clock.advance(86_400)
        assert (await says(101)).kind is AnswerKind.PROCEED
