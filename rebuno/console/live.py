"""Tells a page that what it shows has changed; the page then asks for the part anew."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from starlette.responses import Response, StreamingResponse

from rebuno.console.visit import Console, Visit
from rebuno.errors import NotFoundError, RateLimited, StoreError

# Seconds between two looks at the store, and between two signs of life.
EVERY: Final = 1.0
KEEP_ALIVE: Final = 15
# A browser comes back then, and is asked anew who it is.
LONGEST: Final = 600
MOST_STREAMS: Final = 200

State = Callable[[], Awaitable[object]]


def stream(visit: Visit, state: State) -> Response:
    """Server-sent events: a digest of the `state` whenever it has changed, the first at once."""
    console = visit.console
    if console.streams >= MOST_STREAMS:
        raise RateLimited("too many pages are open; this one is not live")
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_changes(console, state), headers=headers, media_type="text/event-stream")


async def _changes(console: Console, state: State) -> AsyncIterator[str]:
    closing = asyncio.ensure_future(console.closing.wait())
    console.streams += 1
    last, quiet = "", 0.0
    try:
        for _ in range(round(LONGEST / EVERY)):
            if closing.done():
                return
            try:
                found = hashlib.sha256(repr(await state()).encode()).hexdigest()[:16]
            except NotFoundError:
                # Retention took it.
                return
            except StoreError:
                # It is away for a moment.
                found = last
            if found != last:
                yield f"data: {found}\n\n"
                last, quiet = found, 0.0
            elif quiet >= KEEP_ALIVE:
                yield ": still here\n\n"
                quiet = 0.0
            await asyncio.wait({closing}, timeout=EVERY)
            quiet += EVERY
    finally:
        console.streams -= 1
        closing.cancel()
