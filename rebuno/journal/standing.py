"""Grants that outlive the execution whose question they answered."""

from dataclasses import astuple, dataclass
from typing import Any

from rebuno.journal.rows import Row


@dataclass(frozen=True, slots=True)
class StandingGrantRow:
    """A person lets every step of an agent start that is of this `kind`, `target` and rule (`rule_id` of `bundle`) and
    whose arguments are as `matches` says (canonical JSON), from `created_at` until `expires_at`. `rule_text` is the
    digest of the rule and of what it and `matches` use: with another one it is void. `granted_by` are the people who
    granted (a JSON array). `revoked_at` is 0 while it stands; times are seconds since 1970."""

    id: str
    agent_id: str
    kind: str
    target: str
    bundle: str
    rule_id: str
    rule_text: str
    matches: str
    approval_id: str
    granted_by: str
    asserted_by: str
    rationale: str
    created_at: float
    expires_at: float
    revoked_by: str = ""
    revoked_at: float = 0.0


def standing_grant(row: Row) -> StandingGrantRow:
    """A row of the query `standing-grants`."""
    return StandingGrantRow(*row)


def standing_values(grant: StandingGrantRow) -> tuple[Any, ...]:
    """The parameters of `add-standing-grant`."""
    return astuple(grant)
