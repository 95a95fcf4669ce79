"""pydantic-ai: a capability that judges every tool call of an agent, and records how it ended."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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
from rebuno.gate import UNSET, Ask, Deny, Recorded, text
from rebuno.packaged import needing

with needing("pydantic-ai", "`rebuno.adapters.pydantic_ai`"):
    from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
    from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry, ToolFailed
    from pydantic_ai.messages import ToolReturn
    from pydantic_ai.tools import RunContext, ToolDefinition, ToolDenied
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset


@dataclass(init=False)
class RebunoCapability(AbstractCapability[Any]):
    """Puts the agent's tools behind a guard: `Agent(…, capabilities=[RebunoCapability(guard)])`.

    An allowed call runs, a denied one does not and the model gets the reason. A call that needs a person ends the run
    with `DeferredToolRequests`, which must be one of the agent's output types; its metadata has the `approval_id`.
    After the grant, run again with the message history and `requests.build_results(approve_all=True)`: what counts is
    the guard's record of the answer, not the approval in these results.

    `session` is the id of the conversation, a function of the run's context, or else pydantic-ai's own
    `conversation_id`, which the message history carries. `agent` is the name in policies, or else the agent's own.
    `safe` names the tools that only read. Calls that run while no capability is asked (the model provider's native
    tools, output tools) are not judged.
    """

    def __init__(
        self,
        guard: Guard,
        *,
        session: str | Callable[[RunContext[Any]], str] | None = None,
        agent: str | None = None,
        safe: Safe = (),
    ) -> None:
        self.guard = guard
        self._session = session
        self._agent = agent
        self._safe = safe

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        """The agent's tools, each call judged."""
        return _GuardedToolset(toolset, self)

    async def before_run(self, ctx: RunContext[Any]) -> None:
        """Records what the person typed."""
        if isinstance(ctx.prompt, str):
            await self.guard.asay(*self._whose(ctx), ctx.prompt, run=ctx.run_id or "")

    def get_ordering(self) -> CapabilityOrdering:
        """Around all other wrappers of tools, so that none of their calls goes past the guard."""
        return CapabilityOrdering(position="outermost")

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """None: a guard is open, so it cannot be written down."""
        return None

    def call(self, name: str, args: dict[str, Any], ctx: RunContext[Any], shown: ToolDefinition) -> ToolCall:
        """The call as the guard is asked about it."""
        session, agent = self._whose(ctx)
        definition = described(name, shown.description, shown.parameters_json_schema)
        return ToolCall(
            session,
            agent,
            ctx.tool_call_id or "",
            name,
            arguments(args),
            is_safe(self._safe, name),
            definition,
            run=ctx.run_id or "",
        )

    def _whose(self, ctx: RunContext[Any]) -> tuple[str, str]:
        session = self._session(ctx) if callable(self._session) else self._session or ctx.conversation_id
        if not session:
            raise ValidationError("the run has no conversation id; give `session` to the RebunoCapability")
        return session, self._agent or (ctx.agent.name if ctx.agent is not None else None) or "pydantic-ai"


@dataclass
class _GuardedToolset(WrapperToolset[Any]):
    capability: RebunoCapability

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        guard = self.capability.guard
        call = self.capability.call(name, tool_args, ctx, tool.tool_def)
        verdict = await guard.ajudge(call)
        if isinstance(verdict, Ask):
            raise ApprovalRequired(metadata=question(call, verdict, store=guard.store))
        if isinstance(verdict, Deny):
            return ToolDenied(told(call, verdict))
        if isinstance(verdict, Recorded):
            if verdict.error is not None:
                raise ToolFailed(told(call, verdict))
            return None if verdict.result is UNSET else verdict.result
        try:
            with guard.inside(call):
                result = await super().call_tool(name, tool_args, ctx, tool)
        except (ApprovalRequired, CallDeferred):
            await guard.asettle(call, error=DEFERRED)
            raise
        except BaseException as error:
            cut_off = leaves_unknown(error) or _timed_out(error)
            await guard.asettle(call, error=TimeoutError() if cut_off else error)
            if cut_off and isinstance(error, Exception):
                raise ToolFailed(text.unknown(name)) from error
            raise
        await guard.asettle(call, result=result.return_value if isinstance(result, ToolReturn) else result)
        return result


def _timed_out(error: BaseException) -> bool:
    # pydantic-ai tells the model to retry a tool that its own time limit has cut off.
    return (
        isinstance(error, ModelRetry)
        and isinstance(error.__context__, TimeoutError)
        and error.message.startswith("Timed out after ")
    )
