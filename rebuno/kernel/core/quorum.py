"""Who must agree before a step may run, and for how long an answer is awaited and holds."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from rebuno import types
from rebuno.journal.records import ApprovalRow
from rebuno.kernel.core.names import folded
from rebuno.model.decision import Decision
from rebuno.model.obligation import Obligation, Otherwise

# How old a grant may be when its step starts, in seconds, where no rule says otherwise.
GRANT_LASTS = 15 * 60

GRANT, DENY = "grant", "deny"


@dataclass(frozen=True, slots=True)
class Panel:
    """At least `quorum` of the `approvers` must grant (none named: of all people)."""

    approvers: tuple[str, ...] = ()
    quorum: int = 1

    def seats(self, name: str) -> bool:
        """Whether this person may answer, the name taken letter by letter."""
        return not self.approvers or name in self.approvers

    def implies(self, other: "Panel") -> bool:
        """Whether whatever satisfies this panel satisfies the other one."""
        if not other.approvers:
            return self.quorum >= other.quorum
        outside = len(set(self.approvers) - set(other.approvers))
        return bool(self.approvers) and self.quorum - outside >= other.quorum


@dataclass(frozen=True, slots=True)
class Terms:
    """What the rules that ask demand. Every one of the `panels` must agree; an unanswered question waits `expires`
    seconds (None: as long as it takes), `message` is what people are shown."""

    panels: tuple[Panel, ...]
    expires: int | None = None
    message: str = ""

    @property
    def approvers(self) -> tuple[str, ...]:
        """All who may answer; nobody named: anyone."""
        if not all(panel.approvers for panel in self.panels):
            return ()
        return tuple(dict.fromkeys(name for panel in self.panels for name in panel.approvers))

    @property
    def quorum(self) -> int:
        """How many grants are enough, if the right people give them; of several panels somebody may sit in two, so that
        fewer can do."""
        wanted = sum(panel.quorum for panel in self.panels)
        return min(wanted, len(self.approvers)) if self.approvers else wanted


def terms(decision: Decision, over: Collection[Obligation] = ()) -> Terms:
    """What this decision demands of an approval: of the rules of every layer that asks, the strictest together.

    A rule that asks only over a limit or a budget (`over`, or the one that decided) demands something only then.
    """
    asking = [
        obligation.asking
        for obligation in decision.obligations
        if obligation.asking is not None
        and (
            not _asks_only_over(obligation)
            or obligation in over
            or (obligation.bundle, obligation.rule_id) == (decision.bundle, decision.rule_id)
        )
    ]
    waits = [asked.expires for asked in asking if asked.expires is not None]
    others = dict.fromkeys(asked.message for asked in asking if asked.message not in decision.message)
    return Terms(
        _reduced([Panel(asked.approvers, asked.quorum) for asked in asking]),
        min(waits, default=None),
        "\n".join(message for message in (decision.message, *others) if message),
    )


def agreed(panels: Iterable[Panel], names: Collection[str]) -> bool:
    """Whether these people are enough for every panel."""
    return all(len({folded(name) for name in names if panel.seats(name)}) >= panel.quorum for panel in panels)


def granters(approval: ApprovalRow | types.Approval) -> tuple[str, ...]:
    """Who has granted so far."""
    if approval.votes:
        return tuple(vote.decided_by for vote in approval.votes if vote.decision == GRANT)
    # What an earlier version recorded has no votes.
    return (approval.decided_by or "",) if approval.status == "granted" else ()


def _asks_only_over(obligation: Obligation) -> bool:
    clauses = (obligation.limit, obligation.budget)
    return any(clause is not None and clause.otherwise is Otherwise.APPROVAL for clause in clauses)


def _reduced(panels: Iterable[Panel]) -> tuple[Panel, ...]:
    """Without the panels that another one implies; at least one person is always asked."""
    kept: list[Panel] = []
    for panel in panels:
        if not any(other.implies(panel) for other in kept):
            kept = [other for other in kept if not panel.implies(other)] + [panel]
    return tuple(kept) or (Panel(),)
