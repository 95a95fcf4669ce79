"""How a store's own threads answer those who wait in an event loop."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

Wakeup = tuple["asyncio.Future[Any]", Any, Exception | None]


def give(answers: Iterable[Wakeup]) -> None:
    """Sets the futures, with one wake-up for each event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Wakeup]] = defaultdict(list)
    for answer in answers:
        by_loop[answer[0].get_loop()].append(answer)
    for loop, part in by_loop.items():
        # A loop that is closed has nobody left who waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, part)


def give_here(answers: Sequence[Wakeup]) -> None:
    """Sets the futures at once, where they all belong to the event loop in whose thread this runs."""
    loop = asyncio.get_running_loop()
    if all(answer[0].get_loop() is loop for answer in answers):
        settle(answers)
    else:
        give(answers)


def settle(answers: Iterable[Wakeup]) -> None:
    """Sets the futures. In the thread of their event loop.

    INVARIANT: a fault in what one of them calls keeps no other from its answer; the loop is told of it.
    """
    for future, value, error in answers:
        try:
            if future.done():
                continue
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(error)
                # A deferred batch may have nobody waiting; its lease carries the error to the next call.
                future.exception()
        except Exception as fault:
            said = {"message": "a callback of an answer failed", "exception": fault, "future": future}
            future.get_loop().call_exception_handler(said)
