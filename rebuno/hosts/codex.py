"""Codex CLI: its events, and the answers that it takes for what they say.

Codex lets a call run on any answer that it does not understand: an unknown field, `ask`, even a plain `allow`. So a
call that may run gets no text at all, and one that must not gets exit code 2.
"""

from collections.abc import Mapping
from typing import Any, Final

from rebuno.hosts.answer import NOTHING, HookAnswer, refused
from rebuno.hosts.events import (
    CallBegins,
    CallEnded,
    EventFields,
    EventPlace,
    HostEvent,
    HostTool,
    Noticed,
    Prompted,
    SessionBegun,
    SessionEnded,
    SubagentBegun,
    SubagentEnded,
    TurnInterrupted,
    project_folder,
)
from rebuno.hosts.vocabulary import server_of

NAME: Final = "codex"
# The host sets these to three seconds, whatever its settings say.
SHORT_EVENTS: Final[Mapping[str, float]] = {"SessionEnd": 3.0, "Interrupt": 3.0}

_TELLING: Final = frozenset({"PermissionRequest", "PreCompact", "PostCompact", "Stop", "Notification"})


def read_event(event: dict[str, Any], environ: Mapping[str, str]) -> HostEvent:
    """See `HookHost.read_event`."""
    fields = EventFields(event)
    name = fields.text("hook_event_name")
    # The folder of a call is the one that the model asked for. Only a session and a prompt stand in the project.
    place = EventPlace(fields.id("session_id"), fields.id("agent_id", needed=False), fields.folder("cwd"))
    match name:
        case "SessionStart":
            return SessionBegun(_in_project(place, environ), fields.maybe("source") == "resume")
        case "UserPromptSubmit":
            return Prompted(_in_project(place, environ), fields.text("prompt"), typed=not place.subagent)
        case "PreToolUse":
            raw = fields.some("tool_name", "tool_input", "cwd", "permission_mode", "agent_type", "turn_id")
            return CallBegins(place, name, fields.id("tool_use_id"), _tool(fields), raw)
        case "PostToolUse":
            return CallEnded(place, name, fields.id("tool_use_id"), _tool(fields), event.get("tool_response"))
        case "SubagentStart" | "SubagentStop":
            own = EventPlace(place.session, fields.id("agent_id"), place.cwd)
            return SubagentBegun(own) if name == "SubagentStart" else SubagentEnded(own)
        case "SessionEnd":
            return SessionEnded(place)
        case "Interrupt":
            return TurnInterrupted(place)
        case _ if name in _TELLING:
            return Noticed(name)
        case _:
            return CallBegins(place, name, "", HostTool(name, event), event, settles=False)


def _in_project(place: EventPlace, environ: Mapping[str, str]) -> EventPlace:
    return EventPlace(place.session, place.subagent, place.cwd, project_folder(place.cwd, environ))


def _tool(fields: EventFields) -> HostTool:
    name = fields.text("tool_name")
    server, tool = server_of(name)
    return HostTool(name, fields.event.get("tool_input"), server, tool)


def allowed(call: CallBegins, *, quiet: bool) -> HookAnswer:
    """See `HookHost.allowed`."""
    return NOTHING


def denied(call: CallBegins, reason: str) -> HookAnswer:
    """See `HookHost.denied`."""
    return refused(reason)


def asked(call: CallBegins, message: str) -> HookAnswer:
    """See `HookHost.asked`: this host cannot ask, so it is a denial that says how to go on."""
    return refused(message)
