"""Opens connections and checks the server: its settings, its permissions, its schema version."""

import os
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from rebuno.errors import SchemaTooNew, StoreError, StoreReadOnly, StoreUnreachable
from rebuno.journal.migrate import Migration, migrations
from rebuno.journal.postgres import piece_rows
from rebuno.journal.postgres.failures import conflict, lost, typed, unreachable
from rebuno.journal.postgres.pipeline import PreparedConnection
from rebuno.journal.postgres.sql import SQL

OLDEST_SERVER: Final = 14
_MIGRATIONS: Final = migrations(__package__)
# INVARIANT: later migrations only add, so that a version that knows this one works on the store, and starts on it
# again, beside newer ones. What it would disobey raises what a version must know, in the statement that writes it:
# `add-stop` in `facts.sql`.
_ONLY_ADDED_SINCE: Final = 2
_FIRST_PAUSE: Final = 0.05
# A server that does not answer at all is given up after so many seconds; a URL may say otherwise.
_CONNECT_SECONDS: Final = 10
# For how long a server may owe an answer, besides what a statement may wait for a lock, in seconds.
SILENCE: Final = 2.0
# One whose client is silent within a transaction ends that after so many seconds, and gives back its locks: sooner than
# another waits for them.
_IDLE_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Target:
    """Where the store is. `name` is how errors call it: without the password. `patience` is how many seconds a
    connection waits for a lock, and `silence` for how many more the server may owe an answer."""

    conninfo: str
    name: str
    patience: float
    silence: float

    @property
    def bound(self) -> float:
        """A server that owes an answer for so many seconds is lost."""
        return self.patience + self.silence


def target(url: str, patience: float, silence: float) -> Target:
    """What a `postgresql://` URL says.

    Raises:
        StoreUnreachable: it is malformed. What it holds is not repeated.
    """
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        parts = None
    if parts is None or not _readable(parts):
        raise StoreUnreachable(
            "the URL of the store is malformed; write `postgresql://user:password@host:5432/database`, and `%40` for"
            " `@`, `%2F` for `/` in the password"
        )
    given: dict[str, Any] = {
        "connect_timeout": _CONNECT_SECONDS,
        "application_name": "rebuno",
        # A connection whose other end is gone without a word is noticed after so many seconds.
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 20_000,
        **{key: value for key, value in parts.items() if value is not None},
    }
    hosts = given.get("host") or given.get("hostaddr") or os.environ.get("PGHOST") or os.environ.get("PGHOSTADDR") or ""
    if "," in str(hosts) and "PGTARGETSESSIONATTRS" not in os.environ:
        # Of several servers only the primary can hold a store.
        given.setdefault("target_session_attrs", "read-write")
    return Target(make_conninfo(**given), _named(parts), patience, silence)


def _readable(parts: dict[str, Any]) -> bool:
    """Whether a URL was read as it was meant: what follows an `@` or a `/` in a password is taken for the host, the
    port or the database, and would be shown as such."""
    ports = str(parts.get("port") or "").replace(",", "")
    meant = "@" not in str(parts.get("host") or "") and ("user" in parts or "@" not in str(parts.get("dbname") or ""))
    return meant and (not ports or ports.isdecimal())


def _named(parts: dict[str, Any]) -> str:
    host = parts.get("host") or parts.get("hostaddr") or "localhost"
    port = f":{parts['port']}" if parts.get("port") else ""
    user = f"{parts['user']}@" if parts.get("user") else ""
    database = parts.get("dbname") or parts.get("user") or ""
    # A socket's folder would read as the database's path.
    where = f"{user}localhost{port}" if str(host).startswith("/") else f"{user}{host}{port}"
    return f"postgresql://{where}/{database}"


def connect(to: Target) -> PreparedConnection:
    """A connection that commits each statement, to a server that is fit for a store. Blocks.

    Raises:
        StoreUnreachable, StoreBusy: no connection can be had.
        StoreReadOnly: it may not be written.
        StoreError: what it calls committed might be lost, or it is too old, or it cannot hold all texts.
    """
    try:
        connection = PreparedConnection.connect(to.conninfo, autocommit=True)
    except psycopg.OperationalError as error:
        raise unreachable(error, to.name) from None
    connection.bound = to.bound
    try:
        _check(connection, to)
    except psycopg.Error as error:
        connection.close()
        raise typed(error, to.name) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _check(connection: PreparedConnection, to: Target) -> None:
    settings = {"patience": str(round(to.patience * 1000)), "idle": str(round(_IDLE_SECONDS * 1000))}
    row = connection.execute(SQL["settings"], settings).fetchone()
    assert row is not None
    number, encoding, commit, read_only = row[:4]
    if number < OLDEST_SERVER * 10_000:
        raise StoreError(
            f"the server of the store `{to.name}` is PostgreSQL {number // 10_000}, {OLDEST_SERVER} is needed; upgrade",
            path=to.name,
        )
    if encoding != "UTF8":
        raise StoreError(
            f"the store `{to.name}` is a database in {encoding}; make one with `ENCODING 'UTF8'`", path=to.name
        )
    # INVARIANT: what is answered is on the disk. With this setting it might not be for a moment.
    if commit == "off":
        raise StoreError(
            f"the store `{to.name}` has `synchronous_commit` off, so that a commit may be lost; set it to `on`",
            path=to.name,
        )
    if read_only:
        raise StoreReadOnly(
            f"the store `{to.name}` may not be written; name the primary server, or look at"
            " `default_transaction_read_only`",
            path=to.name,
        )


def clock(connection: PreparedConnection) -> float:
    """The server's time, in seconds since 1970."""
    row = connection.execute(SQL["clock"]).fetchone()
    assert row is not None
    return float(row[0])


def migrate(
    connection: PreparedConnection, to: Target, *, create: bool, known: Sequence[Migration] = _MIGRATIONS
) -> None:
    """Brings the schema up to the `known` migrations, or makes it where there is none and `create` allows it. Blocks.

    Raises:
        SchemaTooNew, StoreUnreachable, StoreReadOnly, StoreBusy, StoreError: nothing was changed.
    """
    pause, until = _FIRST_PAUSE, time.monotonic() + to.patience
    while True:
        try:
            return _migrate(connection, to, known, create=create)
        except psycopg.Error as error:
            if lost(error):
                raise unreachable(error, to.name) from None
            # A replica at work locks several tables, and one of the two gives way.
            if not conflict(error) or time.monotonic() >= until:
                raise typed(error, to.name) from error
        time.sleep(pause * random.uniform(0.5, 1.0))
        pause *= 2


def _migrate(connection: PreparedConnection, to: Target, known: Sequence[Migration], *, create: bool) -> None:
    found = _schema(connection)
    if found.applied == 0 and not create:
        raise StoreUnreachable(f"there is no store at `{to.name}`; check the database's name", path=to.name)
    _refuse_newer(found, len(known), to)
    if found.applied >= len(known):
        return
    # It takes as long as it takes: there may be much to go through.
    connection.bound, bound = None, connection.bound
    try:
        with connection.transaction():
            connection.execute(SQL["schema-lock"])
            # Another process may have been faster.
            found = _schema(connection)
            _refuse_newer(found, len(known), to)
            if found.applied:
                connection.execute(SQL["schema-quiet"])
            connection.execute(SQL["schema-make"])
            for migration in known[found.applied :]:
                connection.execute(migration.sql)
                note = "schema-applied" if migration.number <= _ONLY_ADDED_SINCE else "schema-added-to"
                connection.execute(SQL[note], {"number": migration.number})
            if not found.applied and len(known) >= piece_rows.NEEDED:
                # No earlier version has it open.
                piece_rows.use(connection)
    finally:
        connection.bound = bound


@dataclass(frozen=True, slots=True)
class Schema:
    """The newest migration of a store, and the newest that a version must know to work on it; 0 where there is none."""

    applied: int
    needed: int


def _refuse_newer(found: Schema, known: int, to: Target) -> None:
    if found.needed > known:
        raise SchemaTooNew(found=found.needed, known=known, path=to.name)


def _schema(connection: PreparedConnection) -> Schema:
    exists, adds = connection.execute(SQL["schema-exists"]).fetchone() or (False, False)
    needed = _newest(connection, "schema-version") if exists else 0
    return Schema(max(needed, _newest(connection, "schema-added") if adds else 0), needed)


def _newest(connection: PreparedConnection, query: str) -> int:
    row = connection.execute(SQL[query]).fetchone()
    return 0 if row is None or row[0] is None else int(row[0])
