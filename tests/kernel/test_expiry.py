"""Questions that nobody answers in time, and grants that grow old."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path

import pytest

from rebuno.errors import ConflictError
from rebuno.journal.records import ApprovalWrite, Batch, ExecutionRow
from rebuno.journal.served import ServedStore
from rebuno.journal.sqlite import SQLiteStore
from rebuno.kernel.lifecycle import votes
from rebuno.kernel.operator import Operator
from rebuno.model.answer import AnswerKind
from rebuno.model.clock import FixedClock, rfc3339
from rebuno.policy import Policy, Source, compile_policy, compile_text
from tests.kernel.support import Bench, Play, player, policy

MINUTE = 60.0


def asking(clauses: str) -> Policy:
    """One rule asks about the tool `act`, with these clauses; `other` may wait as long as it takes."""
    return compile_text(
        f'bundle b\ndefault deny\nrule ask {{ require approval for tool "act" {clauses} because "ask it" }}\n'
        'rule slow { require approval for tool "other" because "ask it" }\n'
    )


async def ask(b: Bench, clauses: str = "expires 10m") -> str:
    """Asks about one step, and lets the attempt end."""
    await b.begin(asking(clauses))
    question = await b.submit()
    await b.suspend()
    return question.approval_id


def test_a_question_expires_while_nobody_runs(play: Play) -> None:
    """The next run notices, and the agent is told `approval_timeout`; a late answer is told that it is over."""

    async def scenario(b: Bench) -> None:
        approval_id = await ask(b)
        b.clock.advance(10 * MINUTE + 1)
        await b.begin(asking("expires 10m"))
        answer = await b.submit()
        assert (answer.kind, answer.reason, answer.rule_id) == (AnswerKind.DENIED, "approval_timeout", "ask")
        with pytest.raises(ConflictError, match="is expired already"):
            await b.answer(approval_id, granted=True)
        events = await b.events()
        at = events.index("approval.expired")
        assert events[at : at + 4] == ["approval.expired", "step.denied", "execution.resumed", "execution.started"]

    play(scenario)


@pytest.mark.parametrize(("seconds", "status"), [(10 * MINUTE, "granted"), (10 * MINUTE + 0.001, "expired")])
@pytest.mark.parametrize("granted", [True, False])
def test_an_answer_comes_in_time_or_not(seconds: float, status: str, granted: bool, play: Play) -> None:
    """Though nobody has noticed yet: a late answer finds the question expired, and the execution may run again."""

    async def scenario(b: Bench) -> None:
        approval_id = await ask(b)
        b.clock.advance(seconds)
        if status == "expired":
            with pytest.raises(ConflictError, match="is expired already"):
                await b.answer(approval_id, granted=granted)
        else:
            await b.answer(approval_id, granted=granted)
        question = await b.store.approval(approval_id)
        assert question.status == (status if granted or status == "expired" else "denied")
        assert (await b.store.execution(question.execution_id)).status == "running"

    play(scenario)


def test_votes_short_of_the_quorum_do_not_keep_a_question_open(play: Play) -> None:
    """Half an agreement is none."""

    async def scenario(b: Bench) -> None:
        approval_id = await ask(b, "quorum 2 expires 10m")
        await b.answer(approval_id, granted=True)
        b.clock.advance(11 * MINUTE)
        with pytest.raises(ConflictError, match="is expired already"):
            await b.answer(approval_id, granted=True, by="ben")

    play(scenario)


def test_an_execution_that_waits_for_more_stays_blocked(play: Play) -> None:
    """One of two questions expires; the other still has to be answered, and is the only one that is."""

    async def scenario(b: Bench) -> None:
        await b.begin(asking("expires 10m"))
        await b.submit()
        slow = await b.submit(target="other")
        await b.suspend()
        b.clock.advance(365 * 24 * 60 * MINUTE)
        assert await votes.expire_due(b.store) == 1
        assert await votes.expire_due(b.store) == 0
        begun = await b.begin(asking("expires 10m"))
        assert isinstance(begun, ExecutionRow)
        assert begun.status == "blocked"
        await b.answer(slow.approval_id, granted=True)
        assert (await b.store.execution(begun.id)).status == "running"

    play(scenario)


def test_everything_overdue_expires_at_once(play: Play) -> None:
    """Of every execution, more than a page of them; an execution that has ended has nothing left to expire."""

    async def scenario(b: Bench) -> None:
        for number in range(60):
            await b.begin(asking("expires 10m"), key=f"run-{number}")
            await b.submit()
            await b.submit(args={"n": 2})
            await b.suspend()
        b.clock.advance(11 * MINUTE)
        assert await votes.expire_due(b.store) == 120
        assert {row.status for row in await b.store.executions(limit=100)} == {"running"}

    play(scenario)


def test_a_damaged_execution_keeps_no_other_from_expiring(tmp_path: Path) -> None:
    """Its own question stays as it is."""
    path = tmp_path / "a.db"

    @asynccontextmanager
    async def on_disk(clock: FixedClock) -> AsyncIterator[ServedStore]:
        store = await SQLiteStore.open(path, clock=clock)
        try:
            yield store
        finally:
            await store.close()

    async def two(b: Bench) -> None:
        for key in ("damaged", "sound"):
            await b.begin(asking("expires 10m"), key=key)
            await b.submit()
            await b.suspend()

    async def later(b: Bench) -> None:
        b.clock.advance(11 * MINUTE)
        assert await votes.expire_due(b.store) == 1
        assert [question.status for question in await b.store.approvals()] == ["pending", "expired"]

    player(on_disk)(two)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE steps SET args = '{' WHERE n = (SELECT min(n) FROM steps)")
    player(on_disk)(later)


def test_an_operator_sees_what_is_over(play: Play) -> None:
    """Looking at a question, or at the list, is enough to notice."""

    async def scenario(b: Bench) -> None:
        operator = Operator(b.store)
        approval_id = await ask(b)
        assert [question.id for question in await operator.approvals(status="pending")] == [approval_id]
        b.clock.advance(11 * MINUTE)
        assert (await operator.approval(approval_id)).status == "expired"
        assert await operator.approvals(status="pending") == []

    play(scenario)


def test_a_running_attempt_is_told(play: Play) -> None:
    """A question that expires while another body runs is denied to the attempt that asked it."""

    async def scenario(b: Bench) -> None:
        await b.begin(asking("expires 10m"))
        await b.submit()
        b.clock.advance(11 * MINUTE)
        assert await votes.expire_due(b.store) == 1
        assert await b.suspend() is None, "nothing is left to wait for"
        await b.begin(asking("expires 10m"))
        assert (await b.submit()).reason == "approval_timeout"

    play(scenario)


# The rule when it was granted · the rule today · how long after the grant the step starts → whether it may.
AGES: list[tuple[str, str, float, bool]] = [
    ("", "", 15 * MINUTE, True),  # where no rule says otherwise
    ("", "", 15 * MINUTE + 1, False),
    ("expires 1h", "expires 1h", 59 * MINUTE, True),
    ("expires 1h", "expires 1h", 61 * MINUTE, False),
    ("expires 1h", "expires 5m", 6 * MINUTE, False),  # today's rule counts
    ("expires 5m", "expires 1h", 6 * MINUTE, True),
    ("expires 1h", "", 16 * MINUTE, False),
    ("", "", -MINUTE, False),  # a clock set back makes no grant young
]


@pytest.mark.parametrize(("then", "now", "seconds", "holds"), AGES)
def test_a_grant_is_as_good_as_it_is_young(then: str, now: str, seconds: float, holds: bool, judge: Play) -> None:
    """By today's rule; where it is too old, people are asked anew."""

    async def scenario(b: Bench) -> None:
        approval_id = await ask(b, then)
        await b.answer(approval_id, granted=True)
        b.clock.advance(seconds)
        await b.begin(asking(now))
        answer = await b.submit()
        assert answer.kind is (AnswerKind.PROCEED if holds else AnswerKind.BLOCKED)
        assert holds or answer.approval_id != approval_id

    judge(scenario)


def test_of_several_layers_the_shortest_time_counts(play: Play) -> None:
    """For the question, whose row and event say until when; a layer that sets no time takes none away."""

    async def scenario(b: Bench) -> None:
        layers = [
            f'bundle l{n}\nrule ask {{ require approval for tool "act" {clauses} because "ask" }}'
            for n, clauses in enumerate(["expires 1h", "", "expires 10m"])
        ]
        await b.begin(compile_policy([Source(text, f"l{n}.rbp") for n, text in enumerate(layers)]))
        asked = await b.submit()
        question = await b.store.approval(asked.approval_id)
        assert question.timeout_at == b.clock.now() + 10 * MINUTE
        events = await b.store.events(question.execution_id)
        said = next(event.payload for event in events if event.type == "approval.requested")
        assert said["timeout_at"] == rfc3339(question.timeout_at)

    play(scenario)


def test_a_question_about_a_done_step_that_expires_ends_the_execution(play: Play) -> None:
    """Nobody said that the run may go on with what is now denied."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("allow"))
        await b.succeed(await b.submit())
        await b.begin(policy("deny"))
        asked = await b.submit()
        await b.suspend()
        question = await b.store.approval(asked.approval_id)
        dated = ApprovalWrite(replace(question, timeout_at=b.store.now() + MINUTE))
        batch = Batch(question.execution_id, (), approvals=(dated,))
        b.store.write(batch)
        await batch.committed
        b.clock.advance(2 * MINUTE)
        begun = await b.begin(policy("deny"))
        assert isinstance(begun, ExecutionRow)
        assert (begun.status, begun.failure_reason) == ("failed", "policy_revoked")
        (step,) = await b.store.steps(begun.id)
        assert step.status == "succeeded"

    play(scenario)
