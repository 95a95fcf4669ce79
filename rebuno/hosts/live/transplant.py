"""The hook of one scope, as it is installed, put into a room: what the host reads there is what it reads at home, less
the hooks of others and the settings that lead to a real model."""

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from rebuno.errors import ValidationError
from rebuno.hosts import settings as hook_settings
from rebuno.hosts.install import entries, files, json_text
from rebuno.hosts.install.hosts import HostProfile, Places, Scope
from rebuno.hosts.install.install import settings_file
from rebuno.hosts.live.driver import InstalledHost, Room

# What stands in the place of somebody else's hook.
_NOTHING: Final = {"type": "command", "command": "true"}
# What switches hooks off in the settings of hosts.
_SWITCHES: Final = ("disableAllHooks", "allowManagedHooksOnly", "hooksConfig")


def transplant(planted: HostProfile, scope: Scope, here: Places, host: InstalledHost, room: Room) -> None:
    """Puts the hook of a scope into a room, with our own settings. Its store is one of the room.

    Raises:
        ValidationError: settings cannot be read.
        OSError: a file cannot be read.
    """
    there = Places(room.home, room.project, host.environment(room, "http://127.0.0.1:1"))
    own, own_there = settings_file(planted, scope, here), settings_file(planted, scope, there)
    found = hook_settings.read_settings(planted.name, here.environ, str(own) if own.exists() else None)
    kept = replace(found, db="", path="", port=0, token="")
    _write(own_there, json.dumps(hook_settings.settings_json(kept)))
    source, target = planted.settings(scope, here), planted.settings(scope, there)
    content = files.read(source)
    if content.data is None:
        return
    if planted.module:
        _write(target, content.text().replace(json.dumps(str(own)), json.dumps(str(own_there))))
        return
    value = json_text.parse(content.text(), str(source)).root.value
    hooks = _ours(planted.name, value, {str(own): str(own_there)}) if isinstance(value, dict) else {}
    before = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
    _write(target, json.dumps({**before, **hooks}))
    if planted.name == "codex":
        _write(room.home / ".codex" / "config.toml", _trust(here, source, target))


def _ours(host: str, settings: Mapping[str, Any], moved: Mapping[str, str]) -> dict[str, Any]:
    kept = {name: settings[name] for name in _SWITCHES if name in settings}
    events: dict[str, list[Any]] = {}
    found = settings.get("hooks")
    for event, groups in (found if isinstance(found, dict) else {}).items():
        for group in groups if isinstance(groups, list) else []:
            hooks = group.get("hooks") if isinstance(group, dict) else None
            # Codex knows what its user trusts by the numbers of groups and hooks, so something stands for the others.
            put = [
                _moved(hook, moved) if entries.ours(hook) else _NOTHING
                for hook in (hooks if isinstance(hooks, list) else [])
                if host == "codex" or entries.ours(hook)
            ]
            if put:
                events.setdefault(event, []).append({**group, "hooks": put})
    return {**kept, "hooks": events}


def _moved(value: Any, moved: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for old, new in moved.items():
            value = value.replace(old, new)
        return value
    if isinstance(value, list):
        return [_moved(one, moved) for one in value]
    if isinstance(value, dict):
        return {name: _moved(one, moved) for name, one in value.items()}
    return value


def _trust(here: Places, source: Path, target: Path) -> str:
    # Which hooks the user has reviewed: `PATH:EVENT:GROUP:HOOK` with a hash of the hook, which the path is no part of.
    folder = here.environ.get("CODEX_HOME") or str(here.home / ".codex")
    path = Path(folder) / "config.toml"
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValidationError(f"`{path}` cannot be read: {error}") from None
    lines = []
    if isinstance(features := settings.get("features"), dict) and isinstance(features.get("hooks"), bool):
        lines += ["[features]", f"hooks = {json.dumps(features['hooks'])}"]
    hooks = settings.get("hooks")
    state = hooks.get("state") if isinstance(hooks, dict) else None
    for key, told in (state if isinstance(state, dict) else {}).items():
        place, event, *numbers = key.rsplit(":", 3)
        if isinstance(told, dict) and os.path.realpath(place) == os.path.realpath(source):
            lines.append(f"[hooks.state.{json.dumps(':'.join([str(target), event, *numbers]))}]")
            lines += [f"{name} = {json.dumps(value)}" for name, value in told.items() if isinstance(value, str | bool)]
    return "\n".join([*lines, ""])


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
