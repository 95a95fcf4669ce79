"""The four coding agents that are driven."""

import json
from pathlib import Path
from typing import Any, Final

from rebuno.hosts.live.driver import KEY, Driver, Ended, Room

# Every tool is let through, so that what does not run was stopped by the hook.
_CLAUDE_TOOLS: Final = (
    "Bash,Read,Write,Edit,Glob,Grep,NotebookEdit,WebFetch,WebSearch,Task,Agent,TodoWrite,Skill,"
    "BashOutput,KillShell,ToolSearch"
)


class ClaudeCode:
    """Claude Code, in its mode for scripts."""

    name = "claude-code"
    program = "claude"
    package = "@anthropic-ai/claude-code"

    def furnish(self, room: Room, url: str) -> None:
        trusted = {"hasTrustDialogAccepted": True}
        state = {"hasCompletedOnboarding": True, "projects": {str(room.project): trusted}}
        _add(room.home / ".claude.json", state)

    def environment(self, room: Room, url: str) -> dict[str, str]:
        off = ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY")
        return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY, **dict.fromkeys(off, "1")}

    def command(self, room: Room, url: str, prompt: str, resume: str) -> list[str]:
        on = ["--resume", resume] if resume else []
        shown = ["--output-format", "stream-json", "--verbose"]
        return ["-p", prompt, *on, *shown, "--allowedTools", _CLAUDE_TOOLS]

    def session(self, ended: Ended) -> str:
        return _first(ended, "session_id")


class Codex:
    """Codex CLI, in its mode for scripts."""

    name = "codex"
    program = "codex"
    package = "@openai/codex"

    def furnish(self, room: Room, url: str) -> None:
        (room.home / ".codex").mkdir(parents=True, exist_ok=True)

    def environment(self, room: Room, url: str) -> dict[str, str]:
        return {"CODEX_HOME": str(room.home / ".codex"), "STUB_KEY": KEY}

    def command(self, room: Room, url: str, prompt: str, resume: str) -> list[str]:
        settings = {
            "model": '"gpt-5.5"',
            "model_provider": '"simulated"',
            "model_providers.simulated": (
                f'{{name="simulated", base_url="{url}/v1", wire_api="responses", env_key="STUB_KEY"}}'
            ),
            "approval_policy": '"never"',
            "sandbox_mode": '"danger-full-access"',
            f'projects."{room.project}".trust_level': '"trusted"',
        }
        options = [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]
        on = ["resume", resume] if resume else []
        return ["exec", *options, "--json", "--skip-git-repo-check", *on, prompt]

    def session(self, ended: Ended) -> str:
        return _first(ended, "thread_id")


class GeminiCli:
    """Gemini CLI, in its mode for scripts."""

    name = "gemini-cli"
    program = "gemini"
    package = "@google/gemini-cli"

    def furnish(self, room: Room, url: str) -> None:
        off = {"enabled": False}
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": off},
            "telemetry": off,
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
        }
        # Settings of the system must lie in folders that root owns; those of the home hold the hooks too.
        _add(room.home / ".gemini" / "settings.json", settings)

    def environment(self, room: Room, url: str) -> dict[str, str]:
        on = {"GEMINI_CLI_NO_RELAUNCH": "1", "GEMINI_CLI_TRUST_WORKSPACE": "true"}
        return {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url, **on}

    def command(self, room: Room, url: str, prompt: str, resume: str) -> list[str]:
        on = ["--resume", resume] if resume else []
        return ["-p", prompt, *on, "--yolo", "--output-format", "stream-json"]

    def session(self, ended: Ended) -> str:
        return _first(ended, "session_id")


class OpenCode:
    """OpenCode, in its mode for scripts."""

    name = "opencode"
    program = "opencode"
    package = "opencode-ai"

    def furnish(self, room: Room, url: str) -> None:
        options = {"baseURL": f"{url}/v1", "apiKey": KEY}
        provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"m": {}}}
        settings = {
            "provider": {"simulated": provider},
            "model": "simulated/m",
            "small_model": "simulated/m",
            "autoupdate": False,
            "share": "disabled",
            "permission": {"*": "allow"},
        }
        _write(self._settings(room), settings)

    def _settings(self, room: Room) -> Path:
        return room.home.parent / "opencode-own.json"

    def environment(self, room: Room, url: str) -> dict[str, str]:
        off = ("OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_LSP_DOWNLOAD")
        return {"OPENCODE_CONFIG": str(self._settings(room)), **dict.fromkeys(off, "1")}

    def command(self, room: Room, url: str, prompt: str, resume: str) -> list[str]:
        on = ["--session", resume] if resume else []
        return ["run", "--format", "json", *on, prompt]

    def session(self, ended: Ended) -> str:
        return _first(ended, "sessionID")


DRIVERS: Final[tuple[Driver, ...]] = (ClaudeCode(), Codex(), GeminiCli(), OpenCode())


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")


def _add(path: Path, more: dict[str, Any]) -> None:
    # What a file holds besides stays.
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    _write(path, {**found, **more})


def _first(ended: Ended, key: str) -> str:
    return next((str(event[key]) for event in ended.events() if event.get(key)), "")
