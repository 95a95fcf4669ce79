"""One run of a handler as the kernel sees it: the journal in memory, who runs, and what this run has asked so far."""

import asyncio
import sys
from collections.abc import Iterable
from dataclasses import replace
from heapq import heappop, heappush
from typing import Any

from rebuno.errors import LeaseSuperseded, Stale, StoreError, Terminated
from rebuno.journal.records import (
    Approval,
    ApprovalWrite,
    Basis,
    Batch,
    Commit,
    Execution,
    ExecutionWrite,
    Lease,
    NewEvent,
    Step,
    StepWrite,
)
from rebuno.journal.store import Store
from rebuno.kernel.core import facts
from rebuno.kernel.core.recorded_steps import Recorded
from rebuno.model import identity
from rebuno.model.answer import Said
from rebuno.model.decision import Decision
from rebuno.model.step import Idempotency
from rebuno.policy.matcher.dependencies import LooksBack
from rebuno.policy.matcher.facts import Facts, History
from rebuno.policy.matcher.policy import Policy

# Evidence of the running attempt comes after everything that is recorded; its true event number is the store's affair.
NEWEST = 2**62
# How many of the steps that an attempt has added to the log are kept to be named.
MOST_FRESH = 10
# How long the start of a step may be kept back from the store, in seconds.
HOLD = 0.002


async def load(store: Store, execution_id: str) -> tuple[dict[str, Step], dict[str, Approval]]:
    """Every step and approval of an execution, in the order of the log."""
    steps: dict[str, Step] = {}
    after = 0
    while page := await store.steps(execution_id, after=after):
        steps.update((step.step_id, step) for step in page)
        after = page[-1].decided_seq
    asked = await store.approvals(execution_id=execution_id, limit=sys.maxsize)
    approvals = {approval.id: approval for approval in asked}
    return steps, approvals


class Attempt:
    """One run of one execution's handler.

    INVARIANT: everything here is touched from the event loop's thread only, and `recorded` changes in the same breath
    as the batch that writes the change is handed to the store.
    """

    def __init__(
        self,
        store: Store,
        policy: Policy,
        execution: Execution,
        lease: Lease,
        approvals: Iterable[Approval],
        input: object,
    ) -> None:
        self.store = store
        self.policy = policy
        self.execution = execution
        self.lease = lease
        # `execution.input`, read: a long one is read beside the event loop.
        self.input = input
        # The execution that began this one; anyone who makes an attempt of a fork looks it up.
        self.parent = execution.spawned_execution_id or execution.forked_from
        self._looks_back = LooksBack(policy)
        self._base = execution.head_seq
        self.recorded = self._reading(approvals, set())
        # The first steps that this attempt has added to the log, and how many there are.
        self.fresh: dict[str, Step] = {}
        self.fresh_count = 0
        self.head = execution.head_seq
        self.blocked = False
        # Whether a person is asked about whatever is new while recorded steps have not come again.
        self.block_diverged = False
        self.ended = False
        # The bodies that this attempt has started and not yet settled.
        self.bodies: set[str] = set()
        # How many recorded steps this attempt has answered from the journal.
        self.replayed = 0
        # Since when steps are parked, in seconds since 1970; None: the log was not asked yet.
        self.parked: dict[str, float] | None = None
        # Numbers that submissions gave back, the lowest first.
        self._freed: dict[tuple[str, str, str, str], list[int]] = {}
        self._counts: dict[tuple[str, str, str, str], int] = {}
        # Whether steps were counted by their ids alone.
        self._in_order = False
        self._judged: dict[str, Decision] = {}
        self._layers: dict[str, tuple[Decision, ...]] = {}
        self._basis = Basis()
        self._stale = False
        self._writes = 0
        self._in_flight: dict[Commit, Batch] = {}
        self._rereading: asyncio.Task[None] | None = None
        self._held: list[tuple[NewEvent, StepWrite]] = []
        # The arguments of the step that was decided about last in another thread, by its id: they are long.
        self.read: dict[str, Any] = {}
        # A decision that is made in another thread, which looks at `history`; see `heavy`.
        self.deciding: asyncio.Future[Any] | None = None

    def _reading(self, approvals: Iterable[Approval], visited: set[str]) -> Recorded:
        return Recorded(
            self.store,
            self.execution.id,
            self.lease.attempt,
            approvals,
            self._looks_back,
            base=self._base,
            digest=self.policy.digest,
            visited=visited,
        )

    @property
    def steps(self) -> dict[str, Step]:
        """The steps that may still be needed, as in `Recorded`."""
        return self.recorded.steps

    @property
    def approvals(self) -> dict[str, Approval]:
        """Every approval of the execution."""
        return self.recorded.approvals

    @property
    def tokens(self) -> int:
        """What model calls are known to have used so far, input and output tokens."""
        return self.recorded.tokens

    @property
    def history(self) -> History:
        """What policies may look back on, as far as it was read."""
        return self.recorded.history

    @property
    def past(self) -> History:
        """The same for anyone who decides at once, also while another thread looks at it."""
        return self.history if self.deciding is None else History(self.history.evidence)

    @property
    def weight(self) -> int:
        """The characters of the input, and of what earlier steps were given and gave, as JSON."""
        return len(self.execution.input) + self.recorded.weight

    # ------------------------------------------------------------ identity

    def count(self, scope: str, kind: str, target: str, args_hash: str) -> int:
        """How many identical submissions came before this one; counts it."""
        return self.take_number((scope, kind, target, args_hash))

    def take_number(self, key: tuple[str, str, str, str]) -> int:
        """`count` of a scope, kind, target and hash of arguments."""
        if self._freed and (freed := self._freed.get(key)):
            number = heappop(freed)
            if not freed:
                del self._freed[key]
            return number
        occurrence = self._counted(key)
        self._counts[key] = occurrence + 1
        return occurrence

    def next_number(self, key: tuple[str, str, str, str]) -> int:
        """The number that `take_number` would give; counts nothing."""
        freed = self._freed.get(key) if self._freed else None
        return freed[0] if freed else self._counted(key)

    def _counted(self, key: tuple[str, str, str, str]) -> int:
        occurrence = self._counts.get(key, 0)
        if occurrence == 0 and self._in_order:
            return int(identity.step_id(*key, 0) in self.recorded.visited)
        return occurrence

    def take_next(self, said: Said) -> tuple[Any] | None:
        """What the result of the recorded success reads as that the handler comes to now, if it does so in the recorded
        order and nothing like it came before, so that its number is 0: then the handler has it. Else None, and nothing
        is counted."""
        if self._freed:
            return None
        value = self.recorded.take_next(said)
        if value is not None:
            # INVARIANT: a step 0 that is reached in this way is counted by being visited.
            self._in_order = True
            self.replayed += 1
        return value

    def uncount(self, scope: str, kind: str, target: str, args_hash: str, occurrence: int) -> None:
        """Takes back a submission that was not recorded: the next identical one gets its number."""
        heappush(self._freed.setdefault((scope, kind, target, args_hash), []), occurrence)

    # ------------------------------------------------------------ judging

    def today(self, step: Step) -> Decision:
        """What today's bundle says about a recorded step, on the facts of its first submission."""
        return facts.as_recorded(step) if step.digest == self.policy.digest else self.judge(step)

    def judge(self, step: Step) -> Decision:
        """The same, whatever bundle decided when it was recorded."""
        if step.step_id not in self._judged:
            self._judged[step.step_id] = self.policy.decide(self.facts_of(step))
        return self._judged[step.step_id]

    def layers_of(self, step: Step) -> tuple[Decision, ...]:
        """What the layers of today's policy say about a recorded step."""
        if self.policy.layers and step.step_id not in self._layers:
            looked_at = self.facts_of(step)
            self._layers[step.step_id] = tuple([layer.decide(looked_at) for layer in self.policy.layers])
        return self._layers.get(step.step_id, ())

    def facts_of(self, step: Step, past: History | None = None) -> Facts:
        """The facts of a recorded step's first submission, looking back on `past`, else on all that is known."""
        agent, past = self.execution.agent_id, self.past if past is None else past
        return facts.of_known(step, agent=agent, input=self.input, past=past, parent=self.parent)

    def judged(self, step_id: str) -> bool:
        """Whether `judge` has its answer already."""
        return step_id in self._judged

    def keep_judged(self, step_id: str, decision: Decision, layers: tuple[Decision, ...]) -> None:
        """Takes what `judge` and, where there are any, `layers_of` would say."""
        self._judged[step_id] = decision
        if layers:
            self._layers[step_id] = layers

    def _judge_anew(self) -> None:
        self._judged.clear()
        self._layers.clear()

    async def known(self, step_id: str) -> Step | None:
        """What the journal knows of a step; unless that is how it ended, all that it knows has been read by then."""
        while True:
            await self.current()
            recorded = self.recorded
            step = await recorded.find(step_id)
            if step is None or not step.status.terminal:
                await recorded.all()
            if recorded is self.recorded and not self._stale:
                return step

    async def all_known(self) -> None:
        """Returns once this memory holds the whole log, with what other processes have added to it."""
        await self.current()
        while not self.recorded.complete:
            await self.recorded.all()
            await self.current()

    def visit(self, step_id: str) -> None:
        """The handler has the answer to a recorded step."""
        self.recorded.visit(step_id)
        if self._judged:
            self._judged.pop(step_id, None)
            self._layers.pop(step_id, None)

    def knows(self, step_id: str) -> bool:
        """Whether this attempt has come to a recorded step, or recorded it itself."""
        recorded = self.recorded
        return step_id in recorded.visited or (step_id in recorded.steps and step_id not in recorded.unvisited)

    def inside_once(self, parent_id: str) -> bool:
        """Whether a step submitted in the body of `parent_id` may not wait: it is inside the body of an `at_most_once`
        step, or of one that has ended meanwhile, in which no later attempt will come to it again."""
        while parent_id:
            # What has ended is not kept.
            parent = self.steps.get(parent_id)
            if parent is None or parent.status.terminal or parent.idempotency is Idempotency.ONCE:
                return True
            parent_id = parent.parent_id
        return False

    def pending(self) -> list[Approval]:
        """The questions that nobody has answered yet."""
        return [approval for approval in self.approvals.values() if approval.status == "pending"]

    # ------------------------------------------------------------ writing

    def check(self) -> None:
        """Refuses what comes after the end, a lost lease or a failed write.

        Raises:
            Terminated, LeaseSuperseded, StoreError
        """
        if self.lease.poison is not None:
            raise self.lease.poison
        if self.lease.lost:
            raise LeaseSuperseded
        if self.ended:
            raise Terminated("the handler has ended; nothing can be submitted by what outlived it")

    def undisturbed(self) -> bool:
        """Whether `check` has nothing to say and `current` nothing to wait for."""
        lease = self.lease
        return lease.poison is None and not lease.lost and not self.ended and not self._stale

    def at_end(self) -> bool:
        """Whether nothing that was recorded before this attempt is left for the handler to come to."""
        recorded = self.recorded
        return recorded.complete and not recorded.unvisited

    def write(
        self,
        events: Iterable[NewEvent],
        *,
        steps: Iterable[StepWrite] = (),
        approvals: Iterable[ApprovalWrite] = (),
        execution: ExecutionWrite | None = None,
        judged: bool,
        deferred: bool = False,
    ) -> Commit:
        """Hands a change to the store and to this memory. A `judged` change rests on the log as this attempt knows it,
        and fails with `Stale` where another process has added to it."""
        if judged:
            self.release_held()
        elif self._held:
            events, steps = self._with_held(tuple(events), tuple(steps))
        batch = Batch(
            self.execution.id,
            tuple(events),
            tuple(steps),
            tuple(approvals),
            execution,
            base=self.head if judged else None,
            basis=self._basis if judged else None,
            lease=self.lease,
            deferred=deferred,
        )
        # First: a batch that is refused at once (no JSON, a closed store) leaves this memory as it was.
        self.store.write(batch)
        self.head += len(batch.events)
        self._writes += 1
        for change in batch.steps:
            self._put(change)
        for question in batch.approvals:
            self.recorded.put_approval(question.approval)
        self._in_flight[batch.committed] = batch
        batch.committed.tell(self._settled)
        return batch.committed

    def hold(self, event: NewEvent, step: Step) -> None:
        """Keeps the first event of a step back for a moment, to travel with the next change of this attempt: with the
        outcome of the step's own body, as a rule, and then as one change of one row."""
        if not self._held:
            asyncio.get_running_loop().call_later(HOLD, self._held_long_enough)
        position = len(self._held)
        change = StepWrite(step, decided=position, started=position)
        self._held.append((event, change))
        self._writes += 1
        self._put(change)

    def _put(self, change: StepWrite) -> None:
        step = change.step
        if change.decided is not None and not self.knows(step.step_id):
            self.fresh_count += 1
            if len(self.fresh) < MOST_FRESH:
                self.fresh[step.step_id] = step
        self.recorded.put(step)

    def release_held(self) -> None:
        """Hands over what was kept back."""
        held, self._held = self._held, []
        if held and not self.ended:
            self.write([event for event, _ in held], steps=[change for _, change in held], judged=False, deferred=True)

    def _held_long_enough(self) -> None:
        try:
            self.release_held()
        except StoreError as error:
            self.lease.poison = error

    def _with_held(
        self, events: tuple[NewEvent, ...], steps: tuple[StepWrite, ...]
    ) -> tuple[tuple[NewEvent, ...], tuple[StepWrite, ...]]:
        held, self._held = self._held, []
        changes = {change.step.step_id: change for _, change in held}
        for change in steps:
            moved = change.moved(len(held))
            first = changes.get(change.step.step_id)
            if first is not None:
                moved = replace(moved, decided=first.decided, started=first.started)
            changes[change.step.step_id] = moved
        return (*(event for event, _ in held), *events), tuple(changes.values())

    def _settled(self, committed: Commit) -> None:
        batch = self._in_flight.pop(committed)
        # Every other error is in the lease's `poison` already.
        if not committed.cancelled() and isinstance(committed.exception(), Stale):
            self._stale = True
            for change in batch.steps:
                # What was new in it is not recorded, and new again at the next try.
                self.fresh_count -= change.decided is not None
                self.fresh.pop(change.step.step_id, None)

    async def current(self) -> None:
        """Returns once this memory holds what other processes have added to the log."""
        while self._stale:
            if self._rereading is None:
                self._rereading = asyncio.create_task(self._reread())
            await asyncio.shield(self._rereading)

    async def _reread(self) -> None:
        try:
            while True:
                self.release_held()
                if self._in_flight:
                    await asyncio.wait(self._in_flight)
                seen = self._writes
                execution = await self.store.execution(self.execution.id)
                asked = await self.store.approvals(execution_id=self.execution.id, limit=sys.maxsize)
                recorded = self._reading(asked, self.recorded.visited)
                await recorded.all()
                if self._writes == seen and not self._in_flight:
                    break
            if execution.status.terminal:
                self.ended = True
            self.execution, self.head, self.recorded = execution, execution.head_seq, recorded
            self._judge_anew()
            self._basis = Basis()
            self._stale = False
        finally:
            self._rereading = None

    def start(self, step: Step) -> None:
        """A body of this attempt is about to run: from now on its step may have done something."""
        self.bodies.add(step.step_id)
        if self._looks_back.about(step.kind, step.target):
            args = self.read.pop(step.step_id, None) or identity.parse(step.args)
            self.history.append(facts.started(step, NEWEST, args))

    def succeeded(self, step: Step, value: object) -> None:
        """Adds a success of this attempt, with the result as a JSON value, to the evidence."""
        self.recorded.weight += len(step.args) + len(step.result or "")
        if self._looks_back.about(step.kind, step.target):
            # Long arguments take long to read, and its start has them.
            began = next((one for one in reversed(self.history.evidence) if one.step == step.step_id), None)
            args = identity.parse(step.args) if began is None else began.args
            self.history.append(facts.ended(step, NEWEST, args, value))

    def forget(self) -> None:
        """Lets go of what was read and counted, after the end: references in a circle may keep the rest for long."""
        self._counts.clear()
        self.recorded.forget()
        if self._rereading is not None:
            # The callers that waited for it are gone.
            self._rereading.cancel()

    def unsettled(self) -> list[Step]:
        """The steps that have no end yet."""
        return [step for step in self.steps.values() if not step.status.terminal]

    def unknown_twin(self, kind: str, target: str, args_hash: str) -> bool:
        """Whether an `at_most_once` step of this very content started once and nobody knows how it ended."""
        return (kind, target, args_hash) in self.recorded.unknown
