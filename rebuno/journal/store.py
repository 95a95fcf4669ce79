"""The promises that every store keeps, in words and as a protocol."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from rebuno.journal.data_keys import DataKeyRow, SealedText
from rebuno.journal.notices import NoticeRow
from rebuno.journal.pot_records import PotState, Take
from rebuno.journal.records import (
    ApprovalRow,
    Batch,
    Copied,
    Dispatch,
    EventRow,
    ExecutionRow,
    Full,
    Holder,
    Lease,
    NewEvent,
    Spend,
    StepRow,
    Tombstone,
)
from rebuno.journal.resource_records import CheckpointRow, ResourceRow
from rebuno.journal.standing import StandingGrantRow
from rebuno.journal.stops import Restoration, StopRow
from rebuno.journal.success_page import SuccessPage
from rebuno.journal.words import RootRow, TurnRow

if TYPE_CHECKING:
    from rebuno.sealing import ExecutionKey, KeyRing


class Store(Protocol):
    """The durable records of executions.

    A batch is written whole or not at all, its events numbered without gap and chained to the row's head in the same
    transaction. The batches of one execution are committed in the order of `write`; one that fails takes no other
    execution's with it. After an error other than `Stale`, all later batches under the same lease fail with that error,
    so that what is lost is always the end of a log. What `committed` answered is on the disk.

    All methods are called from the event loop's thread. Every method may raise a `StoreError`.
    """

    @property
    def holder(self) -> Holder:
        """The identity of this open store, for the leases that it takes."""
        ...

    def now(self) -> float:
        """The time of the clock that stamps the rows, in seconds since 1970."""
        ...

    async def create(self, execution: ExecutionRow, events: Sequence[NewEvent], copied: Copied | None = None) -> bool:
        """Adds an execution with its first events and the rows `copied` with them; the row's `holder` takes its lease.
        False if the agent has one under this key already, or had one that retention took (`tombstone`), or if there is
        one with this id. Times are now, except where the execution (`created_at`) and the events bring their own."""
        ...

    def write(self, batch: Batch) -> None:
        """Submits a batch and returns at once; `batch.committed` is set in the event loop.

        It fails with `rebuno.errors.Stale` (the log moved past `base`, or past that of an earlier batch of one `basis`;
        a step or approval to be written has settled meanwhile, an approval has got another vote, or there is a turn of
        the same number), `Terminated` (the execution has ended), `LeaseSuperseded`, `NotFoundError` or a `StoreError`.
        """
        ...

    def keep(self, lease: Lease) -> None:
        """Renews this lease in the background until `drop`."""
        ...

    def drop(self, lease: Lease) -> None:
        """Stops renewing."""
        ...

    async def alive(self, execution: ExecutionRow) -> bool:
        """Whether the holder of this execution's lease is alive: on this host by the operating system, elsewhere until
        `lease_until`."""
        ...

    async def execution(self, execution_id: str) -> ExecutionRow:
        """The execution with this id, else `NotFoundError`."""
        ...

    async def find(self, agent_id: str, key: str) -> ExecutionRow | None:
        """The agent's execution under the caller's own id."""
        ...

    async def named(self, key: str) -> list[ExecutionRow]:
        """Every agent's execution under the caller's own id."""
        ...

    async def beginning(self, prefix: str) -> list[ExecutionRow]:
        """The executions whose ids begin with this text, ten at most."""
        ...

    async def executions(
        self,
        *,
        agent_id: str | None = None,
        session: str | None = None,
        status: str | None = None,
        before: str | None = None,
        limit: int = 50,
    ) -> list[ExecutionRow]:
        """Newest first, those older than the execution `before`."""
        ...

    async def steps(
        self, execution_id: str, *, after: int = 0, limit: int = 1000, unread: bool = False
    ) -> list[StepRow]:
        """A page of an execution's steps in the order of `decided_seq`, those decided after event `after`. With
        `unread` the arguments and the result of a success are not checked for damage."""
        ...

    async def successes(self, execution_id: str, *, after: int, limit: int) -> SuccessPage | None:
        """The page that `steps` gives in fewer values, several times as fast; None where not all of its steps succeeded
        under one bundle, or where one of their texts is long. Nobody looks whether the texts are damaged."""
        ...

    async def events(self, execution_id: str, *, after: int = 0, limit: int = 1000) -> list[EventRow]:
        """A page of an execution's events, those numbered above `after`."""
        ...

    async def events_at(self, execution_id: str, numbers: Sequence[int]) -> list[EventRow]:
        """The events of an execution that have these numbers, in their order."""
        ...

    async def approvals(
        self, *, execution_id: str | None = None, status: str | None = None, after: str | None = None, limit: int = 1000
    ) -> list[ApprovalRow]:
        """Approvals, oldest first, those asked for after the approval `after`; one that is not known has none."""
        ...

    async def approval(self, approval_id: str) -> ApprovalRow:
        """The approval with this id, else `NotFoundError`."""
        ...

    async def step(self, step_id: str) -> StepRow:
        """The step with this id, else `NotFoundError`."""
        ...

    async def turns(self, execution_id: str) -> list[TurnRow]:
        """What the user wrote into an execution after it began, in order."""
        ...

    async def root(self, execution_id: str) -> RootRow | None:
        """What the user wrote to the root of an execution that another one began, if that is recorded."""
        ...

    async def resources(self, execution_id: str) -> list[ResourceRow]:
        """The resources of an execution, in the order in which they were registered."""
        ...

    async def checkpoints(self, execution_id: str) -> list[CheckpointRow]:
        """The checkpoints of an execution's resources, in the order of the events that they cover."""
        ...

    async def dispatch(self, execution_id: str) -> Dispatch | None:
        """The dispatch of an execution, if it has one."""
        ...

    async def spend(
        self, step_id: str, spends: Sequence[Spend | Take], instead: Sequence[Spend | Take] = ()
    ) -> Full | None:
        """Takes one place for this step in every window and its amount from every pot, or nothing; then returns what
        has no room, of several the first in this order, windows first. Durable before it returns.

        A step that has its place already keeps it, so that the same step spends once however often it is asked for; one
        whose place has left the window takes a new one. Places that left the window are forgotten. What is counted for
        one execution only has a key that begins with the execution's id, and is buried with it.

        What it takes `instead` of what it had by an earlier decision replaces that in the same transaction: it has
        these amounts then, and what it had elsewhere is given back.

        From a full pot everything is given back first that certainly came to nothing: of a step that was denied before
        it started, that its execution has ended without, or of whose only start its tool says that nothing was done.
        """
        ...

    async def pots(self, *, after: str = "", limit: int = 1000) -> list[PotState]:
        """A page of the pots, those whose keys come after this one, in the order of their keys."""
        ...

    async def session_tokens(self, agent_id: str, session: str, but: str) -> int:
        """The input and output tokens that the model calls of a session's executions used, without those of the
        execution `but`. What a fork has copied is not counted twice."""
        ...

    async def approvals_due(self, before: float, *, limit: int = 100) -> list[ApprovalRow]:
        """Pending approvals whose `timeout_at` is before this time, the most overdue first."""
        ...

    async def executions_due(self, before: float, *, limit: int = 100) -> list[ExecutionRow]:
        """Executions that have not ended and whose `deadline_at` is before this time, the most overdue first."""
        ...

    async def executions_ended(self, before: float, *, limit: int = 100) -> list[ExecutionRow]:
        """Executions that ended before this time, oldest first."""
        ...

    async def bury(self, tombstone: Tombstone) -> bool:
        """Removes an ended execution with all its rows and leaves the tombstone. False if it does not exist or has not
        ended."""
        ...

    async def tombstone(self, agent_id: str, key: str) -> Tombstone | None:
        """The tombstone of the agent's execution under this key, or of any agent's with this id."""
        ...

    async def removed(self, ref: str) -> list[Tombstone]:
        """The tombstones whose ids begin with this text, or that any agent had under this key, ten at most."""
        ...

    async def lead(self, role: str, seconds: float) -> bool:
        """Whether this open store does the work of `role` for so many seconds; at most one store does at any time.
        Calling it again in time keeps the role; `close` gives it up."""
        ...

    @property
    def ring(self) -> "KeyRing | None":
        """The keys that wrap data keys, where the store was opened with some."""
        ...

    async def sealed(self, execution: ExecutionRow, *, secrets: bool = False) -> ExecutionRow:
        """A new execution with the key of the ring that it will be sealed under, or as it is. It is sealed where the
        store encrypts, where an execution is whose payloads it takes over, or because it has `secrets`. To be asked
        before its steps are identified and `create` is called.

        Raises:
            SealKeyMissing: it has to be sealed, and there is no key for it.
        """
        ...

    async def execution_key(self, execution: ExecutionRow) -> "ExecutionKey | None":
        """The data key of an execution; None where it is not sealed.

        Raises:
            SealKeyMissing, SealErased, SealBroken: it cannot be had; the execution may not go on.
        """
        ...

    def seals_whole(self, execution_id: str) -> bool:
        """Whether every payload is sealed of an execution whose key was asked for."""
        ...

    async def data_key(self, execution_id: str) -> DataKeyRow | None:
        """The wrapped data key of an execution, if it has one."""
        ...

    async def sealed_texts(self, execution_id: str, slots: Sequence[str]) -> list[SealedText]:
        """What is kept of an execution as ciphertext in these slots."""
        ...

    async def sealed_beginning(self, execution_id: str, beginning: str) -> list[SealedText]:
        """The same in the slots that begin so, in their order."""
        ...

    async def has_data_keys(self) -> bool:
        """Whether anything in the store is sealed."""
        ...

    async def key_ids(self) -> list[tuple[str, int, int]]:
        """Under which keys of a ring executions are sealed, how many, and how many of them were erased."""
        ...

    async def of_person(self, on_behalf_of: str) -> list[str]:
        """The ids of the executions that belong to one person, oldest first."""
        ...

    async def derived(self, execution_id: str) -> list[str]:
        """The ids of the executions that hold copies of what stands in this one: its forks, its subagents, and those
        that continue it."""
        ...

    async def erase(self, execution_ids: Sequence[str], by: str) -> int:
        """Destroys the data keys of executions that have ended, how many; the files may hold them until `purge`."""
        ...

    async def purge(self) -> int:
        """Sees to it that no byte of the store's files holds a data key that was erased; how many there were. Blocks
        other writers meanwhile."""
        ...

    async def save_bundle(self, digest: str, sources: Sequence[tuple[str, str]]) -> None:
        """Stores the (path, text) pairs of a policy under its digest; a repetition changes nothing."""
        ...

    async def bundle(self, digest: str) -> list[tuple[str, str]] | None:
        """The sources stored under a digest, or None."""
        ...

    async def save_definition(self, digest: str, text: str) -> None:
        """Stores what a server says of a tool under its digest; a repetition changes nothing."""
        ...

    async def definition(self, digest: str) -> str | None:
        """The text stored under a digest, or None."""
        ...

    async def definitions(self, *, after: str = "", limit: int = 1000) -> list[tuple[str, str]]:
        """A page of the stored definitions, digest and text, in the order of the digests."""
        ...

    async def add_stop(self, stop: StopRow) -> None:
        """Adds a standing denial."""
        ...

    async def lift_stop(self, stop_id: str, by: str) -> None:
        """Ends a standing denial now; a repetition, or where there is none, changes nothing."""
        ...

    async def stops(self, *, lifted: bool = False) -> list[StopRow]:
        """The standing denials, oldest first; with `lifted` those that were ended too."""
        ...

    async def add_standing_grant(self, grant: StandingGrantRow) -> None:
        """Adds a grant that outlives its execution."""
        ...

    async def revoke_standing_grant(self, grant_id: str, by: str) -> None:
        """Ends a standing grant now; a repetition, or where there is none, changes nothing."""
        ...

    async def last_answer(self, question: ApprovalRow, agent_id: str) -> ApprovalRow | None:
        """The newest other question of the same rule in an execution of this agent that was granted or denied."""
        ...

    async def standing_grants(
        self,
        *,
        agent_id: str | None = None,
        kind: str | None = None,
        target: str = "",
        now: float | None = None,
    ) -> list[StandingGrantRow]:
        """The grants that outlive their executions, oldest first: those of an agent, for steps of this `kind` and
        `target`, and that stand `now`; each where it is given."""
        ...

    async def restored(self) -> Restoration | None:
        """The newest restoration of the store that nobody has accepted."""
        ...

    async def mark_restored(self, by: str) -> None:
        """Says that the store was restored from a copy now."""
        ...

    async def accept_restored(self, by: str) -> None:
        """Accepts every restoration."""
        ...

    async def pieces_in_use(self) -> bool:
        """Whether long arguments are stored in pieces, which older kernels cannot read."""
        ...

    async def use_pieces(self) -> None:
        """Stores long arguments in pieces from now on; a repetition changes nothing."""
        ...

    async def close(self) -> None:
        """Writes the deferred changes and closes the store."""
        ...

    async def notices_owed(self, target: str) -> list[NoticeRow]:
        """What a target is to be told of questions and has no row yet, 100 at most, those of an earlier stage first:
        of questions that are open, or that were asked or answered since `notices_seen`. What a fork copied is not told
        again, except where it is still open."""
        ...

    async def notice_due(self, target: str) -> NoticeRow | None:
        """The first notice that a target is to be told now; one of a question waits until those before it are done."""
        ...

    async def notices_seen(self, target: str) -> float | None:
        """Up to when a target has rows for everything that it is owed; None for a new target."""
        ...

    async def add_notices(self, target: str, notices: Sequence[NoticeRow], seen_at: float | None) -> None:
        """Adds notices, and moves on `notices_seen` (None: not); a repetition changes nothing."""
        ...

    async def settle_notice(self, settled: NoticeRow) -> None:
        """Keeps what a try came to; what is done stays done."""
        ...
