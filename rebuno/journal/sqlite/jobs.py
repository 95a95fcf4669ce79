"""What the event loop's thread hands to the writer's, and how answers come back."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from rebuno.journal.records import Lease

Answer = tuple["asyncio.Future[Any]", Any, Exception | None]


@dataclass(slots=True)
class Change:
    """One member of a group: `run` writes inside the transaction, `answer` gets what it returns. With `due` it may wait
    for the next change of its execution, until then on the monotonic clock."""

    run: Callable[[], Any]
    answer: "asyncio.Future[Any]"
    execution_id: str = ""
    lease: Lease | None = None
    due: float | None = None


@dataclass(slots=True)
class Read:
    """A question to the connection, asked outside any transaction and after everything handed over before it."""

    run: Callable[[], Any]
    answer: "asyncio.Future[Any]"


@dataclass(slots=True)
class Keep:
    """Starts (`on`) or stops renewing a lease."""

    lease: Lease
    on: bool


@dataclass(slots=True)
class Stop:
    """Writes what is left and closes the connection."""

    answer: "asyncio.Future[None]"


Job = Change | Read | Keep | Stop


def give(answers: Iterable[Answer]) -> None:
    """Sets the futures, with one wake-up for each event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Answer]] = defaultdict(list)
    for answer in answers:
        by_loop[answer[0].get_loop()].append(answer)
    for loop, part in by_loop.items():
        # A loop that is closed has nobody left who waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_set, part)


def _set(answers: list[Answer]) -> None:
    for future, value, error in answers:
        if future.done():
            continue
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)
            # A deferred batch may have nobody waiting; its lease carries the error to the next call.
            future.exception()
