"""The agents of `server.py`: many at once in one process, each with a connection and an execution of its own, on bare
sockets, so that little of the time is theirs."""

import asyncio
import hashlib
import hmac
import json
import time
from asyncio import Future, Protocol, Transport
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import urlsplit
from uuid import uuid4

SECRET: Final = b"an-agents-secret"
AGENT: Final = "bench"
_ACK: Final = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Connection(Protocol):
    """One connection: a request, its answer, and so on."""

    def __init__(self) -> None:
        self._transport: Transport | None = None
        self._coming = b""
        self._answer: Future[bytes] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._coming += data
        head, found, body = self._coming.partition(b"\r\n\r\n")
        if not found:
            return
        where = head.lower().find(b"content-length: ")
        length = int(head[where + 16 :].split(b"\r\n", 1)[0]) if where >= 0 else 0
        if len(body) >= length and self._answer is not None:
            self._coming = b""
            answer, self._answer = self._answer, None
            if not head.startswith(b"HTTP/1.1 20"):
                answer.set_exception(RuntimeError(f"{head[:12].decode()}: {body.decode()}"))
            else:
                answer.set_result(body)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None:
            self._answer.set_exception(ConnectionError("the server has hung up"))

    def close(self) -> None:
        """Hangs up."""
        if self._transport is not None:
            self._transport.close()

    def ask(self, method: str, path: str, body: bytes, headers: str = "") -> "Future[bytes]":
        """Sends a request; what comes is the body of its answer. RuntimeError where it is refused."""
        self._answer = asyncio.get_running_loop().create_future()
        assert self._transport is not None
        head = f"{method} {path} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\n{headers}"
        self._transport.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        return self._answer


@dataclass(slots=True)
class Agent:
    """One execution that is delivered, and the connection on which it is worked at."""

    connection: Connection
    execution_id: str
    dispatch_id: str
    attempt: str
    made: int = 0

    def send(self, path: str, body: bytes) -> "Future[bytes]":
        """A signed request of the execution."""
        path = f"/v0/executions/{self.execution_id}{path}"
        stamp = str(int(time.time()))
        said = f"rebuno-request-v1\nPOST\n{path}\n{stamp}\n{self.dispatch_id}\n{self.attempt}\n".encode()
        signature = hmac.new(SECRET, said + body, hashlib.sha256).hexdigest()
        headers = (
            f"rebuno-agent-id: {AGENT}\r\nrebuno-timestamp: {stamp}\r\nrebuno-signature: v1={signature}\r\n"
            f"rebuno-dispatch-id: {self.dispatch_id}\r\nrebuno-dispatch-attempt: {self.attempt}\r\n"
        )
        return self.connection.ask("POST", path, body, headers)

    async def pairs(self, until: float) -> list[float]:
        """Steps one after another: how long each submission with its outcome took, in seconds."""
        took: list[float] = []
        clock = time.perf_counter
        while (began := clock()) < until:
            await self.pair()
            took.append(clock() - began)
        return took

    async def pair(self) -> None:
        """The next submission and the report of its result."""
        number = self.made
        self.made += 1
        body = b'{"kind":"tool_call","target":"bench-safe","args":{"n":%d,"path":"/srv/data/in.txt"},' % number
        body += b'"idempotency":"safe_to_retry","resources":[],"submission":%d}' % (number + 1)
        answer = json.loads(await self.send("/steps", body))
        if answer["decision"] != "proceed":
            raise RuntimeError(f"the submission was answered {answer}")
        await self.send(f"/steps/{answer['step_id']}/complete", b'{"result":{"read":"a line of text","n":%d}}' % number)


async def connect(url: str) -> Connection:
    """A new connection to a server."""
    host, _, port = urlsplit(url).netloc.partition(":")
    _, connection = await asyncio.get_running_loop().create_connection(Connection, host, int(port))
    return connection


async def together(agents: "list[Agent]", seconds: float) -> tuple[list[float], float]:
    """Pairs of agents at once: how long each took, and how long it went on, in seconds."""
    began = time.perf_counter()
    took = await asyncio.gather(*(agent.pairs(began + seconds) for agent in agents))
    went = time.perf_counter() - began
    return sorted(one for each in took for one in each), went


async def strangers(url: str, count: int) -> "list[Agent]":
    """So many agents of a server that knows of no executions."""
    ids = [(str(uuid4()), str(uuid4())) for _ in range(count)]
    return [Agent(await connect(url), execution_id, dispatch_id, "1") for execution_id, dispatch_id in ids]


@asynccontextmanager
async def connected(url: str, token: str, policy: str) -> AsyncIterator["Bench"]:
    """An agent with a policy on a server, whose webhooks arrive here."""
    told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length: ")[2].split("\r\n")[0])
        told.put_nowait(json.loads(await reader.readexactly(length)))
        writer.write(_ACK)
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(take, "127.0.0.1", 0)
    async with listening:
        bench = Bench(url, token, told)
        webhook = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/webhook"
        agent = {"id": AGENT, "webhook_url": webhook, "secret": SECRET.decode(), "lease_timeout_seconds": 3600}
        await bench.post("/v0/agents", agent)
        await bench.post(f"/v0/policies/{AGENT}", {"bundle": policy})
        yield bench


@dataclass(slots=True)
class Bench:
    """The operator and its agents."""

    url: str
    token: str
    told: "asyncio.Queue[dict[str, Any]]"

    async def connect(self) -> Connection:
        """A new connection to the server."""
        return await connect(self.url)

    async def post(self, path: str, body: dict[str, Any] | bytes) -> Any:
        """An operator's request; a body of bytes is JSON."""
        headers = f"authorization: Bearer {self.token}\r\n"
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection = await self.connect()
        answer = await connection.ask("POST", path, sent, headers)
        connection.close()
        return json.loads(answer or b"null")

    async def agents(self, count: int, input: bytes = b"null") -> list[Agent]:
        """So many executions that are delivered; their input is JSON."""
        for _ in range(count):
            await self.post("/v0/executions", b'{"agent_id":"%b","input":%b}' % (AGENT.encode(), input))
        found = []
        for _ in range(count):
            said = await self.told.get()
            attempt = str(said["dispatch_attempt"])
            found.append(Agent(await self.connect(), said["execution_id"], said["dispatch_id"], attempt))
        return found

    async def measure(self, connections: int, seconds: float) -> tuple[list[float], float]:
        """Pairs on so many connections at once: how long each took, and how long it went on, in seconds."""
        agents = await self.agents(connections)
        took, went = await together(agents, seconds)
        for agent in agents:
            await agent.send("/complete", b'{"output":null}')
            agent.connection.close()
        return took, went

    async def whole(self, count: int) -> None:
        """Executions from their creation to their end, eight at once: a pair each."""
        left = iter(range(count))

        async def some() -> None:
            for _ in left:
                (agent,) = await self.agents(1)
                await agent.pair()
                await agent.send("/complete", b'{"output":null}')
                agent.connection.close()

        await asyncio.gather(*(some() for _ in range(8)))
