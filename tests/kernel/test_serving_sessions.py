"""Executions that continue others, one at a time in a session; and how clients begin and find them."""

import asyncio

import pytest

from rebuno.errors import ConflictError, NotFoundError, StoreCorrupt, ValidationError
from rebuno.journal.records import ExecutionRow
from rebuno.journal.served import ServedStore
from rebuno.kernel.lifecycle.cancel import cancel
from rebuno.kernel.served.create import begin_pending
from rebuno.kernel.served.kernel import Serving, Settings
from rebuno.model.answer import AnswerKind
from rebuno.model.execution import ExecutionStatus
from tests.kernel.served import Scenario, World


def test_a_busy_session_lets_the_next_wait_and_hands_it_what_went_before(serve: Scenario) -> None:
    """They run in their order; each finds the state of the last that completed, or its output."""

    async def scenario(w: World) -> None:
        await w.agent()
        first = await w.begin(session="chat")
        second, third = [await w.create(session="chat", input=n) for n in (2, 3)]
        assert (second.status, third.status) == (ExecutionStatus.PENDING, ExecutionStatus.PENDING)
        elsewhere = await w.begin(session="other")
        await w.quiet()
        assert await w.serving.previous(first.id) is None
        await first.complete("one", '{"page":1}')
        run = await w.run()
        assert (run.id, await w.serving.previous(run.id)) == (second.id, '{"page":1}')
        assert (await w.store.execution(third.id)).status is ExecutionStatus.PENDING
        await w.serving.fail("agent", run.id, run.dispatch, "agent_error: no")
        run = await w.run(w.replicas[-1])
        assert (run.id, await w.serving.previous(run.id)) == (third.id, '{"page":1}')
        await run.complete("three")
        last = await w.begin(session="chat")
        assert await w.serving.previous(last.id) == '"three"'
        assert await w.serving.previous(elsewhere.id) is None

    serve(scenario)


def test_what_blocks_keeps_its_session_busy(serve: Scenario) -> None:
    """A question may take days: the next still waits."""

    async def scenario(w: World) -> None:
        await w.agent(policy='bundle asks\nrule pay { require approval for tool "pay" }\n')
        run = await w.begin(session="chat")
        asked = await run.submit("pay")
        assert asked.kind is AnswerKind.BLOCKED
        waiting = await w.create(session="chat")
        assert waiting.status is ExecutionStatus.PENDING
        await w.serving.cancel(waiting.id)
        after = await w.create(session="chat")
        await w.serving.cancel(run.id)
        assert (await w.run()).id == after.id

    serve(scenario)


def test_of_many_at_once_in_one_session_one_runs(serve: Scenario) -> None:
    """Whichever replica is asked, they run one after the other."""

    async def scenario(w: World) -> None:
        await w.agent()
        replicas = [w.replicas[n % len(w.replicas)] for n in range(6)]
        made = await asyncio.gather(*(r.create(agent_id="agent", input="1", session="chat") for r in replicas))
        assert sorted(one.status.value for one in made) == ["pending"] * 5 + ["running"]
        ran = []
        for _ in made:
            run = await w.run()
            assert w.posted.empty()
            ran.append(run.id)
            await run.complete()
        assert sorted(ran) == sorted(one.id for one in made)

    serve(scenario)


def test_a_session_whose_replica_died_is_gone_on_with_by_a_sweep(serve: Scenario) -> None:
    """The end was written, what follows from it was not."""

    async def scenario(w: World) -> None:
        await w.agent()
        run = await w.begin(session="chat")
        waiting = await w.create(session="chat")
        await cancel(w.store, run.id)
        await w.quiet()
        await w.replicas[-1].sweep()
        assert (await w.run()).id == waiting.id

    serve(scenario)


def test_one_execution_that_cannot_be_swept_stops_no_other(serve: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others of the same sweep begin."""

    async def scenario(w: World) -> None:
        await w.agent()
        runs = [await w.begin(session=name) for name in ("a", "b")]
        waiting = [await w.create(session=name) for name in ("a", "b")]
        for run in runs:
            await cancel(w.store, run.id)

        async def damaged(store: ServedStore, execution: ExecutionRow) -> bool:
            if execution.id == waiting[0].id:
                raise StoreCorrupt("a row cannot be read")
            return await begin_pending(store, execution)

        monkeypatch.setattr("rebuno.kernel.served.follow_up.begin_pending", damaged)
        await w.serving.sweep()
        assert (await w.run()).id == waiting[1].id

    serve(scenario)


def test_a_parent_is_a_completed_execution_of_the_same_agent(serve: Scenario) -> None:
    """And the session of the new one has nothing in it yet."""

    async def scenario(w: World) -> None:
        await w.agent()
        await w.agent("other")
        run = await w.begin()
        with pytest.raises(ConflictError, match="running"):
            await w.create(parent_execution_id=run.id)
        await run.complete("done", "[1]")
        with pytest.raises(ConflictError):
            await w.create("other", parent_execution_id=run.id)
        with pytest.raises(NotFoundError):
            await w.create(parent_execution_id="e-none")
        child = await w.begin(parent_execution_id=run.id, session="new")
        assert await w.serving.previous(child.id) == "[1]"
        with pytest.raises(ConflictError):
            await w.create(parent_execution_id=run.id, session="new")

    serve(scenario)


def test_a_key_names_one_execution_of_an_agent(serve: Scenario) -> None:
    """At once, later, and after retention took it."""

    async def scenario(w: World) -> None:
        await w.agent()
        await w.agent("other")
        made = await asyncio.gather(*(w.create(key="k", input={"n": 1}) for _ in range(5)))
        assert len({one.id for one in made}) == 1
        with pytest.raises(ConflictError):
            await w.create(key="k", input={"n": 2})
        assert (await w.create("other", key="k")).id != made[0].id
        await w.serving.cancel(made[0].id)
        assert (await w.create(key="k", input={"n": 1})).status is ExecutionStatus.CANCELLED

    serve(scenario)


@pytest.mark.parametrize(
    "wanted",
    [
        {"session": "  "},  # blank
        {"session": "s" * 257},  # longer than any store must hold
        {"key": "a\0b"},  # PostgreSQL has no such texts
        {"key": "\ud800"},  # no Unicode
    ],
)
def test_a_name_that_the_protocol_does_not_allow_is_refused(serve: Scenario, wanted: dict[str, str]) -> None:
    """Before anything is recorded."""

    async def scenario(w: World) -> None:
        await w.agent()
        with pytest.raises(ValidationError):
            await w.create(**wanted)
        with pytest.raises(NotFoundError):
            await w.create("nobody")
        assert await w.serving.executions() == ([], None)

    serve(scenario)


def test_executions_are_listed_page_by_page(serve: Scenario) -> None:
    """Newest first, each once, by agent, session and status."""

    async def scenario(w: World) -> None:
        await w.agent()
        made = [(await w.create(session="s" if n == 1 else "")).id for n in range(5)]
        found, cursor = [], None
        while True:
            page, cursor = await w.serving.executions(limit=2, cursor=cursor)
            found += [one.id for one in page]
            if cursor is None:
                break
        assert found == made[::-1]
        assert [one.id for one in (await w.serving.executions(session="s"))[0]] == [made[1]]
        assert (await w.serving.executions(agent_id="other"))[0] == []
        assert len((await w.serving.executions(status="running"))[0]) == 5
        with pytest.raises(ValidationError):
            await w.serving.executions(cursor="e-none")
        with pytest.raises(ValidationError):
            await w.serving.executions(status="asleep")

    serve(scenario)


def test_a_fork_replays_what_came_before_and_asks_about_what_comes_after(serve: Scenario) -> None:
    """It is delivered by itself, under a bundle of its own where one is given."""

    async def scenario(w: World) -> None:
        await w.agent()
        run = await w.begin(input={"n": 1})
        looked = await run.act("look")
        await run.complete()
        steps = await w.store.steps(run.id)
        forked = await w.serving.fork(run.id, at_seq=steps[0].outcome_seq, session="new")
        assert (forked.forked_from, forked.session) == (run.id, "new")
        fork = await w.run()
        assert fork.id == forked.id
        again = await fork.submit("look")
        assert (again.kind, again.result) == (AnswerKind.REPLAY, '"done"')
        assert again.step_id != looked.step_id
        assert (await fork.submit("send", idempotency="at_most_once")).kind is AnswerKind.BLOCKED
        with pytest.raises(ConflictError):
            await w.serving.fork(run.id, at_seq=1, session="new")
        with pytest.raises(ValidationError):
            await w.serving.fork(run.id, at_seq=(await w.serving.fork_points(run.id)).latest_seq + 1)
        await w.serving.fork(run.id, at_seq=1, bundle='bundle strict\ndefault deny because "no"\n')
        strict = await w.run(w.replicas[-1])
        assert (await strict.submit("look")).kind is AnswerKind.DENIED
        free = await w.begin()
        assert (await free.submit("look")).kind is AnswerKind.PROCEED

    serve(scenario)


def test_retention_leaves_the_key_taken(serve: Scenario) -> None:
    """The execution is gone; its key never begins another one."""

    async def scenario(w: World) -> None:
        await w.agent()
        run = await w.begin(key="k")
        await run.complete()
        w.clock.advance(60)
        sweeper = Serving(w.store, settings=Settings(retention=30.0))
        await sweeper.sweep()
        with pytest.raises(NotFoundError):
            await w.serving.execution(run.id)
        with pytest.raises(ConflictError):
            await w.create(key="k")

    serve(scenario)


def test_limits_and_budgets_of_a_session_count_its_executions_together(serve: Scenario) -> None:
    """One after the other, through whatever replica; another session counts for itself."""

    async def scenario(w: World) -> None:
        await w.agent(
            policy="""
            bundle spends
            rule pay { allow tool "pay" limit 5 of args.amount per session else deny }
            rule look { allow tool "look" limit 1 per 1h for each session else deny }
            rule think { allow llm "m" budget 100 tokens per session }
            """
        )
        body = '{"usage": {"prompt_tokens": 50, "completion_tokens": 10}}'
        usage = {"status": 200, "headers": {"content-type": "application/json"}, "body": body}
        first = await w.begin(session="chat")
        await first.act("pay", {"amount": 3})
        await first.act("look", 1)
        thought = await first.submit("m", {"n": 1}, kind="llm_call")
        await first.done(thought, usage)
        await first.complete("one")
        second = (await w.begin(session="chat")).on(w.replicas[-1])
        assert (await second.submit("pay", {"amount": 3})).kind is AnswerKind.DENIED
        assert (await second.submit("look", 2)).kind is AnswerKind.DENIED
        await second.act("pay", {"amount": 2})
        thought = await second.submit("m", {"n": 2}, kind="llm_call")
        await second.done(thought, usage)
        over = await second.submit("m", {"n": 3}, kind="llm_call")
        assert (over.kind, over.reason) == (AnswerKind.DENIED, "execution_token_budget_exceeded")
        await second.complete("two")
        other = await w.begin(session="other")
        await other.act("pay", {"amount": 5})
        await other.act("look", 3)
        assert (await other.submit("m", {"n": 4}, kind="llm_call")).kind is AnswerKind.PROCEED

    serve(scenario)
