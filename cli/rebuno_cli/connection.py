"""Selects the store or server of a command, and connects to it."""

import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from rebuno.errors import ValidationError

if TYPE_CHECKING:
    from rebuno.kernel import Operator
    from rebuno.sealing import KeyRing
    from rebuno_cli.backend import Backend

T = TypeVar("T")


def path(db: str | None) -> str:
    """The store's file or URL: `--db`, else REBUNO_DB_URL.

    Raises:
        ValidationError: neither is given, or only a server.
    """
    given = db or os.environ.get("REBUNO_DB_URL", "")
    if given:
        return given
    if os.environ.get("REBUNO_URL"):
        raise ValidationError("this command works on a store and not on a server; give `--db PATH` or REBUNO_DB_URL")
    raise ValidationError("no store is named; give `--db PATH`, or set REBUNO_DB_URL")


def key_ring() -> tuple[str, str]:
    """The file of the store's key ring and the command that prints it, as the environment names them."""
    return os.environ.get("REBUNO_KEY_RING", ""), os.environ.get("REBUNO_KEY_COMMAND", "")


def ring() -> "KeyRing | None":
    """The key ring that the environment names. Raises `KeyRingError`."""
    from rebuno.sealing.given import ring_of

    return ring_of(*key_ring())


def file_of(db: str | None) -> str:
    """The path of the store's file. Raises `ValidationError` as `path`, and where the store is a database."""
    given = path(db)
    if given.startswith(("postgres://", "postgresql://")):
        raise ValidationError(
            "a store on PostgreSQL is copied by its own tools; after it was restored, `rebuno store mark-restored`"
        )
    return given.removeprefix("sqlite:").removeprefix("//") if given.startswith("sqlite:") else given


def server(db: str | None, url: str | None) -> str:
    """The server's URL, or an empty text where a store is meant: `--db` or `--url`, else REBUNO_DB_URL, else
    REBUNO_URL.

    Raises:
        ValidationError: none is given, or both options, or what is no URL.
    """
    if db and url:
        raise ValidationError("`--db` and `--url` both say where; leave one out")
    if db or (not url and os.environ.get("REBUNO_DB_URL")):
        return ""
    given = url or os.environ.get("REBUNO_URL", "")
    if not given:
        raise ValidationError(
            "no store and no server is named; give `--db PATH` or `--url URL`, or set REBUNO_DB_URL or REBUNO_URL"
        )
    if not given.startswith(("http://", "https://")):
        raise ValidationError(f"`{given}` is no URL of a server; it begins with http:// or https://")
    return given


def ask(db: str | None, work: "Callable[[Operator], Awaitable[T]]", *, create: bool = False) -> T:
    """What `work` finds in the store; `create` makes one where there is none.

    Raises:
        ValidationError: no store is named.
        StoreError: it cannot be used.
    """
    import asyncio

    from rebuno.embedded import operate

    where = path(db)
    file, command = key_ring()

    async def run() -> T:
        async with operate(where, create=create, key_ring=file, key_command=command) as operator:
            return await work(operator)

    return asyncio.run(run())


def work(db: str | None, url: str | None, job: "Callable[[Backend], Awaitable[T]]", *, create: bool = False) -> T:
    """What `job` finds in the store, or on the server; `create` makes a store where there is none.

    Raises:
        ValidationError: neither is named, or both.
        StoreError, NetworkError: it cannot be used.
    """
    import asyncio

    there = server(db, url)
    return asyncio.run(_remote(there, job) if there else _local(path(db), job, create=create))


async def _remote(url: str, job: "Callable[[Backend], Awaitable[T]]") -> T:
    from rebuno.sdk.client import Client
    from rebuno_cli.backend_http import HttpBackend

    async with Client(url) as client:
        return await job(HttpBackend(client))


async def _local(where: str, job: "Callable[[Backend], Awaitable[T]]", *, create: bool) -> T:
    from rebuno.journal.opening import open_store
    from rebuno_cli.backend_store import StoreBackend

    file, command = key_ring()
    store = await open_store(where, create=create, key_ring=file, key_command=command)
    try:
        return await job(StoreBackend(store))
    finally:
        await store.close()
