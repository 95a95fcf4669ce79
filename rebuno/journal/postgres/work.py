"""A query in flight, and the answer to a failed change."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rebuno.journal.postgres.group import ChangeGroup, GroupChange
from rebuno.journal.postgres.pipeline import PreparedConnection
from rebuno.journal.wakeups import Wakeup


@dataclass(slots=True)
class ReadRequest:
    """A unit of work besides the batches: `run` may be repeated, `answer` gets what it returns (None: nobody waits). It
    is about one execution, or about any; `number` is its place among all that was handed over."""

    run: Callable[[PreparedConnection], Any]
    answer: "asyncio.Future[Any] | None"
    execution_id: str | None = None
    number: int = 0


def failed(change: GroupChange, error: Exception) -> Wakeup:
    """The answer to a change that failed."""
    change.batch.failed(error)
    return change.batch.committed, None, error


def answers_of(group: ChangeGroup) -> list[Wakeup]:
    """The answers to a group that is written."""
    return [(each.batch.committed, n, None) for each, n in zip(group.changes, group.numbers or (), strict=True)]
