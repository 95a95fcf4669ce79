"""The event loops that people run this on."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

import uvloop

T = TypeVar("T")

LOOPS: Final[dict[str, Callable[[], asyncio.AbstractEventLoop]]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}


def run_on(loop: str, work: Coroutine[Any, Any, T]) -> T:
    """Runs it to its end on a loop of this kind."""
    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        return runner.run(work)
