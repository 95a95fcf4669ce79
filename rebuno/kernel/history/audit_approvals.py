"""Holds a question's row against the log: who was asked, who has answered what, and what the answer covers."""

from typing import Any, Final

from rebuno.journal.records import ApprovalRow, EventRow
from rebuno.journal.sealed.seal import is_hidden
from rebuno.kernel.core.grants import GrantScope
from rebuno.kernel.core.quorum import DENY, GRANT
from rebuno.model import identity
from rebuno.model.clock import from_rfc3339

# How a question ends.
ANSWERS: Final = frozenset({"granted", "denied", "expired", "withdrawn"})
# In seconds, and a little more than one: floats of our time are that coarse.
_MICROSECOND: Final = 2e-6


class AuditedQuestion:
    """What the log says of one approval, from the event that asks it; `decision` is the payload of its step's event
    that made the kernel ask. A `copied` one is that of the execution that this one was forked from."""

    def __init__(self, event: EventRow, decision: dict[str, Any], *, copied: bool = False) -> None:
        self.requested = event.event_seq
        self._decision = decision
        self._copied = copied
        self._asked = event.payload
        self._asked_at = event.occurred_at
        self._status = "pending"
        self._resolved = 0
        self._said: dict[str, Any] = {}
        self._resolved_at = ""
        self._scope: str = GrantScope.ONCE
        self._votes: list[tuple[str, str, str, str]] = []
        # The hash of the arguments that the grants are for, where a person has changed them.
        self._ran: str | None = event.payload.get("ran_hash")

    def answered(self, event: EventRow, what: str) -> None:
        """Takes in an event that answers it: `voted`, or one of `ANSWERS`."""
        said = event.payload
        self._scope = said.get("scope", self._scope)
        if "ran_hash" in said:
            self._ran = said["ran_hash"]
            # The changed call asks these.
            self._asked = {**self._asked, "approvers": said["approvers"], "quorum": said["quorum"]}
        if "decided_by" in said:
            decision = said["decision"] if what == "voted" else DENY if what == "denied" else GRANT
            self._votes.append((said["decided_by"], decision, said.get("asserted_by", ""), said.get("rationale", "")))
        if what != "voted":
            self._status, self._resolved, self._said = what, event.event_seq, said
            self._resolved_at = event.occurred_at

    def fault(self, row: ApprovalRow) -> str:
        """What is wrong with the row, in words, or empty."""
        if row.step_id != self._asked["step_id"] or row.requested_seq != self.requested:
            return "it is about another step or event"
        if row.status != self._status or row.resolved_seq != self._resolved:
            return f"it is {row.status}, and {self._status} by its events"
        if self._said.get("decided_by", "") != row.decided_by:
            return "another person has answered"
        # In a fork a grant covers its one step only, whatever it covered in the source.
        wider = row.scope != (GrantScope.ONCE if self._copied else self._scope)
        if (
            wider
            or row.cause != self._asked.get("cause", row.cause)
            or not (is_hidden(row.rationale) or row.rationale == self._said.get("rationale", ""))
        ):
            return "what was asked or answered is another thing"
        if not (same_time(row.created_at, self._asked_at) and same_time(row.decided_at, self._resolved_at)):
            return "the times are not those of its events"
        if not is_hidden(row.edited) and (identity.args_hash(row.edited) if row.edited else None) != self._ran:
            return "the changed arguments are not those that were granted"
        if list(row.edits) != self._asked.get("edits", []):
            return "what may be changed is something else"
        # What an earlier version asked says nothing of those whom it asks.
        return self._panel_fault(row) if "quorum" in self._asked else ""

    def _panel_fault(self, row: ApprovalRow) -> str:
        asked = self._asked
        if not is_hidden(row.message) and row.message != asked.get("message", row.message):
            return "what people are shown is another text"
        if (list(row.approvers), row.quorum) != (asked.get("approvers", []), asked["quorum"]):
            return "those who must agree are others"
        if not same_time(row.timeout_at, asked.get("timeout_at", "")):
            return "it does not expire when it should"
        votes = [_given(vote.decided_by, vote.decision, vote.asserted_by, vote.rationale) for vote in row.votes]
        hidden = any(is_hidden(vote.rationale) for vote in row.votes)
        said = [(*vote[:3], "") for vote in self._votes] if hidden else self._votes
        if votes != said or row.asserted_by != self._said.get("asserted_by", ""):
            return "the votes are not those that were given"
        if (row.rule_id, row.bundle, row.digest) != tuple(
            self._decision.get(key) for key in ("rule_id", "bundle", "digest")
        ):
            return "the rule that asks is another one"
        return ""


def _given(decided_by: str, decision: str, asserted_by: str, rationale: str) -> tuple[str, str, str, str]:
    return decided_by, decision, asserted_by, "" if is_hidden(rationale) else rationale


def same_time(seconds: float, occurred_at: str) -> bool:
    """Whether a row's time (0: none) is that of an event (empty: none), to the microsecond."""
    if not occurred_at or not seconds:
        return not occurred_at and not seconds
    try:
        return abs(seconds - from_rfc3339(occurred_at)) < _MICROSECOND
    except ValueError:
        return False
