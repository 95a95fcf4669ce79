"""What a route is: `Endpoint`. The lists `ENDPOINTS` of agents.py, clients.py, histories.py and operators.py are all of
them; from
them come what Starlette serves, what each caller must show, and the OpenAPI document."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel
from pydantic import ValidationError as Misfit
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from rebuno.errors import NotFoundError, NotJSON, ValidationError
from rebuno.journal.served import ServedStore
from rebuno.kernel import Dispatched, Serving, beside
from rebuno.model import identity
from rebuno.model.bounds import Bounds
from rebuno.server import auth
from rebuno.server.auth import Caller, KeyScope, Tokens
from rebuno.server.bound import check_bound
from rebuno.server.failures import BodyTooLargeError, answer
from rebuno.server.metrics import ROUTE, Metrics
from rebuno.server.webhooks import AllowList
from rebuno.server.wire import requests

logger: Final = logging.getLogger("rebuno.server")

# The key in a scope under which a request's attributes are kept for tracing.
TOLD: Final = "rebuno.told"

# The paths whose ids are UUIDs; an agent's id is its operator's own text.
_NUMBERED: Final = ("/v0/executions/{id}", "/v0/approvals/{id}", "/v0/api-keys/{id}")

T = TypeVar("T", bound=BaseModel)


class Who(Enum):
    """The credentials that a route accepts."""

    ANYONE = auto()
    OPERATOR = auto()
    AGENT = auto()
    EITHER = auto()


@dataclass(frozen=True, slots=True)
class Server:
    """The shared objects of all handlers. `closing` is set once the server shuts down."""

    serving: Serving
    store: ServedStore
    tokens: Tokens
    metrics: Metrics
    allowed: AllowList
    bounds: Bounds = field(default_factory=Bounds)
    closing: asyncio.Event = field(default_factory=asyncio.Event)


class ApiCall:
    """One request with its caller and its body."""

    __slots__ = ("_read", "caller", "headers", "path", "query_string", "raw", "server", "told")

    def __init__(
        self, server: Server, scope: Mapping[str, Any], headers: Mapping[str, str], caller: Caller, raw: bytes
    ) -> None:
        self.server = server
        self.headers = headers
        self.caller = caller
        self.path: dict[str, str] = scope["path_params"]
        self.query_string: bytes = scope["query_string"]
        self.raw = raw
        self._read: tuple[Any, dict[int, str | NotJSON]] | None = None
        self.told: dict[str, str] | None = scope.get(TOLD)

    @property
    def serving(self) -> Serving:
        """The kernel."""
        return self.server.serving

    @property
    def id(self) -> str:
        """The id in the path: of an execution, an approval or a key in small letters, of an agent as it is."""
        return self.path["id"]

    @property
    def step_id(self) -> str:
        """The step in the path, in small letters."""
        return self.path["step_id"].lower()

    def note(self, what: str, **more: str) -> None:
        """Logs the outcome for the execution in the path."""
        if logger.isEnabledFor(logging.INFO):
            logger.info(what, extra={"execution_id": self.path.get("id", ""), "by": self._who(), **more})

    def _who(self) -> str:
        return self.caller.agent_id or self.caller.name

    def dispatch(self) -> Dispatched:
        """The delivery of the agent's request; `ValidationError` without one."""
        return auth.dispatched(self.headers)

    def body(self, model: type[T]) -> T:
        """The body as this model; `ValidationError` if it does not fit. An empty body is an empty object."""
        return _fit(model, self._value(), "the body")

    def _value(self) -> Any:
        if self._read is not None:
            return self._read[0]
        return identity.parse(self.raw, bounds=self.server.bounds) if self.raw.strip() else {}

    async def read_beside(self) -> None:
        """Reads a long body beside the event loop, with the canonical texts of its fields; `body` and `canonical` then
        find them.

        Raises:
            ValidationError: as `body`.
        """
        if len(self.raw) > LONG_BODY:
            large = len(self.raw) > identity.LARGE
            self._read = await beside(partial(_read_long, self.raw, self.server.bounds), long=large)

    def canonical(self, value: object, root: str) -> str:
        """A field of the body as canonical JSON. Raises `NotJSON`, which names the path from `root` on."""
        text = self._read[1].get(id(value)) if self._read is not None else None
        if isinstance(text, NotJSON):
            raise text
        return identity.canonical(value, root) if text is None else text

    def query(self, model: type[T]) -> T:
        """The query as this model; `ValidationError` if it does not fit."""
        return _fit(model, _query(self.query_string), "the query")


Handler = Callable[[ApiCall], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One route: its callers and scopes, its body and query, and its answer. Path, models and the handler's own
    docstring make its entry in the OpenAPI document."""

    method: str
    path: str
    handle: Handler
    who: Who = Who.OPERATOR
    scopes: tuple[KeyScope, ...] = ()
    body: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    answer: Any = None
    status: int = 200
    dispatched: bool = False
    media: str = "application/json"

    def route(self, server: Server) -> Route:
        """The route that Starlette serves."""

        numbered = self.path.startswith(_NUMBERED)

        async def endpoint(request: Request) -> Response:
            request.scope[ROUTE] = self.path
            auth.check_single(request.scope["headers"])
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in request.scope["headers"]}
            raw = await _read(request, headers)
            caller = await self._caller(server, request.scope, headers, raw)
            call = ApiCall(server, request.scope, headers, caller, raw)
            await call.read_beside()
            if call.told is not None:
                call.told |= self._told(call)
            if numbered:
                call.path["id"] = _id(call.path["id"])
            for text in call.path.values():
                if "\0" in text:
                    raise NotFoundError("nothing has an id with NUL in it")
            await check_bound(call, self.path)
            return await self.handle(call)

        return Route(self.path, endpoint, methods=[self.method], name=f"{self.method} {self.path}")

    def _told(self, call: ApiCall) -> dict[str, str]:
        of_execution = self.path.startswith("/v0/executions/")
        return {
            "http.route": self.path,
            "rebuno.execution_id": call.path["id"] if of_execution else "",
            "rebuno.step_id": call.path.get("step_id", ""),
            "rebuno.agent_id": call.caller.agent_id,
        }

    async def _caller(self, server: Server, scope: Mapping[str, Any], headers: Mapping[str, str], raw: bytes) -> Caller:
        if self.who is Who.ANYONE:
            return Caller()
        if self.who is Who.AGENT or (self.who is Who.EITHER and auth.is_agent(headers)):
            return await auth.agent(server.serving, headers, method=scope["method"], target=_target(scope), body=raw)
        caller = await server.tokens.caller(headers)
        caller.need(*self.scopes)
        return caller


def served(endpoints: Iterable[Endpoint], server: Server) -> list[Route]:
    """The routes of a table, in its order."""
    return [endpoint.route(server) for endpoint in endpoints]


def nothing() -> Response:
    """An answer without a body."""
    return Response(status_code=204)


def said(text: str, status: int = 200) -> Response:
    """An answer of JSON."""
    return answer(status, text)


def _target(scope: Mapping[str, Any]) -> str:
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    query: bytes = scope["query_string"]
    return (path + b"?" + query if query else path).decode("latin-1")


async def _read(request: Request, headers: Mapping[str, str]) -> bytes:
    announced = headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > identity.MAX_BYTES:
        raise BodyTooLargeError(_TOO_LARGE)
    pieces: list[bytes] = []
    size = 0
    try:
        async for piece in request.stream():
            pieces.append(piece)
            size += len(piece)
            if size > identity.MAX_BYTES:
                raise BodyTooLargeError(_TOO_LARGE)
    except ClientDisconnect:
        raise ValidationError("the body ended early") from None
    return b"".join(pieces)


# Bytes. Shorter bodies take some milliseconds at most.
LONG_BODY: Final = 65_536
_TOO_LARGE: Final = f"a body has at most {identity.MAX_BYTES:,} bytes"


def _read_long(raw: bytes, bounds: Bounds) -> tuple[Any, dict[int, str | NotJSON]]:
    value = identity.parse(raw, bounds=bounds) if raw.strip() else {}
    large = len(raw) > identity.LARGE
    texts: dict[int, str | NotJSON] = {}
    for name, part in value.items() if isinstance(value, dict) else ():
        if isinstance(part, str | list | dict):
            try:
                texts[id(part)] = identity.canonical(part, name, in_steps=large)
            except NotJSON as error:
                texts[id(part)] = error
    return value, texts


def _query(raw: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError:
        raise ValidationError("the query is not percent-encoded UTF-8, or has more than 100 fields") from None
    query = dict(pairs)
    if len(query) != len(pairs):
        raise ValidationError("the query repeats a field")
    if any("\0" in value for value in query.values()):
        raise ValidationError("the query holds NUL")
    return query


def _id(text: str) -> str:
    try:
        return requests.uuid(text)
    except ValueError:
        raise ValidationError("the id in the path is no UUID") from None


def _fit(model: type[T], value: object, what: str) -> T:
    if not isinstance(value, dict):
        raise ValidationError(f"{what} is no JSON object")
    try:
        return model.model_validate(value)
    except Misfit as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        wrong = "; ".join(f"`{'.'.join(map(str, one['loc']))}`: {one['msg'].lower()}" for one in found[:10])
        raise ValidationError(f"{what} does not fit: {wrong}") from None
