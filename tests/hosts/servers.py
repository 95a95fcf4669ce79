"""A server of the official MCP library behind a host: its tools are judged by its name and theirs."""

import json
import sys
from pathlib import Path
from typing import Any, Final

from rebuno.hosts.live import PlannedCall
from tests.hosts.scene import Scene

SERVER: Final = Path(__file__).parents[1] / "mcp_server.py"
# How the model of each host calls the tool `greet` of the server `notes`.
GREET: Final = {
    "claude-code": "mcp__notes__greet",
    "codex": "mcp__notes.greet",
    "gemini-cli": "mcp_notes_greet",
    "opencode": "notes_greet",
}


def a_tool_of_a_server_is_judged_by_its_name(scene: Scene) -> None:
    """What the bundle allows of `notes.greet` runs, once, and nothing else of it."""
    calls = scene.folder / "calls"
    _serve(scene, [sys.executable, str(SERVER), str(calls)])
    scene.install()
    played = scene.play(*([PlannedCall(GREET[scene.name], {"name": name})] for name in ("bob", "ann")))
    assert "nothing else is let in here" in played.told(0), played.told(0)
    assert "hello ann" in played.told(1), played.told(1)
    assert calls.read_text(encoding="utf-8") == "greet ann\n"
    steps = [step for step in scene.steps(played.session) if step["target"] == "notes.greet"]
    assert [(step["args"], step["decision"]) for step in steps] == [
        ({"name": "bob"}, "deny"),
        ({"name": "ann"}, "allow"),
    ]


def _serve(scene: Scene, command: list[str]) -> None:
    home = scene.room.home
    told = {"command": command[0], "args": command[1:]}
    match scene.name:
        case "claude-code":
            _add(home / ".claude.json", {"mcpServers": {"notes": {"type": "stdio", **told}}})
        case "codex":
            path = home / ".codex" / "config.toml"
            # Required: the session begins when the server is there.
            lines = ["[mcp_servers.notes]", *(f"{key} = {json.dumps(value)}" for key, value in told.items())]
            path.write_text("\n".join([*lines, "required = true", ""]), encoding="utf-8")
        case "gemini-cli":
            _add(home / ".gemini" / "settings.json", {"mcpServers": {"notes": told}})
        case _:
            server = {"type": "local", "command": command, "enabled": True}
            _add(home / ".config" / "opencode" / "opencode.json", {"mcp": {"notes": server}})


def _add(path: Path, more: dict[str, Any]) -> None:
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**found, **more}), encoding="utf-8")
