"""An approval put to the person at the client, while others may answer it elsewhere."""

import getpass
import logging
from collections.abc import Awaitable, Callable
from typing import Final

import anyio
import mcp_types as types
from mcp import MCPError

from rebuno.errors import ConflictError, ForbiddenError, NotFoundError
from rebuno.gate import Ask, Gate, Verdict
from rebuno.gate.text import brief
from rebuno.mcp_proxy.exchange import ForwardedRequest, can_answer

logger: Final = logging.getLogger("rebuno.mcp_proxy")

# How often a client is told what its call waits for, and how often an answer is looked for, in seconds.
_PULSE: Final = 10.0
_LOOK: Final = 0.2
_FIELD: Final = "allow"
_SCHEMA: Final = {
    "type": "object",
    "properties": {_FIELD: {"type": "boolean", "title": "Allow this call", "default": False}},
    "required": [_FIELD],
}


async def answered(
    gate: Gate,
    session: str,
    agent: str,
    call_id: str,
    request: ForwardedRequest,
    tool: str,
    ask: Ask,
    *,
    wait: float,
    limit: float,
) -> Verdict:
    """What comes of a question: it is put to the client where that announces elicitation, for `limit` seconds at most,
    and held for `wait` seconds. `Ask` where nobody has answered. Raises what the gate raises."""
    form = types.ElicitRequest(
        params=types.ElicitRequestFormParams(
            message=f"{brief(tool, 200)} needs your approval: {brief(ask.message or ask.reason)} ({ask.approval_id})",
            requested_schema=dict(_SCHEMA),
        )
    )
    over = anyio.Event()
    trouble: list[Exception] = []

    async def at_client() -> None:
        try:
            await _asked(gate, request, form, ask)
        except Exception as error:
            trouble.append(error)
        finally:
            over.set()

    async def look() -> Verdict:
        # INVARIANT: not given up in the middle, where the call may have been let in.
        with anyio.CancelScope(shield=True):
            seen = await gate.wait(session, call_id, agent, ask, seconds=0)
        return seen  # noqa: RET504, a scope may end without a value, for all that the type checker knows

    async with anyio.create_task_group() as group:
        if can_answer(request.context.session.client_capabilities, form):
            group.start_soon(at_client)
            found = await _until(look, over, limit)
        else:
            over.set()
            found = ask
        if isinstance(found, Ask) and not trouble:
            if wait and request.wants_progress:
                group.start_soon(_pulse, request, ask)
            found = await _until(look, None, wait)
        group.cancel_scope.cancel()
    if trouble and isinstance(found, Ask):
        raise trouble[0]
    return found


async def _until(look: Callable[[], Awaitable[Verdict]], over: anyio.Event | None, seconds: float) -> Verdict:
    """Looks for an answer until there is one, the event is set, or the time is up."""
    until = anyio.current_time() + seconds
    while True:
        last = anyio.current_time() >= until or (over is not None and over.is_set())
        found = await look()
        if last or not isinstance(found, Ask):
            return found
        with anyio.move_on_after(min(_LOOK, max(until - anyio.current_time(), 0))):
            await (over.wait() if over is not None else anyio.sleep_forever())


async def _pulse(request: ForwardedRequest, ask: Ask) -> None:
    """Tells a client that wants progress what its call waits for, so that it does not give up."""
    seconds = 0.0
    while True:
        said = f"waits for the approval of a person: {ask.approval_id}"
        await request.context.session.report_progress(seconds, None, said)
        await anyio.sleep(_PULSE)
        seconds += _PULSE


async def _asked(gate: Gate, request: ForwardedRequest, form: types.ElicitRequest, ask: Ask) -> None:
    """Puts the question to the client, and takes its answer if it is one."""
    try:
        answer = (await request.ask({"approval": form}))["approval"]
    except MCPError as error:
        logger.warning("the client did not answer a question: %s", error)
        return
    if not isinstance(answer, types.ElicitResult) or answer.action == "cancel":
        return
    allowed = answer.action == "accept" and (answer.content or {}).get(_FIELD) is True
    client = request.context.session.client_params
    name = brief(client.client_info.name, 80) if client else ""
    by, voucher = _user(), f"mcp client {name}".strip()
    try:
        if allowed:
            await gate.operator.grant(ask.approval_id, decided_by=by, asserted_by=voucher)
        else:
            why = "denied at the client"
            await gate.operator.deny(ask.approval_id, decided_by=by, asserted_by=voucher, rationale=why)
    except ForbiddenError as error:
        # Somebody else must answer: the question stays open.
        logger.warning("the person at the client may not answer %s: %s", ask.approval_id, error)
    except (ConflictError, NotFoundError) as error:
        # It was answered elsewhere meanwhile, or is over.
        logger.info("the answer of the client to %s comes too late: %s", ask.approval_id, error)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "user"
