"""The floor of `server.py`: what any server costs that answers each request after a commit, and does nothing else.

It is the kernel's own HTTP stack: connections, routes, signatures, bodies and counters. Each request is one row,
inserted by a prepared statement that is committed and synced before the answer. Connections to PostgreSQL are as many
as the kernel's, and pipelines as they are. Nothing is judged, hashed or remembered. It answers on standard input as
`server_kernel.py` does.
"""

import argparse
import asyncio
import os
import sys
from asyncio import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.responses import Response

# Run as a program it finds the packages beside it.
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.server_client import AGENT, SECRET
from benchmarks.server_kernel import Spent, listening, say
from rebuno.journal.chain import START, Head
from rebuno.journal.postgres.connection import connect, target
from rebuno.journal.postgres.group import ChangeGroup
from rebuno.journal.postgres.pipeline import prepare
from rebuno.journal.postgres.sender import PipelinedConnection
from rebuno.journal.postgres.sql import Prepared
from rebuno.journal.served import ServedStore
from rebuno.kernel import Serving
from rebuno.server.auth import Tokens
from rebuno.server.connections import ClientConnection
from rebuno.server.metrics import CountedApp, Metrics
from rebuno.server.routes import ApiCall, Endpoint, Server, Who, said, served
from rebuno.server.run import bound
from rebuno.server.webhooks import AllowList
from rebuno.server.wire import requests
from rebuno.server.wire.writing import obj

LINES: Final = 8
_TABLE: Final = "CREATE TABLE floor (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, execution text, body text)"
_INSERT: Final = Prepared(
    b"floor", b"INSERT INTO floor (execution, body) VALUES ($1, $2) RETURNING 1", ("execution", "body")
)
_STEP: Final = "0" * 64


@dataclass(frozen=True)
class _Agent:
    secret: str


class _Agents:
    """Knows the one agent."""

    async def agent(self, agent_id: str) -> _Agent:
        assert agent_id == AGENT
        return _Agent(SECRET.decode())


class Rows:
    """Inserts rows, each in a transaction of its own, from the event loop's thread."""

    def __init__(self, db: str) -> None:
        self._loop = asyncio.get_running_loop()
        with connect(target(db, 30.0, 30.0)) as connection:
            connection.execute(_TABLE)
        self._lines = []
        for _ in range(LINES):
            connection = connect(target(db, 30.0, 30.0))
            prepare(connection, _INSERT)
            connection.pgconn.enter_pipeline_mode()
            line = PipelinedConnection(connection)
            self._lines.append(line)
            self._loop.add_reader(line.file, self._receive, line)

    def insert(self, execution_id: str, body: bytes) -> "Future[None]":
        """Done once the row is committed."""
        done: Future[None] = self._loop.create_future()
        line = min(self._lines, key=lambda line: len(line.owed))
        more = line.send(_INSERT, [execution_id.encode(), body], cast(ChangeGroup, done), Head(0, START))
        assert not more, "a short statement goes through at once"
        return done

    def _receive(self, line: PipelinedConnection) -> None:
        for outcome in line.receive():
            assert outcome.answer is True, outcome.answer
            cast("Future[None]", outcome.group).set_result(None)


def application(rows: Rows) -> Starlette:
    """Both routes of a pair."""

    async def submit(call: ApiCall) -> Response:
        call.body(requests.Submit)
        await rows.insert(call.id, call.raw)
        return said(obj(decision="proceed", step_id=_STEP))

    async def complete(call: ApiCall) -> Response:
        call.body(requests.StepResult)
        await rows.insert(call.id, call.raw)
        return said(obj(decision="recorded"))

    path = "/v0/executions/{id}/steps"
    endpoints = (
        Endpoint("POST", path, submit, Who.AGENT),
        Endpoint("POST", f"{path}/{{step_id}}/complete", complete, Who.AGENT),
    )
    serving = cast(Serving, _Agents())
    tokens = Tokens(serving, "", require=True)
    # A pair asks nothing of the store here but its rows.
    store = cast(ServedStore, None)
    server = Server(serving=serving, store=store, tokens=tokens, metrics=Metrics(), allowed=AllowList())
    made = Starlette(routes=list(served(endpoints, server)))
    made.add_middleware(CountedApp, metrics=server.metrics)
    return made


async def serve(db: str) -> None:
    rows = Rows(db)
    listening(Spent(None))
    with bound("127.0.0.1", 0) as socket:
        options = uvicorn.Config(
            application(rows), http=ClientConnection, ws="none", lifespan="off", log_config=None, access_log=False,
            server_header=False, proxy_headers=False,
        )  # fmt: skip
        say({"url": f"http://127.0.0.1:{socket.getsockname()[1]}"})
        await uvicorn.Server(options).serve(sockets=[socket])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--db", required=True)
    parser.add_argument("--core", type=int, help="the only one that it may use")
    options = parser.parse_args()
    if options.core is not None:
        os.sched_setaffinity(0, {options.core})
    uvloop.run(serve(options.db))


if __name__ == "__main__":
    main()
