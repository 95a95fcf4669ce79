"""Stands for a coding agent on a page: reads the settings that `rebuno hook install` wrote and calls the hook that is
planted there, for each command that the prompt names in backquotes. `make hosts` runs the real ones."""

import json
import os
import re
import signal
import socket
import struct
import subprocess
import uuid
from collections.abc import Mapping
from contextlib import chdir, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rebuno.hosts.install import HOSTS, Places
from rebuno.hosts.install.entries import ours
from rebuno_cli.hook_client import SOCKET

# What each is called on the command line.
COMMANDS: Final = {host.command: name for name, host in HOSTS.items()}
_FOREIGN: Final = ("REBUNO", "XDG_", "CLAUDE", "CODEX_", "GEMINI_", "OPENCODE")
_EVENTS: Final = {
    "claude-code": ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse"),
    "codex": ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse"),
    "gemini-cli": ("SessionStart", "BeforeAgent", "BeforeTool", "AfterTool"),
    "opencode": ("session.created", "chat.message", "tool.execute.before", "tool.execute.after"),
}
_TOOL: Final = {"claude-code": "Bash", "codex": "Bash", "gemini-cli": "run_shell_command", "opencode": "bash"}
_GO_ON: Final = ("--resume", "resume", "--continue", "-c")


def clean(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without what tells programs where the developer's own settings lie."""
    return {key: value for key, value in environ.items() if not key.startswith(_FOREIGN)}


@dataclass(slots=True)
class Agent:
    """One of them, with the session that it began last."""

    name: str
    home: Path
    folder: Path
    session: str = field(default_factory=lambda: str(uuid.uuid4()))
    left: list[tuple[str, str]] = field(default_factory=list)

    def run(self, args: list[str]) -> tuple[int, str]:
        """A run without a person: its exit code, and what it prints."""
        if "--version" in args:
            return 0, f"{HOSTS[self.name].tested}\n"
        begins, says, before, after = _EVENTS[self.name]
        calls = [(f"call_{number}", line) for number, line in enumerate(re.findall("`([^`]+)`", args[-1]))]
        if any(arg in _GO_ON for arg in args):
            calls = [(call if self.name == "claude-code" else f"{call}_again", line) for call, line in self.left]
        else:
            self._ask(begins, {"source": "startup"})
            self._ask(says, {"prompt": args[-1], "text": args[-1], "typed": True})
        said, self.left = [], []
        for call, line in calls:
            stopped = self._ask(before, self._call(call, line))
            if stopped is None:
                self._ask(after, self._call(call, line) | self._result())
                said.append(f"ran {line}")
            else:
                said.append(f"did not run {line}: {stopped}")
                if "approval" in stopped or stopped == "deferred":
                    self.left.append((call, line))
        if self.name == "claude-code":
            ends = "tool_deferred" if self.left else "end_turn"
            return 0, json.dumps({"session_id": self.session, "stop_reason": ends, "result": "; ".join(said)}) + "\n"
        return 0, "\n".join(said) + "\n"

    def end(self) -> None:
        """Ends the judge that the first event started."""
        folder = self.home / ".local/state/rebuno/judge"
        if not (folder / SOCKET).exists():
            return
        # From inside of the folder no path is too long for a socket.
        with chdir(folder), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking, suppress(OSError):
            asking.connect(SOCKET)
            told = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            os.kill(struct.unpack("3i", told)[0], signal.SIGTERM)

    def _call(self, call: str, line: str) -> dict[str, Any]:
        if self.name == "opencode":
            return {"call": call, "tool": _TOOL[self.name], "args": {"command": line}, "servers": []}
        return {"tool_name": _TOOL[self.name], "tool_input": {"command": line}, "tool_use_id": call}

    def _result(self) -> dict[str, Any]:
        if self.name == "opencode":
            return {"output": ""}
        plain = {"llmContent": "", "returnDisplay": ""} if self.name == "gemini-cli" else {"stdout": "", "stderr": ""}
        return {"tool_response": plain}

    def _ask(self, event: str, fields: dict[str, Any]) -> str | None:
        """Why the call must not run, or None."""
        if self.name == "opencode":
            place = {"event": event, "session": self.session, "directory": str(self.folder)}
        else:
            place = {"hook_event_name": event, "session_id": self.session, "cwd": str(self.folder)}
        stopped = None
        for line in self._planted(event):
            done = subprocess.run(
                line,
                input=json.dumps(place | fields),
                capture_output=True,
                text=True,
                check=False,
                cwd=self.folder,
                env=clean(os.environ) | {"HOME": str(self.home), "CLAUDE_PROJECT_DIR": str(self.folder)},
            )
            stopped = stopped or self._read(done.returncode, done.stdout, done.stderr)
        return stopped

    def _read(self, code: int, out: str, said: str) -> str | None:
        if code == 2:
            return said.strip()
        answer = json.loads(out) if out.strip() else {}
        own = answer.get("hookSpecificOutput", {})
        decision = own.get("permissionDecision", answer.get("decision", "allow"))
        if decision == "allow":
            return None
        return "deferred" if decision == "defer" else str(own.get("permissionDecisionReason", answer.get("reason")))

    def _planted(self, event: str) -> list[list[str]]:
        here = Places(self.home, self.folder, {})
        found = []
        for scope in ("user", "project"):
            file = HOSTS[self.name].settings(scope, here)
            if not file.is_file():
                continue
            text = file.read_text(encoding="utf-8")
            if self.name == "opencode":
                value = json.loads(re.findall(r"const settings = (\{.*?\n\})", text, re.DOTALL)[0])
                found.append([value["program"], *value["args"]])
                continue
            groups = json.loads(text)["hooks"].get(event, [])
            hooks = [hook for group in groups for hook in group["hooks"] if ours(hook)]
            found += [
                [hook["command"], *hook["args"]] if "args" in hook else ["/bin/sh", "-c", hook["command"]]
                for hook in hooks
            ]
        return found
