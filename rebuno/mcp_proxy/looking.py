"""Asks servers for their tools, without serving anybody."""

from typing import Final

import anyio
import mcp_types as types
from mcp import MCPError

from rebuno.errors import NetworkError
from rebuno.mcp_proxy.catalogue import ListedTool
from rebuno.mcp_proxy.config import ProxyConfig
from rebuno.mcp_proxy.session import ProxySession
from rebuno.mcp_proxy.upstream import ServerDownError, UnansweredError

# Servers keep tools from clients that announce less.
_ANNOUNCED: Final = types.ClientCapabilities(
    sampling=types.SamplingCapability(),
    elicitation=types.ElicitationCapability(
        form=types.FormElicitationCapability(), url=types.UrlElicitationCapability()
    ),
    roots=types.RootsCapability(),
)
# Servers add tools once they know what the client announces; in seconds.
_SETTLED: Final = 0.3


async def listed_tools(config: ProxyConfig) -> list[ListedTool]:
    """The tools that all servers list now, in the order of the configuration.

    Raises:
        NetworkError: a server cannot be reached, or does not list its tools.
    """
    found: list[ListedTool] = []
    trouble = ""
    async with anyio.create_task_group() as group:
        session = ProxySession("", config, _ANNOUNCED, group, over_http=False)
        group.start_soon(session.run)
        for upstream in session.upstreams.values():
            try:
                await upstream.ready()
                await anyio.sleep(_SETTLED)
                await session.list_tools(upstream)
            except (MCPError, ServerDownError, UnansweredError) as error:
                trouble = config.redaction.short(error)
                break
            found += session.tools.get(upstream.name, {}).values()
        session.close()
    if trouble:
        raise NetworkError(trouble)
    return found
