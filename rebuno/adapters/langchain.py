"""LangChain: a middleware that judges every tool call of an agent, and records how it ended."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from rebuno.adapters.calls import DEFERRED, Safe, ToolCall, described, is_safe, leaves_unknown, question, told
from rebuno.adapters.guard import Ended, Guard
from rebuno.errors import ValidationError
from rebuno.gate import UNSET, Allow, Ask, Deny, Recorded, text
from rebuno.model.definition import Definition
from rebuno.packaged import needing

with needing("langchain", "`rebuno.adapters.langchain`"):
    from langchain.agents.middleware import AgentMiddleware, ToolCallRequest
    from langchain_core.messages import HumanMessage, ToolMessage
    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import BaseTool
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langgraph.config import get_config
    from langgraph.errors import GraphBubbleUp, GraphInterrupt
    from langgraph.types import Command, interrupt

Answer = ToolMessage | Command[Any]

# Where LangGraph keeps the answers to a task's pauses.
_SCRATCHPAD = "__pregel_scratchpad"


class RebunoMiddleware(AgentMiddleware[Any, Any, Any]):
    """Puts the agent's tools behind a guard: `create_agent(…, middleware=[…, RebunoMiddleware(guard)],
    checkpointer=…)`. Give it last, so that what other middlewares change or repeat is judged too.

    An allowed call runs, a denied one does not and the model gets the reason. A call that needs a person interrupts the
    graph; the value of the interrupt has the `approval_id`. After the grant, go on with `Command(resume=True)`: what
    counts is the guard's record of the answer, not the value.

    `session` is the id of the conversation, a function of the run's config, or else the `thread_id` of the config.
    `agent` is the name in policies, or else that of `create_agent(name=…)`. `safe` names the tools that only read; a
    tool that calls `interrupt` itself is run again from its beginning, as LangGraph does.
    """

    def __init__(
        self,
        guard: Guard,
        *,
        session: str | Callable[[RunnableConfig], str] | None = None,
        agent: str | None = None,
        safe: Safe = (),
    ) -> None:
        super().__init__()
        self.guard = guard
        self._session = session
        self._agent = agent
        self._safe = safe
        self._definitions: dict[str, tuple[BaseTool, Definition | None]] = {}

    # ------------------------------------------------------------ what a person typed

    def before_agent(self, state: Any, runtime: Any) -> None:
        """Records the newest message of the person."""
        self.guard.say(*self._whose(), _typed(state), run=_run())

    async def abefore_agent(self, state: Any, runtime: Any) -> None:
        """As `before_agent`."""
        await self.guard.asay(*self._whose(), _typed(state), run=_run())

    # ------------------------------------------------------------ calls

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Answer]) -> Answer:
        """Judges the call, runs it where it is let in, and records how it ended."""
        call = self._call(request)
        verdict = self.guard.judge(call)
        if isinstance(verdict, Allow) and _resumed() and self.guard.asked(verdict):
            # The answer to the pause is taken, or the tool's own `interrupt` would get it.
            interrupt(None)
        while isinstance(verdict, Ask):
            interrupt(question(call, verdict, store=self.guard.store))
            verdict = self.guard.judge(call)
        if not isinstance(verdict, Allow):
            return _instead(call, verdict)
        try:
            with self.guard.inside(call):
                answer = handler(request)
        except BaseException as error:
            self.guard.settle(call, **_failure(error))
            if _is_told(error):
                return _message(call, text.unknown(call.tool))
            raise
        self.guard.settle(call, **_outcome(call, answer))
        return answer

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Answer]]
    ) -> Answer:
        """As `wrap_tool_call`."""
        call = self._call(request)
        verdict = await self.guard.ajudge(call)
        if isinstance(verdict, Allow) and _resumed() and await self.guard.aasked(verdict):
            interrupt(None)
        while isinstance(verdict, Ask):
            interrupt(question(call, verdict, store=self.guard.store))
            verdict = await self.guard.ajudge(call)
        if not isinstance(verdict, Allow):
            return _instead(call, verdict)
        try:
            with self.guard.inside(call):
                answer = await handler(request)
        except BaseException as error:
            await self.guard.asettle(call, **_failure(error))
            if _is_told(error):
                return _message(call, text.unknown(call.tool))
            raise
        await self.guard.asettle(call, **_outcome(call, answer))
        return answer

    def _call(self, request: ToolCallRequest) -> ToolCall:
        session, agent = self._whose()
        wanted = request.tool_call
        return ToolCall(
            session,
            agent,
            wanted.get("id") or "",
            wanted["name"],
            wanted["args"],
            is_safe(self._safe, wanted["name"]),
            self._definition(request.tool) if request.tool is not None else None,
            run=_run(),
        )

    def _definition(self, tool: BaseTool) -> Definition | None:
        known = self._definitions.get(tool.name)
        if known is None or known[0] is not tool:
            shown = convert_to_openai_tool(tool)["function"]
            known = tool, described(tool.name, shown.get("description"), shown.get("parameters"))
            self._definitions[tool.name] = known
        return known[1]

    def _whose(self) -> tuple[str, str]:
        config = get_config()
        given = self._session
        session = given(config) if callable(given) else given or config.get("configurable", {}).get("thread_id")
        if not session:
            raise ValidationError("the run has no `thread_id` in its config; give `session` to the RebunoMiddleware")
        return str(session), self._agent or str(config.get("metadata", {}).get("lc_agent_name") or "langchain")


def _run() -> str:
    # A graph that runs inside a tool has a place below the tool's.
    return str(get_config().get("configurable", {}).get("checkpoint_ns", ""))


def _typed(state: Any) -> str:
    messages = state["messages"]
    newest = messages[-1] if messages else None
    return newest.text if isinstance(newest, HumanMessage) else ""


def _resumed() -> bool:
    """Whether the run goes on after a pause of this very task."""
    scratchpad = get_config().get("configurable", {}).get(_SCRATCHPAD)
    return scratchpad is not None and bool(scratchpad.resume or scratchpad.get_null_resume(False) is not None)


def _instead(call: ToolCall, verdict: Deny | Recorded) -> ToolMessage:
    if isinstance(verdict, Recorded) and verdict.error is None:
        value = None if verdict.result is UNSET else verdict.result
        content = value if isinstance(value, str) or _is_blocks(value) else json.dumps(value, ensure_ascii=False)
        return ToolMessage(content, tool_call_id=call.id, name=call.tool)
    return _message(call, told(call, verdict))


def _message(call: ToolCall, words: str) -> ToolMessage:
    return ToolMessage(words, tool_call_id=call.id, name=call.tool, status="error")


def _is_told(error: BaseException) -> bool:
    """Whether the model is told of an unknown outcome; what stops the run itself goes on."""
    return leaves_unknown(error) and isinstance(error, Exception)


def _failure(error: BaseException) -> dict[str, Any]:
    ended: Ended = error
    if isinstance(error, GraphInterrupt):
        ended = DEFERRED
    elif isinstance(error, GraphBubbleUp):
        # The tool hands over to another graph, and is done.
        return {"result": None}
    return {"error": ended}


def _outcome(call: ToolCall, answer: Any) -> dict[str, Any]:
    message = _own(call, answer)
    if message is None:
        return {"result": None}
    if message.status == "error":
        return {"error": message.text}
    return {"result": _value(message.content)}


def _own(call: ToolCall, answer: Any) -> ToolMessage | None:
    """The message for the call in what its tool gave: a message, a command that holds one, or several of these."""
    if isinstance(answer, ToolMessage):
        return answer if answer.tool_call_id == call.id else None
    if isinstance(answer, Command):
        update = answer.update
        return _own(call, update.get("messages") if isinstance(update, dict) else update)
    if isinstance(answer, list | tuple):
        return next((found for one in answer if (found := _own(call, one)) is not None), None)
    return None


def _value(content: Any) -> Any:
    """What a tool returned: LangChain writes objects and lists as JSON text."""
    if not isinstance(content, str) or content[:1] not in ("{", "["):
        return content
    try:
        value = json.loads(content)
        same = json.dumps(value, ensure_ascii=False) == content
    except ValueError:
        return content
    # A text that would come out otherwise is kept as it is.
    return value if same and not _is_blocks(value) else content


def _is_blocks(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) and "type" in one for one in value) and bool(value)
