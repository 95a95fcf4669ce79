"""A call of a tool: its pin, the judgement, the server, and how it ended."""

import hashlib
import logging
from collections import Counter
from typing import Any, Final

import anyio
import anyio.lowlevel
import mcp_types as types
from mcp import MCPError

from rebuno.errors import RebunoError, text_of
from rebuno.gate import UNSET, Allow, Ask, Deny, Gate, Recorded
from rebuno.gate import text as texts
from rebuno.mcp import plain_result, result_text
from rebuno.mcp_proxy.catalogue import ListedTool
from rebuno.mcp_proxy.config import ProxyConfig
from rebuno.mcp_proxy.exchange import ForwardedRequest
from rebuno.mcp_proxy.front import asked, meta_for
from rebuno.mcp_proxy.locks import Lock
from rebuno.mcp_proxy.questions import answered
from rebuno.mcp_proxy.session import ProxySession
from rebuno.mcp_proxy.upstream import ServerDownError, UnansweredError
from rebuno.model import identity
from rebuno.policy import may_allow

logger: Final = logging.getLogger("rebuno.mcp_proxy")

# The key in `_meta` under which a client gives its own id of a call.
_CALL_ID: Final = "claudecode/toolUseId"
_LONGEST_ID: Final = 200


class ToolCalls:
    """Judges calls of tools, and makes those that may be made."""

    def __init__(self, config: ProxyConfig, gate: Gate, lock: Lock | None, *, kept: str = "") -> None:
        self._config = config
        # A session that has a name of its own is taken up again by the next proxy.
        self._kept = kept
        self._gate = gate
        self._lock = lock
        self._started: set[str] = set()
        self._starting = anyio.Lock()
        self._in_flight: Counter[str] = Counter()
        # How often each content was called in a session: the occurrence of a call whose client sends no id.
        self._occurrences: dict[str, Counter[str]] = {}
        self._offered: dict[str, bool] = {}

    def offered(self, tools: list[ListedTool]) -> list[ListedTool]:
        """The tools that the policy may ever allow and that somebody has reviewed."""
        return [
            one for one in tools if self._may(one.target) and (self._lock is None or self._lock.holds(one.definition))
        ]

    def _may(self, target: str) -> bool:
        if target not in self._offered:
            self._offered[target] = may_allow(self._gate.policy, target)
        return self._offered[target]

    async def _start(self, session: str) -> None:
        async with self._starting:
            if session not in self._started:
                # Where a proxy begins anew under a name, nobody knows how the calls ended that were running.
                await self._gate.start(session, self._config.agent, resumed=session == self._kept)
                self._started.add(session)

    async def ended(self, session: str = "") -> None:
        """The client of a session has gone, or all have: its execution is completed, unless something of it waits or
        the session has a name."""
        over = self._started & {session} if session else self._started - {self._kept}
        for session in over:
            self._started.discard(session)
            self._occurrences.pop(session, None)
            try:
                await self._gate.end(session, self._config.agent)
            except RebunoError as error:
                logger.warning("the session `%s` could not be completed: %s", session, error)

    async def call(
        self, session: ProxySession, exchange: ForwardedRequest, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """The result of a call, or what keeps it from being made. Raises `MCPError` where there is no such tool, or its
        server answers with an error."""
        try:
            listed = await session.tool_of(params.name)
        except ServerDownError as error:
            return failed(str(error))
        if self._in_flight[session.id] >= self._config.bounds.calls:
            return failed(
                f"{self._config.bounds.calls} calls of this session are running already; this one did not run"
            )
        self._in_flight[session.id] += 1
        try:
            return await self._judged(session, exchange, listed, params)
        except RebunoError as error:
            said = self._config.redaction.short(text_of(error))
            logger.warning("a call of %s was not let through: %s", listed.target, said)
            return failed(f"{listed.target} did not run: it could not be judged: {said}")
        finally:
            self._in_flight[session.id] -= 1

    async def _judged(
        self, session: ProxySession, exchange: ForwardedRequest, listed: ListedTool, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        agent, args = self._config.agent, params.arguments or {}
        await self._start(session.id)
        call_id = self._call_id(session, exchange, listed, args)
        raw = {
            key: value
            for key, value in (exchange.context.params or {}).items()
            if key in ("name", "arguments", "_meta")
        }
        # INVARIANT: not given up in the middle, where the call may have been let in.
        with anyio.CancelScope(shield=True):
            verdict = await self._gate.judge(
                session.id,
                call_id,
                listed.target,
                args,
                agent,
                safe=listed.upstream.server.safe(listed.tool.name, listed.hinted),
                definition=listed.definition,
                call=raw,
            )
        if isinstance(verdict, Ask):
            bounds = self._config.bounds
            verdict = await answered(
                self._gate, session.id, agent, call_id, exchange, listed.target, verdict,
                wait=self._config.wait, limit=max(self._config.wait, bounds.seconds),
            )  # fmt: skip
        match verdict:
            case Deny():
                return failed(texts.denied(listed.target, verdict) + self._change(listed))
            case Ask():
                return failed(texts.waiting(listed.target, verdict, store=self._config.store))
            case Recorded():
                return recorded(listed, verdict)
            case Allow():
                return await self._made(session, exchange, listed, params, call_id)

    def _change(self, listed: ListedTool) -> str:
        if self._lock is None or self._lock.holds(listed.definition):
            return ""
        return "\n" + self._lock.change(listed.definition, listed.upstream.name, listed.tool.name)

    def _call_id(
        self, session: ProxySession, exchange: ForwardedRequest, listed: ListedTool, args: dict[str, Any]
    ) -> str:
        told = (exchange.context.meta or {}).get(_CALL_ID)
        if isinstance(told, str) and told.strip() and len(told) <= _LONGEST_ID:
            return told
        content = hashlib.sha256(identity.canonical([listed.target, args], "args").encode()).hexdigest()[:32]
        seen = self._occurrences.setdefault(session.id, Counter())
        seen[content] += 1
        return f"{content}.{seen[content]}"

    async def _made(
        self,
        session: ProxySession,
        exchange: ForwardedRequest,
        listed: ListedTool,
        params: types.CallToolRequestParams,
        call_id: str,
    ) -> types.CallToolResult:
        """Makes a call that may be made, and records how it ended before the client hears of it."""
        upstream = listed.upstream

        def round_of(answers: types.InputResponses | None, state: str | None) -> types.Request[Any, Any]:
            meta = meta_for(session, upstream, exchange.context)
            given = {"name": listed.tool.name, "meta": meta, "input_responses": answers, "request_state": state}
            return types.CallToolRequest(params=params.model_copy(update={**given, "task": None}))

        outcome: dict[str, Any] = {"error": {"type": "Cancelled", "message": "the client gave up before it was sent"}}
        refused: MCPError | None = None
        try:
            await anyio.lowlevel.checkpoint_if_cancelled()
            outcome = {"unknown": True}
            with anyio.move_on_after(self._config.bounds.seconds) as clock:
                found = await asked(session, upstream, exchange, round_of, types.CallToolResult)
                outcome, result = self._outcome(listed, found)
            if clock.cancelled_caught:
                logger.warning("%s took longer than %g s", listed.target, self._config.bounds.seconds)
                result = failed(texts.unknown(listed.target))
        except UnansweredError as error:
            logger.warning("%s: %s", listed.target, error)
            result = failed(f"{error}. {texts.unknown(listed.target)}")
        except ServerDownError as error:
            outcome = {"error": {"type": "ServerDownError", "message": str(error)}}
            result = failed(str(error))
        except MCPError as error:
            outcome = {"error": {"type": "MCPError", "message": error.message, "code": error.code}}
            refused, result = error, failed(error.message)
        except BaseException:
            # A call that was cancelled may have acted: that is recorded, whatever becomes of the client.
            await self._settled(session, call_id, listed, outcome)
            raise
        if not await self._settled(session, call_id, listed, outcome):
            return failed(f"the outcome of {listed.target} could not be recorded. {texts.unknown(listed.target)}")
        if refused is not None:
            raise refused
        return result

    async def _settled(self, session: ProxySession, call_id: str, listed: ListedTool, outcome: dict[str, Any]) -> bool:
        with anyio.CancelScope(shield=True):
            try:
                await self._gate.settle(session.id, call_id, self._config.agent, **outcome)
            except RebunoError as error:
                said = self._config.redaction.short(text_of(error))
                logger.error("how a call of %s ended could not be recorded: %s", listed.target, said)
                return False
        return True

    def _outcome(self, listed: ListedTool, found: types.CallToolResult) -> tuple[dict[str, Any], types.CallToolResult]:
        size = len(found.model_dump_json(by_alias=True, exclude_none=True).encode())
        if size > self._config.bounds.result:
            message = (
                f"{listed.target} ran, but its result of {size} bytes is larger than the {self._config.bounds.result} "
                "that this proxy passes on"
            )
            return {"error": {"type": "ResultTooLarge", "message": message}}, failed(message)
        if found.is_error:
            clean = _redacted(found, self._config)
            said = result_text(clean) or f"the tool `{listed.tool.name}` reports an error without a text"
            return {"error": {"type": "MCPToolError", "message": said}}, clean
        return {"result": plain_result(found)}, found


def failed(message: str) -> types.CallToolResult:
    """A result that tells the model why there is none."""
    return types.CallToolResult(content=[types.TextContent(type="text", text=message)], is_error=True)


def recorded(listed: ListedTool, verdict: Recorded) -> types.CallToolResult:
    """The result of a call that has ended already, from the journal."""
    if verdict.unknown:
        return failed(texts.unknown(listed.target))
    if verdict.result is UNSET:
        return failed(str((verdict.error or {}).get("message", "the call failed")))
    value = verdict.result
    if isinstance(value, str):
        return types.CallToolResult(content=[types.TextContent(type="text", text=value)])
    if (
        isinstance(value, dict)
        and isinstance(value.get("content"), list)
        and value.keys() <= {"content", "structuredContent"}
    ):
        try:
            return types.CallToolResult.model_validate(value)
        except ValueError:
            pass  # structured content that only looks like blocks
    # The official library wraps a result that is no object, and writes what is inside as the text.
    shown = value["result"] if isinstance(value, dict) and value.keys() == {"result"} else value
    text = shown if isinstance(shown, str) else identity.canonical(shown)
    told: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=told, structured_content=value if isinstance(value, dict) else None)


def _redacted(found: types.CallToolResult, config: ProxyConfig) -> types.CallToolResult:
    content = [
        block.model_copy(update={"text": config.redaction(block.text)})
        if isinstance(block, types.TextContent)
        else block
        for block in found.content
    ]
    return found.model_copy(update={"content": content})
