"""Sends several statements in one round trip, each its own transaction, and takes their answers as they come; no
answer is waited for without a bound."""

import select
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import psycopg
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus
from psycopg.pq.abc import PGconn, PGresult

from rebuno.journal.postgres.sql import Given, Prepared

T = TypeVar("T")

FATAL: Final = (ExecStatus.FATAL_ERROR, ExecStatus.PIPELINE_ABORTED)


class PreparedConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that remembers which statements the server has prepared for it.

    INVARIANT: a server that says nothing for `bound` seconds (None: for ever) while it owes an answer has lost the
    connection: it is closed, and `psycopg.OperationalError` is raised.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.prepared: set[Prepared] = set()
        self.bound: float | None = None

    # The library's own `timeout` is for the whole of an answer: a long one that keeps coming would be cut.
    def wait(self, gen: Generator[Any, Any, T], *args: Any, **kwargs: Any) -> T:
        """As the library's, within the bound."""
        return super().wait(self._bounded(gen), *args, **kwargs)

    def _bounded(self, gen: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        try:
            waits = next(gen)
            until = self._until()
            while True:
                ready = yield waits
                if ready:
                    until = self._until()
                elif until is not None and time.monotonic() >= until:
                    raise self.silent()
                waits = gen.send(ready)
        except StopIteration as end:
            value: T = end.value
            return value

    def _until(self) -> float | None:
        return None if self.bound is None else time.monotonic() + self.bound

    def silent(self) -> psycopg.OperationalError:
        """The error where the server owes an answer for too long. Closes the connection: nobody may take a late answer
        for that to another question."""
        self.close()
        return psycopg.OperationalError(f"the server did not answer within {self.bound:g} seconds")

    def poll(self, poller: select.poll) -> None:
        """Waits for the socket, and raises `silent` where nothing comes."""
        if not poller.poll(None if self.bound is None else self.bound * 1000):
            raise self.silent()


def pipelined(
    connection: PreparedConnection, statements: Sequence[tuple[Prepared, Given]]
) -> Iterator[bool | psycopg.Error]:
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
            connection.poll(poller)
            pgconn.consume_input()
        poller.modify(pgconn.socket, select.POLLIN)
        for _ in statements:
            result = _result(connection, poller)
            assert result is not None
            yield error_from_result(result) if result.status in FATAL else result.ntuples > 0
            # The end of the statement, then the end of its transaction.
            while (result := _result(connection, poller)) is None or result.status != ExecStatus.PIPELINE_SYNC:
                pass


@contextmanager
def _pipeline(pgconn: PGconn) -> Iterator[None]:
    pgconn.enter_pipeline_mode()
    yield
    # Not after an error: the connection is of no use then.
    pgconn.exit_pipeline_mode()


def _result(connection: PreparedConnection, poller: select.poll) -> PGresult | None:
    pgconn = connection.pgconn
    # INVARIANT: nothing blocks but `poll`, which lets the other threads of the process run.
    while pgconn.is_busy():
        connection.poll(poller)
        pgconn.consume_input()
    result = pgconn.get_result()
    if result is None and pgconn.status == ConnStatus.BAD:
        raise psycopg.OperationalError("the connection is lost")
    return result


def prepare(connection: PreparedConnection, statement: Prepared) -> None:
    """Has the server prepare a statement."""
    pgconn = connection.pgconn
    # Not `pgconn.prepare`, which waits in the library for as long as it takes.
    pgconn.send_prepare(statement.name, statement.text)
    poller = select.poll()
    poller.register(pgconn.socket, select.POLLIN | select.POLLOUT)
    while pgconn.flush():
        connection.poll(poller)
        pgconn.consume_input()
    poller.modify(pgconn.socket, select.POLLIN)
    failure = None
    while (result := _result(connection, poller)) is not None:
        if result.status in FATAL:
            failure = error_from_result(result)
    if failure is not None:
        raise failure
    connection.prepared.add(statement)
