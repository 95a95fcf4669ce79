"""What operators say of a whole store: standing denials, and that it was restored from a copy."""

from dataclasses import dataclass

from rebuno.journal.rows import Row


@dataclass(frozen=True, slots=True)
class StopRow:
    """Nothing of this `agent`, or of the tools that the pattern `tool` matches, starts while it stands; where both are
    empty, nothing at all. `lifted_at` is 0 while it stands; times are seconds since 1970."""

    id: str
    agent: str
    tool: str
    reason: str
    created_by: str
    created_at: float
    lifted_by: str = ""
    lifted_at: float = 0.0


def stop(row: Row) -> StopRow:
    """A row of the query `stops`."""
    return StopRow(*row)


@dataclass(frozen=True, slots=True)
class Restoration:
    """The store was restored from a copy, and nobody has accepted that yet. `restored_at` is seconds since 1970."""

    restored_at: float
    restored_by: str


def restoration(row: Row) -> Restoration:
    """A row of the query `restorations`."""
    return Restoration(*row)
