"""Runs another agent as the work of a tool."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from rebuno.errors import NetworkError
from rebuno.sdk.client import Client
from rebuno.sdk.context import current_step, required
from rebuno.types import SpawnedBy

# A kernel that is away is asked again after so many seconds; a step has one child, however often it is asked for.
_PAUSES: Final = (0.1, 0.5, 2.0, 5.0)


async def subagent(agent_id: str, input: Any = None, *, session: str = "", client: Client | None = None) -> Any:
    """Runs `agent_id` on an input as the subagent of the tool whose body awaits it. Return its value from that body.
    The subagent's outcome is recorded as the outcome of the tool's step.

    Once every body of the execution waits for a subagent, the execution is given up and takes no place; it is resumed
    when one of them has ended. Subagents of one `session` continue one conversation. `client` needs the scope
    `executions:write`; without one a `Client()` with REBUNO_API_KEY is used for this kernel.

    Raises:
        RuntimeError: outside a tool's or a step's body, or where the kernel is in this process and has no agents.
        ToolError: the subagent failed or was cancelled.
        ConflictError: the step has another subagent already.
        NotFoundError: there is no such agent.
        Blocked: the execution waits; let it pass.
    """
    context, step_id = required(f"subagent(`{agent_id}`)"), current_step()
    if not step_id:
        raise RuntimeError(f"subagent(`{agent_id}`) was called outside a tool; await it in the tool's body")
    if context.served is None:
        raise RuntimeError(f"subagent(`{agent_id}`) needs a served kernel: this one runs handlers, and knows no agents")
    async with _owned(client, context.served.url) as kernel:
        await _begin(kernel, agent_id, input, session, SpawnedBy(execution_id=context.id, step_id=step_id))
    return await context.await_child(context.served)


async def _begin(client: Client, agent_id: str, input: Any, session: str, spawned_by: SpawnedBy) -> None:
    for pause in _PAUSES:
        try:
            await client.create(agent_id, input, session=session, spawned_by=spawned_by)
            return
        except NetworkError:
            await asyncio.sleep(pause)
    await client.create(agent_id, input, session=session, spawned_by=spawned_by)


@asynccontextmanager
async def _owned(client: Client | None, url: str) -> AsyncIterator[Client]:
    if client is not None:
        yield client
        return
    async with Client(url) as made:
        yield made
