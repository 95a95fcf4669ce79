"""A server beside the tests of commands, in a thread of its own, with an agent on it."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rebuno
from tests.sdk.served import served

BUNDLE = """\
bundle desk
default deny because "not listed"

rule reads {
  allow tool "desk_read"
}

rule ask {
  require approval for tool "desk_send"
  approvers "ana", "ben"
  message "May it leave?"
  because "it leaves the house"
}
"""


@rebuno.tool("desk_read")
async def read() -> str:
    return "read"


@rebuno.tool("desk_send")
async def send(to: str) -> str:
    return f"sent to {to}"


async def handler(to: str = "", fails: bool = False) -> Any:
    """Reads, then fails or sends."""
    found = await read()
    if fails:
        raise ValueError("as it was told")
    return await send(to=to) if to else found


@contextmanager
def server(folder: Path) -> Iterator[tuple[str, str]]:
    """The server's URL and its store's file; the agent is `clerk`."""
    db = str(folder / "served.db")
    ready: Future[str] = Future()
    stop: Future[None] = Future()
    thread = threading.Thread(target=lambda: asyncio.run(_serve(db, ready, stop)))
    thread.start()
    try:
        yield ready.result(20), db
    finally:
        stop.set_result(None)
        thread.join()


async def _serve(db: str, ready: "Future[str]", stop: "Future[None]") -> None:
    try:
        async with served(db) as kernel, kernel.agent("clerk", handler, bundle=BUNDLE, description="Sends letters."):
            ready.set_result(kernel.url)
            await asyncio.wrap_future(stop)
    except Exception as error:
        if ready.done():
            raise
        ready.set_exception(error)
