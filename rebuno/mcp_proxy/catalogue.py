"""The tools, prompts and resources of all servers as one list, and which server one belongs to."""

import logging
import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import mcp_types as types
from mcp import MCPError
from mcp.shared.uri_template import UriTemplate

from rebuno.errors import NotJSON
from rebuno.mcp_proxy.upstream import ServerDownError, UnansweredError, Upstream
from rebuno.model.definition import Definition, define

logger: Final = logging.getLogger("rebuno.mcp_proxy")

_MOST_PAGES: Final = 100
_MOST_TOOLS: Final = 10_000
_MOST_URIS: Final = 10_000
# Hosts write `_` for any other character of a name.
_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool of a server. `target` is its name for policies, `wire` the one that clients know; `definition` is None
    where what the server says of it is no JSON that can be written."""

    upstream: Upstream
    tool: types.Tool
    definition: Definition | None

    @property
    def target(self) -> str:
        """`SERVER.TOOL`."""
        return f"{self.upstream.name}.{self.tool.name}"

    @property
    def wire(self) -> str:
        """`SERVER__TOOL`."""
        return wire_name(self.upstream.name, self.tool.name)

    @property
    def hinted(self) -> bool:
        """Whether the server says that calls may be repeated."""
        hints = self.tool.annotations
        return hints is not None and (hints.read_only_hint is True or hints.idempotent_hint is True)


def wire_name(server: str, name: str) -> str:
    """The name of a server's tool or prompt for clients. A server's name has no `__`."""
    return f"{server}__{name}"


def defined(server: str, tool: types.Tool) -> Definition | None:
    """What a server says of a tool; None where JSON cannot hold it."""
    try:
        return define(
            server,
            tool.name,
            description=tool.description,
            input_schema=tool.input_schema,
            output_schema=tool.output_schema,
        )
    except NotJSON:
        return None


async def tools_of(upstream: Upstream, *, starting: bool = False) -> dict[str, ListedTool]:
    """The tools that a server lists now, by their names. Of tools that hosts would take for one, none is taken.

    Raises:
        MCPError, ServerDownError, UnansweredError
    """
    found: dict[str, list[types.Tool]] = {}
    send = upstream.raw if starting else upstream.request
    if upstream.capabilities.tools is None:
        return {}
    cursor, count = None, 0
    for _ in range(_MOST_PAGES):
        request = types.ListToolsRequest(params=types.PaginatedRequestParams(cursor=cursor))
        page = await send(request, types.ListToolsResult)
        for tool in page.tools:
            count += 1
            found.setdefault(_OTHER.sub("_", tool.name).lower(), []).append(tool)
        cursor = page.next_cursor
        if cursor is None or count > _MOST_TOOLS:
            break
    taken: dict[str, ListedTool] = {}
    for alike in found.values():
        if len(alike) > 1:
            names = ", ".join(f"`{tool.name[:80]}`" for tool in alike[:3])
            logger.warning(
                "the tools %s of the server `%s` are left out: hosts take them for one", names, upstream.name
            )
            continue
        taken[alike[0].name] = ListedTool(upstream, alike[0], defined(upstream.name, alike[0]))
    return taken


class ResourcePlaces:
    """Which server a resource belongs to: the first that listed it, else the first whose template fits it, else the
    first whose result named it. So no result takes a resource away from the server that lists it."""

    def __init__(self) -> None:
        self._listed: OrderedDict[str, str] = OrderedDict()
        self._templates: OrderedDict[str, tuple[str, UriTemplate | None]] = OrderedDict()
        self._named: OrderedDict[str, str] = OrderedDict()

    def resource(self, server: str, uri: str) -> bool:
        """Notes that a server lists this resource; False where another one did so before."""
        _keep(self._listed, uri, server)
        return self._listed[uri] == server

    def template(self, server: str, text: str) -> bool:
        """The same of a template."""
        if text not in self._templates:
            try:
                parsed: UriTemplate | None = UriTemplate.parse(text)
            except ValueError:
                parsed = None
            _keep(self._templates, text, (server, parsed))
        return self._templates[text][0] == server

    def named(self, result: Any, server: str) -> None:
        """Notes the resources that a result names, so that the client may read them."""
        for block in getattr(result, "content", None) or ():
            if isinstance(block, types.ResourceLink):
                _keep(self._named, str(block.uri), server)
            elif isinstance(block, types.EmbeddedResource):
                _keep(self._named, str(block.resource.uri), server)

    def listed(self, uri: str) -> str | None:
        """The name of the server that lists a resource, or a template that is it or fits it."""
        if (found := self._listed.get(uri)) is not None:
            return found
        if uri in self._templates:
            return self._templates[uri][0]
        for server, template in self._templates.values():
            if template is not None and template.match(uri) is not None:
                return server
        return None

    def of(self, uri: str) -> str | None:
        """The name of the server that a resource belongs to, once all lists were read."""
        return self.listed(uri) or self._named.get(uri)


def _keep(places: OrderedDict[str, Any], key: str, value: Any) -> None:
    places.setdefault(key, value)
    if len(places) > _MOST_URIS:
        places.popitem(last=False)


async def gathered(upstreams: Mapping[str, Upstream], kind: str) -> list[tuple[Upstream, Any]]:
    """What the servers list of a kind, `prompts`, `resources` or `templates`; a server that cannot say is left out."""
    found: list[tuple[Upstream, Any]] = []
    for upstream in upstreams.values():
        try:
            await upstream.ready()
            found += [(upstream, one) for one in await _listed(upstream, kind)]
        except (MCPError, ServerDownError, UnansweredError) as error:
            logger.warning("the %s of the server `%s` are left out: %s", kind, upstream.name, error)
    return found


async def _listed(upstream: Upstream, kind: str) -> list[Any]:
    has = upstream.capabilities
    if (has.prompts if kind == "prompts" else has.resources) is None:
        return []
    cursor: str | None = None
    found: list[Any] = []
    for _ in range(_MOST_PAGES):
        params = types.PaginatedRequestParams(cursor=cursor)
        match kind:
            case "prompts":
                prompts = await upstream.request(types.ListPromptsRequest(params=params), types.ListPromptsResult)
                found, cursor = [*found, *prompts.prompts], prompts.next_cursor
            case "resources":
                page = await upstream.request(types.ListResourcesRequest(params=params), types.ListResourcesResult)
                found, cursor = [*found, *page.resources], page.next_cursor
            case _:
                wanted = types.ListResourceTemplatesRequest(params=params)
                templates = await upstream.request(wanted, types.ListResourceTemplatesResult)
                found, cursor = [*found, *templates.resource_templates], templates.next_cursor
        if cursor is None or len(found) > _MOST_TOOLS:
            break
    return found
