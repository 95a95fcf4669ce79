"""OpenAI Agents: copies of function tools whose every call is judged, and whose outcome is recorded."""

import asyncio
import contextvars
import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Final

from rebuno.adapters.calls import DEFERRED, Safe, ToolCall, described, is_safe, leaves_unknown, told
from rebuno.adapters.guard import Guard
from rebuno.errors import ValidationError, text_of
from rebuno.gate import UNSET, Allow, Ask, Deny, Recorded, text
from rebuno.mcp import MCPToolError, is_answered
from rebuno.model.definition import Definition
from rebuno.packaged import needing
from rebuno.sdk.body_errors import OutcomeUnknownError

with needing("openai-agents", "`rebuno.adapters.openai_agents`"):
    from agents import (
        FunctionTool,
        RunContextWrapper,
        Tool,
        ToolGuardrailFunctionOutput,
        ToolInputGuardrail,
        ToolInputGuardrailData,
    )
    from agents.agent import AgentBase
    from agents.agent_tool_state import get_agent_tool_state_scope, peek_agent_tool_run_result
    from agents.mcp import MCPServer, MCPUtil
    from agents.tool import (
        maybe_invoke_function_tool_failure_error_function,
        resolve_function_tool_failure_error_function,
        set_function_tool_failure_error_function,
    )
    from agents.tool_context import ToolContext

Session = str | Callable[[RunContextWrapper[Any]], str]

# What the tool of the running call raised, where the SDK makes a text for the model of it.
_raised: Final[contextvars.ContextVar[list[Exception]]] = contextvars.ContextVar("rebuno_raised")
_REFUSED: Final = {"reason": "withdrawn", "message": "a guardrail refused the call before its tool ran"}


def guarded(
    tools: Iterable[Tool], guard: Guard, *, session: Session, agent: str = "openai-agents", safe: Safe = ()
) -> list[Tool]:
    """Copies of function tools (agents as tools too) behind a guard: `Agent(…, tools=guarded([…], guard, session=…))`.

    An allowed call runs, a denied one does not and the model gets the reason. A call that needs a person interrupts the
    run. After the grant, approve the item in the run's state and run on: what counts is the guard's record of the
    answer, so that a call that is merely approved in the state does not run. `session` is the id of the conversation,
    or a function of the run's context. `agent` is the name in policies; `safe` names the tools that only read.

    Raises:
        ValidationError: a tool is no function tool. The provider or the SDK runs it where no guard is asked.
    """
    found: list[Tool] = []
    for tool in tools:
        if not isinstance(tool, FunctionTool):
            raise ValidationError(
                f"the tool `{getattr(tool, 'name', type(tool).__name__)}` is no function tool: it would run unjudged;"
                " leave it out, or give it to the agent beside the guarded ones where this is meant"
            )
        definition = described(tool.name, tool.description, tool.params_json_schema)
        found.append(_GuardedTool(tool, tool.name, guard, session, agent, safe, definition).copy())
    return found


async def guarded_mcp(
    server: MCPServer,
    guard: Guard,
    *,
    session: Session,
    agent: str = "openai-agents",
    safe: Safe = (),
    strict: bool = False,
) -> list[Tool]:
    """The tools of a connected MCP server as guarded function tools. Give them to the agent as `tools`, and leave
    the server out of `mcp_servers`. Policies know a tool as `SERVER.TOOL`, with the server's name."""
    _watch_server(server)
    listed = await MCPUtil.get_function_tools(server, strict, RunContextWrapper(None), AgentBase(name=agent))
    found: list[Tool] = []
    for tool in listed:
        if isinstance(tool, FunctionTool):
            definition = described(tool.name, tool.description, tool.params_json_schema, server=server.name)
            name = f"{server.name}.{tool.name}"
            found.append(_GuardedTool(tool, name, guard, session, agent, safe, definition).copy())
    return found


@dataclass(frozen=True, slots=True)
class _GuardedTool:
    tool: FunctionTool
    name: str
    guard: Guard
    session: Session
    agent: str
    safe: Safe
    definition: Definition | None

    def copy(self) -> FunctionTool:
        own, tool = self.tool, copy(self.tool)
        tool.on_invoke_tool = self._runner()
        tool.needs_approval = self._needs_approval
        tool.tool_input_guardrails = [
            *(self._beside(one) for one in own.tool_input_guardrails or ()),
            ToolInputGuardrail(self._check, name="rebuno"),
        ]
        if own.timeout_behavior == "error_as_result" and own.timeout_error_function is None:
            tool.timeout_error_function = lambda _, __: text.unknown(self.name)
        return tool

    # ------------------------------------------------------------ before the tool

    async def _needs_approval(self, context: RunContextWrapper[Any], args: dict[str, Any], call_id: str) -> bool:
        own: Any = self.tool.needs_approval
        wanted = own(context, args, call_id) if callable(own) else own
        if await wanted if inspect.isawaitable(wanted) else wanted:
            # The SDK pauses first; judged, and started, is what comes back.
            return True
        return isinstance(await self.guard.ajudge(self._call(context, args, call_id)), Ask)

    async def _check(self, data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        call = self._call_of(data.context)
        if call is None:
            return ToolGuardrailFunctionOutput.reject_content(_malformed(self.name))
        verdict = await self.guard.ajudge(call)
        if isinstance(verdict, Allow) or (isinstance(verdict, Recorded) and verdict.error is None):
            return ToolGuardrailFunctionOutput.allow()
        return ToolGuardrailFunctionOutput.reject_content(told(call, verdict, store=self.guard.store))

    def _beside(self, other: ToolInputGuardrail[Any]) -> ToolInputGuardrail[Any]:
        """A guardrail of the application, which may refuse a call that was let in already."""

        async def check(data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
            said = await other.run(data)
            call = self._call_of(data.context)
            if said.behavior["type"] != "allow" and call is not None:
                await self.guard.asettle(call, error=_REFUSED)
            return said

        return ToolInputGuardrail(check, name=other.get_name())

    def _call(self, context: RunContextWrapper[Any], args: dict[str, Any], call_id: str) -> ToolCall:
        session = self.session(context) if callable(self.session) else self.session
        return ToolCall(session, self.agent, call_id, self.name, args, is_safe(self.safe, self.name), self.definition)

    def _call_of(self, context: ToolContext[Any]) -> ToolCall | None:
        """The call; None where its arguments are no JSON object."""
        try:
            args = json.loads(context.tool_arguments or "{}")
        except ValueError:
            return None
        return self._call(context, args, context.tool_call_id) if isinstance(args, dict) else None

    # ------------------------------------------------------------ around the tool

    def _runner(self) -> Callable[[ToolContext[Any], str], Awaitable[Any]]:
        invoke = self._watched()

        async def run(context: ToolContext[Any], arguments: str) -> Any:
            call = self._call_of(context)
            if call is None:
                return _malformed(self.name)
            # Asked here too: the tool runs behind an answer, whatever called it.
            verdict = await self.guard.ajudge(call)
            if isinstance(verdict, Ask | Deny) or (isinstance(verdict, Recorded) and verdict.error is not None):
                return told(call, verdict, store=self.guard.store)
            if isinstance(verdict, Recorded):
                return None if verdict.result is UNSET else verdict.result
            return await self._run(call, invoke, context, arguments)

        return run

    async def _run(
        self, call: ToolCall, invoke: Callable[..., Awaitable[Any]], context: ToolContext[Any], args: str
    ) -> Any:
        seen: list[Exception] = []
        token = _raised.set(seen)
        try:
            with self.guard.inside(call):
                output = await invoke(context, args)
        except BaseException as error:
            found = _gravest([*seen, error])
            await self.guard.asettle(call, error=found)
            if leaves_unknown(found) and not _is_stopped(error):
                return text.unknown(self.name)
            raise
        finally:
            _raised.reset(token)
        if seen:
            found = _gravest(seen)
            await self.guard.asettle(call, error=found)
            return text.unknown(self.name) if leaves_unknown(found) else output
        if _is_paused(context):
            await self.guard.asettle(call, error=DEFERRED)
        else:
            await self.guard.asettle(call, result=output)
        return output

    def _watched(self) -> Callable[..., Awaitable[Any]]:
        """The tool's own function, which tells what it raised before the SDK makes a text of it."""
        own = self.tool
        if resolve_function_tool_failure_error_function(own) is None:
            return own.on_invoke_tool

        async def tell(context: RunContextWrapper[Any], error: Exception) -> str:
            _raised.get([]).append(error)
            words = await maybe_invoke_function_tool_failure_error_function(
                function_tool=own, context=context, error=error
            )
            if words is None:
                raise error
            return words

        return set_function_tool_failure_error_function(copy(own), tell).on_invoke_tool


def _watch_server(server: MCPServer) -> None:
    """Has the server tell of a result that it marks as an error, which the SDK gives to the model like any other, and
    of a call that it does not answer."""
    own = server.call_tool

    async def call_tool(*args: Any, **named: Any) -> Any:
        seen = _raised.get([])
        try:
            result = await own(*args, **named)
        except Exception as error:  # each transport has its own: only what the server answered with is known
            if not is_answered(error):
                seen.append(OutcomeUnknownError(f"no answer from the MCP server: {text_of(error)}"))
            raise
        if getattr(result, "is_error", None) or getattr(result, "isError", None):
            words = "\n".join(str(getattr(block, "text", "")) for block in result.content)
            seen.append(MCPToolError(words.strip() or "the tool reports an error without a text"))
        return result

    server.call_tool = call_tool  # type: ignore[method-assign]


def _gravest(errors: Sequence[BaseException]) -> BaseException:
    """The one that leaves the outcome unknown, where one does; else the last."""
    return next((error for error in errors if leaves_unknown(error)), errors[-1])


def _malformed(tool: str) -> str:
    return f"{text.brief(tool, 200)} did not run: its arguments are no JSON object."


def _is_stopped(error: BaseException) -> bool:
    """Whether the run or the tool's time limit stopped it: that goes on, whatever is told."""
    if not isinstance(error, Exception | asyncio.CancelledError):
        return True
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def _is_paused(context: ToolContext[Any]) -> bool:
    """Whether an agent that runs as a tool waits for a person."""
    if context.tool_call is None:
        return False
    result = peek_agent_tool_run_result(context.tool_call, scope_id=get_agent_tool_state_scope(context))
    return bool(getattr(result, "interruptions", None))
