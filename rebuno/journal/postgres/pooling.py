"""Finds a pooler between the store and its server, and refuses one that lends a connection to others meanwhile."""

import psycopg

from rebuno.errors import StoreBusy, StoreError
from rebuno.journal.postgres.connection import Target
from rebuno.journal.postgres.failures import first_line, unreachable
from rebuno.journal.postgres.pipeline import PreparedConnection
from rebuno.journal.postgres.sql import SQL


def refuse_shared(connection: PreparedConnection, to: Target) -> None:
    """Refuses a pooler that does not pool sessions: what a store prepares, sets and listens to belongs to one
    connection to the server. Without a pooler it costs one question. Blocks.

    Raises:
        StoreError: it pools transactions or statements.
        StoreBusy, StoreUnreachable: it has no second connection, so that nobody can tell.
        psycopg.Error: a connection failed.
    """
    process = _process(connection)
    # What the server said when the connection was made: a pooler says something of its own.
    if process == connection.pgconn.backend_pid:
        return
    try:
        other = PreparedConnection.connect(to.conninfo, autocommit=True)
    except psycopg.OperationalError as error:
        raise unreachable(error, to.name) from None
    other.bound = to.bound
    try:
        with other, other.transaction():
            # It holds a connection to the server now: that of this one, if it was lent.
            taken = _process(other)
            shared = taken == process or _process(connection) != process
    except psycopg.Error as error:
        said = first_line(error)
        if "did not answer" in said:
            raise StoreBusy(
                f"the pooler before the store `{to.name}` does not give it two connections at once; have it pool"
                " sessions (`pool_mode = session`), and raise the size of its pool",
                path=to.name,
            ) from None
        # A pooler of statements takes no transaction.
        if "pooling mode" in said:
            raise _shared(to, said) from None
        raise
    if shared:
        raise _shared(to, "its connection went to another client between two transactions")


def _process(connection: PreparedConnection) -> int:
    row = connection.execute(SQL["server-process"]).fetchone()
    assert row is not None
    return int(row[0])


def _shared(to: Target, said: str) -> StoreError:
    return StoreError(
        f"the pooler before the store `{to.name}` does not pool sessions ({said}); set `pool_mode = session`, or name"
        " the server itself: prepared statements, settings of a connection and LISTEN need a connection of their own",
        path=to.name,
    )
