"""Claude Agent SDK: hooks in this process that judge every tool call of an agent, and record how it ended."""

import asyncio
import getpass
import json
import os
from pathlib import Path
from typing import Any, Final, cast

from rebuno.adapters.guard import Guard
from rebuno.errors import NotFoundError, RebunoError, text_of
from rebuno.gate import Gate
from rebuno.hosts import claude_code
from rebuno.hosts.sessions import answer
from rebuno.hosts.settings import TIMEOUT, HookSettings
from rebuno.packaged import needing

with needing("claude-agent", "`rebuno.adapters.claude_agent`"):
    from claude_agent_sdk import HookContext, HookInput, HookJSONOutput, HookMatcher
    from claude_agent_sdk.types import HookEvent

_EVENTS: Final[tuple[HookEvent, ...]] = (
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "UserPromptSubmit",
    "SubagentStart",
    "SubagentStop",
)


def rebuno_hooks(guard: Guard, *, cwd: str | Path = "", timeout: float = TIMEOUT) -> dict[HookEvent, list[HookMatcher]]:
    """The hooks that put an agent's tools behind a guard: `ClaudeAgentOptions(hooks=rebuno_hooks(guard), …)`.

    Policies know the agent as `claude-code` and its tools by the names that bundles for coding agents use (`shell`,
    `read_file`, …; `SERVER.TOOL` for a server's), and a session by its `session_id`. An allowed call runs; a denied one
    does not, and the model gets the reason. For a call that needs a person the run ends with a `ResultMessage` whose
    `deferred_tool_use` is set; after the grant, go on with `ClaudeAgentOptions(resume=session_id, …)`.

    `cwd` is the folder that the agent works in, as in the options; if not given, this process's. `timeout` is for how
    many seconds the agent waits for an answer. A hook that gives none stops the call.
    """
    hooks = _Hooks(guard, str(cwd) or os.getcwd(), timeout)
    return {
        event: [HookMatcher(hooks=[hooks.answer], timeout=timeout, on_failure="block")]  # what failed lets nothing run
        for event in _EVENTS
    }


class _Hooks:
    def __init__(self, guard: Guard, cwd: str, timeout: float) -> None:
        self.guard = guard
        self.settings = HookSettings(db=guard.store, wait=guard.wait, timeout=timeout, observe=guard.observe)
        self.environ = {
            "CLAUDE_CODE_ENTRYPOINT": "sdk-cli",
            "CLAUDE_PROJECT_DIR": cwd,
            "HOME": os.path.expanduser("~"),
            "USER": getpass.getuser(),
        }
        self.known: set[str] = set()

    async def answer(self, event: HookInput, tool_use_id: str | None, context: HookContext) -> HookJSONOutput:
        said = cast(dict[str, Any], event)
        try:
            async with asyncio.timeout(self.settings.deadline):
                return await self.guard.agate(lambda gate: self.judged(gate, said))
        except TimeoutError:
            return _refused(said, f"rebuno gave no answer in {self.settings.deadline:g} seconds")
        except RebunoError as error:
            return _refused(said, f"rebuno could not judge this call: {text_of(error)}")

    async def judged(self, gate: Gate, event: dict[str, Any]) -> HookJSONOutput:
        if event.get("hook_event_name") == "UserPromptSubmit" and not str(event.get("prompt", "")).strip():
            # A run that is resumed without a prompt has its answer already: the model is not asked again.
            return {"decision": "block", "reason": "nothing was typed"}
        session = event.get("session_id")
        if isinstance(session, str) and session not in self.known:
            await self.take_up(gate, event, session)
            self.known.add(session)
        found = await answer(claude_code.NAME, event, self.environ, gate, self.settings)
        if found.code:
            return _refused(event, found.stderr.strip())
        output: HookJSONOutput = json.loads(found.stdout or "{}")
        return output

    async def take_up(self, gate: Gate, event: dict[str, Any], session: str) -> None:
        """A session that an earlier process had: what ran there was cut off."""
        try:
            await gate.operator.execution(session)
        except NotFoundError:
            return
        begun = {"hook_event_name": "SessionStart", "source": "resume", "session_id": session, "cwd": event.get("cwd")}
        await answer(claude_code.NAME, begun, self.environ, gate, self.settings)


def _refused(event: dict[str, Any], reason: str) -> HookJSONOutput:
    if event.get("hook_event_name") != "PreToolUse":
        # The matcher's `on_failure` takes it for a refusal where one counts.
        raise RebunoError(reason)
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }
    }
