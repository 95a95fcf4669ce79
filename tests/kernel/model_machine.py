"""Drives a kernel and its model side by side, and compares them after every step."""

import asyncio
from contextlib import AsyncExitStack
from itertools import count

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from rebuno.errors import APIError, ConflictError, ForbiddenError, LeaseSuperseded, Terminated, ValidationError
from rebuno.journal import records
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.loading import load
from rebuno.kernel.history.verify import check
from rebuno.kernel.kernel import Kernel
from rebuno.kernel.lifecycle import execution as executions
from rebuno.kernel.lifecycle import votes
from rebuno.kernel.lifecycle.cancel import cancel
from rebuno.kernel.lifecycle.fork import fork
from rebuno.model import identity
from rebuno.model.answer import Answer, Submission
from rebuno.model.clock import FixedClock
from tests.kernel.model import Model
from tests.kernel.model_log import follow
from tests.kernel.model_rows import ENDS, Call, Expected, Step
from tests.kernel.model_rules import PLACES, TARGETS, USED, Rule, Rules, any_rule, policy, rules
from tests.kernel.support import Opener

REFUSALS: dict[str, type[Exception]] = {
    "conflict": ConflictError,
    "forbidden": ForbiddenError,
    "invalid": ValidationError,
}

picks = st.integers(0, 20)
# Machines may share a database, so that no two executions have one name.
names = map(str, count())


def response(tokens: int) -> str:
    """What a provider answers to a call that used so many tokens, as it is recorded."""
    body = identity.canonical({"usage": {"prompt_tokens": tokens, "completion_tokens": 0}})
    return identity.canonical({"status": 200, "headers": {}, "body": body})


class Machine(RuleBasedStateMachine):
    """One execution after another on one store."""

    def __init__(self, opener: Opener) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = FixedClock()
        self.stack = AsyncExitStack()
        self.store = self.runner.run(self.stack.enter_async_context(opener(self.clock)))
        self.live: Attempt | None = None

    def teardown(self) -> None:
        """Lets go of the store."""
        self.runner.run(self._crash())
        self.runner.run(self.stack.aclose())
        self.runner.close()

    # ------------------------------------------------------------ the life of an execution

    @initialize(under=rules, pinned=st.booleans())
    def first_run(self, under: Rules, pinned: bool) -> None:
        """An execution begins."""
        self.key = next(names)
        self.under = under
        self.kernel = Kernel(self.store, policy(under.text))
        begun = self.runner.run(self.kernel.begin(agent_id="agent", input="{}", key=self.key, pin=pinned))
        assert isinstance(begun, Attempt)
        self.live = begun
        self.model = Model(begun.execution.id, under, pinned=pinned)
        self._anew()

    def _anew(self) -> None:
        """Nothing is known of the execution yet."""
        self.replaced: list[Attempt] = []
        self.settled: dict[str, records.StepRow] = {}
        self.ran: dict[str, list[Step]] = {}
        self.refused: set[str] = set()
        self.log: list[records.EventRow] = []

    @precondition(lambda self: self.model.ended)
    @rule(under=rules, pinned=st.booleans())
    def next_run(self, under: Rules, pinned: bool) -> None:
        """What has ended is given back as it ended; another execution begins."""
        begun = self.runner.run(self.kernel.begin(agent_id="agent", input="{}", key=self.key))
        assert isinstance(begun, records.ExecutionRow)
        assert begun.status == self.model.status
        self.first_run(under, pinned)

    @precondition(lambda self: self.model.steps)
    @rule(often=st.integers(0, 1), back=st.integers(0, 10))
    def goes_on_as_a_fork(self, often: int, back: int) -> None:
        """The attempt dies; what is run from now on is a fork of the execution, at one of its last events."""
        if often == 0:
            self.runner.run(self._fork(back))

    async def _fork(self, back: int) -> None:
        await self._crash()
        await self._forget_held()
        source = await self.store.execution(self.model.id)
        self.key = next(names)
        at_seq = max(1, source.head_seq - back)
        forked = await fork(self.store, source, at_seq, key=self.key)
        assert await self.store.execution(source.id) == source, "the source stays as it is"
        steps, asked = await load(self.store, source.id)
        settled = [step.step_id for step in steps.values() if 0 < step.outcome_seq <= at_seq]
        answered = {question.id for question in asked.values() if 0 < question.resolved_seq <= at_seq}
        self.model = self.model.fork(forked.id, settled, answered)
        copied = await self.store.approvals(execution_id=forked.id)
        for question, copy in zip(self.model.questions, copied, strict=True):
            question.id = copy.id
        self._anew()

    @precondition(lambda self: not self.model.ended)
    @rule(under=st.none() | rules, dies=st.booleans())
    def take_over(self, under: Rules | None, dies: bool) -> None:
        """The attempt dies, or is only taken for dead; the next begins, under the same policy or another one."""
        self.under = under or self.under
        self.kernel = Kernel(self.store, policy(self.under.text))
        self.runner.run(self._take_over(dies))

    @precondition(lambda self: not self.model.ended and self.model.steps)
    @rule(pick=picks, says=any_rule)
    def resume(self, pick: int, says: Rule) -> None:
        """The attempt dies; the next comes to every recorded step again, under rules that differ about one of them."""
        about = list(self.model.steps.values())[pick % len(self.model.steps)].target
        self.take_over(self.under.but(about, says), dies=True)
        while self.live is not None and (missed := self.model.missed()):
            self._submit(Call(missed[0].target, missed[0].n, missed[0].once, missed[0].parent))
            self.the_store_holds_what_the_model_does()

    async def _take_over(self, dies: bool) -> None:
        let_go: set[tuple[str, int]] = set()
        if self.live is not None and not dies:
            let_go.add((self.model.id, self.live.lease.attempt))
            self.live.release_held()
            self.replaced.append(self.live)
            self.store.drop(self.live.lease)
            self.live = None
        await self._crash()
        await self._forget_held()
        runs = self.model.begin(self.under)
        begun = await executions.begin(
            self.store,
            self.kernel.policy,
            agent_id="agent",
            input="{}",
            key=self.key,
            let_go=let_go,
        )
        assert isinstance(begun, Attempt) is runs
        if isinstance(begun, Attempt):
            self.live = begun
        else:
            assert begun.status == self.model.status

    async def _crash(self) -> None:
        if self.live is not None and not self.live.ended:
            try:
                await executions.abandon(self.live)
            except (Terminated, LeaseSuperseded):
                assert self.model.ended
        self.live = None

    async def _forget_held(self) -> None:
        """What only memory held is lost with it."""
        rows = {step.step_id for step in await self.store.steps(self.model.id)}
        for step in list(self.model.steps.values()):
            if step.held and step.id not in rows:
                del self.model.steps[step.id]
                # It was safe to repeat then, and nothing tells the next attempt that it was there.
                self.ran.pop(step.id, None)
            step.held = False

    @precondition(lambda self: self.live is not None and not self.model.ended and not self.model.blocked)
    @rule(fails=st.booleans())
    def finish(self, fails: bool) -> None:
        """The handler returns, or raises."""
        assert self.live is not None
        missed = self.model.missed()
        ended = self.runner.run(
            executions.finish(self.live, failure_reason="agent_error")
            if fails
            else executions.finish(self.live, output="1")
        )
        self.model.end("failed" if fails else "completed")
        assert ended.status == self.model.status
        self.live = None
        *_, said, _ = [event.type for event in self.runner.run(self.store.events(self.model.id))]
        assert (said == "execution.diverged") == bool(missed)

    @precondition(lambda self: self.live is not None and not self.model.ended and self.model.blocked)
    @rule()
    def suspend(self) -> None:
        """A blocked handler ends."""
        assert self.live is not None
        ended = self.runner.run(executions.suspend(self.live))
        self.model.suspend()
        assert (ended is not None) == (self.model.status == "blocked")
        self.live = None

    @precondition(lambda self: not self.model.ended)
    @rule(often=st.integers(0, 4))
    def cancelled(self, often: int) -> None:
        """Somebody cancels the execution: one time in five, so that runs grow long."""
        if often == 0:
            self.runner.run(cancel(self.store, self.model.id))
            self.runner.run(self._forget_held())
            self.model.end("cancelled")
            self.runner.run(self._crash())

    # ------------------------------------------------------------ submissions

    @precondition(lambda self: self.live is not None and not self.model.ended)
    @rule(what=st.sampled_from(sorted(TARGETS)), n=st.integers(0, 1), once=st.booleans())
    def submit(self, what: str, n: int, once: bool) -> None:
        """A step outside of every body."""
        self._submit(Call(what, n, once))

    @precondition(lambda self: self.live is not None and not self.model.ended and self.model.bodies)
    @rule(what=st.sampled_from(sorted(TARGETS)), n=st.integers(0, 1), once=st.booleans(), pick=picks)
    def submit_inside(self, what: str, n: int, once: bool, pick: int) -> None:
        """A step in the body of another one."""
        self._submit(Call(what, n, once, self.model.bodies[pick % len(self.model.bodies)]))

    @precondition(lambda self: self.live is not None and not self.model.ended and self.model.missed())
    @rule(pick=picks, other=st.integers(0, 5))
    def submit_again(self, pick: int, other: int) -> None:
        """A recorded step; one time in six the code has changed its mind about whether it may run again."""
        missed = self.model.missed()
        step = missed[pick % len(missed)]
        self._submit(Call(step.target, step.n, step.once is not (other == 0), step.parent))

    def _submit(self, call: Call) -> None:
        assert self.live is not None
        kind = TARGETS[call.target][0]
        idempotency = "at_most_once" if call.once else "safe_to_retry"
        submission = Submission(kind, call.target, call.args, idempotency, call.parent)
        answer = self.runner.run(self.kernel.submit(self.live, submission, wait=False))
        expected = self.model.submit(call)
        assert answer.kind == expected.kind, (answer, expected)
        assert answer.step_id == (expected.step.id if expected.step else "")
        if expected.reason and expected.kind != "replay":
            assert answer.reason == expected.reason
        if expected.due is not None:
            assert answer.due is not None
            # Those who wait for one place do not all come at once.
            assert -1e-3 < answer.due - self.clock.now() - (expected.due - self.model.now) <= 1.0
        self._compare(answer, expected)
        if answer.kind == "denied":
            self.refused.add(answer.step_id)
        if answer.kind == "proceed" and expected.step is not None:
            assert answer.step_id not in self.refused, "what was denied does not run"
            assert answer.step_id not in self.settled, "what has ended does not run again"
            before = self.ran.setdefault(answer.step_id, [])
            assert not (before and expected.step.once), "at most once"
            before.append(expected.step)

    def _compare(self, answer: Answer, expected: Expected) -> None:
        step = expected.step
        if expected.kind == "replay" and step is not None:
            if step.why == "indeterminate":
                assert identity.parse(answer.error or "{}")["reason"] == "indeterminate"
            else:
                assert (answer.result, answer.error) == (step.result, step.error)
        question = expected.question
        if question is not None:
            known = {asked.id for asked in self.model.questions}
            assert answer.approval_id not in known - {question.id}
            question.id = question.id or answer.approval_id
            assert answer.approval_id == question.id

    @precondition(lambda self: self.live is not None and not self.model.ended and self.model.bodies)
    @rule(
        pick=picks,
        how=st.sampled_from(["succeed", "succeed", "succeed", "fail", "cancel", "release"]),
        used=st.sampled_from(USED),
    )
    def end_body(self, pick: int, how: str, used: int) -> None:
        """A body gives a result, raises, is cancelled, or says nothing."""
        self._end_body(pick % len(self.model.bodies), how, used)

    @precondition(lambda self: self.live is not None and not self.model.ended and not self.model.blocked)
    @rule(what=st.sampled_from("abmm"), n=st.integers(0, 1), used=st.sampled_from(USED))
    def act_several_times(self, what: str, n: int, used: int) -> None:
        """Calls that are alike, one after the other, each with its result: they fill limits and use up budgets."""
        for _ in range(PLACES + 1):
            running = len(self.model.bodies)
            self._submit(Call(what, n, False))
            if len(self.model.bodies) > running:
                self._end_body(running, "succeed", used)

    def _end_body(self, index: int, how: str, used: int) -> None:
        assert self.live is not None
        step = self.model.steps[self.model.bodies.pop(index)]
        if how == "release":
            self.kernel.release(self.live, step.id)
            return
        if how == "succeed":
            step.status, step.result = "succeeded", f'"{len(self.model.steps)}"'
            if step.target == "m":
                step.result, step.tokens = response(used), used
            self.runner.run(self.kernel.succeed(self.live, step.id, step.result, identity.parse(step.result)))
        else:
            said = {"reason": "cancelled"} if how == "cancel" else {"type": "OSError"}
            step.status, step.error = "failed", identity.canonical({**said, "message": "no"})
            self.runner.run(self.kernel.fail(self.live, step.id, step.error))
        step.held = False

    @precondition(lambda self: self.replaced)
    @rule(pick=picks)
    def a_replaced_attempt_writes(self, pick: int) -> None:
        """It is told that it lost the execution, and leaves nothing."""
        attempt = self.replaced[pick % len(self.replaced)]
        submission = Submission("tool_call", "nobody", "{}", "safe_to_retry")
        try:
            answer = self.runner.run(self.kernel.submit(attempt, submission))
        except (LeaseSuperseded, Terminated):
            return
        assert attempt.blocked, answer
        assert answer.kind == "execution_blocked"

    # ------------------------------------------------------------ people, and time

    @precondition(lambda self: self.model.questions)
    @rule(
        pick=picks,
        granted=st.sampled_from([True, True, True, False]),
        by=st.sampled_from(["ana", "ben", "eva", "zoe"]),
        scope=st.sampled_from(["once", "once", "execution", "rule"]),
    )
    def vote(self, pick: int, granted: bool, by: str, scope: str) -> None:
        """Somebody answers a question, an open one if there is any."""
        asked = self.model.pending() or self.model.questions
        question = asked[pick % len(asked)]
        scope = scope if granted else "once"
        assert question.id is not None
        resolving = votes.resolve(self.store, question.id, granted=granted, decided_by=by, scope=scope)
        try:
            self.runner.run(resolving)
            told: type[APIError] | None = None
        except APIError as error:
            told = type(error)
        assert told is REFUSALS.get(self.model.vote(question, granted=granted, by=by, scope=scope))
        if self.model.ended:
            self.runner.run(self._forget_held())
            self.runner.run(self._crash())

    @rule(seconds=st.sampled_from([7.3, 31.7, 61.9, 901.1, -11.3]))
    def time_goes_by(self, seconds: float) -> None:
        """The clock goes on, or is set back."""
        self.clock.advance(seconds)
        self.model.now += seconds

    @rule()
    def overdue_questions_expire(self) -> None:
        """Somebody looks after what nobody answered."""
        self.runner.run(votes.expire_due(self.store))
        if not self.model.ended:
            self.model.expire()

    # ------------------------------------------------------------ after every step

    @invariant()
    def the_store_holds_what_the_model_does(self) -> None:
        """Rows are those of the model, the log is whole, and nothing that ended has changed."""
        self.runner.run(self._look())

    async def _look(self) -> None:
        store, model = self.store, self.model
        execution = await store.execution(model.id)
        assert execution.status == model.status
        rows = {step.step_id: step for step in await store.steps(model.id)}
        unwritten = {step.id for step in model.steps.values() if step.held}
        expected = {
            step.id: step.status for step in model.steps.values() if step.id in rows or step.id not in unwritten
        }
        assert {step_id: row.status.value for step_id, row in rows.items()} == expected
        asked = {question.id: question.status for question in await store.approvals(execution_id=model.id)}
        assert asked == {question.id: question.status for question in model.questions}
        for step_id, row in self.settled.items():
            assert rows[step_id] == row, "an end is never overwritten"
        self.settled = {step_id: row for step_id, row in rows.items() if row.status in ENDS}
        events = await store.events(model.id)
        assert [event.event_seq for event in events] == list(range(1, len(events) + 1))
        assert events[: len(self.log)] == self.log, "what is written stays"
        self.log = events
        follow(events)
        assert (await check(store, model.id)).fault == ""
