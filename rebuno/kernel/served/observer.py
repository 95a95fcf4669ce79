"""What a replica tells of its work, for metrics."""

from dataclasses import dataclass

from rebuno.journal.records import ApprovalRow, ExecutionRow, StepRow


@dataclass(frozen=True, slots=True)
class Webhook:
    """What an agent is sent: where, signed with which secret, and what it says. `lease` is in seconds."""

    url: str
    secret: str
    execution_id: str
    dispatch_id: str
    dispatch_attempt: int
    lease: float


class Observer:
    """Learns what one replica does; every method may be overridden, and none may raise."""

    def created(self, execution: ExecutionRow) -> None:
        """An execution was created, or forked from another one."""

    def ended(self, execution: ExecutionRow) -> None:
        """An execution completed, failed or was cancelled."""

    def overdue(self, count: int) -> None:
        """So many executions were cancelled because their deadlines had passed."""

    def judged(self, seconds: float) -> None:
        """A submission was identified, decided and settled, without the share of the write."""

    def settled(self, step: StepRow, execution: ExecutionRow) -> None:
        """The outcome of a body of this execution was recorded."""

    def delivered(self, webhook: Webhook, status: int, seconds: float) -> None:
        """A webhook was answered with this status (0: not at all) after so many seconds."""

    def exhausted(self) -> None:
        """An execution failed because its deliveries were used up."""

    def reclaimed(self) -> None:
        """A delivery was taken over from a lease that had run out."""

    def resolved(self, approval: ApprovalRow) -> None:
        """A question has its answer."""

    def expired(self, count: int) -> None:
        """So many questions were not answered in time."""
