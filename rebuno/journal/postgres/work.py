"""A query in flight, and the answer to a failed change."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rebuno.journal.postgres.group import Change, Group
from rebuno.journal.postgres.pipeline import Connection
from rebuno.journal.wakeups import Answer


@dataclass(slots=True)
class Ask:
    """A unit of work besides the batches: `run` may be repeated, `answer` gets what it returns (None: nobody waits). It
    is about one execution, or about any; `number` is its place among all that was handed over."""

    run: Callable[[Connection], Any]
    answer: "asyncio.Future[Any] | None"
    execution_id: str | None = None
    number: int = 0


def failed(change: Change, error: Exception) -> Answer:
    """The answer to a change that failed."""
    change.batch.failed(error)
    return change.batch.committed, None, error


def answers_of(group: Group) -> list[Answer]:
    """The answers to a group that is written."""
    return [(each.batch.committed, n, None) for each, n in zip(group.changes, group.numbers or (), strict=True)]
