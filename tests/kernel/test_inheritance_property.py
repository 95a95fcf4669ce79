"""Random agents under limits, budgets and approvals, forked, retried and brought to other stores, again and again: a
fork at the end of a run replays it wholly, none holds more counted steps than its rules allow, and none runs under
rules that were not chosen for it."""

import asyncio
from itertools import cycle

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rebuno.model.answer import AnswerKind
from rebuno.model.clock import FixedClock
from rebuno.policy import Policy, compile_text, restore_policy
from tests.kernel import served
from tests.kernel.derivations import (
    SCOPES,
    Call,
    Derivation,
    Driver,
    Record,
    Rules,
    Served,
    derivations,
    derived,
    embedded,
    hold,
    live,
    programs,
)
from tests.kernel.support import Opener, in_memory

answers = st.lists(st.booleans(), min_size=1, max_size=6)
_REPLAYED = (AnswerKind.REPLAY, AnswerKind.DENIED)


async def lives(
    driver: Driver, program: list[Call], rules: Rules, pin: bool, chain: list[Derivation], said: list[bool]
) -> None:
    """One source, and what is made of it, one after the other."""
    grants = cycle(said)
    id = await driver.create(rules, pin=pin)
    life = await live(driver, id, program, rules, lambda: next(grants))
    kept: Policy | None = compile_text(rules.text) if pin else None
    await hold(driver.store, id, rules, kept)
    for how in chain:
        before = await Record.of(driver.store, id)
        made = await derived(driver, id, how)
        if made is None:
            continue
        id, keeps = made
        today = rules if how.how == "end" else Rules(how.number, rules.scope, how.denies, how.asks)
        row = await driver.store.execution(id)
        ended = row.status.terminal
        assert row.pinned is (keeps or (ended and before.row.pinned))
        kept = restore_policy(row.digest, await driver.store.bundle(row.digest) or ()) if row.pinned else None
        if keeps:
            assert row.digest == before.row.digest
        if ended:
            continue
        earlier, life = life, await live(driver, id, program, today, lambda: next(grants))
        now = await Record.of(driver.store, id)
        settled = {step.step_id for step in now.steps.values() if step.step_id in now.copied and step.outcome_seq}
        assert not settled & {step_id for step_id in life.ran if before_own(now, step_id)}, "a settled body ran again"
        same = {step.digest for step in before.steps.values()} <= {(kept or compile_text(today.text)).digest}
        # What a limit kept out left no step to replay.
        limited = AnswerKind.RATE_LIMITED in (*earlier.said, *life.said)
        if how.how == "end" and before.row.status == "completed" and same and not limited:
            assert not life.ran, "what had been done was done again"
            assert all(one in _REPLAYED for one in life.said)
            assert now.row.output == before.row.output
        await hold(driver.store, id, today, kept)


def before_own(it: Record, step_id: str) -> bool:
    """Whether the step had settled before the execution's own runs."""
    return 0 < it.steps[step_id].outcome_seq < it.own[0].event_seq


rules = st.builds(
    Rules, number=st.integers(1, 3), scope=st.sampled_from(SCOPES), denies=st.booleans(), asks=st.booleans()
)
arguments = (programs, rules, st.booleans(), derivations, answers)


def in_process(opener: Opener, drawn: tuple[list[Call], Rules, bool, list[Derivation], list[bool]]) -> None:
    """Plays on an embedded kernel."""

    async def whole() -> None:
        async with embedded(opener) as driver:
            await lives(driver, *drawn)

    asyncio.run(whole())


@settings(max_examples=100, deadline=None)
@given(st.tuples(*arguments))
def test_embedded(drawn: tuple[list[Call], Rules, bool, list[Derivation], list[bool]]) -> None:
    """Over SQLite; an import is into another store."""
    in_process(in_memory, drawn)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.tuples(*arguments))
def test_served(drawn: tuple[list[Call], Rules, bool, list[Derivation], list[bool]]) -> None:
    """Over SQLite, through what a server does with requests of agents and clients."""
    program, under, _, chain, said = drawn

    async def whole() -> None:
        clock = FixedClock()
        async with served.opened(None, clock) as stores, served.world(stores, clock) as made:
            await lives(Served(made), program, under, False, chain, said)

    asyncio.run(whole())
