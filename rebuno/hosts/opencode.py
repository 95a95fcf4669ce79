"""OpenCode: the events that our plugin sends, and the answers that it reads.

OpenCode runs plugins and no hooks, so the plugin sends one JSON object an event and waits for the answer:

- `{"event": "tool.execute.before", "session", "call", "tool", "args", "directory", "servers": [names of MCP servers]}`:
  the call may run on exit code 0 with `{"decision": "allow"}` on standard output, and on nothing else. Otherwise the
  plugin throws an error with what stands on standard error.
- `{"event": "tool.execute.after", …, "output"}`, or `"error"` in its place: a call has ended.
- `{"event": "chat.message", "session", "directory", "text", "typed"}`: a prompt; `typed` is false for what a command or
  the host wrote.
- `{"event": "session.created", "session", "directory", "parent"?}`, `session.resumed`, `session.deleted`: a session.
  Every event of a subagent's has the session's id as `parent`.
"""

from collections.abc import Mapping
from typing import Any, Final

from rebuno.errors import ValidationError
from rebuno.hosts.answer import HookAnswer, refused
from rebuno.hosts.events import (
    CallBegins,
    CallEnded,
    EventFields,
    EventPlace,
    HostEvent,
    HostTool,
    Prompted,
    SessionBegun,
    SessionEnded,
    SubagentBegun,
    SubagentEnded,
    project_folder,
)

NAME: Final = "opencode"
SHORT_EVENTS: Final[Mapping[str, float]] = {}


def read_event(event: dict[str, Any], environ: Mapping[str, str]) -> HostEvent:
    """See `HookHost.read_event`."""
    fields = EventFields(event)
    name = fields.text("event")
    folder, session, parent = fields.folder("directory"), fields.id("session"), fields.id("parent", needed=False)
    project = project_folder(folder, environ)
    place = EventPlace(parent, session, folder, project) if parent else EventPlace(session, "", folder, project)
    match name:
        case "session.created" | "session.resumed":
            return SubagentBegun(place) if parent else SessionBegun(place, name == "session.resumed")
        case "session.deleted":
            return SubagentEnded(place) if parent else SessionEnded(place)
        case "chat.message":
            return Prompted(place, fields.text("text"), typed=event.get("typed") is True and not parent)
        case "tool.execute.before":
            raw = fields.some("tool", "args", "directory")
            return CallBegins(place, name, fields.id("call"), _tool(fields), raw)
        case "tool.execute.after":
            error = fields.maybe("error") or None
            result = None if error else event.get("output")
            return CallEnded(place, name, fields.id("call"), _tool(fields), result, error)
        case _:
            return CallBegins(place, name, "", HostTool(name, event), event, settles=False)


def _tool(fields: EventFields) -> HostTool:
    name, servers = fields.text("tool"), fields.event.get("servers", [])
    if not isinstance(servers, list) or not all(isinstance(one, str) for one in servers):
        raise ValidationError("`servers` of the event is no list of texts")
    # The host joins both names with one `_` and writes it for other characters too: the longest server wins.
    for server in sorted(servers, key=len, reverse=True):
        wire = "".join(
            letter if letter.isascii() and (letter.isalnum() or letter in "_-") else "_" for letter in server
        )
        if wire and name.startswith(f"{wire}_") and len(name) > len(wire) + 1:
            return HostTool(name, fields.event.get("args"), wire, name[len(wire) + 1 :])
    return HostTool(name, fields.event.get("args"))


def allowed(call: CallBegins, *, quiet: bool) -> HookAnswer:
    """See `HookHost.allowed`."""
    return HookAnswer('{"decision": "allow"}\n')


def denied(call: CallBegins, reason: str) -> HookAnswer:
    """See `HookHost.denied`."""
    return refused(reason)


def asked(call: CallBegins, message: str) -> HookAnswer:
    """See `HookHost.asked`: a plugin cannot ask, so it is a denial that says how to go on."""
    return refused(message)
