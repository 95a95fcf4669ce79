"""The jobs that the event loop's thread passes to the writer's thread."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rebuno.journal.records import Lease
from rebuno.journal.sqlite.changes import Part


@dataclass(slots=True)
class WriteJob:
    """One member of a group: `run` writes inside the transaction, `answer` gets what it returns. With `due` it may wait
    for the next change of its execution, until then on the monotonic clock. `part` is what it writes, where that is a
    batch. A `long` one takes longer than a commit."""

    run: Callable[[], Any]
    answer: "asyncio.Future[Any]"
    execution_id: str = ""
    due: float | None = None
    part: Part | None = None
    long: bool = False


@dataclass(slots=True)
class ReadJob:
    """A question to the connection, asked outside any transaction and after everything handed over before it. A `brief`
    one takes no longer than a commit."""

    run: Callable[[], Any]
    answer: "asyncio.Future[Any]"
    brief: bool = False


@dataclass(slots=True)
class Keep:
    """Starts (`on`) or stops renewing a lease."""

    lease: Lease
    on: bool


@dataclass(slots=True)
class EndJob:
    """Writes what is left and closes the connection."""

    answer: "asyncio.Future[None]"


Job = WriteJob | ReadJob | Keep | EndJob
