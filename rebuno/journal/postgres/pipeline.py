"""Sends several statements in one round trip, each its own transaction, and takes their answers as they come."""

import select
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus
from psycopg.pq.abc import PGconn, PGresult

from rebuno.journal.postgres.sql import Given, Prepared

FATAL: Final = (ExecStatus.FATAL_ERROR, ExecStatus.PIPELINE_ABORTED)


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that remembers which statements the server has prepared for it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.prepared: set[Prepared] = set()


def pipelined(connection: Connection, statements: Sequence[tuple[Prepared, Given]]) -> Iterator[bool | psycopg.Error]:
    """Carries out statements in their order. Each is committed by itself, whatever becomes of the others; its answer is
    whether a row came back, or the error.

    Raises:
        psycopg.Error: the connection is lost; statements without an answer may have been carried out, or not.
    """
    for statement in {statement for statement, _ in statements} - connection.prepared:
        prepare(connection, statement)
    pgconn = connection.pgconn
    with _pipeline(pgconn):
        for statement, given in statements:
            pgconn.send_query_prepared(statement.name, given)
            # Ends the transaction: without it the statements would be one.
            pgconn.pipeline_sync()
        poller = select.poll()
        poller.register(pgconn.socket, select.POLLIN | select.POLLOUT)
        while pgconn.flush():
            poller.poll()
            pgconn.consume_input()
        poller.modify(pgconn.socket, select.POLLIN)
        for _ in statements:
            result = _result(pgconn, poller)
            assert result is not None
            yield error_from_result(result) if result.status in FATAL else result.ntuples > 0
            # The end of the statement, then the end of its transaction.
            while (result := _result(pgconn, poller)) is None or result.status != ExecStatus.PIPELINE_SYNC:
                pass


@contextmanager
def _pipeline(pgconn: PGconn) -> Iterator[None]:
    pgconn.enter_pipeline_mode()
    yield
    # Not after an error: the connection is of no use then.
    pgconn.exit_pipeline_mode()


def _result(pgconn: PGconn, poller: select.poll) -> PGresult | None:
    # INVARIANT: nothing blocks but `poll`, which lets the other threads of the process run.
    while pgconn.is_busy():
        poller.poll()
        pgconn.consume_input()
    result = pgconn.get_result()
    if result is None and pgconn.status == ConnStatus.BAD:
        raise psycopg.OperationalError("the connection is lost")
    return result


def prepare(connection: Connection, statement: Prepared) -> None:
    """Has the server prepare a statement."""
    result = connection.pgconn.prepare(statement.name, statement.text)
    if result.status in FATAL:
        raise error_from_result(result)
    connection.prepared.add(statement)
