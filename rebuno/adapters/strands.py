"""Strands Agents: an intervention handler that judges every tool call of an agent, and records how it ended."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any, Final

from rebuno.adapters.calls import (
    DEFERRED,
    Safe,
    ToolCall,
    arguments,
    described,
    is_safe,
    leaves_unknown,
    question,
    told,
)
from rebuno.adapters.guard import Guard
from rebuno.errors import ValidationError
from rebuno.gate import UNSET, Allow, Ask, Deny, text
from rebuno.packaged import needing

with needing("strands", "`rebuno.adapters.strands`"):
    from strands.hooks.events import AfterToolCallEvent, BeforeInvocationEvent, BeforeToolCallEvent
    from strands.interrupt import InterruptException
    from strands.interventions import Deny as Denied
    from strands.interventions import InterventionHandler, OnError, Proceed, Transform
    from strands.types._events import ToolInterruptEvent, ToolResultEvent
    from strands.types.tools import AgentTool, ToolResult, ToolSpec, ToolUse

_REFUSED: Final = {"reason": "withdrawn", "message": "another handler refused the call before its tool ran"}
_BLOCKS: Final = frozenset({"text", "json", "image", "document", "video"})


class RebunoIntervention(InterventionHandler):
    """Puts the agent's tools behind a guard: `Agent(…, interventions=[RebunoIntervention(guard)], session_manager=…)`.

    An allowed call runs, a denied one does not and the model gets the reason. A call that needs a person interrupts the
    agent; the `reason` of the interrupt has the `approval_id`. After the grant, go on with an interrupt response: what
    counts is the guard's record of the answer, not the response.

    `session` is the id of the conversation, a function of the agent, or else the id of the agent's session manager.
    `agent` is the name in policies, or else the agent's own. `safe` names the tools that only read.
    """

    name = "rebuno"

    def __init__(
        self,
        guard: Guard,
        *,
        session: str | Callable[[Any], str] | None = None,
        agent: str | None = None,
        safe: Safe = (),
    ) -> None:
        self.guard = guard
        self._session = session
        self._agent = agent
        self._safe = safe

    @property
    def on_error(self) -> OnError:
        """What fails denies the call."""
        return "deny"

    async def before_invocation(self, event: BeforeInvocationEvent, **kwargs: Any) -> Proceed:
        """Records what the person typed."""
        words = [
            block["text"]
            for message in event.messages or ()
            if message["role"] == "user"
            for block in message["content"]
            if "text" in block
        ]
        await self.guard.asay(*self._whose(event.agent), "\n".join(words), run=_run(event.agent))
        return Proceed()

    async def before_tool_call(self, event: BeforeToolCallEvent, **kwargs: Any) -> Proceed | Denied | Transform:
        """Judges the call."""
        call = self._call(event)
        verdict = await self.guard.ajudge(call)
        if isinstance(verdict, Ask):
            event.interrupt(self.name, reason=question(call, verdict, store=self.guard.store))
            # Somebody has answered in the framework, and not in the store.
            return _cancelled(told(call, verdict, store=self.guard.store))
        if isinstance(verdict, Deny):
            return Denied(reason=told(call, verdict))
        if isinstance(verdict, Allow):
            return _selected(_GuardedRun(call, self.guard, event.selected_tool)) if event.selected_tool else Proceed()
        if verdict.error is not None:
            return _cancelled(told(call, verdict))
        return _selected(_RecordedRun(call, None if verdict.result is UNSET else verdict.result))

    async def after_tool_call(self, event: AfterToolCallEvent, **kwargs: Any) -> Proceed:
        """Records a call that was let in and has not run: another handler refused it, or there is no such tool."""
        if event.cancel_message is not None:
            await self.guard.asettle(self._call(event), error=_REFUSED)
        elif event.selected_tool is None:
            await self.guard.asettle(self._call(event), error=event.exception or "there is no such tool")
        return Proceed()

    def _call(self, event: BeforeToolCallEvent | AfterToolCallEvent) -> ToolCall:
        session, agent = self._whose(event.agent)
        use, tool = event.tool_use, event.selected_tool
        spec = tool.tool_spec if tool is not None else None
        return ToolCall(
            session,
            agent,
            use["toolUseId"],
            use["name"],
            arguments(use["input"]),
            is_safe(self._safe, use["name"]),
            described(spec["name"], spec["description"], spec["inputSchema"].get("json")) if spec else None,
            run=_run(event.agent),
        )

    def _whose(self, agent: Any) -> tuple[str, str]:
        given = self._session
        session = given(agent) if callable(given) else given
        session = session or getattr(getattr(agent, "_session_manager", None), "session_id", None)
        if not session:
            raise ValidationError("the agent has no session manager; give `session` to the RebunoIntervention")
        return str(session), self._agent or str(agent.name)


def _run(agent: Any) -> str:
    return str(id(agent))


def _cancelled(words: str) -> Transform:
    def apply(event: Any) -> None:
        event.cancel_tool = words

    return Transform(apply=apply)


def _selected(tool: AgentTool) -> Transform:
    def apply(event: Any) -> None:
        event.selected_tool = tool

    return Transform(apply=apply)


class _GuardedRun(AgentTool):
    """A tool for one call that was let in; what becomes of it is recorded."""

    def __init__(self, call: ToolCall, guard: Guard, tool: AgentTool) -> None:
        super().__init__()
        self._call, self._guard, self._tool = call, guard, tool

    @property
    def tool_name(self) -> str:
        """The tool's own."""
        return self._tool.tool_name

    @property
    def tool_spec(self) -> ToolSpec:
        """The tool's own."""
        return self._tool.tool_spec

    @property
    def tool_type(self) -> str:
        """The tool's own."""
        return self._tool.tool_type

    async def stream(
        self, tool_use: ToolUse, invocation_state: dict[str, Any], **kwargs: Any
    ) -> AsyncGenerator[Any, None]:
        """Runs the tool."""
        last: Any = None
        try:
            with self._guard.inside(self._call):
                async for event in self._tool.stream(tool_use, invocation_state, **kwargs):
                    if isinstance(event, ToolInterruptEvent):
                        await self._guard.asettle(self._call, error=DEFERRED)
                        yield event
                        return
                    last = event
                    if isinstance(event, ToolResultEvent):
                        break
                    yield event
        except InterruptException:
            await self._guard.asettle(self._call, error=DEFERRED)
            raise
        except BaseException as error:
            await self._guard.asettle(self._call, error=error)
            if not leaves_unknown(error) or not isinstance(error, Exception):
                raise
            yield self._told_unknown()
            return
        yield await self._ended(last)

    async def _ended(self, last: Any) -> ToolResultEvent:
        own = isinstance(last, ToolResultEvent)
        result: Any = last.tool_result if own else last
        failed = last.exception if own else None
        if failed is not None and leaves_unknown(failed):
            await self._guard.asettle(self._call, error=failed)
            return self._told_unknown()
        if not isinstance(result, dict) or result.get("status") == "error":
            words = "\n".join(str(block.get("text", "")) for block in (result or {}).get("content", ()))
            await self._guard.asettle(self._call, error=failed or words or "the tool gave no result")
        else:
            await self._guard.asettle(self._call, result=_value(result["content"]))
        return ToolResultEvent(result, exception=failed)

    def _told_unknown(self) -> ToolResultEvent:
        return ToolResultEvent(_result(self._call, [{"text": text.unknown(self._call.tool)}], status="error"))


class _RecordedRun(AgentTool):
    """A tool for one call that has ended already: it gives what is recorded, and runs nothing."""

    def __init__(self, call: ToolCall, value: Any) -> None:
        super().__init__()
        self._call, self._value = call, value

    @property
    def tool_name(self) -> str:
        """The tool's."""
        return self._call.tool

    @property
    def tool_spec(self) -> ToolSpec:
        """Nothing is asked of it."""
        return {"name": self._call.tool, "description": "", "inputSchema": {"json": {"type": "object"}}}

    @property
    def tool_type(self) -> str:
        """What it is."""
        return "recorded"

    async def stream(
        self, tool_use: ToolUse, invocation_state: dict[str, Any], **kwargs: Any
    ) -> AsyncGenerator[Any, None]:
        """Gives the recorded result."""
        await asyncio.sleep(0)
        yield ToolResultEvent(_result(self._call, _content(self._value)))


def _result(call: ToolCall, content: Any, *, status: Any = "success") -> ToolResult:
    return {"toolUseId": call.id, "status": status, "content": content}


def _value(content: Any) -> Any:
    """What a tool returned: the value of its only block, if that is a text or JSON, or else the blocks."""
    if len(content) == 1 and set(content[0]) in ({"text"}, {"json"}):
        (value,) = content[0].values()
        return value if not _is_blocks(value) else content
    return content


def _content(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, str):
        return [{"text": value}]
    return list(value) if _is_blocks(value) else [{"json": value}]


def _is_blocks(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, dict) and len(one) == 1 and one.keys() <= _BLOCKS for one in value
    )
