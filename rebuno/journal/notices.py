"""What a target is told of a question to people, and whether it has taken it."""

from dataclasses import dataclass
from enum import IntEnum

from rebuno.journal.rows import Row


class NoticeStage(IntEnum):
    """When of a question a target is told: it was asked, half of its time is over, nine tenths are, it is answered."""

    ASKED = 0
    HALF = 1
    NEARLY = 2
    ANSWERED = 3


@dataclass(frozen=True, slots=True)
class NoticeRow:
    """A notice for one target. It is not tried before `due_at`; `done_at` is 0 until the target has taken it, or nobody
    tries any more. Times are seconds since 1970."""

    approval_id: str
    target: str
    stage: NoticeStage
    attempts: int
    created_at: float
    due_at: float
    done_at: float


def notice(row: Row) -> NoticeRow:
    """A row of the queries `notices-owed` and `notices-due`."""
    return NoticeRow(row[0], row[1], NoticeStage(row[2]), *row[3:])
