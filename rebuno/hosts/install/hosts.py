"""What is planted into each host: where its settings lie, the events that we ask for, the call of `rebuno-hook`."""

import json
import math
import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from rebuno.errors import ValidationError

Scope = Literal["user", "project"]
SCOPES: Final[tuple[Scope, ...]] = ("user", "project")
# How long a host waits for our answer, in seconds, where nobody is asked. The hook answers far sooner.
PATIENCE: Final = 60
# Hosts end a session without waiting longer for hooks than this.
_AT_THE_END: Final = 3


@dataclass(frozen=True, slots=True)
class Places:
    """Whose settings: the home folder, the project folder, the environment, and the root of the administrator's."""

    home: Path
    project: Path
    environ: Mapping[str, str]
    root: Path = Path("/")


@dataclass(frozen=True, slots=True)
class Planting:
    """A hook that is planted into the host's settings `file`: the program and its arguments, whether it only observes,
    and for how many seconds it is held open for a person's answer."""

    file: Path
    program: Path
    arguments: tuple[str, ...]
    scope: Scope = "user"
    observe: bool = False
    wait: float = 0

    @property
    def timeout(self) -> int:
        """How long the host is to wait, in whole seconds."""
        return PATIENCE + math.ceil(self.wait)

    @property
    def way_out(self) -> str:
        """The sentence that says how to take the hook out, also where this package is gone."""
        command = f"rebuno hook uninstall {self.arguments[0]}{'' if self.scope == 'user' else ' --scope project'}"
        part = "delete" if self.file.suffix == ".js" else "delete the entries that name rebuno-hook from"
        return f"To take this hook out: {command}; or {part} {self.file}"


@dataclass(frozen=True, slots=True)
class HostProfile:
    """A coding agent. `tested` is the version that its hooks were tried with, `oldest` the first one that does not let
    calls run where a hook fails. `events` are those that we ask for, each with whether it takes a matcher of tools;
    `asks` of them is the one before a call, whose answer decides. `comments`: it reads settings that have comments."""

    name: str
    title: str
    command: str
    tested: str
    asks: str
    settings: Callable[[Scope, Places], Path]
    events: Mapping[str, bool] = field(default_factory=dict)
    hook: Callable[[Planting, str], dict[str, Any]] | None = None
    comments: bool = False
    oldest: str = ""

    @property
    def module(self) -> bool:
        """Whether our hook is a file of its own, in the place of an entry in the host's settings."""
        return self.hook is None

    def at_home(self, here: Places) -> bool:
        """Whether the project is where the user's own settings lie: in the home folder, mostly."""
        user, project = (os.path.realpath(self.settings(scope, here)) for scope in SCOPES)
        return user == project

    def groups(self, planting: Planting) -> dict[str, dict[str, Any]]:
        """What is planted for each event."""
        assert self.hook is not None
        return {
            event: ({"matcher": "*"} if tools else {}) | {"hooks": [self.hook(planting, event)]}
            for event, tools in self.events.items()
        }


def find(name: str) -> HostProfile:
    """The host of this name.

    Raises:
        ValidationError: there is none.
    """
    if name not in HOSTS:
        raise ValidationError(f"{name!r} is no host; it is one of {', '.join(HOSTS)}")
    return HOSTS[name]


def plugin(planting: Planting) -> str:
    """The text of OpenCode's plugin."""
    text = (Path(__file__).parent / "opencode.js").read_text(encoding="utf-8")
    return text.replace(
        "__SETTINGS__",
        json.dumps(
            {
                "program": str(planting.program),
                "args": list(planting.arguments),
                "timeout": planting.timeout * 1000,
                "observe": planting.observe,
                "wayOut": planting.way_out,
            },
            indent=2,
        ),
    )


def _claude_settings(scope: Scope, here: Places) -> Path:
    folder = here.project / ".claude" if scope == "project" else _folder(here, "CLAUDE_CONFIG_DIR", ".claude")
    return folder / "settings.json"


def _claude_hook(planting: Planting, event: str) -> dict[str, Any]:
    # The host prints the whole call where it fails: the note is for the person who reads that.
    command, *args = _call(planting)
    call = {"command": command, "args": [*args, "--note", planting.way_out]}
    hook = {"type": "command", **call, "timeout": planting.timeout}
    return hook if planting.observe else hook | {"onFailure": "block"}


def _codex_settings(scope: Scope, here: Places) -> Path:
    folder = here.project / ".codex" if scope == "project" else _folder(here, "CODEX_HOME", ".codex")
    return folder / "hooks.json"


def _codex_hook(planting: Planting, event: str) -> dict[str, Any]:
    timeout = _AT_THE_END if event in ("SessionEnd", "Interrupt") else planting.timeout
    return {"type": "command", "command": _line(planting), "timeout": timeout}


def _gemini_settings(scope: Scope, here: Places) -> Path:
    root = here.project if scope == "project" else _folder(here, "GEMINI_CLI_HOME", "")
    return root / ".gemini" / "settings.json"


def _gemini_hook(planting: Planting, event: str) -> dict[str, Any]:
    return {"name": "rebuno", "type": "command", "command": _line(planting), "timeout": planting.timeout * 1000}


def _opencode_plugin(scope: Scope, here: Places) -> Path:
    if scope == "project":
        return here.project / ".opencode" / "plugins" / "rebuno.js"
    return _folder(here, "XDG_CONFIG_HOME", ".config") / "opencode" / "plugins" / "rebuno.js"


def _line(planting: Planting) -> str:
    """The shell line for hosts that let a call run where the hook is missing or killed.

    A shell of its own: that of the user may be fish or another one with other words.
    """
    call = _call(planting)
    if planting.observe:
        return shlex.join(call)
    told = f"rebuno-hook is missing or was killed: the call was not judged and does not run. {planting.way_out}"
    script = 't=$1; shift; "$@" || { [ $? -eq 2 ] || printf "%s\\n" "$t" >&2; exit 2; }'
    return shlex.join(["/bin/sh", "-c", script, "sh", told, *call])


def _call(planting: Planting) -> list[str]:
    # A relative folder in PYTHONPATH is the project's, whose modules could end the hook with 0 before it begins.
    return ["/usr/bin/env", "-u", "PYTHONPATH", "-u", "PYTHONHOME", str(planting.program), *planting.arguments]


def _folder(here: Places, variable: str, otherwise: str) -> Path:
    named = here.environ.get(variable)
    return Path(os.path.abspath(here.project / named)) if named else here.home / otherwise


HOSTS: Final[Mapping[str, HostProfile]] = {
    host.name: host
    for host in (
        HostProfile(
            name="claude-code",
            title="Claude Code",
            command="claude",
            tested="2.1.332",
            # `onFailure`.
            oldest="2.1.295",
            asks="PreToolUse",
            events={
                "PreToolUse": True,
                "PostToolUse": True,
                "PostToolUseFailure": True,
                # Shell commands in the text of a skill run without a call of a tool.
                "PreSkillShellCommand": True,
                "UserPromptSubmit": False,
                "SessionStart": False,
                "SessionEnd": False,
                "SubagentStart": False,
                "SubagentStop": False,
            },
            settings=_claude_settings,
            hook=_claude_hook,
        ),
        HostProfile(
            name="codex",
            title="Codex",
            command="codex",
            tested="0.171.0",
            asks="PreToolUse",
            events={
                "PreToolUse": True,
                "PostToolUse": True,
                "UserPromptSubmit": False,
                "SessionStart": False,
                "SessionEnd": False,
                "SubagentStart": False,
                "SubagentStop": False,
                "Interrupt": False,
            },
            settings=_codex_settings,
            hook=_codex_hook,
        ),
        HostProfile(
            name="gemini-cli",
            title="Gemini CLI",
            command="gemini",
            tested="0.61.0",
            comments=True,
            asks="BeforeTool",
            events={
                "BeforeTool": True,
                "AfterTool": True,
                "BeforeAgent": False,
                "SessionStart": False,
                "SessionEnd": False,
            },
            settings=_gemini_settings,
            hook=_gemini_hook,
        ),
        HostProfile(
            name="opencode",
            title="OpenCode",
            command="opencode",
            tested="1.18.33",
            comments=True,
            asks="tool.execute.before",
            settings=_opencode_plugin,
        ),
    )
}
