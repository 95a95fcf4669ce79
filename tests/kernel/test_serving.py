"""A served execution from its creation to its end, on every store; on PostgreSQL each request goes to the other of two
replicas."""

import asyncio

import pytest

from rebuno.errors import (
    ConflictError,
    ForbiddenError,
    LeaseSuperseded,
    NotFoundError,
    Terminated,
    ValidationError,
)
from rebuno.journal.records import Execution
from rebuno.kernel.kernel import Kernel
from rebuno.kernel.served.kernel import Dispatched, ReportOutcome
from rebuno.model.answer import AnswerKind
from rebuno.model.execution import ExecutionStatus
from rebuno.policy.compile import permissive
from tests.kernel.served import LEASE, Scenario, World

ASKS = 'bundle asks\ndefault allow\nrule pay { require approval for tool "pay" because "money" }\n'
NEVER = 'bundle asks\ndefault allow\nrule pay { deny tool "pay" because "never" }\n'


def test_an_execution_is_delivered_and_completes(serve: Scenario) -> None:
    """Its agent is told once, its steps are recorded, its log tells of the delivery, and no dispatch is left."""

    async def scenario(w: World) -> None:
        await w.agent()
        run = await w.begin(input={"n": 1})
        await w.until(run, "dispatch.acked")
        first = await run.submit("look", {"n": 1})
        assert first.kind is AnswerKind.PROCEED
        assert (await run.done(first, [1])).outcome is ReportOutcome.RECORDED
        again = await run.done(first, "another")
        assert (again.outcome, again.result) == (ReportOutcome.REPLAY, "[1]")
        await run.complete({"ok": True}, '{"page":2}')
        row = await w.row(run)
        assert (row.status, row.output, row.state, row.holder) == (
            ExecutionStatus.COMPLETED,
            '{"ok":true}',
            '{"page":2}',
            None,
        )
        assert [event.type for event in await w.store.events(run.id)] == [
            "execution.created",
            "dispatch.queued",
            "execution.started",
            "dispatch.acked",
            "step.executing",
            "step.succeeded",
            "execution.completed",
        ]
        assert await w.store.dispatch(run.id) is None
        with pytest.raises(Terminated):
            await run.complete(None)
        assert (await run.submit()).kind is AnswerKind.EXECUTION_TERMINAL
        assert (await run.done(first)).outcome is ReportOutcome.EXECUTION_TERMINAL
        with pytest.raises(LeaseSuperseded):
            await run.beat()
        await w.quiet()

    serve(scenario)


def test_only_its_own_agent_under_its_own_delivery_may_act(serve: Scenario) -> None:
    """An unknown execution, another agent's and another delivery's are told apart."""

    async def scenario(w: World) -> None:
        await w.agent()
        run = await w.begin()
        serving = w.serving
        with pytest.raises(ForbiddenError):
            await serving.heartbeat("other", run.id, run.dispatch)
        with pytest.raises(NotFoundError):
            await serving.heartbeat("agent", "e-none", run.dispatch)
        other = Dispatched(run.dispatch.id, run.dispatch.attempt + 1)
        with pytest.raises(LeaseSuperseded):
            await serving.heartbeat("agent", run.id, other)
        with pytest.raises(LeaseSuperseded):
            await serving.suspend("agent", run.id, other)
        step = await run.submit()
        for step_id in ("s-none", step.step_id):
            with pytest.raises(ForbiddenError):
                await serving.complete_step("other", run.id, run.dispatch, step_id, "1")
        foreign = await w.begin()
        with pytest.raises(NotFoundError):
            await serving.complete_step("agent", foreign.id, foreign.dispatch, step.step_id, "1")

    serve(scenario)


@pytest.mark.parametrize("other", ["target", "args", "kind"])
@pytest.mark.parametrize("first", ["look", "pay"])
def test_a_number_that_comes_with_another_step_is_refused(serve: Scenario, other: str, first: str) -> None:
    """Its answer is not that of the first step: nobody has judged it. The first one still gets its own."""

    async def scenario(w: World) -> None:
        await w.agent(policy=ASKS)
        run = await w.begin()
        asked = await run.submit(first, number=1)
        target = "send" if other == "target" else first
        args = {"to": "eve"} if other == "args" else {}
        kind = "local" if other == "kind" else "tool_call"
        for replica in (run, run.on(w.replicas[-1])):
            with pytest.raises(ConflictError, match="number 1 belongs to another step"):
                await replica.submit(target, args, kind=kind, number=1)
        assert await run.submit(first, number=1) == asked
        assert len(await w.store.steps(run.id)) == 1

    serve(scenario)


def test_a_repeated_request_gets_its_first_answer_on_any_replica(serve: Scenario) -> None:
    """The same number is the same step; another number with the same content is another step."""

    async def scenario(w: World) -> None:
        await w.agent(policy=ASKS)
        run = await w.begin()
        other = run.on(w.replicas[-1])
        first = await run.submit(number=1)
        assert await other.submit(number=1) == await run.submit(number=1)
        second = await other.submit(number=2)
        assert (first.kind, second.kind) == (AnswerKind.PROCEED, AnswerKind.PROCEED)
        assert first.step_id != second.step_id
        assert (await run.submit(number=2)).step_id == second.step_id
        asked = await run.submit("pay", number=3)
        assert asked.kind is AnswerKind.BLOCKED
        assert await other.submit("pay", number=3) == asked
        assert len(await w.store.steps(run.id)) == 3

    serve(scenario)


def test_parallel_requests_to_two_replicas_are_counted_once_each(serve: Scenario) -> None:
    """Twenty identical submissions become twenty steps, whichever replica answers."""

    async def scenario(w: World) -> None:
        await w.agent()
        run = await w.begin()
        runs = [run.on(replica) for replica in w.replicas] * 10
        answers = await asyncio.gather(*(each.submit() for each in runs[:20]))
        steps = await w.store.steps(run.id)
        assert sorted(step.occurrence for step in steps) == list(range(len(runs[:20])))
        assert {answer.step_id for answer in answers} == {step.step_id for step in steps}
        await asyncio.gather(*(each.done(a) for each, a in zip(runs[::-1], answers, strict=False)))
        assert {step.status.value for step in await w.store.steps(run.id)} == {"succeeded"}

    serve(scenario)


def test_a_lost_lease_is_delivered_anew_and_the_old_attempt_is_fenced(serve: Scenario) -> None:
    """Heartbeats keep it; without them the next attempt replays what is recorded, in whatever order it asks."""

    async def scenario(w: World) -> None:
        await w.agent()
        run = await w.begin()
        done = [await run.act("look", {"n": n}, n) for n in range(3)]
        begun = await run.submit("send", idempotency="at_most_once")
        for _ in range(3):
            w.clock.advance(LEASE - 1)
            await run.beat()
        await w.quiet()
        w.clock.advance(LEASE + 1)
        again = await w.run(w.replicas[-1])
        assert (again.dispatch.id, again.dispatch.attempt) == (run.dispatch.id, 2)
        with pytest.raises(LeaseSuperseded):
            await run.submit("more")
        with pytest.raises(LeaseSuperseded):
            await run.done(begun)
        with pytest.raises(LeaseSuperseded):
            await run.beat()
        both = (again, again.on(w.serving))
        for n in (2, 0, 1):
            answer = await both[n % 2].submit("look", {"n": n})
            assert (answer.kind, answer.step_id, answer.result) == (AnswerKind.REPLAY, done[n].step_id, str(n))
        fresh = await again.on(w.serving).submit("look", {"n": 1})
        assert fresh.kind is AnswerKind.PROCEED
        await again.done(fresh)
        unknown = await again.submit("send", idempotency="at_most_once")
        assert (unknown.kind, "indeterminate" in (unknown.error or "")) == (AnswerKind.REPLAY, True)
        assert "dispatch.failed" in await w.until(again, "dispatch.failed")
        await again.complete()

    serve(scenario)


def test_a_question_blocks_and_its_answer_delivers_anew(serve: Scenario) -> None:
    """The dispatch is queued with the answer, and claimed once no body of the old attempt runs."""

    async def scenario(w: World) -> None:
        await w.agent(policy=ASKS)
        run = await w.begin()
        slow = await run.submit("slow")
        asked = await run.submit("pay")
        assert (asked.kind, await w.status(run)) == (AnswerKind.BLOCKED, ExecutionStatus.BLOCKED)
        assert await w.store.dispatch(run.id) is None
        assert (await run.submit("new")).kind is AnswerKind.EXECUTION_BLOCKED
        with pytest.raises(ConflictError):
            await run.complete()
        granted = await w.replicas[-1].resolve(asked.approval_id, granted=True, decided_by="ana")
        assert granted.status == "granted"
        dispatch = await w.store.dispatch(run.id)
        assert dispatch is not None
        assert dispatch.id != run.dispatch.id
        events = [event.type for event in await w.store.events(run.id)]
        assert events[-2:] == ["execution.resumed", "dispatch.queued"]
        await w.quiet()
        assert (await run.submit("new")).kind is AnswerKind.EXECUTION_BLOCKED
        assert (await run.on(w.replicas[-1]).done(slow, "slowly")).outcome is ReportOutcome.RECORDED
        again = await w.run()
        assert again.dispatch.attempt == 1
        assert (await again.submit("slow")).result == '"slowly"'
        paid = await again.submit("pay")
        assert (paid.kind, paid.step_id) == (AnswerKind.PROCEED, asked.step_id)
        await again.done(paid)
        await again.complete()

    serve(scenario)


def test_a_denied_step_is_denied_in_the_next_attempt(serve: Scenario) -> None:
    """With what the person said."""

    async def scenario(w: World) -> None:
        await w.agent(policy=ASKS)
        run = await w.begin()
        asked = await run.submit("pay")
        await w.serving.resolve(asked.approval_id, granted=False, decided_by="ana", rationale="too much")
        again = await w.run()
        denied = await again.submit("pay")
        assert (denied.kind, denied.reason) == (AnswerKind.DENIED, "too much")

    serve(scenario)


def test_a_bundle_that_denies_what_waits_wakes_the_execution(serve: Scenario) -> None:
    """Nobody has to answer any more."""

    async def scenario(w: World) -> None:
        await w.agent(policy=ASKS)
        run = await w.begin()
        asked = await run.submit("pay")
        await w.serving.set_policy(
            "agent", 'bundle asks\ndefault allow\nrule pay { deny tool "pay" because "never" }\n'
        )
        again = await w.run()
        denied = await again.submit("pay")
        assert (denied.kind, denied.reason) == (AnswerKind.DENIED, "never")
        assert (await w.serving.approval(asked.approval_id)).status == "withdrawn"

    serve(scenario)


def test_a_parked_step_is_delivered_again_when_it_is_due(serve: Scenario) -> None:
    """Not before there is room in the window, and then it proceeds."""
    policy = 'bundle few\ndefault allow\nrule few { allow tool "act" limit 1 per 60s else wait up to 10m }\n'

    async def scenario(w: World) -> None:
        await w.agent(policy=policy)
        run = await w.begin()
        await run.act(args={"n": 1})
        parked = await run.submit(args={"n": 2})
        assert (parked.kind, await w.status(run)) == (AnswerKind.PARKED, ExecutionStatus.RUNNING)
        assert (await run.submit("other")).kind is AnswerKind.EXECUTION_BLOCKED
        w.clock.advance(30)
        await w.quiet()
        w.clock.advance(40)
        again = await w.run()
        assert (await again.submit(args={"n": 1})).kind is AnswerKind.REPLAY
        assert (await again.submit(args={"n": 2})).kind is AnswerKind.PROCEED

    serve(scenario)


def test_a_cancelled_execution_is_lost_to_its_agent(serve: Scenario) -> None:
    """The next heartbeat says so, a late outcome is told the end, and nothing is delivered any more."""

    async def scenario(w: World) -> None:
        await w.agent()
        run = await w.begin()
        step = await run.submit()
        await w.replicas[-1].cancel(run.id)
        with pytest.raises(LeaseSuperseded):
            await run.beat()
        assert (await run.done(step)).outcome is ReportOutcome.EXECUTION_TERMINAL
        assert (await w.serving.step(run.id, step.step_id)).status.value == "cancelled"
        with pytest.raises(ConflictError):
            await w.serving.cancel(run.id)
        w.clock.advance(2 * LEASE)
        await w.quiet()

    serve(scenario)


def test_nobody_runs_a_served_execution_in_a_process_of_his_own(serve: Scenario) -> None:
    """It belongs to the agent; once it has ended it is returned like any other."""

    async def scenario(w: World) -> None:
        await w.agent()
        run = await w.begin(key="k")
        kernel = Kernel(w.store, permissive())
        with pytest.raises(ConflictError, match="its agent"):
            await kernel.begin(agent_id="agent", input="null", key="k")
        await run.complete("done")
        ended = await kernel.begin(agent_id="agent", input="null", key="k")
        assert (ended.output if isinstance(ended, Execution) else ended) == '"done"'

    serve(scenario)


def test_a_policy_that_does_not_compile_any_more_stops_the_run_and_loses_nothing(
    serve: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after an upgrade: nothing is recorded, nothing delivered, and it goes on when the bundle is whole again."""
    monkeypatch.setattr("rebuno.kernel.served.policies.FRESH", 0.0)

    async def scenario(w: World) -> None:
        await w.agent()
        run = await w.begin()
        await run.act("look")
        await w.store.put_policy("agent", "bundle broken {")
        parked = await run.submit("more")
        assert (parked.kind, parked.step_id, parked.reason) == (AnswerKind.PARKED, "", "policy_unavailable")
        w.clock.advance(LEASE)
        await w.quiet()
        await w.serving.set_policy("agent", "bundle whole\ndefault allow\n")
        w.clock.advance(LEASE)
        again = await w.run()
        assert (await again.submit("look")).kind is AnswerKind.REPLAY
        assert (await again.submit("more")).kind is AnswerKind.PROCEED
        assert len(await w.store.steps(run.id)) == 2

    serve(scenario)


def test_a_done_step_that_is_denied_now_asks_a_person(serve: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is raised into the handler; refused, the execution fails, and what hangs on it goes on."""
    monkeypatch.setattr("rebuno.kernel.served.policies.FRESH", 0.0)

    async def scenario(w: World) -> None:
        await w.agent()
        run = await w.begin(session="s")
        await run.act("look")
        waiting = await w.create(session="s")
        await w.serving.set_policy("agent", 'bundle strict\ndefault deny because "no more"\n')
        w.clock.advance(LEASE + 1)
        again = await w.run()
        asked = await again.submit("look", number=1)
        assert (asked.kind, asked.approval_id != "") == (AnswerKind.BLOCKED, True)
        assert await again.on(w.replicas[-1]).submit("look", number=1) == asked
        await w.replicas[-1].resolve(asked.approval_id, granted=False, decided_by="ana")
        row = await w.row(run)
        assert (row.status, row.failure_reason) == (ExecutionStatus.FAILED, "policy_revoked")
        assert (await w.run()).id == waiting.id

    serve(scenario)


def test_requests_of_a_body_are_counted_in_it(serve: Scenario) -> None:
    """An at_most_once body must not wait; what is submitted in a body that has ended is refused."""

    async def scenario(w: World) -> None:
        await w.agent(policy=ASKS)
        run = await w.begin()
        other = run.on(w.replicas[-1])
        outer = await run.submit("outer", idempotency="at_most_once")
        inner = await other.submit("look", parent=outer.step_id)
        again = await run.submit("look", parent=outer.step_id)
        top = await other.submit("look")
        assert len({inner.step_id, again.step_id, top.step_id}) == 3
        refused = await other.submit("pay", parent=outer.step_id)
        assert (refused.kind, refused.rule_id) == (AnswerKind.DENIED, "__nested_wait")
        for step in (inner, again, top, outer):
            await run.done(step)
        with pytest.raises(ValidationError):
            await run.submit("late", parent=outer.step_id)

    serve(scenario)


def test_a_request_that_is_cut_off_is_not_counted_twice(serve: Scenario) -> None:
    """Whenever its connection breaks, the same number is the same step, and the step runs once."""

    async def scenario(w: World) -> None:
        await w.agent()
        run = await w.begin()
        for n in range(1, 21):
            cut = asyncio.create_task(run.submit(number=n))
            for _ in range(n):
                await asyncio.sleep(0)
            cut.cancel()
            await asyncio.gather(cut, return_exceptions=True)
            answer = await run.submit(number=n)
            assert answer.kind is AnswerKind.PROCEED
            ended = asyncio.create_task(run.done(answer))
            for _ in range(n):
                await asyncio.sleep(0)
            ended.cancel()
            await asyncio.gather(ended, return_exceptions=True)
            assert (await run.done(answer)).outcome in (ReportOutcome.RECORDED, ReportOutcome.REPLAY)
        steps = await w.store.steps(run.id)
        assert [(step.occurrence, step.submission, step.status.value) for step in steps] == [
            (n, n + 1, "succeeded") for n in range(20)
        ]

    serve(scenario)
