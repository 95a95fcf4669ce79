"""A kernel of one execution behind real HTTP: it knows enough of the wire for an agent to run on, and can misbehave."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import uvicorn

from rebuno import Agent
from rebuno.sdk import signing
from rebuno.sdk.webhook import Message, Receive, Send

EXECUTION = "0193a000-0000-7000-8000-000000000001"
DISPATCH = "0193a000-0000-7000-8000-0000000000d1"
SECRET = "agent-secret"

# An answer: the status and the JSON value, None for no body.
Answer = tuple[int, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A request as it came; `path` is what follows the execution's own, `signed` says that its signature is good."""

    method: str
    path: str
    body: Any
    headers: Mapping[str, str]
    signed: bool

    @property
    def attempt(self) -> str:
        """The delivery's attempt."""
        return self.headers.get("rebuno-dispatch-attempt", "")


class Wire:
    """`decide` answers submissions (default: proceed), `answer` whatever it likes before that (None: as usual).
    `lose` are requests, by the end of their path, whose answer is lost after they were heard: once for each time that
    they are listed; `cut` those whose connection breaks instead."""

    def __init__(self, input: Any = None) -> None:
        self.input = input
        self.calls: list[Call] = []
        self.url = ""
        self.status = "running"
        self.lose: list[str] = []
        self.cut: list[str] = []
        self.decide: Callable[[dict[str, Any]], dict[str, Any]] = lambda said: {"decision": "proceed"}
        self.answer: Callable[[Call], Answer | None] = lambda call: None
        self.outcomes: dict[str, Any] = {}
        self._stirred = asyncio.Event()

    def paths(self, method: str = "POST") -> list[str]:
        """The paths that were asked for."""
        return [call.path for call in self.calls if call.method == method]

    def bodies(self, path: str) -> list[Any]:
        """What was sent to a path."""
        return [call.body for call in self.calls if call.path == path and call.method == "POST"]

    async def heard(self, path: str, times: int = 1) -> Any:
        """Waits for a request; its body."""
        async with asyncio.timeout(60):
            while len([call for call in self.calls if call.path == path]) < times:
                self._stirred.clear()
                await self._stirred.wait()
        return [call for call in self.calls if call.path == path][times - 1].body

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        body = b""
        more = True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        path = scope["raw_path"].decode()
        wanted = signing.request(
            SECRET,
            scope["method"],
            path,
            headers.get("rebuno-timestamp", ""),
            body,
            dispatch_id=headers.get("rebuno-dispatch-id", ""),
            dispatch_attempt=headers.get("rebuno-dispatch-attempt", ""),
        )
        short = path.removeprefix(f"/v0/executions/{EXECUTION}").removeprefix("/")
        said = json.loads(body) if body else None
        call = Call(scope["method"], short, said, headers, headers.get("rebuno-signature") == wanted)
        self.calls.append(call)
        self._stirred.set()
        status, answer = self.answer(call) or self._answer(call)
        raw = b"" if answer is None else json.dumps(answer).encode()
        if short in self.lose:
            self.lose.remove(short)
            status, raw = 502, b"<h1>bad gateway</h1>"
        length = len(raw)
        if short in self.cut:
            self.cut.remove(short)
            status, length, raw = 200, 100, b""
        headers_out = [(b"content-length", str(length).encode())] if status != 204 else []
        await send({"type": "http.response.start", "status": status, "headers": headers_out})
        await send({"type": "http.response.body", "body": raw, "more_body": length > len(raw)})

    def _answer(self, call: Call) -> Answer:
        match call.method, call.path.split("/"):
            case "GET", [""]:
                return 200, {"id": EXECUTION, "agent_id": "agent", "status": self.status, "input": self.input}
            case "GET", ["previous"]:
                return 200, {"state": None}
            case "GET", ["steps", step_id]:
                return 200, {"step_id": step_id, "status": "executing"} | self.outcomes.get(step_id, {})
            case "POST", ["steps"]:
                return 200, {"step_id": f"step-{call.body['submission']}"} | self.decide(call.body)
            case "POST", ["steps", _, "complete" | "fail"]:
                return 200, {"decision": "recorded"}
            case "POST", ["suspend"]:
                return 200, {"suspended": True}
            case "POST", ["v0", "executions"]:
                return 201, {"id": "child", "agent_id": call.body["agent_id"], "status": "running"}
            case _:
                return 204, None


@asynccontextmanager
async def serving(app: Any) -> AsyncIterator[str]:
    """Serves an ASGI application on a port of its own; gives its URL."""
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=1))
    # A client that connects before it serves waits in the socket's queue.
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def agent(wire: Wire, handler: Callable[..., Any], **options: Any) -> AsyncIterator[Agent]:
    """An agent on this kernel, and the kernel served."""
    async with serving(wire) as wire.url:
        made = Agent("agent", secret=SECRET, base_url=wire.url, **options)
        made.bind(handler)
        try:
            yield made
        finally:
            await made.close()


async def tell(
    made: Agent,
    *,
    attempt: int = 1,
    dispatch: str = DISPATCH,
    lease: float = 30.0,
    body: bytes | None = None,
    signature: str | None = None,
    path: str = "/webhook",
    method: str = "POST",
) -> int:
    """Sends the agent a webhook; the status that answers it."""
    said = {
        "execution_id": EXECUTION,
        "dispatch_id": dispatch,
        "dispatch_attempt": attempt,
        "lease_timeout_seconds": lease,
    }
    raw = json.dumps(said).encode() if body is None else body
    signed = signing.webhook(SECRET, raw) if signature is None else signature
    transport = httpx2.ASGITransport(made.app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://agent", trust_env=False, verify=False) as http:
        answer = await http.request(method, path, content=raw, headers={"Rebuno-Signature": signed})
    return answer.status_code


def play(wire: Wire, handler: Callable[..., Any], *, lease: float = 30.0) -> list[Any]:
    """Has an agent run the execution once; what it was reported to have come to: the bodies sent to `complete` and
    `fail`."""

    async def whole() -> None:
        async with agent(wire, handler) as made:
            assert await tell(made, lease=lease) == 200
            async with asyncio.timeout(60):
                await made.join()

    asyncio.run(whole())
    return wire.bodies("complete") + wire.bodies("fail")
