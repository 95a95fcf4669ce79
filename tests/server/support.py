"""A server in this process on a port of its own, an agent that signs, and a place where webhooks arrive."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2
import jsonschema  # type: ignore[import-untyped]

from rebuno.journal.opening import open_store
from rebuno.kernel import Settings
from rebuno.sdk import signing
from rebuno.server.app import assemble, document
from rebuno.server.routes import Server
from rebuno.server.run import Pages, bound, serve
from rebuno.server.webhooks import AllowList

TOKEN: Final = "a-token-for-operators"
BEARER: Final = {"Authorization": f"Bearer {TOKEN}"}
SECRET: Final = "an-agents-secret"
QUICK: Final = Settings(poll=0.02, sweep=0.05)


_DOCUMENT: Final = json.loads(document())


def fits(model: str, said: object) -> None:
    """An answer has what the OpenAPI document says of a model, and no field more."""
    schema = {"$ref": f"#/components/schemas/{model}", "components": _DOCUMENT["components"]}
    jsonschema.validate(said, schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)


@dataclass(slots=True)
class Running:
    """A server that answers, a client of it that sends the bootstrap token, and one that sends nothing of its own."""

    server: Server
    url: str
    http: httpx2.AsyncClient
    plain: httpx2.AsyncClient

    async def get(self, path: str, **more: Any) -> Any:
        """The JSON of an answer 200."""
        answer = await self.http.get(path, **more)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def post(self, path: str, body: Any = None, *, status: int = 200) -> Any:
        """The JSON of an answer, or None where it has no body."""
        answer = await self.http.post(path, json=body) if body is not None else await self.http.post(path)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None


@asynccontextmanager
async def running(
    db: str = ":memory:",
    *,
    tracer: Any = None,
    pages: Pages = lambda server: (),
    key_ring: Any = None,
    encrypt: bool = False,
    **options: Any,
) -> AsyncIterator[Running]:
    """A server over a store of its own, with these `pages`; `options` are those of `assemble`."""
    store = await open_store(db, key_ring=key_ring, encrypt=encrypt)
    try:
        server = assemble(store, **{"bearer_token": TOKEN, "settings": QUICK, **options})
        started: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        with bound("127.0.0.1", 0) as listening:
            serving = asyncio.create_task(
                serve(server, listening, grace=2.0, started=started.set_result, tracer=tracer, pages=pages(server))
            )
            either: set[asyncio.Future[Any]] = {serving, started}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                serving.result()
            url = started.result()
            try:
                # Certificates take longer to load than most tests to run.
                async with (
                    httpx2.AsyncClient(base_url=url, headers=BEARER, timeout=20, verify=False) as http,
                    httpx2.AsyncClient(base_url=url, timeout=20, verify=False) as plain,
                ):
                    yield Running(server, url, http, plain)
            finally:
                server.closing.set()
                await serving
    finally:
        await store.close()


def play(scenario: Callable[[Running], Coroutine[Any, Any, None]], **options: Any) -> None:
    """Plays a scenario on a server of its own."""

    async def whole() -> None:
        async with running(**options) as server:
            await scenario(server)

    asyncio.run(whole())


@dataclass(slots=True)
class Told:
    """A webhook as it arrived."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def says(self) -> Any:
        """Its body's JSON."""
        return json.loads(self.body)

    def dispatch(self) -> dict[str, str]:
        """The headers that an agent sends back."""
        return {
            "Rebuno-Dispatch-Id": self.says["dispatch_id"],
            "Rebuno-Dispatch-Attempt": str(self.says["dispatch_attempt"]),
        }


@dataclass(slots=True)
class Inbox:
    """Where webhooks arrive; each is answered with `status`, and `headers` besides."""

    status: int = 200
    headers: str = ""
    told: "asyncio.Queue[Told]" = field(default_factory=asyncio.Queue)
    url: str = ""

    async def next(self) -> Told:
        """The next webhook, waited for."""
        return await asyncio.wait_for(self.told.get(), 15)

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.told.put_nowait(Told(first.split()[1], headers, body))
        writer.write(
            f"HTTP/1.1 {self.status} X\r\n{self.headers}content-length: 0\r\nconnection: close\r\n\r\n".encode()
        )
        await writer.drain()
        writer.close()
        await writer.wait_closed()


@asynccontextmanager
async def inbox(status: int = 200, headers: str = "") -> AsyncIterator[Inbox]:
    """An inbox on a port of its own."""
    made = Inbox(status, headers)
    listening = await asyncio.start_server(made._take, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/webhook"
    async with listening:
        yield made


@dataclass(slots=True)
class Agent:
    """An agent that signs what it sends, under the newest webhook that it was told."""

    running: Running
    inbox: Inbox
    id: str
    secret: str = SECRET
    dispatch: dict[str, str] = field(default_factory=dict)

    async def send(self, method: str, path: str, body: Any = b"", **headers: str) -> httpx2.Response:
        """An answer to a signed request; `body` is JSON data, or bytes as they are."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"Rebuno-Agent-Id": self.id, "Rebuno-Timestamp": str(int(time.time())), **self.dispatch, **headers}
        sent["Rebuno-Signature"] = signing.request(
            self.secret,
            method,
            path,
            sent["Rebuno-Timestamp"],
            content,
            dispatch_id=sent.get("Rebuno-Dispatch-Id", ""),
            dispatch_attempt=sent.get("Rebuno-Dispatch-Attempt", ""),
        )
        headers = {"Content-Type": "application/json", **sent}
        return await self.running.plain.request(method, path, content=content, headers=headers)

    async def said(self, method: str, path: str, body: Any = b"", *, status: int = 200) -> Any:
        """The JSON of an answer, or None where it has no body."""
        answer = await self.send(method, path, body)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    async def take(self) -> str:
        """Waits for the next webhook, and acts under it; the execution's id."""
        told = await self.inbox.next()
        assert told.headers["rebuno-signature"] == signing.webhook(self.secret, told.body)
        self.dispatch = told.dispatch()
        return str(told.says["execution_id"])

    async def submit(self, execution_id: str, target: str = "look", args: Any = None, **more: Any) -> Any:
        """The decision on a tool call."""
        body = {"kind": "tool_call", "target": target, "args": {} if args is None else args}
        body |= {"idempotency": "safe_to_retry", "resources": [], **more}
        return await self.said("POST", f"/v0/executions/{execution_id}/steps", body)


@asynccontextmanager
async def agent(server: Running, id: str = "agent", bundle: str = "bundle b\ndefault allow\n") -> AsyncIterator[Agent]:
    """A registered agent with a bundle and an inbox."""
    async with inbox() as box:
        await server.post("/v0/agents", {"id": id, "webhook_url": box.url, "secret": SECRET}, status=201)
        if bundle:
            await server.post(f"/v0/policies/{id}", {"bundle": bundle}, status=204)
        yield Agent(server, box, id)


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Waits until something holds, 15 seconds at most."""
    for _ in range(750):
        if await holds():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it never came to hold")


def only(*urls: str) -> AllowList:
    """An allow list."""
    return AllowList(urls)
