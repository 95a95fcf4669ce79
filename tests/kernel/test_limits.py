"""Limits: who is let in, what becomes of the others, and what counts as a place."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from rebuno.errors import StoreBusy
from rebuno.journal.records import Full, Spend
from rebuno.journal.sqlite import SQLiteStore
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.kernel import Kernel
from rebuno.kernel.lifecycle import execution
from rebuno.model import identity
from rebuno.model.answer import Answer, AnswerKind, Submission
from rebuno.model.clock import FixedClock
from rebuno.policy.compile import compile_policy, compile_text
from rebuno.policy.matcher.policy import Policy
from rebuno.policy.syntax.source import Source
from tests.embedded.support import in_loop
from tests.kernel.support import Bench, Opener, bench

ONCE = "at_most_once"


def limited(limit: str, *, verdict: str = "allow", name: str = "b", also: str = "") -> Policy:
    """A bundle in which the rule `r` limits the tool `act`."""
    return compile_text(f'bundle {name}\ndefault allow\nrule r {{ {verdict} tool "act" limit {limit}{also} }}\n')


def layers(*limits: str) -> Policy:
    """A layer for each limit, named `b0`, `b1`, …"""
    return compile_policy(
        [Source(f"bundle b{n}\ndefault allow\nrule r {{ {rule} }}\n", f"b{n}.rbp") for n, rule in enumerate(limits)]
    )


async def act(b: Bench, n: int = 0, *, idempotency: str = "safe_to_retry", parent: str = "") -> Answer:
    """The tool `act` with an argument of its own; a park is answered, not waited for."""
    submission = Submission("tool_call", "act", identity.canonical({"n": n}), idempotency, parent)
    return await b.kernel.submit(b.attempt, submission, wait=False)


async def says(b: Bench, count: int) -> list[AnswerKind]:
    """The answers to so many different calls."""
    return [(await act(b, n)).kind for n in range(count)]


@pytest.mark.parametrize(
    ("otherwise", "say", "reason", "status", "event"),
    [
        ("", AnswerKind.RATE_LIMITED, "rate_limit_exceeded", None, "step.rate_limited"),
        (" else deny", AnswerKind.DENIED, "rate_limit_exceeded", "denied", "step.denied"),
        (" else wait up to 2h", AnswerKind.PARKED, "rate_limit_exceeded", None, "step.rate_limited"),
        # It will have no room within the wait, so that waiting is no use.
        (" else wait up to 1m", AnswerKind.RATE_LIMITED, "rate_limit_exceeded", None, "step.rate_limited"),
        (
            " else require approval",
            AnswerKind.BLOCKED,
            "rate_limit_exceeded",
            "awaiting_approval",
            "approval.requested",
        ),
    ],
)
@in_loop
async def test_what_becomes_of_a_step_over_a_limit(
    otherwise: str, say: AnswerKind, reason: str, status: str | None, event: str
) -> None:
    """What the rule says, under the rule's name; only what is denied or asked about has a row."""
    async with bench() as b:
        await b.begin(limited(f"1 per 1h{otherwise}"))
        assert (await act(b, 1)).kind is AnswerKind.PROCEED
        answer = await act(b, 2)
        assert (answer.kind, answer.rule_id) == (say, "r")
        rows = await b.store.steps(b.attempt.execution.id)
        events = await b.store.events(b.attempt.execution.id)
        assert events[-1].type == event
        if status is None:
            assert (len(rows), answer.step_id, answer.reason) == (1, "", reason)
            assert {k: events[-1].payload[k] for k in ("rule_id", "bundle", "reason", "occurrence")} == {
                "rule_id": "r",
                "bundle": "b",
                "reason": reason,
                "occurrence": 0,
            }
        else:
            assert (rows[1].status, rows[1].reason, rows[1].rule_id, rows[1].bundle) == (status, reason, "r", "b")


@in_loop
async def test_a_window_slides(opener: Opener) -> None:
    """At most two in any ten seconds: a place is free again exactly when the window has left it."""
    async with bench(opener) as b:
        await b.begin(limited("2 per 10s"))
        said = []
        for at in (0, 4, 9.999, 10, 13.9, 14, 20, 24):
            b.clock.advance(at - (b.clock.now() - b.attempt.execution.created_at))
            said.append((at, (await act(b, int(at * 1000))).kind))
        assert [at for at, say in said if say is AnswerKind.PROCEED] == [0, 4, 10, 14, 20, 24]


@in_loop
async def test_a_refused_step_that_is_tried_again_is_the_same_step(opener: Opener) -> None:
    """It is neither counted nor recorded; once there is room it runs under the id that the first try would have had."""
    async with bench(opener) as b:
        await b.begin(limited("1 per 10s"))
        first = await act(b)
        assert [(await act(b)).kind for _ in range(3)] == [AnswerKind.RATE_LIMITED] * 3
        b.clock.advance(10)
        second = await act(b)
        rows = await b.store.steps(b.attempt.execution.id)
        assert [(row.step_id, row.occurrence) for row in rows] == [(first.step_id, 0), (second.step_id, 1)]


@in_loop
async def test_identical_calls_of_which_one_is_refused_do_not_share_a_step(opener: Opener) -> None:
    """The number that a refused one gives back goes to the next call, whatever ran beside it."""
    async with bench(opener) as b:
        await b.begin(limited("1 per 10s"))
        real, calls, taken = b.store.spend, 0, asyncio.Event()

        async def first_is_slow(step_id: str, spends: Sequence[Spend]) -> Full | None:
            nonlocal calls
            calls += 1
            if calls == 1:
                await taken.wait()
                return await real(step_id, spends)
            full = await real(step_id, spends)
            taken.set()
            return full

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(b.store, "spend", first_is_slow)
            slow, quick = await asyncio.gather(act(b), act(b))
        assert (slow.kind, quick.kind) == (AnswerKind.RATE_LIMITED, AnswerKind.PROCEED)
        b.clock.advance(10)
        third = await act(b)
        occurrences = {row.step_id: row.occurrence for row in await b.store.steps(b.attempt.execution.id)}
        assert occurrences == {quick.step_id: 1, third.step_id: 0}


@asynccontextmanager
async def two_agents() -> AsyncIterator[tuple[SQLiteStore, FixedClock]]:
    clock = FixedClock()
    store = await SQLiteStore.open(":memory:", clock=clock)
    try:
        yield store, clock
    finally:
        await store.close()


@pytest.mark.parametrize(
    ("scope", "let_in"),
    [
        ("", [True, True, True, True]),
        (" for each execution", [True, True, True, True]),
        (" for each agent", [True, False, True, False]),
        (" for all agents together", [True, False, False, False]),
    ],
)
@in_loop
async def test_over_whom_a_limit_counts(scope: str, let_in: list[bool]) -> None:
    """Two executions of one agent, then two of another: each scope counts its own."""
    async with two_agents() as (store, _):
        kernel = Kernel(store, limited(f"1 per 1h{scope}"))
        said = []
        for agent, key in (("a", "1"), ("a", "2"), ("b", "1"), ("b", "2")):
            attempt = await kernel.begin(agent_id=agent, input="{}", key=key)
            assert isinstance(attempt, Attempt)
            answer = await kernel.submit(attempt, Submission("tool_call", "act", "{}", "safe_to_retry"))
            said.append(answer.kind is AnswerKind.PROCEED)
            await execution.abandon(attempt)
        assert said == let_in


@in_loop
async def test_names_that_run_together_are_two_windows() -> None:
    """The agent `x` under the bundle `b` and another whose name would read alike do not share a place."""
    async with two_agents() as (store, _):
        kernel = Kernel(store, limited("1 per 1h for each agent"))
        for agent in ("x", '","x', 'x"', "agent"):
            attempt = await kernel.begin(agent_id=agent, input="{}")
            assert isinstance(attempt, Attempt)
            answer = await kernel.submit(attempt, Submission("tool_call", "act", "{}", "safe_to_retry"))
            assert answer.kind is AnswerKind.PROCEED


@in_loop
async def test_a_replay_takes_no_place(opener: Opener) -> None:
    """A resumed execution asks for what it has, and has all its places left."""
    async with bench(opener) as b:
        await b.begin(limited("2 per execution"))
        await b.succeed(await act(b, 0))
        await b.begin(limited("2 per execution"))
        assert [(await act(b, n)).kind for n in (0, 1, 2)] == [
            AnswerKind.REPLAY,
            AnswerKind.PROCEED,
            AnswerKind.RATE_LIMITED,
        ]


@in_loop
async def test_a_step_that_was_cut_off_between_its_place_and_its_record_keeps_the_place(
    opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next attempt finds the place taken by this very step: it is neither lost nor taken twice."""
    async with bench(opener) as b:
        await b.begin(limited("1 per 1h"))
        real = b.store.spend

        async def then_die(step_id: str, spends: Sequence[Spend]) -> Full | None:
            await real(step_id, spends)
            raise asyncio.CancelledError

        with monkeypatch.context() as patch:
            patch.setattr(b.store, "spend", then_die)
            with pytest.raises(asyncio.CancelledError):
                await act(b, 0)
        assert await b.store.steps(b.attempt.execution.id) == []
        await b.begin(limited("1 per 1h"))
        assert await says(b, 2) == [AnswerKind.PROCEED, AnswerKind.RATE_LIMITED]


@in_loop
async def test_a_denied_step_takes_no_place(opener: Opener) -> None:
    """Neither one that a rule denies nor one that the kernel denies itself."""
    async with bench(opener) as b:
        deny = layers('allow tool "act" limit 1 per 1h', 'deny tool "act" when args.n == 0')
        await b.begin(deny)
        outer = await b.submit(target="outer", idempotency=ONCE)
        asked = layers('require approval for tool "act" limit 1 per 1h', 'deny tool "act" when args.n == 0')
        assert (await act(b, 0)).kind is AnswerKind.DENIED
        assert (await act(b, 1)).kind is AnswerKind.PROCEED
        b.kernel = Kernel(b.store, asked)
        b.clock.advance(3600)
        b.attempt.policy = asked
        nested = await act(b, 2, parent=outer.step_id)
        assert (nested.kind, nested.rule_id) == (AnswerKind.DENIED, "__nested_wait")
        assert (await act(b, 3)).kind is AnswerKind.BLOCKED


def key(b: Bench, bundle: str = "b") -> str:
    """The window of the rule `r` for the execution."""
    return f'{b.attempt.execution.id}["{bundle}","r"]'


@in_loop
async def test_a_step_that_asks_takes_its_place_when_it_asks(opener: Opener) -> None:
    """And none when it is granted and starts, however much later."""
    async with bench(opener) as b:
        ask = limited("1 per 1h", verdict="require approval for")
        await b.begin(ask)
        asked = await act(b, 0)
        full = await b.store.spend("another", [Spend(key(b), 1, 3600)])
        assert (asked.kind, full is not None) == (AnswerKind.BLOCKED, True)
        await b.suspend()
        b.clock.advance(3600)
        await b.answer(asked.approval_id, granted=True)
        await b.begin(ask)
        assert (await act(b, 0)).kind is AnswerKind.PROCEED
        assert await b.store.spend("another", [Spend(key(b), 1, 3600)]) is None


@in_loop
async def test_nobody_is_asked_while_the_window_of_the_asking_rule_is_full(opener: Opener) -> None:
    """A limit on an approval rule limits the questions."""
    async with bench(opener) as b:
        await b.begin(layers('require approval for tool "act" limit 1 per 1h', "allow any step"))
        await b.store.spend("another", [Spend(key(b, "b0"), 1, 3600)])
        assert (await act(b)).kind is AnswerKind.RATE_LIMITED


@in_loop
async def test_a_blocked_attempt_takes_no_place(opener: Opener) -> None:
    """What is not recorded because the run waits for a person costs nothing."""
    async with bench(opener) as b:
        await b.begin(
            compile_text(
                'default deny\nrule p { require approval for tool "pay" }\nrule r { allow tool "act" limit 1 per 1h }'
            )
        )
        assert (await b.submit(target="pay")).kind is AnswerKind.BLOCKED
        assert (await act(b, 0)).kind is AnswerKind.EXECUTION_BLOCKED
        assert await b.store.spend("another", [Spend(key(b, "bundle"), 1, 3600)]) is None


A = 'allow tool "act" limit 1 per 1h'


@pytest.mark.parametrize(
    ("rules", "say", "by"),
    [
        ((A, f"{A} else deny"), AnswerKind.DENIED, "rate_limit_exceeded"),
        ((f"{A} else wait up to 2h", f"{A} else deny"), AnswerKind.DENIED, "rate_limit_exceeded"),
        ((f"{A} else wait up to 2h", A), AnswerKind.RATE_LIMITED, "rate_limit_exceeded"),
        # A question to a person is stricter than a refusal for now.
        ((A, f"{A} else require approval"), AnswerKind.BLOCKED, ""),
        ((f"{A} else require approval", f"{A} else deny"), AnswerKind.DENIED, "rate_limit_exceeded"),
        ((A, 'require approval for tool "act" when args.n == 1'), AnswerKind.BLOCKED, ""),
        (('require approval for tool "act" when args.n == 1', A), AnswerKind.BLOCKED, ""),
    ],
)
@in_loop
async def test_of_several_full_windows_the_strictest_counts(
    opener: Opener, rules: tuple[str, ...], say: AnswerKind, by: str
) -> None:
    """Whatever the order of the layers."""
    async with bench(opener) as b:
        await b.begin(layers(*rules))
        await act(b, 0)
        answer = await act(b, 1)
        assert (answer.kind, answer.reason) == (say, by)


@in_loop
async def test_places_are_taken_in_every_window_or_in_none(opener: Opener) -> None:
    """A refusal by one layer leaves the other's window as it was."""
    async with bench(opener) as b:
        await b.begin(layers('allow tool "act" limit 2 per 1h', 'allow tool "act" limit 1 per 10s'))
        assert await says(b, 3) == [AnswerKind.PROCEED, AnswerKind.RATE_LIMITED, AnswerKind.RATE_LIMITED]
        b.clock.advance(10)
        assert [(await act(b, n)).kind for n in (3, 4)] == [AnswerKind.PROCEED, AnswerKind.RATE_LIMITED]
        b.clock.advance(10)
        assert (await act(b, 5)).kind is AnswerKind.RATE_LIMITED


@in_loop
async def test_the_log_says_where_a_step_has_a_place(opener: Opener) -> None:
    """The first event of the step names each limit that counted it."""
    async with bench(opener) as b:
        await b.begin(layers('allow tool "act" limit 2 per 1h', 'allow tool "act" limit 1 per 1h for each agent'))
        await act(b)
        event = (await b.store.events(b.attempt.execution.id))[-1]
        assert event.payload["limits"] == [
            {"bundle": "b0", "rule_id": "r", "scope": "execution"},
            {"bundle": "b1", "rule_id": "r", "scope": "agent"},
        ]


@in_loop
async def test_a_limit_that_was_passed_over_counted_nothing(opener: Opener) -> None:
    """A person is asked past a full window; the step has a place in the other one only, and the log says so."""
    async with bench(opener) as b:
        await b.begin(layers(f"{A} else require approval", 'allow tool "act" limit 5 per 1h', A))
        await act(b, 0)
        assert (await act(b, 1)).kind is AnswerKind.BLOCKED
        proposed = (await b.store.events(b.attempt.execution.id))[-3]
        assert proposed.payload["limits"] == [{"bundle": "b1", "rule_id": "r", "scope": "execution"}]


@in_loop
async def test_what_happens_while_a_place_is_taken_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that has begun to deny meanwhile decides; the place is wasted."""
    async with bench() as b:
        denies = 'rule d { deny tool "act" when after tool "stop" }'
        await b.begin(compile_text(f'default allow\n{denies}\nrule r {{ allow tool "act" limit 1 per 1h }}\n'))
        real = b.store.spend

        async def meanwhile(step_id: str, spends: Sequence[Spend]) -> Full | None:
            await b.submit(target="stop")
            return await real(step_id, spends)

        monkeypatch.setattr(b.store, "spend", meanwhile)
        answer = await act(b)
        assert (answer.kind, answer.rule_id) == (AnswerKind.DENIED, "d")


async def broken(step_id: str, spends: Sequence[Spend]) -> Full | None:
    """A store that cannot count."""
    raise StoreBusy("somebody else holds the store")


@pytest.mark.parametrize(
    ("clause", "say", "reason"),
    [
        ("", AnswerKind.RATE_LIMITED, "rate_limiter_unavailable"),
        (" if unavailable deny", AnswerKind.RATE_LIMITED, "rate_limiter_unavailable"),
        (" else require approval", AnswerKind.RATE_LIMITED, "rate_limiter_unavailable"),
        (" if unavailable allow", AnswerKind.PROCEED, ""),
    ],
)
@in_loop
async def test_a_limiter_that_fails(clause: str, say: AnswerKind, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody passes uncounted unless the rule says so; and the next call asks the limiter again."""
    async with bench() as b:
        await b.begin(limited(f"1 per 1h{clause}"))
        with monkeypatch.context() as patch:
            patch.setattr(b.store, "spend", broken)
            answer = await act(b, 0)
        assert (answer.kind, answer.reason) == (say, reason)
        assert (await act(b, 1)).kind is AnswerKind.PROCEED


@in_loop
async def test_nobody_is_asked_while_a_limiter_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question would pass over a limit of which nobody knows whether it is full."""
    async with bench() as b:
        await b.begin(layers('require approval for tool "act"', A))
        monkeypatch.setattr(b.store, "spend", broken)
        answer = await act(b, 0)
        assert (answer.kind, answer.reason, answer.rule_id) == (
            AnswerKind.RATE_LIMITED,
            "rate_limiter_unavailable",
            "r",
        )
