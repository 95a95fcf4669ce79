"""The server that clients see: it forwards all that needs no judgement, and hands calls of tools on."""

import hashlib
import logging
from contextlib import contextmanager
from typing import Any, Final, Protocol, TypeVar

import anyio
import anyio.abc
import mcp_types as types
from mcp import MCPError
from mcp.server import Server
from mcp.server.lowlevel import NotificationOptions
from mcp.server.models import InitializationOptions
from mcp.shared.dispatcher import ProgressFnT
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

import rebuno
from rebuno.mcp_proxy.catalogue import ListedTool, gathered, wire_name
from rebuno.mcp_proxy.config import ProxyConfig
from rebuno.mcp_proxy.exchange import Context, ForwardedRequest
from rebuno.mcp_proxy.redaction import Redaction
from rebuno.mcp_proxy.session import ProxySession, marked
from rebuno.mcp_proxy.upstream import Round, ServerDownError, UnansweredError, Upstream
from rebuno.model import identity

logger: Final = logging.getLogger("rebuno.mcp_proxy")

ResultT = TypeVar("ResultT", bound=BaseModel)

# What the library writes into a request itself, for the connection at hand.
_OWN_META: Final = frozenset(
    {"progressToken", "progress_token", types.PROTOCOL_VERSION_META_KEY, types.CLIENT_INFO_META_KEY,
     types.CLIENT_CAPABILITIES_META_KEY}
)  # fmt: skip
# Sessions of clients over HTTP whose connections are kept, and for how long without a request, in seconds.
_MOST_SESSIONS: Final = 64
_IDLE: Final = 1800.0
# How long the calls of a client that goes may take to be recorded, in seconds.
_DRAIN: Final = 10.0


class CallMaker(Protocol):
    """Judges calls of tools, and makes those that may be made."""

    async def call(
        self, session: ProxySession, exchange: ForwardedRequest, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """The result of a call, or what keeps it from being made; `MCPError` where there is no such tool."""

    def offered(self, tools: list[ListedTool]) -> list[ListedTool]:
        """Those that may ever be allowed."""

    async def ended(self, session: str = "") -> None:
        """The client of a session has gone, or all have."""


class _ProxyServer(Server[Any]):
    """The library's server, which announces that lists may change on every transport."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """The options of the library with all notifications."""
        wanted = notification_options or NotificationOptions(
            prompts_changed=True, resources_changed=True, tools_changed=True
        )
        return super().create_initialization_options(wanted, experimental_capabilities, extensions)


class Front:
    """All sessions of clients, and the handlers of their requests. `run` is a task of its own, `server` is what a
    transport serves."""

    def __init__(self, config: ProxyConfig, caller: CallMaker, *, own_session: str) -> None:
        self.config = config
        self._caller = caller
        # Of clients that have no session of their own: those on stdio, and those of the version without sessions.
        self._own_session = own_session
        self._sessions: dict[str, ProxySession] = {}
        self._group: anyio.abc.TaskGroup | None = None
        self.server = self._served()

    def _served(self) -> _ProxyServer:
        server = _ProxyServer(
            "rebuno",
            version=rebuno.__version__,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_subscriptions_listen=self._listen,
            on_completion=self._complete,
            get_tool_input_schema=self._schema,
        )
        # The keyword arguments of these warn of their age.
        server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, self._set_level)
        changed = "notifications/roots/list_changed"
        server.add_notification_handler(changed, types.NotificationParams, self._roots_changed)
        return server

    async def run(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Keeps the connections of all sessions until it is cancelled."""
        try:
            async with anyio.create_task_group() as group:
                self._group = group
                task_status.started()
                while True:
                    await anyio.sleep(_IDLE / 10)
                    for key, session in [*self._sessions.items()]:
                        if session.over_http and not session.busy and anyio.current_time() - session.used > _IDLE:
                            # Its next request opens its connections anew.
                            self._sessions.pop(key).close()
        finally:
            # By now every call on its way has ended, and that is recorded.
            with anyio.CancelScope(shield=True):
                await self._caller.ended()

    async def gone(self, id: str) -> None:
        """The client with the `Mcp-Session-Id` has said that it goes."""
        for key in [key for key, session in self._sessions.items() if session.id == id != self._own_session]:
            session = self._sessions.pop(key)
            session.close()
            with anyio.move_on_after(_DRAIN):
                await session.parked.drained()
            await self._caller.ended(id)

    def _schema(self, wire: str) -> dict[str, Any] | None:
        """The arguments of a tool, as the library wants them for a client's headers."""
        server, _, name = wire.partition("__")
        for session in self._sessions.values():
            if (found := session.tools.get(server, {}).get(name)) is not None:
                return found.tool.input_schema
        return None

    def _session(self, context: Context) -> ProxySession:
        """The session that a request belongs to."""
        headers = getattr(context.request, "headers", None)
        id = self._own_session
        if headers is not None and context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            id = headers.get("mcp-session-id") or id
        capabilities = context.session.client_capabilities or types.ClientCapabilities()
        key = f"{id} {_shape(capabilities)}"
        if (found := self._sessions.get(key)) is None:
            if self._group is None:
                raise MCPError(types.INTERNAL_ERROR, "the proxy is being shut down")
            if len(self._sessions) >= _MOST_SESSIONS:
                self._make_room()
            found = ProxySession(id, self.config, capabilities, self._group, over_http=headers is not None)
            self._sessions[key] = found
            self._group.start_soon(found.run)
        found.meets(context)
        return found

    def _make_room(self) -> None:
        """Closes the connections of the session that was idle longest. Raises `MCPError` where none is."""
        idle = [(session.used, key) for key, session in self._sessions.items() if not session.busy]
        if not idle:
            raise MCPError(types.INTERNAL_ERROR, f"the proxy serves {_MOST_SESSIONS} sessions at most")
        self._sessions.pop(min(idle)[1]).close()

    # ------------------------------------------------------------ tools

    async def _list_tools(self, context: Context, params: Any) -> types.ListToolsResult:
        session = self._session(context)
        offered = self._caller.offered(await session.all_tools())
        return types.ListToolsResult(tools=[one.tool.model_copy(update={"name": one.wire}) for one in offered])

    async def _call_tool(self, context: Context, params: types.CallToolRequestParams) -> Any:
        session = self._session(context)
        return await session.parked.serve(
            context, params, lambda exchange: self._caller.call(session, exchange, params)
        )

    # ------------------------------------------------------------ prompts and completion

    async def _list_prompts(self, context: Context, params: Any) -> types.ListPromptsResult:
        session = self._session(context)
        found = await gathered(session.upstreams, "prompts")
        prompts = [one.model_copy(update={"name": wire_name(upstream.name, one.name)}) for upstream, one in found]
        return types.ListPromptsResult(prompts=prompts)

    async def _get_prompt(self, context: Context, params: types.GetPromptRequestParams) -> Any:
        session = self._session(context)
        upstream, name = session.upstream_of(params.name)

        def round_of(answers: types.InputResponses | None, state: str | None) -> types.Request[Any, Any]:
            asked = _again(params, {"name": name}, meta_for(session, upstream, context), answers, state)
            return types.GetPromptRequest(params=asked)

        return await self._forwarded(session, upstream, context, params, round_of, types.GetPromptResult)

    async def _complete(self, context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        session = self._session(context)
        if isinstance(params.ref, types.PromptReference):
            upstream, name = session.upstream_of(params.ref.name)
            ref: Any = params.ref.model_copy(update={"name": name})
        else:
            upstream, ref = await self._place(session, params.ref.uri), params.ref
        asked = params.model_copy(update={"ref": ref, "meta": meta_for(session, upstream, context)})
        with _as_errors():
            return await upstream.request(types.CompleteRequest(params=asked), types.CompleteResult)

    # ------------------------------------------------------------ resources

    async def _list_resources(self, context: Context, params: Any) -> types.ListResourcesResult:
        session = self._session(context)
        found = await gathered(session.upstreams, "resources")
        kept = [one for upstream, one in found if session.places.resource(upstream.name, str(one.uri))]
        return types.ListResourcesResult(resources=kept)

    async def _list_templates(self, context: Context, params: Any) -> types.ListResourceTemplatesResult:
        session = self._session(context)
        found = await gathered(session.upstreams, "templates")
        kept = [one for upstream, one in found if session.places.template(upstream.name, one.uri_template)]
        return types.ListResourceTemplatesResult(resource_templates=kept)

    async def _place(self, session: ProxySession, uri: str) -> Upstream:
        """The server of a resource. Raises `MCPError` where none has named it."""
        if (name := session.places.listed(uri)) is None:
            for kind in ("resources", "templates"):
                for upstream, one in await gathered(session.upstreams, kind):
                    if kind == "resources":
                        session.places.resource(upstream.name, str(one.uri))
                    else:
                        session.places.template(upstream.name, one.uri_template)
            name = session.places.of(uri)
        if name is None:
            raise MCPError(types.INVALID_PARAMS, f"no server has named the resource `{uri[:200]}`")
        return session.upstreams[name]

    async def _read_resource(self, context: Context, params: types.ReadResourceRequestParams) -> Any:
        session = self._session(context)
        upstream = await self._place(session, params.uri)

        def round_of(answers: types.InputResponses | None, state: str | None) -> types.Request[Any, Any]:
            asked = _again(params, {}, meta_for(session, upstream, context), answers, state)
            return types.ReadResourceRequest(params=asked)

        return await self._forwarded(session, upstream, context, params, round_of, types.ReadResourceResult)

    async def _subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        session = self._session(context)
        with _as_errors():
            await (await self._place(session, params.uri)).follow(params.uri, on=True)
        return types.EmptyResult()

    async def _unsubscribe(self, context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        session = self._session(context)
        with _as_errors():
            await (await self._place(session, params.uri)).follow(params.uri, on=False)
        return types.EmptyResult()

    async def _listen(self, context: Context, params: types.SubscriptionsListenRequestParams) -> Any:
        session = self._session(context)
        for uri in params.notifications.resource_subscriptions or ():
            with _as_errors():
                await (await self._place(session, uri)).follow(uri, on=True)
        session.listening += 1
        try:
            return await session.listens(context, params)
        finally:
            session.listening -= 1

    # ------------------------------------------------------------ logs and roots

    async def _set_level(self, context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        session = self._session(context)
        session.level = params.level
        for upstream in session.upstreams.values():
            with _as_errors():
                await upstream.ready()
                await session.set_level(upstream, params.level)
        return types.EmptyResult()

    async def _roots_changed(self, context: Context, params: Any) -> None:
        session = self._session(context)
        for upstream in session.upstreams.values():
            if not upstream.modern:
                await upstream.notify(types.RootsListChangedNotification())

    # ------------------------------------------------------------ forwarding

    async def _forwarded(
        self,
        session: ProxySession,
        upstream: Upstream,
        context: Context,
        params: types.InputResponseRequestParams,
        round_of: Round,
        result: type[ResultT],
    ) -> Any:
        async def work(exchange: ForwardedRequest) -> BaseModel:
            with _as_errors(), anyio.fail_after(self.config.bounds.seconds):
                return await asked(session, upstream, exchange, round_of, result)

        return await session.parked.serve(context, params, work)


async def asked(
    session: ProxySession, upstream: Upstream, exchange: ForwardedRequest, round_of: Round, result: type[ResultT]
) -> ResultT:
    """What a server answers to a request of a client, its questions and its progress passed on. Raises as
    `Upstream.asked`."""

    async def asks(questions: types.InputRequests) -> types.InputResponses:
        return await exchange.ask({key: marked(upstream.name, one) for key, one in questions.items()})

    running = session.running[upstream.name]
    running.append(exchange)
    try:
        found = await upstream.asked(round_of, result, asks, progress_to(exchange, session.config.redaction))
    finally:
        running.remove(exchange)
    session.places.named(found, upstream.name)
    if (meta := getattr(found, "meta", None)) and types.SERVER_INFO_META_KEY in meta:
        # The client is told who answers: the proxy.
        kept = {key: value for key, value in meta.items() if key != types.SERVER_INFO_META_KEY}
        found = found.model_copy(update={"meta": kept or None})
    return found


def progress_to(exchange: ForwardedRequest, redact: Redaction) -> ProgressFnT | None:
    """Passes progress on to the client, if it wants any."""
    if not exchange.wants_progress:
        return None

    async def report(progress: float, total: float | None, message: str | None) -> None:
        said = redact(message) if message is not None else None
        await exchange.context.session.report_progress(progress, total, said)

    return report


def meta_for(session: ProxySession, upstream: Upstream, context: Context) -> Any:
    """The `_meta` of a request for a server: the client's own, less what belongs to its connection."""
    raw = (context.params or {}).get("_meta")
    kept = {key: value for key, value in raw.items() if key not in _OWN_META} if isinstance(raw, dict) else {}
    if upstream.modern and session.level is not None:
        kept.setdefault(types.LOG_LEVEL_META_KEY, session.level)
    return kept or None


def _again(
    params: Any, changed: dict[str, Any], meta: Any, answers: types.InputResponses | None, state: str | None
) -> Any:
    given = {**changed, "meta": meta, "input_responses": answers, "request_state": state}
    return params.model_copy(update=given)


@contextmanager
def _as_errors() -> Any:
    """What keeps a server from answering as errors of the protocol."""
    try:
        yield
    except (ServerDownError, UnansweredError) as error:
        raise MCPError(types.INTERNAL_ERROR, str(error)) from None
    except TimeoutError:
        raise MCPError(types.REQUEST_TIMEOUT, "the server took too long to answer") from None


def _shape(capabilities: types.ClientCapabilities) -> str:
    """A connection announces what the client announces: another client of the same session has one of its own."""
    said = capabilities.model_dump(mode="json", by_alias=True, exclude_none=True)
    return hashlib.sha256(identity.canonical(said).encode()).hexdigest()[:16]
