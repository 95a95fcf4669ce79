"""One session of a client: its connections to servers, whom a server's question goes to, what has changed."""

import logging
from functools import partial
from typing import Any, Final

import anyio
import anyio.abc
import mcp_types as types
from mcp import MCPError
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ServerEvent,
    ToolsListChanged,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from rebuno.mcp_proxy.catalogue import ListedTool, ResourcePlaces, tools_of
from rebuno.mcp_proxy.config import ProxyConfig
from rebuno.mcp_proxy.exchange import Context, ForwardedRequest, ParkedRequests, answer_type, can_answer
from rebuno.mcp_proxy.upstream import ServerDownError, UnansweredError, Upstream

logger: Final = logging.getLogger("rebuno.mcp_proxy")

_LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


class ProxySession:
    """What one client has with the proxy. `id` is the session for policies and the journal."""

    def __init__(
        self,
        id: str,
        config: ProxyConfig,
        capabilities: types.ClientCapabilities,
        group: anyio.abc.TaskGroup,
        *,
        over_http: bool,
    ) -> None:
        self.id = id
        self.over_http = over_http
        self.config = config
        self.capabilities = capabilities
        self.places = ResourcePlaces()
        self.parked = ParkedRequests(group)
        self.tools: dict[str, dict[str, ListedTool]] = {}
        self.level: types.LoggingLevel | None = None
        self.used = anyio.current_time()
        self.running: dict[str, list[ForwardedRequest]] = {name: [] for name in config.servers}
        self._bus = InMemorySubscriptionBus()
        self.listens = ListenHandler(self._bus)
        # The channel of a client with a session, for what belongs to no request.
        self.standing: ServerSession | None = None
        folder = str(config.path.absolute().parent)
        self.upstreams = {
            name: Upstream(name, server, self, folder, config.bounds.start, config.redaction)
            for name, server in config.servers.items()
        }
        # Streams of a client that hears of changes.
        self.listening = 0
        self._scope = anyio.CancelScope()
        self._seen: set[str] = set()

    async def run(self) -> None:
        """Keeps the connections until `close`."""
        with self._scope:
            async with anyio.create_task_group() as group:
                for upstream in self.upstreams.values():
                    upstream.connected = partial(self._connected, upstream)
                    group.start_soon(upstream.run)

    @property
    def busy(self) -> bool:
        """Whether something of the client is on its way, or it listens."""
        return self.parked.running > 0 or self.listening > 0

    def close(self) -> None:
        """Ends the connections."""
        self._scope.cancel()

    async def list_tools(self, upstream: Upstream, *, starting: bool = False) -> None:
        """Reads a server's tools anew. Raises as `tools_of`."""
        self.tools[upstream.name] = await tools_of(upstream, starting=starting)

    async def _connected(self, upstream: Upstream) -> None:
        again = upstream.name in self._seen
        self._seen.add(upstream.name)
        if upstream.capabilities.tools is not None:
            await self.list_tools(upstream, starting=True)
        if self.level is not None:
            await self.set_level(upstream, self.level, starting=True)
        if again:
            # A server that was started anew may be another one.
            for event in (ToolsListChanged(), PromptsListChanged(), ResourcesListChanged()):
                await self.changed(event)

    async def all_tools(self) -> list[ListedTool]:
        """The tools of all servers as they list them now; a server that cannot say is left out."""

        async def read(upstream: Upstream) -> None:
            try:
                await upstream.ready()
                await self.list_tools(upstream)
            except (MCPError, ServerDownError, UnansweredError) as error:
                self.tools.pop(upstream.name, None)
                said = self.config.redaction.short(error)
                logger.warning("the tools of the server `%s` are left out: %s", upstream.name, said)

        async with anyio.create_task_group() as group:
            for upstream in self.upstreams.values():
                group.start_soon(read, upstream)
        return [tool for name in self.upstreams for tool in self.tools.get(name, {}).values()]

    def upstream_of(self, wire: str) -> tuple[Upstream, str]:
        """The server that a name of a tool or prompt belongs to, and its name there. Raises `MCPError`."""
        server, mark, name = wire.partition("__")
        if not mark or not name or server not in self.upstreams:
            raise MCPError(types.INVALID_PARAMS, f"there is no `{wire[:200]}`: names are `SERVER__NAME`")
        return self.upstreams[server], name

    async def tool_of(self, wire: str) -> ListedTool:
        """The tool of this name. Raises `MCPError` where there is none, `ServerDownError`."""
        upstream, name = self.upstream_of(wire)
        await upstream.ready()
        found = self.tools.get(upstream.name, {}).get(name)
        if found is None:
            raise MCPError(types.INVALID_PARAMS, f"the server `{upstream.name}` has no tool `{name[:200]}`")
        return found

    async def set_level(self, upstream: Upstream, level: types.LoggingLevel, *, starting: bool = False) -> None:
        """Tells a server of the version with sessions what of its log is wanted."""
        self.level = level
        if upstream.capabilities.logging is None or upstream.modern:
            return
        send = upstream.raw if starting else upstream.request
        await send(types.SetLevelRequest(params=types.SetLevelRequestParams(level=level)), types.EmptyResult)

    # ------------------------------------------------------------ what servers say

    def _latest(self, upstream: Upstream) -> ForwardedRequest | None:
        return self.running[upstream.name][-1] if self.running[upstream.name] else None

    async def ask_of_server(self, upstream: Upstream, request: types.InputRequest) -> types.InputResponse:
        """Puts what a server asks to the client, through the request that the server works on. Raises `MCPError`."""
        question = marked(upstream.name, request)
        exchange = self._latest(upstream)
        if exchange is not None:
            return (await exchange.ask({"question": question}))["question"]
        if self.standing is None or not can_answer(self.capabilities, question):
            raise MCPError(types.METHOD_NOT_FOUND, f"the client does not answer `{question.method}` now")
        found: Any = await self.standing.send_request(question, answer_type(question))
        return found  # type: ignore[no-any-return]

    async def log_of_server(self, upstream: Upstream, params: types.LoggingMessageNotificationParams) -> None:
        """Passes a line of a server's log on, with the server's name."""
        name = f"{upstream.name}.{params.logger}" if params.logger else upstream.name
        params = params.model_copy(update={"data": self.config.redaction.data(params.data)})
        if self.level is not None and _LEVELS.index(params.level) < _LEVELS.index(self.level):
            return
        exchange = self._latest(upstream)
        if exchange is not None and exchange.modern:
            wanted = (exchange.context.meta or {}).get(types.LOG_LEVEL_META_KEY)
            if wanted in _LEVELS and _LEVELS.index(params.level) >= _LEVELS.index(wanted):
                line = params.model_copy(update={"logger": name})
                sent = types.LoggingMessageNotification(params=line)
                await exchange.context.session.send_notification(sent, exchange.context.request_id)
        elif self.standing is not None:
            line = params.model_copy(update={"logger": name})
            await self.standing.send_notification(types.LoggingMessageNotification(params=line))

    async def event_of_server(self, upstream: Upstream, event: ServerEvent) -> None:
        """Passes on that something has changed."""
        if isinstance(event, ToolsListChanged):
            try:
                await self.list_tools(upstream)
            except (MCPError, ServerDownError, UnansweredError) as error:
                # What was known of the tools is no longer true.
                self.tools.pop(upstream.name, None)
                said = self.config.redaction.short(error)
                logger.warning("the server `%s` does not list its tools: %s", upstream.name, said)
        await self.changed(event)

    async def changed(self, event: ServerEvent) -> None:
        """Tells the client that something has changed."""
        await self._bus.publish(event)
        if self.standing is None:
            return
        match event:
            case ToolsListChanged():
                await self.standing.send_tool_list_changed()
            case PromptsListChanged():
                await self.standing.send_prompt_list_changed()
            case ResourcesListChanged():
                await self.standing.send_resource_list_changed()
            case _:
                await self.standing.send_resource_updated(event.uri)

    def meets(self, context: Context) -> None:
        """Notes who the client is, by one of its requests."""
        self.used = anyio.current_time()
        if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            self.standing = context.session


def marked(server: str, request: types.InputRequest) -> types.InputRequest:
    """A server's question with the server's name in front, so that nobody takes it for one of the proxy's."""
    if isinstance(request, types.ElicitRequest):
        params = request.params.model_copy(update={"message": f"[{server}] {request.params.message}"})
        return request.model_copy(update={"params": params})
    return request
