"""What a session answers after its server was lost: it was done on the server that has confirmed it."""

import psycopg

from rebuno.journal.chain import written as encoded
from rebuno.journal.postgres import PostgresStore
from rebuno.journal.postgres.changes import PostgresChanges
from rebuno.journal.postgres.connection import target
from rebuno.journal.postgres.group import ChangeGroup, GroupChange
from rebuno.journal.postgres.pipeline import PreparedConnection
from rebuno.journal.postgres.server_clock import ServerClock
from rebuno.journal.postgres.session import Session
from tests.journal.builders import batch, event, in_loop, started


def cut_off(url: str, connection: PreparedConnection) -> None:
    """The server ends a connection, as at its own end."""
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("SELECT pg_terminate_backend(%s, 10000)", [connection.info.backend_pid])


def test_what_was_found_is_looked_for_again_where_its_server_is_lost(postgres: str) -> None:
    """Before it has confirmed: the next server may not have it."""
    calls: list[int] = []

    def unit(connection: PreparedConnection) -> int:
        calls.append(connection.info.backend_pid)
        if len(calls) == 1:
            cut_off(postgres, connection)
        connection.execute("SELECT 1")
        if len(calls) == 2:
            cut_off(postgres, connection)
        return len(calls)

    session = Session(target(postgres, 10.0, 10.0), ServerClock())
    assert session.run(unit) == 3
    assert len(set(calls)) == 3
    session.close()


@in_loop
async def test_a_change_that_is_looked_for_again_is_written_once(postgres: str) -> None:
    """Also where the write itself was answered, and only its confirmation was lost."""
    store = await PostgresStore.open(postgres)
    await started(store)
    changes = PostgresChanges(ServerClock(), "store")
    made = batch("e1", event(mark="once"))
    group = ChangeGroup([GroupChange(made, encoded(made.events))], store.now())
    calls: list[int] = []

    def unit(connection: PreparedConnection) -> None:
        calls.append(connection.info.backend_pid)
        if len(calls) == 1:
            cut_off(postgres, connection)
        changes.write(connection, group)
        if len(calls) == 2:
            cut_off(postgres, connection)

    session = Session(target(postgres, 10.0, 10.0), ServerClock())
    session.run(unit)
    assert (len(calls), group.numbers) == (3, [2])
    assert [one.payload for one in await store.events("e1")][1:] == [{"mark": "once"}]
    session.close()
    await store.close()
