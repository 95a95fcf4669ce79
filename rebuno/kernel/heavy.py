"""Work that takes long is done beside the event loop, so that one agent's text does not hold all others.

INVARIANT: one piece of it at a time. Threads share the interpreter's lock, and whoever waits for it waits for each that
holds it: some five milliseconds beside one thread, as many times that beside several.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Final, TypeVar

from rebuno.kernel.attempt import Attempt
from rebuno.policy import ahead

T = TypeVar("T")

# Characters of arguments, as JSON.
LONG: Final = ahead.LONG


@cache
def _worker() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="rebuno-heavy")


async def beside(work: Callable[[], T]) -> T:
    """What `work` gives or raises, done in the one thread for such work."""
    return await asyncio.get_running_loop().run_in_executor(_worker(), work)


def is_heavy(attempt: Attempt, args: str) -> bool:
    """Whether a decision about these arguments (canonical JSON) may take long."""
    return len(args) > LONG and bool(ahead.readers(attempt.policy))


async def read_ahead(attempt: Attempt, args: str) -> None:
    """Reads the long texts among the arguments, so that a decision soon after takes no time for them."""
    if is_heavy(attempt, args):
        await beside(partial(ahead.read, ahead.readers(attempt.policy), args))
