"""One connection to one server: opened, watched, and opened again after a growing pause where it is lost."""

import logging
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, Protocol, TypeVar

import anyio
import mcp_types as types
from mcp import Client, MCPError
from mcp.client.session import ClientSession
from mcp.client.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    SubscriptionLost,
    ToolsListChanged,
    listen,
)
from mcp.shared.dispatcher import ProgressFnT
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, TypeAdapter
from pydantic import ValidationError as Misfit

import rebuno
from rebuno.mcp_proxy.config import ServerConfig
from rebuno.mcp_proxy.redaction import Redaction
from rebuno.mcp_proxy.transports import reached

logger: Final = logging.getLogger("rebuno.mcp_proxy")

ResultT = TypeVar("ResultT", bound=BaseModel)
# Makes the request of a round: with the answers to the server's questions, and the state that it gave with them.
Round = Callable[[types.InputResponses | None, str | None], types.Request[Any, Any]]
Asks = Callable[[types.InputRequests], Awaitable[types.InputResponses]]

_FIRST_PAUSE: Final = 0.25
_LONGEST_PAUSE: Final = 60.0
# A connection that lasted so long was a good one: the next pause is the first one again.
_GOOD: Final = 60.0
# After so many attempts in a row nobody waits for the next one.
_HOPELESS: Final = 2
_MOST_ROUNDS: Final = 10
_STATE_PAUSE: Final = 0.25
_LISTEN_PAUSE: Final = 1.0
# What the library's client says where a server gave no answer to what was sent.
_UNANSWERED: Final = frozenset({types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT})
_HTTP_FAILED: Final = "Server returned an error response"
_SESSION_GONE: Final = "Session terminated"


def pause_after(failures: int) -> float:
    """How long to wait before a server is started again, in seconds, after so many connections in a row that ended
    soon."""
    return min(_FIRST_PAUSE * 2.0 ** min(max(failures - 1, 0), 32), _LONGEST_PAUSE)


class ServerDownError(Exception):
    """The server cannot be reached; nothing was sent to it."""


class UnansweredError(Exception):
    """Something was sent to the server, and no answer came: it may have acted."""


class ConnectionOwner(Protocol):
    """What a connection needs of the session that it belongs to."""

    capabilities: types.ClientCapabilities

    async def ask_of_server(self, upstream: "Upstream", request: types.InputRequest) -> types.InputResponse:
        """Passes on what the server asks outside of an answer; `MCPError` where nobody can be asked."""

    async def log_of_server(self, upstream: "Upstream", params: types.LoggingMessageNotificationParams) -> None:
        """Passes on a line of the server's log."""

    async def event_of_server(self, upstream: "Upstream", event: ServerEvent) -> None:
        """Passes on that something has changed at the server."""


class Upstream:
    """A connection to the server `name`, for one session of a client."""

    def __init__(
        self, name: str, server: ServerConfig, front: ConnectionOwner, folder: str, start: float, redact: Redaction
    ):
        self.name = name
        self.server = server
        self.front = front
        self._folder = folder
        self._start = start
        self._redact = redact
        self._session: ClientSession | None = None
        self._ready = anyio.Event()
        # Set and replaced where the connection is there, or an attempt has failed.
        self._news = anyio.Event()
        self._closed = anyio.Event()
        # Connections that ended soon, and attempts that came to none, both in a row.
        self._failures = self._misses = 0
        self._served = False
        self._error = "it has not been started yet"
        self._uris: set[str] = set()
        self._relisten = anyio.Event()
        # Called once at each new connection, before it is used: it reads the server's tools.
        self.connected: Callable[[], Awaitable[None]] | None = None

    # ------------------------------------------------------------ the connection

    async def run(self) -> None:
        """Keeps the connection until it is cancelled."""
        while True:
            since, self._served = anyio.current_time(), False
            try:
                await self._connect()
            except Exception as error:
                self._error = self._redact.short(_innermost(error))
                logger.warning("the server `%s` cannot be used: %s", self.name, self._error)
            finally:
                self._session = None
            lasted = anyio.current_time() - since
            self._failures = 0 if lasted > _GOOD else self._failures + 1
            self._misses = 0 if self._served else self._misses + 1
            self._tell()
            pause = pause_after(self._failures)
            logger.info("the server `%s` is started again in %.2f s", self.name, pause)
            await anyio.sleep(pause)

    async def _connect(self) -> None:
        self._closed = closed = anyio.Event()
        with anyio.CancelScope(deadline=anyio.current_time() + self._start) as scope:
            async with reached(self.name, self.server, self._folder, self._redact, closed.set) as streams:
                await self._hold(streams, closed, scope)
        if scope.cancelled_caught:
            raise TimeoutError(f"it did not answer within {self._start:g} s")

    async def _hold(self, streams: Any, closed: anyio.Event, scope: anyio.CancelScope) -> None:
        capabilities = self.front.capabilities
        has_sampling, has_roots = capabilities.sampling is not None, capabilities.roots is not None
        client = Client(
            _Open(streams),
            mode="legacy" if self.server.protocol == "2025-11-25" else self.server.protocol,
            cache=None,
            client_info=types.Implementation(name="rebuno", version=rebuno.__version__),
            sampling_callback=self._sample if has_sampling else None,
            sampling_capabilities=capabilities.sampling,
            elicitation_callback=self._elicit if capabilities.elicitation is not None else None,
            list_roots_callback=self._roots if has_roots else None,
            logging_callback=self._log,
            message_handler=self._heard,
        )
        try:
            async with client:
                self._session = client.session
                if self.connected is not None:
                    await self.connected()
                scope.deadline = math.inf
                self._served = True
                self._ready.set()
                self._tell()
                async with anyio.create_task_group() as group:
                    group.start_soon(self._listen if self.modern else self._subscribe_again)
                    await closed.wait()
                    group.cancel_scope.cancel()
                self._error = "the connection was closed"
        finally:
            self._ready = anyio.Event()

    def _tell(self) -> None:
        self._news.set()
        self._news = anyio.Event()

    @property
    def modern(self) -> bool:
        """Whether the server is spoken to in a version without sessions."""
        return self._session is not None and self._session.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def capabilities(self) -> types.ServerCapabilities:
        """What the server says that it can do; nothing where it is not connected."""
        found = self._session.server_capabilities if self._session is not None else None
        return found or types.ServerCapabilities()

    async def ready(self) -> ClientSession:
        """The session with the server. Raises `ServerDownError` where there is none and none comes in time."""
        with anyio.move_on_after(self._start):
            while not self._ready.is_set() and self._misses < _HOPELESS:
                await self._news.wait()
        if self._session is None or not self._ready.is_set():
            raise ServerDownError(f"the MCP server `{self.name}` is not running: {self._error}")
        return self._session

    # ------------------------------------------------------------ to the server

    async def request(self, request: types.Request[Any, Any], result: type[ResultT]) -> ResultT:
        """Sends a request that needs no more than an answer.

        Raises:
            MCPError: the server's own error.
            ServerDownError, UnansweredError
        """
        return await self._sent(await self.ready(), request, TypeAdapter(result))

    async def raw(self, request: types.Request[Any, Any], result: type[ResultT]) -> ResultT:
        """The same on a connection that is not ready yet: what is asked of it at its start."""
        if self._session is None:
            raise ServerDownError(f"the MCP server `{self.name}` is not running")
        return await self._sent(self._session, request, TypeAdapter(result))

    async def asked(self, round_of: Round, result: type[ResultT], asks: Asks, progress: ProgressFnT | None) -> ResultT:
        """Sends a request whose server may want something of the client before it answers: `asks` gets it.

        Raises:
            MCPError: the server's own error, or the client's.
            ServerDownError, UnansweredError
        """
        session = await self.ready()
        both: Any = result | types.InputRequiredResult
        adapter: TypeAdapter[Any] = TypeAdapter(both)
        found = await self._sent(session, round_of(None, None), adapter, progress)
        for _ in range(_MOST_ROUNDS):
            if not isinstance(found, types.InputRequiredResult):
                answered: ResultT = found
                return answered
            if found.input_requests:
                answers: types.InputResponses | None = await asks(found.input_requests)
            else:
                await anyio.sleep(_STATE_PAUSE)
                answers = None
            found = await self._sent(session, round_of(answers, found.request_state), adapter, progress)
        raise UnansweredError(f"the MCP server `{self.name}` has asked {_MOST_ROUNDS} times and not answered")

    async def _sent(
        self,
        session: ClientSession,
        request: types.Request[Any, Any],
        result: TypeAdapter[ResultT],
        progress: ProgressFnT | None = None,
    ) -> ResultT:
        try:
            return await session.send_request(request, result, progress_callback=progress)
        except MCPError as error:
            if self.server.url and error.message == _SESSION_GONE:
                self._closed.set()
                raise ServerDownError(f"the MCP server `{self.name}` has ended its session") from error
            if error.code in _UNANSWERED or (self.server.url and error.message == _HTTP_FAILED):
                raise UnansweredError(f"the MCP server `{self.name}` gave no answer") from error
            raise MCPError(error.code, self._redact(error.message), self._redact.data(error.data)) from None
        except Misfit:
            raise UnansweredError(f"the MCP server `{self.name}` gave an answer outside of the protocol") from None

    async def notify(self, notification: types.ClientNotification) -> None:
        """Sends a notification, if there is a connection."""
        if self._session is not None:
            await self._session.send_notification(notification)

    async def follow(self, uri: str, *, on: bool) -> None:
        """Asks the server to say when a resource changes, or no longer. Raises as `request`."""
        await self.ready()
        (self._uris.add if on else self._uris.discard)(uri)
        if self.modern:
            self._relisten.set()
            return
        wanted: types.Request[Any, Any]
        if on:
            wanted = types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri))
        else:
            wanted = types.UnsubscribeRequest(params=types.UnsubscribeRequestParams(uri=uri))
        await self.request(wanted, types.EmptyResult)

    async def _subscribe_again(self) -> None:
        for uri in [*self._uris]:
            with suppress(MCPError, UnansweredError):
                request = types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri))
                await self.raw(request, types.EmptyResult)

    async def _listen(self) -> None:
        """One stream for all that changes; opened anew where other resources are to be followed."""
        while self._session is not None:
            self._relisten = anyio.Event()
            async with anyio.create_task_group() as group:
                group.start_soon(self._hear, self._session)
                await self._relisten.wait()
                group.cancel_scope.cancel()

    async def _hear(self, session: ClientSession) -> None:
        while True:
            try:
                async with listen(
                    session,
                    tools_list_changed=True,
                    prompts_list_changed=True,
                    resources_list_changed=True,
                    resource_subscriptions=[*self._uris],
                ) as stream:
                    async for event in stream:
                        await self.front.event_of_server(self, event)
                return
            except SubscriptionLost:
                await anyio.sleep(_LISTEN_PAUSE)
                # Nobody knows what happened in between.
                for event in (ToolsListChanged(), PromptsListChanged(), ResourcesListChanged()):
                    await self.front.event_of_server(self, event)
            except (MCPError, TimeoutError) as error:
                logger.debug("the server `%s` says nothing of changes: %s", self.name, self._redact.short(error))
                return

    # ------------------------------------------------------------ from the server

    async def _sample(self, context: Any, params: types.CreateMessageRequestParams) -> Any:
        return await self._passed(types.CreateMessageRequest(params=params))

    async def _elicit(self, context: Any, params: types.ElicitRequestParams) -> Any:
        return await self._passed(types.ElicitRequest(params=params))

    async def _roots(self, context: Any) -> Any:
        return await self._passed(types.ListRootsRequest())

    async def _passed(self, request: types.InputRequest) -> types.InputResponse | types.ErrorData:
        try:
            return await self.front.ask_of_server(self, request)
        except MCPError as error:
            return error.error

    async def _log(self, params: types.LoggingMessageNotificationParams) -> None:
        await self.front.log_of_server(self, params)

    async def _heard(self, message: Any) -> None:
        match message:
            case types.ToolListChangedNotification():
                event: ServerEvent = ToolsListChanged()
            case types.PromptListChangedNotification():
                event = PromptsListChanged()
            case types.ResourceListChangedNotification():
                event = ResourcesListChanged()
            case types.ResourceUpdatedNotification(params=params):
                event = ResourceUpdated(uri=str(params.uri))
            case _:
                return
        # In a stream of a server without sessions the same event comes a second time.
        if not self.modern:
            await self.front.event_of_server(self, event)


class _Open:
    """Streams that are open already, as the client of the library takes them."""

    def __init__(self, streams: Any) -> None:
        self._streams = streams

    async def __aenter__(self) -> Any:
        return self._streams

    async def __aexit__(self, *_: object) -> None:
        return None


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return error
