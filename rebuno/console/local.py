"""`rebuno console`: the console of a store on this machine, served on loopback to the one who has started it."""

import asyncio
from collections.abc import Callable
from socket import socket
from typing import Final

from starlette.applications import Starlette

from rebuno.console.app import mounted
from rebuno.console.sessions import OneTimeLink
from rebuno.console.settings import ConsoleSettings
from rebuno.journal.opening import open_store
from rebuno.server.app import assemble
from rebuno.server.run import answer_requests, bound, stopping

LOOPBACK: Final = "127.0.0.1"
_GRACE: Final = 2.0


async def open_console(db: str, *, login: str, port: int, started: Callable[[str], None]) -> None:
    """Serves the console of a store until SIGINT or SIGTERM; `started` is called with the link that lets `login` in.
    Nothing is delivered or swept: agents and servers go on as they do.

    Raises:
        StoreError: the store is not there, or cannot be used.
        OSError: the port cannot be had.
    """
    with bound(LOOPBACK, port) as listening:
        store = await open_store(db, create=False)
        try:
            server = assemble(store)
            door = OneTimeLink()
            application = Starlette(routes=mounted(server, ConsoleSettings(), door=door, login=login))
            application.router.redirect_slashes = False
            await until_stopped(application, listening, server.closing, lambda url: started(entered(url, door)))
        finally:
            await store.close()


async def until_stopped(
    application: Starlette, listening: socket, closing: asyncio.Event, started: Callable[[str], None]
) -> None:
    """Serves an application until SIGINT or SIGTERM."""
    with stopping(closing):
        await answer_requests(application, listening, closing, grace=_GRACE, started=started)


def entered(url: str, door: OneTimeLink) -> str:
    """The link that lets its bearer in, once."""
    return f"{url}/console/enter?link={door.token}"
