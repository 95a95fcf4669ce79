"""Opens a store by its name: the path of a file, or a URL."""

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from rebuno.errors import KeyRingError, StoreError, StoreUnreachable
from rebuno.journal.served import ServedStore
from rebuno.journal.sqlite import SQLiteStore

if TYPE_CHECKING:
    from rebuno.sealing import KeyRing

# The shape of a URL. One letter is a drive's.
_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)

# What is meant for PostgreSQL, and no URL.
_NEARLY: Final = re.compile(r"postgres(ql)?:|(.*\s)?(host|dbname|password)\s*=", re.IGNORECASE)


async def open_store(
    where: str | Path,
    *,
    create: bool = True,
    serving: bool = False,
    connections: int = 8,
    key_ring: "str | Path | KeyRing | None" = None,
    key_command: str = "",
    encrypt: bool = False,
) -> ServedStore:
    """Opens the store at a path, or at a URL `sqlite:PATH` or `postgresql://…`, and brings its schema up to date.

    `create`: whether to make it where there is none. `serving`: for a server, of which a file has one and a database
    any number. `connections`: how many there are to a database at most. With `encrypt` every payload of new
    executions is sealed; what is sealed is opened with the keys of a ring: `key_ring` itself, that in a file, or
    what `key_command` prints.

    Raises:
        KeyRingError: the ring cannot be used, or it is to encrypt, and there is none.
        StoreError: it cannot be used, for the reason that the subclass names; a URL is shown without its password.
    """
    ring = None
    if key_ring or key_command:
        from rebuno.sealing.given import ring_of

        # A command takes its time.
        ring = await asyncio.to_thread(ring_of, key_ring, key_command)
    if encrypt and ring is None:
        raise KeyRingError("encryption needs a key ring: name its file, or a command that prints it")
    store = await _opened(where, create=create, serving=serving, connections=connections)
    try:
        if ring is None and not await store.has_data_keys():
            return store
    except BaseException:
        await store.close()
        raise
    # What is sealed has to be told from what is not, with keys or without.
    from rebuno.journal.sealed.store import SealingStore

    return cast(ServedStore, SealingStore(store, ring, encrypt=encrypt))


async def _opened(where: str | Path, *, create: bool, serving: bool, connections: int) -> ServedStore:
    if isinstance(where, Path):
        return await SQLiteStore.open(where, create=create, serving=serving)
    scheme = _SCHEME.match(where)
    if scheme is not None and scheme[1].lower() in ("postgresql", "postgres"):
        return await _postgres(where, create, connections)
    return await SQLiteStore.open(_file(where), create=create, serving=serving)


def store_file(where: str) -> Path | None:
    """The file of the store at a path or a URL; None for a database.

    Raises:
        StoreUnreachable: it names no store.
    """
    scheme = _SCHEME.match(where)
    if scheme is not None and scheme[1].lower() in ("postgresql", "postgres"):
        return None
    return Path(_file(where))


async def _postgres(url: str, create: bool, connections: int) -> ServedStore:
    # Its driver is an extra, and heavy: who has a file does not load it.
    try:
        from rebuno.journal.postgres import PostgresStore
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("psycopg"):
            raise
        from rebuno.packaged import install

        raise StoreError(f"a store on PostgreSQL needs the extra `postgres`: {install('postgres')}") from None
    return await PostgresStore.open(url, create=create, connections=connections)


def _file(where: str) -> str:
    if where.startswith("sqlite:"):
        return where.removeprefix("sqlite:").removeprefix("//")
    scheme = _SCHEME.match(where)
    if scheme is not None:
        raise StoreUnreachable(
            f"no store is known for URLs of `{scheme[1]}`; name the path of a file, or a `postgresql://` URL"
        )
    if _NEARLY.match(where):
        # It may hold a password, so it is not repeated.
        raise StoreUnreachable("a store on PostgreSQL is named by a URL: `postgresql://user@host/database`")
    return where
