"""Events as the hosts send them, and a bundle that says yes, no and perhaps."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rebuno.gate import Gate
from rebuno.hosts import HOSTS
from rebuno.hosts.answer import HookAnswer
from rebuno.hosts.sessions import answer
from rebuno.hosts.settings import HookSettings

P: Final = "/work/app"

BUNDLE: Final = """\
bundle test
default deny because "nobody allowed it"
workdir session

known named = input

rule reads {
  allow tool "read_file" when args.path under "."
}

rule leaks {
  deny tool "shell"
  when args.command == "curl x" and after tool "read_file" where (args.path ends with ".env")
  because "a secret was read"
}

rule free {
  allow tool "shell" when args.command in ["ls", "curl x", "sleep 9"]
}

rule writes {
  allow tool "write_file", "edit_file" when args.path under "docs"
}

rule asks {
  require approval for tool "shell", "write_file"
  when args.command in ["make", "make b"] or args.path under "src"
  message "Should this run?"
  because "it is built"
}

rule asks-ann {
  require approval for tool "shell" approvers "ann"
  when args.command == "deploy"
  message "Is it released?"
}

rule mail {
  allow tool "mail.send" when args.to in named
}

rule pages {
  allow tool "fetch" when args.url == "https://a.example/"
}

rule asked-host {
  allow tool "claude-code.AskUserQuestion"
}
"""


@dataclass
class Hooks:
    """One host in one session, over a gate."""

    host: str
    gate: Gate
    settings: HookSettings
    environ: dict[str, str]
    session: str = "session-1"

    async def send(self, event: dict[str, Any]) -> HookAnswer:
        """The answer to an event."""
        return await answer(self.host, event, self.environ, self.gate, self.settings)

    async def prompt(self, text: str, **more: Any) -> HookAnswer:
        """A prompt of the user."""
        name = {"gemini-cli": "BeforeAgent", "opencode": "chat.message"}.get(self.host, "UserPromptSubmit")
        if self.host == "opencode":
            return await self.send(self.opencode(name, text=text, typed=True, **more))
        return await self.send(self.event(name, prompt=text, **more))

    async def before(self, tool: str, given: dict[str, Any], id: str = "t1", **more: Any) -> HookAnswer:
        """A call is about to run."""
        return await self.send(before_event(self, tool, given, id, **more))

    async def after(self, tool: str, given: dict[str, Any], id: str = "t1", result: Any = "done") -> HookAnswer:
        """The call has run."""
        if self.host == "opencode":
            return await self.send(self.opencode("tool.execute.after", call=id, tool=tool, args=given, output=result))
        if self.host == "gemini-cli":
            result = {"llmContent": result, "returnDisplay": "", "error": None}
        name = "AfterTool" if self.host == "gemini-cli" else "PostToolUse"
        more = {} if self.host == "gemini-cli" else {"tool_use_id": id}
        return await self.send(self.event(name, tool_name=tool, tool_input=given, tool_response=result, **more))

    async def shell(self, command: str, id: str = "t1", **more: Any) -> HookAnswer:
        """A command is about to run."""
        return await self.before(SHELLS[self.host], {"command": command}, id, **more)

    async def ran(self, command: str, id: str = "t1", result: Any = "done") -> HookAnswer:
        """The command has run."""
        return await self.after(SHELLS[self.host], {"command": command}, id, result)

    def event(self, name: str, **fields: Any) -> dict[str, Any]:
        """An event of a host with hooks."""
        return {"session_id": self.session, "cwd": P, "hook_event_name": name, **fields}

    def opencode(self, name: str, **fields: Any) -> dict[str, Any]:
        """An event of our plugin."""
        return {"event": name, "session": self.session, "directory": P, **fields}

    async def steps(self, ref: str = "") -> list[tuple[str, str]]:
        """The targets of the session's steps, with what became of them."""
        execution = await self.gate.operator.execution(ref or self.session)
        return [(step.target, step.status) for step in await self.gate.operator.steps(execution.id)]


SHELLS: Final = {"claude-code": "Bash", "codex": "Bash", "gemini-cli": "run_shell_command", "opencode": "bash"}


def before_event(hooks: Hooks, tool: str, given: dict[str, Any], id: str = "t1", **more: Any) -> dict[str, Any]:
    """The event before a call."""
    if hooks.host == "opencode":
        return hooks.opencode("tool.execute.before", call=id, tool=tool, args=given, **more)
    if hooks.host == "gemini-cli":
        return hooks.event("BeforeTool", timestamp="2026-01-01T00:00:00Z", tool_name=tool, tool_input=given, **more)
    return hooks.event("PreToolUse", tool_name=tool, tool_input=given, tool_use_id=id, **more)


def decision(answer: HookAnswer) -> str:
    """What a host takes an answer for: `allow`, `deny`, `ask` or `defer`."""
    if answer.code == 2 and answer.stderr.strip():
        return "deny"
    assert answer.code == 0
    said = json.loads(answer.stdout) if answer.stdout else {}
    own = said.get("hookSpecificOutput", {})
    if own:
        assert own["hookEventName"] == "PreToolUse"
        if own["permissionDecision"] != "allow":
            assert own["permissionDecisionReason"]
        return str(own["permissionDecision"])
    if said.get("decision") == "deny":
        assert said["reason"]
    return str(said.get("decision", "allow"))


def told(answer: HookAnswer) -> str:
    """The words of a refusal."""
    if answer.code == 2:
        return answer.stderr
    said = json.loads(answer.stdout)
    return str(said.get("reason") or said["hookSpecificOutput"]["permissionDecisionReason"])


async def question(hooks: Hooks, ref: str = "") -> str:
    """The id of the only open question of the session."""
    execution = await hooks.gate.operator.execution(ref or hooks.session)
    (found,) = await hooks.gate.operator.approvals(status="pending", execution_id=execution.id)
    return found.id


def bundle_in(folder: Path) -> Path:
    """The bundle as a file."""
    path = folder / "test.rbp"
    path.write_text(BUNDLE)
    return path


def environ_of(host: str, **more: str) -> dict[str, str]:
    """What the host gives its hooks: headless, with the project's folder where the host names it."""
    assert host in HOSTS
    own = {"claude-code": {"CLAUDE_PROJECT_DIR": P, "CLAUDE_CODE_SESSION_ATTENDED": "0"}}.get(host, {})
    return {"HOME": "/home/ann", "USER": "ann-at-host", **own, **more}


ATTENDED: Final = {"CLAUDE_CODE_SESSION_ATTENDED": "1"}
