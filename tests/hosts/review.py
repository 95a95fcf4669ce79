"""Reviews the hooks of a Codex, as a person does with its `/hooks`: without it they are skipped in silence."""

import json
import subprocess
from typing import Any

from rebuno.hosts.live import InstalledHost, Room


def review(host: InstalledHost, room: Room) -> int:
    """Trusts every hook that Codex finds in a room; how many there are. It is asked over its own protocol."""
    with subprocess.Popen(
        [host.executable, "app-server"],
        cwd=room.project,
        env=host.environment(room, "http://127.0.0.1:1"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            _call(process, "initialize", {"clientInfo": {"name": "review", "title": "review", "version": "1"}})
            (found,) = _call(process, "hooks/list", {"cwds": [str(room.project)]})["data"]
            trusted = {hook["key"]: {"trusted_hash": hook["currentHash"]} for hook in found["hooks"]}
            edit = {"keyPath": "hooks.state", "value": trusted, "mergeStrategy": "upsert"}
            _call(process, "config/batchWrite", {"edits": [edit]})
        finally:
            process.kill()
    return len(trusted)


def _call(process: "subprocess.Popen[str]", method: str, params: dict[str, Any]) -> Any:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps({"id": method, "method": method, "params": params}) + "\n")
    process.stdin.flush()
    for line in process.stdout:
        told = json.loads(line)
        if told.get("id") == method:
            return told["result"]
    raise AssertionError(f"Codex did not answer {method}")
