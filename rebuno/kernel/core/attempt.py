"""One run of a handler as the kernel sees it: the journal in memory, who runs, and what this run has asked so far."""

import asyncio
import sys
from collections.abc import Iterable
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any

from rebuno.errors import LeaseSuperseded, NotFoundError, Stale, StoreError, Terminated
from rebuno.journal.records import (
    ApprovalRow,
    ApprovalWrite,
    Basis,
    Batch,
    Commit,
    ExecutionRow,
    ExecutionWrite,
    Lease,
    NewEvent,
    StepRow,
    StepWrite,
)  # fmt: skip
from rebuno.journal.resource_records import ResourceChanges, ResourceRow
from rebuno.journal.rows import is_sound
from rebuno.journal.store import Store
from rebuno.kernel.core import facts, resources, stops
from rebuno.kernel.core.background import NOTHING, UNKNOWN
from rebuno.kernel.core.effects import Effects, Identified, Need, PageNeeded, Routed, with_held
from rebuno.kernel.core.origins import background
from rebuno.kernel.core.recorded_steps import RecordedSteps
from rebuno.kernel.core.sealed import seals_of
from rebuno.model import identity
from rebuno.model.answer import Answer, AnswerKind, CallKey
from rebuno.policy import Facts, History, HistoryDependencies, Policy

if TYPE_CHECKING:
    from rebuno.kernel.core.heavy import Foreseen

# Evidence of the running attempt comes after all that is recorded, in its own order; its true event number is the
# store's affair.
NEWEST = 2**62
# How many of the steps that an attempt has added to the log are kept to be named.
MOST_FRESH = 10
# How long the start of a step may be kept back from the store, in seconds.
HOLD = 0.002


class Attempt:
    """One run of one execution's handler.

    INVARIANT: everything here is touched from the event loop's thread only, and `recorded` changes in the same breath
    as the batch that writes the change is handed to the store.
    """

    # Whether its bodies run in another program, which goes on while a call waits for a person.
    hosted = False
    # Whether a policy is recorded and not enforced: what it does not let in starts all the same.
    observes = False
    asks_for: float | None = None  # seconds that a question stands whose rule does not say it; None: for ever

    def __init__(
        self,
        store: Store,
        policy: Policy,
        execution: ExecutionRow,
        lease: Lease,
        approvals: Iterable[ApprovalRow],
        input: object,
    ) -> None:
        self.store = store
        # What is sealed in the execution, where something is.
        self.seals = seals_of(store)
        self.policy = policy
        self.execution = execution
        self.lease = lease
        # `execution.input`, read: a long one is read beside the event loop.
        self.input = input
        # Who began it and what was said to it, as far as the policy asks; `hear` looks it up.
        self.background = UNKNOWN if execution.spawned_execution_id or execution.forked_from else NOTHING
        # The session that limits count in; None: that of a fork's source was not looked up.
        self.session = execution.session or (None if execution.forked_from else "")
        self._looks_back = HistoryDependencies(policy)
        # Whether the policy may ask for what the user wrote after the execution began.
        self.listens = self._looks_back.turns
        # Whether the policy may ask about any step.
        self._is_asked_about = bool(self._looks_back)
        self._base = execution.head_seq
        self.recorded = self._reading(approvals, set())
        # The first steps that this attempt has added to the log, and how many there are.
        self.fresh: dict[str, StepRow] = {}
        self.fresh_count = 0
        self.head = execution.head_seq
        # The resources that it works on, by their keys.
        self.resources: dict[str, ResourceRow] = {}
        self.blocked = False
        # While it is looked up whether a person must be asked about a step.
        self.asking: asyncio.Future[None] | None = None
        # Whether a person is asked about whatever is new while recorded steps have not come again.
        self.block_diverged = False
        self.ended = False
        # The bodies that this attempt has started and not yet settled.
        self.bodies: set[str] = set()
        # The digests of definitions whose text the store is known to have.
        self.described: set[str] = set()
        # How many recorded steps this attempt has answered from the journal.
        self.replayed = 0
        # What an operator has stopped in the store, and the steps of which the log says that they wait for that.
        self.standing = stops.of(store)
        self.held_back: set[str] = set()
        # Since when steps are parked, in seconds since 1970; None: the log was not asked yet.
        self.parked: dict[str, float] | None = None
        # Numbers that submissions gave back, the lowest first.
        self._freed: dict[tuple[str, str, str, str], list[int]] = {}
        self._counts: dict[tuple[str, str, str, str], int] = {}
        self._in_order = False  # whether steps were counted by their ids alone
        # The numbers of the evidence that this attempt adds.
        self._numbers = count(NEWEST + 1)
        self._basis = Basis()
        self._stale = False
        self._writes = 0
        self._in_flight: dict[Commit, Batch] = {}
        self._rereading: asyncio.Task[None] | None = None
        self._held: list[tuple[NewEvent, StepWrite]] = []
        # The arguments of the step that was decided about last in another thread, by its id: they are long.
        self.read_args: dict[str, Any] = {}
        # What another thread has decided about recorded steps, by their ids; see `heavy`.
        self.judged: dict[str, Foreseen] = {}
        # A decision that is made in another thread, which looks at `history`; see `heavy`.
        self.deciding: asyncio.Future[Any] | None = None

    def _reading(self, approvals: Iterable[ApprovalRow], visited: set[str]) -> RecordedSteps:
        return RecordedSteps(
            self.store,
            self.execution.id,
            self.lease.attempt,
            approvals,
            self._looks_back,
            base=self._base,
            digest=self.policy.digest,
            visited=visited,
            weight=len(self.execution.input),
        )

    @property
    def steps(self) -> dict[str, StepRow]:
        """The steps that may still be needed, as in `RecordedSteps`."""
        return self.recorded.steps

    @property
    def approvals(self) -> dict[str, ApprovalRow]:
        """Every approval of the execution."""
        return self.recorded.approvals

    @property
    def history(self) -> History:
        """What policies may look back on, as far as it was read."""
        return self.recorded.history

    @property
    def past(self) -> History:
        """The same for anyone who decides at once, also while another thread looks at it."""
        return self.history if self.deciding is None else History(self.history.evidence)

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
            return int((self.seals or identity).step_id(*key, 0) in self.recorded.visited)
        return occurrence

    def take_next(self, call_key: CallKey) -> tuple[Any] | None:
        """What the result of the recorded success reads as that the handler comes to now, if it does so in the recorded
        order and nothing like it came before, so that its number is 0: then the handler has it. Else None, and nothing
        is counted."""
        if self._freed:
            return None
        value = self.recorded.take_next(call_key)
        if value is not None:
            # INVARIANT: a step 0 that the handler came to in this way is counted by being visited.
            self._in_order = True
            self.replayed += 1
        return value

    def uncount(self, step: Identified) -> None:
        """Takes back a submission that was not recorded: the next identical one gets its number."""
        key = (step.scope, step.kind.value, step.target, step.args_hash)
        heappush(self._freed.setdefault(key, []), step.occurrence)

    # ------------------------------------------------------------ judging

    async def hear(self) -> None:
        """Looks up who began the execution and what was said to it."""
        self.background = await background(self.store, self.execution, self._looks_back)

    def first_facts(self, step: Identified, past: History | None = None, now: float | None = None) -> Facts:
        """What the policy looks at where a step is new: all that is known now, or else this `past` and `now`."""
        facts = Facts(
            step.kind,
            step.target,
            identity.reread(step.args),
            agent=self.execution.agent_id,
            input=self.input,
            history=self.recorded.history if past is None else past,
            now=self.store.now() if now is None else now,
            definition=None if step.definition is None else step.definition.facts,
        )
        if self.seals is not None:
            facts.shown = partial(self.seals.shown_facts, step.step_id)
        return facts if self.background is NOTHING else self.background.tell(facts)

    def facts(self, known: StepRow, past: History | None = None) -> Facts:
        """What the policy looks at where a step is recorded: its first submission, and what was known then (`past`)."""
        agent, input, past = self.execution.agent_id, self.input, self.past if past is None else past
        found = facts.of_known(known, agent=agent, input=input, past=past, background=self.background)
        if self.seals is not None:
            found.shown = partial(self.seals.shown_facts, known.step_id)
        return found

    def find(self, step_id: str) -> StepRow | PageNeeded | None:
        """What the journal knows of a step, None where it is new; a Need where more must be read to say so: unless that
        is how the step ended, all that the journal knows."""
        recorded = self.recorded
        step = recorded.steps.get(step_id)
        complete = recorded.at_end and not recorded.ahead
        if self._stale or not (complete or (step is not None and step.status.terminal)):
            return PageNeeded(step_id)
        # One of which the texts were not kept, or hold no JSON: the store says what is wrong with its row.
        return step if step is None or (step.args and is_sound(step)) else PageNeeded(step_id)

    async def read(self, step_id: str) -> None:
        """Returns once `find` can say what the journal knows of a step."""
        while True:
            await self.current()
            recorded = self.recorded
            step = await recorded.find(step_id)
            if step is None or not step.status.terminal:
                await recorded.all()
            if recorded is self.recorded and not self._stale:
                return

    async def all_known(self) -> None:
        """Returns once this memory holds the whole log, with what other processes have added to it."""
        await self.current()
        while not self.recorded.complete:
            await self.recorded.all()
            await self.current()

    def visit(self, step_id: str) -> None:
        """The handler has the answer to a recorded step."""
        self.recorded.visit(step_id)
        if self.judged:
            self.judged.pop(step_id, None)

    def knows(self, step_id: str) -> bool:
        """Whether this attempt has come to a recorded step, or recorded it itself."""
        recorded = self.recorded
        return step_id in recorded.visited or (step_id in recorded.steps and step_id not in recorded.unvisited)

    def child_of(self, step: Identified) -> Need | None:
        """A Need where a subagent of a started step must be looked up; an execution in this process has none."""
        return None

    def pending(self) -> list[ApprovalRow]:
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
        """Whether it is `undisturbed`, and nothing that was recorded before it is left for the handler to come to."""
        recorded, lease = self.recorded, self.lease
        if recorded.unvisited or recorded.ahead or not recorded.at_end:
            return False
        return lease.poison is None and not lease.lost and not self.ended and not self._stale

    def append(self, routed: Routed) -> Commit | None:
        """Hands over what an answer rests on; None where that is recorded already, or is kept back."""
        answer, effects = routed.answer, routed.effects
        if answer.kind is AnswerKind.BLOCKED:
            self.blocked = True
        if effects is None:
            return None
        self.take_in(answer, effects)
        if effects.held:
            self.hold(effects.events[0], effects.steps[0].step)
            return None
        more = effects.external
        return self.write(effects.events, steps=effects.steps, approvals=effects.approvals, external=more, judged=True)

    def take_in(self, answer: Answer, effects: Effects) -> None:
        """Adds to the evidence what an answer is about to write: a body that starts, a step that the kernel ends."""
        if answer.kind is AnswerKind.PROCEED:
            self.start(effects.steps[0].step)
        for change in effects.steps:
            if change.settled is not None and change.step.started_seq:
                self.settled(change.step)

    def write(
        self,
        events: Iterable[NewEvent],
        *,
        steps: Iterable[StepWrite] = (),
        approvals: Iterable[ApprovalWrite] = (),
        execution: ExecutionWrite | None = None,
        external: ResourceChanges | None = None,
        judged: bool,
        deferred: bool = False,
    ) -> Commit:
        """Hands a change to the store and to this memory. A `judged` change rests on the log as this attempt knows it,
        and fails with `Stale` where another process has added to it."""
        if self.resources:
            steps = tuple(steps)
            external = resources.settled(self.resources, steps, external)
        if self._held and (judged or external is not None):
            self.release_held()
        elif self._held:
            held, self._held = self._held, []
            events, steps = with_held(held, tuple(events), tuple(steps))
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
            external=external,
        )
        fresh = [c.step for c in batch.steps if c.decided is not None and not self.knows(c.step.step_id)]
        # First: a batch that is refused at once (no JSON, a closed store) leaves this memory as it was.
        self.store.write(batch)
        self.head += len(batch.events)
        self._writes += 1
        self.fresh_count += len(fresh)
        for step in fresh[: MOST_FRESH - len(self.fresh)]:
            self.fresh[step.step_id] = step
        for change in batch.steps:
            self.recorded.put(change.step)
        for question in batch.approvals:
            self.recorded.put_approval(question.approval)
        if external is not None:
            self.resources = resources.after(self.resources, external)
        self._in_flight[batch.committed] = batch
        batch.committed.tell(self._settled)
        return batch.committed

    def hold(self, event: NewEvent, step: StepRow) -> None:
        """Keeps the first event of a step back for a moment, to travel with the next change of this attempt: with the
        outcome of the step's own body, as a rule, and then as one change of one row."""
        if not self._held:
            asyncio.get_running_loop().call_later(HOLD, self._held_long_enough)
        position = len(self._held)
        change = StepWrite(step, decided=position, started=position)
        self._held.append((event, change))
        self._writes += 1
        # It is new: only a new step is kept back.
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
                found = await resources.load(self.store, execution.id)
                if self.listens:
                    await self.hear()
                if self._writes == seen and not self._in_flight:
                    break
            if execution.status.terminal:
                self.ended = True
            self.execution, self.head, self.recorded = execution, execution.head_seq, recorded
            self.resources = found
            self._basis = Basis()
            self._stale = False
        finally:
            self._rereading = None

    def running(self, step_id: str) -> StepRow:
        """The step whose body runs in this attempt; else `NotFoundError`. Also raises as `check`."""
        self.check()
        step = self.recorded.steps.get(step_id)
        if step is None or step_id not in self.bodies:
            raise NotFoundError(f"the step `{step_id}` is not running in this attempt")
        return step

    def end_body(self, row: StepRow, event: NewEvent, value: object, *, deferred: bool) -> Commit:
        """Writes how a body ended; `value` is what the result of a success reads as. The commit of a `deferred` outcome
        may come later than its answer."""
        self.bodies.discard(row.step_id)
        self.settled(row, value)
        return self.write((event,), steps=(StepWrite(row, settled=0),), judged=False, deferred=deferred)

    def start(self, step: StepRow) -> None:
        """A body of this attempt is about to run: from now on its step may have done something."""
        self.bodies.add(step.step_id)
        if self._is_asked_about and self._looks_back.about(step.kind, step.target):
            args = self.read_args.pop(step.step_id, None) or identity.parse(step.call_args)
            granted = self.recorded.grants_of(step.step_id)
            self.history.append(facts.started(step, next(self._numbers), args, granted, round(self.store.now(), 6)))

    def settled(self, step: StepRow, value: object = None) -> None:
        """Adds the end of a step of this attempt to the evidence; `value` is the result of a success, as JSON value."""
        self.recorded.weight += len(step.args) + len(step.result or "")
        if self._is_asked_about and self._looks_back.about(step.kind, step.target):
            # Long arguments take long to read, and its start has them.
            began = next((one for one in reversed(self.history.evidence) if one.step == step.step_id), None)
            granted = self.recorded.grants_of(step.step_id)
            began = began or facts.started(step, NEWEST, identity.parse(step.call_args), granted)
            self.history.append(facts.ended(step, next(self._numbers), began, value, round(self.store.now(), 6)))

    def forget(self) -> None:
        """Lets go of what was read and counted, after the end: references in a circle may keep the rest for long."""
        self._counts.clear()
        self.recorded.forget()
        if self._rereading is not None:
            # Nobody waits for it any more.
            self._rereading.cancel()
