"""Whether Codex runs our hook: it skips those that nobody reviewed, and says nothing."""

import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from rebuno.errors import text_of
from rebuno.hosts.doctor import common, programs
from rebuno.hosts.doctor.finding import Finding, PlantedHook
from rebuno.hosts.install import entries

_REQUIREMENTS: Final = "etc/codex/requirements.toml"
_REVIEW: Final = "open `codex`, enter /hooks, and trust the hooks that name rebuno-hook"


def check(planted: PlantedHook) -> Iterator[Finding]:
    """Switches in TOML files, and the trust as Codex itself tells it."""
    own = planted.host.settings("user", planted.here).with_name("config.toml")
    project = planted.host.settings("project", planted.here).with_name("config.toml")
    stopped = [
        finding for file in (own, project, planted.here.root / _REQUIREMENTS) for finding in _file(planted, file)
    ]
    yield from stopped or [planted.ok("switches", "no settings of Codex stop hooks")]
    yield from _trust(planted, own)
    yield from _typed(planted, own)
    yield from common.others(planted)


def _file(planted: PlantedHook, file: Path) -> Iterator[Finding]:
    value = _toml(file)
    if value is None:
        yield planted.failed("settings read", f"{file} is not TOML", "correct the file")
        return
    features = value.get("features")
    for name in ("hooks", "codex_hooks"):
        if isinstance(features, dict) and features.get(name) is False:
            yield planted.failed("switches", f"`features.{name} = false` in {file} stops every hook", "remove the line")
    if value.get("allow_managed_hooks_only") is True:
        message = f"`allow_managed_hooks_only` in {file} lets only hooks of the administrator run"
        yield planted.failed("switches", message, "ask the administrator to plant the hook in requirements.toml")
    inline = value.get("hooks")
    if isinstance(inline, dict) and any(isinstance(groups, list) for groups in inline.values()):
        message = f"{file} has hooks too; Codex runs both and warns at each start"
        yield planted.note(
            "other hooks",
            message,
            f"see that none of them changes a call; or move them to {planted.host.title}'s hooks.json",
        )


def _typed(planted: PlantedHook, file: Path) -> Iterator[Finding]:
    # Codex runs no hook for `write_stdin`. Without a terminal a command that runs gets no input.
    features = (_toml(file) or {}).get("features")
    if not isinstance(features, dict) or features.get("unified_exec_tty") is not False:
        message = "Codex runs no hook for what its model types into a command that runs already"
        yield planted.note("typing", message, f"below `[features]` in {file}: `unified_exec_tty = false`")


def _trust(planted: PlantedHook, config: Path) -> Iterator[Finding]:
    file = planted.host.settings(planted.scope, planted.here)
    if not entries.found(dict(planted.root)):
        return
    command = programs.find(planted.host.command, planted.here.environ)
    try:
        if command is None:
            raise FileNotFoundError("`codex` is not on your PATH")
        states = _asked(planted, command, file)
    except (OSError, ValueError, LookupError, TypeError) as error:
        why = text_of(error) if isinstance(error, OSError | ValueError) else "its answer is of another form"
        yield from _recorded(planted, config, file, why)
        return
    asks = [state for state in states if state.get("eventName") == "preToolUse"]
    idle = [state for state in states if state.get("trustStatus") not in ("trusted", "managed")]
    if not asks:
        message = f"Codex does not know the hook in {file}"
        fix = "trust the folder in Codex" if planted.scope == "project" else "see the other findings"
        yield planted.failed("trust", message, fix)
    elif idle:
        names = ", ".join(str(state.get("eventName")) for state in idle)
        changed = any(state.get("trustStatus") == "modified" for state in idle)
        why = "were changed since they were reviewed" if changed else "were never reviewed"
        yield planted.failed("trust", f"Codex skips our hooks, which {why}, and lets calls run: {names}", _REVIEW)
    elif off := [str(state.get("eventName")) for state in states if state.get("enabled") is False]:
        yield planted.failed("trust", f"our hooks are switched off in Codex: {', '.join(off)}", _REVIEW)
    else:
        yield planted.ok("trust", "Codex says that our hooks were reviewed")


def _asked(planted: PlantedHook, command: str, file: Path) -> list[dict[str, Any]]:
    """What Codex itself says of our hooks."""
    project = str(planted.here.project)
    result = programs.asked(
        [command, "app-server"],
        planted.here.environ,
        planted.here.project,
        [
            {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "rebuno", "version": "1"}}},
            {"method": "initialized"},
            {"id": 2, "method": "hooks/list", "params": {"cwds": [project]}},
        ],
    )
    listed = [hook for folder in result["data"] for hook in folder["hooks"]]
    return [one for one in listed if entries.ours(one) and os.path.samefile(one["sourcePath"], file)]


def _recorded(planted: PlantedHook, config: Path, file: Path, why: str) -> Iterator[Finding]:
    """From Codex's settings: whether there was a review; whether it was of this very hook only Codex can tell."""
    value = _toml(config) or {}
    states = value.get("hooks", {}).get("state") if isinstance(value.get("hooks"), dict) else None
    states = states if isinstance(states, dict) else {}
    places = entries.found(dict(planted.root))
    keys = [f"{file}:{_snake(place.event)}:{place.group}:{place.hook}" for place in places]
    known = [states.get(key) for key in keys]
    if not all(isinstance(state, dict) and state.get("trusted_hash") for state in known):
        message = f"{config} knows of no review of our hooks: Codex skips them and lets calls run"
        yield planted.failed("trust", message, _REVIEW)
    else:
        message = f"our hooks were reviewed, but Codex could not be asked whether as they are now ({why})"
        yield planted.note("trust", message, "put `codex` on the PATH, then ask again")


def _snake(event: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in event).lstrip("_")


def _toml(file: Path) -> dict[str, Any] | None:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError:
        return {}
    except ValueError:
        return None
