"""What switches hooks off in Claude Code."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from rebuno.errors import ValidationError
from rebuno.hosts.doctor import common
from rebuno.hosts.doctor.finding import Finding, PlantedHook
from rebuno.hosts.install import files, json_text

_MANAGED: Final = "Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "etc/claude-code"


def check(planted: PlantedHook) -> Iterator[Finding]:
    """The settings of all scopes: what is read at all, and what stops hooks."""
    own = planted.host.settings("user", planted.here)
    project = planted.host.settings("project", planted.here)
    read = [own, project, project.with_name("settings.local.json")]
    stopped = False
    for file in read:
        for finding in _file(planted, file, managed=False):
            stopped = True
            yield finding
    for file in _managed_files(planted.here.root / _MANAGED):
        for finding in _file(planted, file, managed=True):
            stopped = True
            yield finding
    if not stopped:
        yield planted.ok("switches", "no settings of Claude Code stop hooks")
    if planted.scope == "project":
        yield from _trust(planted, own)
    yield from common.others(planted)


def _file(planted: PlantedHook, file: Path, *, managed: bool) -> Iterator[Finding]:
    try:
        content = files.read(file)
        if content.data is None or not content.text().strip():
            return
        document = json_text.parse(content.text(), str(file))
    except (OSError, ValidationError):
        yield planted.failed("settings read", f"Claude Code skips {file}, which is not JSON", "correct the file")
        return
    if document.comments:
        line = document.line(document.comments[0][0])
        message = f"Claude Code skips all of {file}, since it reads no comments"
        yield planted.failed("settings read", message, f"take the comment in line {line} out")
    value = document.root.value
    if value.get("disableAllHooks") is True:
        yield planted.failed(
            "switches", f"`disableAllHooks` in {file} stops every hook", "remove it, or set it to false"
        )
    if managed and value.get("allowManagedHooksOnly") is True:
        message = f"`allowManagedHooksOnly` in {file} lets only hooks of the administrator run"
        yield planted.failed("switches", message, "ask the administrator to plant the hook there")
    locked = value.get("strictPluginOnlyCustomization")
    if managed and (locked is True or (isinstance(locked, list) and "hooks" in locked)):
        message = f"`strictPluginOnlyCustomization` in {file} lets only hooks of plugins run"
        yield planted.failed("switches", message, "ask the administrator to plant the hook there")


def _managed_files(folder: Path) -> list[Path]:
    return [folder / "managed-settings.json", *sorted((folder / "managed-settings.d").glob("*.json"))]


def _trust(planted: PlantedHook, own: Path) -> Iterator[Finding]:
    """Hooks of a project run only where its folder is trusted."""
    told = "CLAUDE_CONFIG_DIR" in planted.here.environ
    file = own.with_name(".claude.json") if told else planted.here.home / ".claude.json"
    try:
        value: Any = json.loads(file.read_bytes())
    except (OSError, ValueError):
        value = {}
    projects = value.get("projects") if isinstance(value, dict) else None
    for folder in [planted.here.project, *planted.here.project.parents]:
        known = projects.get(str(folder)) if isinstance(projects, dict) else None
        if isinstance(known, dict) and known.get("hasTrustDialogAccepted") is True:
            yield planted.ok("trust", f"{folder} is trusted")
            return
    message = f"nobody has said that {planted.here.project} is trusted: its settings may be skipped"
    yield planted.note("trust", message, "open `claude` there and answer the question, or install with --scope user")
