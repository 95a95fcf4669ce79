"""What switches hooks off in Gemini CLI."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from rebuno.errors import ValidationError
from rebuno.hosts.doctor import common
from rebuno.hosts.doctor.finding import Finding, PlantedHook
from rebuno.hosts.install import entries, files, json_text

_SYSTEM: Final = (
    "Library/Application Support/GeminiCli/settings.json"
    if sys.platform == "darwin"
    else "etc/gemini-cli/settings.json"
)


def check(planted: PlantedHook) -> Iterator[Finding]:
    """The settings of all scopes, and the trust in the folder: without it no hook at all runs."""
    system = Path(planted.here.environ.get("GEMINI_CLI_SYSTEM_SETTINGS_PATH") or planted.here.root / _SYSTEM)
    scopes = [planted.host.settings(scope, planted.here) for scope in ("user", "project")]
    read = [system.with_name("system-defaults.json"), *scopes, system]
    stopped = [finding for file in read for finding in _file(planted, file)]
    yield from stopped or [planted.ok("switches", "no settings of Gemini CLI stop hooks")]
    yield from _trust(planted, read)
    yield from common.others(planted)


def _file(planted: PlantedHook, file: Path) -> Iterator[Finding]:
    value = _value(file)
    if value is None:
        yield planted.failed("settings read", f"Gemini CLI cannot read {file}", "correct the file")
        return
    config = value.get("hooksConfig")
    if not isinstance(config, dict):
        return
    if config.get("enabled") is False:
        yield planted.failed("switches", f"`hooksConfig.enabled` in {file} stops every hook", "set it to true")
    off = config.get("disabled")
    names = {"rebuno", *(hook.get("command") for hook in _ours(planted))}
    if isinstance(off, list) and any(name in names for name in off):
        yield planted.failed("switches", f"`hooksConfig.disabled` in {file} names our hook", "take `rebuno` out of it")


def _trust(planted: PlantedHook, read: list[Path]) -> Iterator[Finding]:
    project, environ = planted.here.project, planted.here.environ
    enabled: Any = True
    for file in read:
        security = (_value(file) or {}).get("security")
        folder = security.get("folderTrust") if isinstance(security, dict) else None
        if isinstance(folder, dict) and "enabled" in folder:
            enabled = folder["enabled"]
    if enabled is False or environ.get("GEMINI_CLI_TRUST_WORKSPACE") == "true":
        yield planted.ok("trust", "Gemini CLI asks for no trust in folders")
        return
    trusted = environ.get("GEMINI_CLI_TRUSTED_FOLDERS_PATH")
    user = planted.host.settings("user", planted.here)
    file = Path(trusted) if trusted else user.with_name("trustedFolders.json")
    rule = _rule(_value(file) or {}, os.path.realpath(project))
    trust = "open `gemini` there and trust the folder"
    if rule in ("TRUST_FOLDER", "TRUST_PARENT"):
        yield planted.ok("trust", f"{project} is trusted")
    elif rule == "DO_NOT_TRUST":
        yield planted.failed("trust", f"{project} is not trusted in Gemini CLI: no hook runs there, calls do", trust)
    else:
        message = f"nobody has told Gemini CLI whether {project} is trusted; it asks, and runs no hook without trust"
        yield planted.note("trust", message, trust)


def _rule(rules: dict[str, Any], folder: str) -> str | None:
    """What holds for a folder: the longest of the rules for it or for a folder above it."""
    holds = []
    for named, rule in rules.items():
        above = os.path.realpath(os.path.dirname(named) if rule == "TRUST_PARENT" else named)
        if folder == above or folder.startswith(above.rstrip("/") + "/"):
            holds.append((len(named), str(rule)))
    return max(holds)[1] if holds else None


def _ours(planted: PlantedHook) -> list[dict[str, Any]]:
    hooks = planted.root.get("hooks", {})
    return [hooks[place.event][place.group]["hooks"][place.hook] for place in entries.found(dict(planted.root))]


def _value(file: Path) -> dict[str, Any] | None:
    try:
        text = files.read(file).text()
        found: dict[str, Any] = json_text.parse(text, str(file)).root.value if text.strip() else {}
    except (OSError, ValidationError):
        return None
    return found
