"""Gemini CLI: its events, and the answers that it takes for what they say."""

import json
from collections.abc import Mapping
from typing import Any, Final

from rebuno.hosts.answer import HookAnswer, refused
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
    project_folder,
)

NAME: Final = "gemini-cli"
SHORT_EVENTS: Final[Mapping[str, float]] = {}

_TELLING: Final = frozenset(
    {"AfterAgent", "Notification", "PreCompress", "BeforeModel", "AfterModel", "BeforeToolSelection"}
)
# Behind it the host puts the text of files that the prompt names.
_REFERRED: Final = "\n--- Content from referenced files ---"


def read_event(event: dict[str, Any], environ: Mapping[str, str]) -> HostEvent:
    """See `HookHost.read_event`."""
    fields = EventFields(event)
    name = fields.text("hook_event_name")
    # The host runs hooks with the project's folder in a variable that it shares with Claude Code.
    folder = environ.get("GEMINI_PROJECT_DIR") or environ.get("CLAUDE_PROJECT_DIR") or fields.folder("cwd")
    place = EventPlace(fields.id("session_id"), "", fields.folder("cwd"), project_folder(folder, environ))
    match name:
        case "SessionStart":
            return SessionBegun(place, fields.maybe("source") == "resume")
        case "BeforeAgent":
            return Prompted(place, fields.text("prompt").partition(_REFERRED)[0])
        case "BeforeTool":
            raw = fields.some("tool_name", "tool_input", "cwd", "mcp_context", "original_request_name")
            return CallBegins(place, name, "", _tool(fields), raw)
        case "AfterTool":
            return _ended(place, name, fields)
        case "SessionEnd":
            return SessionEnded(place)
        case _ if name in _TELLING:
            return Noticed(name)
        case _:
            return CallBegins(place, name, "", HostTool(name, event), event, settles=False)


def _tool(fields: EventFields) -> HostTool:
    name, told = fields.text("tool_name"), fields.event.get("mcp_context")
    if isinstance(told, dict):
        server, tool = told.get("server_name"), told.get("tool_name")
        if isinstance(server, str) and isinstance(tool, str) and server and tool:
            return HostTool(name, fields.event.get("tool_input"), server, tool)
    return HostTool(name, fields.event.get("tool_input"))


def _ended(place: EventPlace, name: str, fields: EventFields) -> CallEnded:
    told = fields.event.get("tool_response")
    error = told.get("error") if isinstance(told, dict) else None
    if error:
        text = error.get("message") if isinstance(error, dict) else error
        return CallEnded(place, name, "", _tool(fields), error=text if isinstance(text, str) else json.dumps(error))
    result = told.get("llmContent") if isinstance(told, dict) and "llmContent" in told else told
    return CallEnded(place, name, "", _tool(fields), result)


def allowed(call: CallBegins, *, quiet: bool) -> HookAnswer:
    """See `HookHost.allowed`."""
    return HookAnswer("{}\n" if quiet or call.event != "BeforeTool" else '{"decision": "allow"}\n')


def denied(call: CallBegins, reason: str) -> HookAnswer:
    """See `HookHost.denied`."""
    if call.event != "BeforeTool":
        return refused(reason)
    return HookAnswer(json.dumps({"decision": "deny", "reason": reason}) + "\n")


def asked(call: CallBegins, message: str) -> HookAnswer:
    """See `HookHost.asked`: this host cannot ask, so it is a denial that says how to go on."""
    return denied(call, message)
