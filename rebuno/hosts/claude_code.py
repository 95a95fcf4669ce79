"""Claude Code: its events, and the answers that it takes for what they say."""

import json
from collections.abc import Mapping
from typing import Any, Final

from rebuno.hosts.answer import HookAnswer, refused
from rebuno.hosts.events import (
    Asking,
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
    project_folder,
)
from rebuno.hosts.vocabulary import server_of

NAME: Final = "claude-code"
SHORT_EVENTS: Final[Mapping[str, float]] = {}

# Events before which a call waits for the answer.
_BEFORE: Final = ("PreToolUse", "PreSkillShellCommand")
# They tell something, or shape what is shown; what they lead to comes as a call of its own.
_TELLING: Final = frozenset(
    {
        "PostToolBatch",
        "Notification",
        "UserPromptExpansion",
        "Stop",
        "StopFailure",
        "PreCompact",
        "PostCompact",
        "PreModelSwitch",
        "PostModelSwitch",
        "PermissionRequest",
        "PermissionDenied",
        "Setup",
        "TeammateIdle",
        "TaskCreated",
        "TaskCompleted",
        "Elicitation",
        "ElicitationResult",
        "ConfigChange",
        "InstructionsLoaded",
        "CwdChanged",
        "FileChanged",
        "DirectoryAdded",
        "MessageDisplay",
    }
)
# Who wrote a prompt, where the host says so; any other one is a machine.
_TYPED_BY: Final = ("user", "sdk")
# What the host puts in a prompt's place, in versions that do not say who wrote it.
_NOTICES: Final = ("<task-notification", "<system-reminder", "<local-command-", "<command-", "<bash-")
# What it says for a user who resumes a session without a word.
_GOES_ON: Final = "Continue from where you left off."


def read_event(event: dict[str, Any], environ: Mapping[str, str]) -> HostEvent:
    """See `HookHost.read_event`."""
    fields = EventFields(event)
    name = fields.text("hook_event_name")
    place = EventPlace(
        fields.id("session_id"),
        fields.id("agent_id", needed=False),
        fields.folder("cwd"),
        # The host names the project in the environment. Where something else calls the hook, and nothing is named, a
        # session begins in the folder of its first event.
        project_folder(environ.get("CLAUDE_PROJECT_DIR") or fields.folder("cwd"), environ),
    )
    match name:
        case "SessionStart":
            workdir = place.workdir or project_folder(place.cwd, environ)
            resumed = fields.maybe("source") == "resume"
            return SessionBegun(EventPlace(place.session, "", place.cwd, workdir), resumed)
        case "UserPromptSubmit":
            text = fields.text("prompt")
            by = fields.maybe("source")
            typed = by in _TYPED_BY if by else not text.lstrip().startswith(_NOTICES)
            typed = typed and text.strip() != _GOES_ON and not place.subagent
            return Prompted(place, text, typed)
        case "PostToolUse":
            result = plain_result(event.get("tool_response"))
            asked = _asking(fields, place, environ) == "ask"
            return CallEnded(place, name, fields.id("tool_use_id"), _tool(fields), result, asked=asked)
        case "PostToolUseFailure":
            error = fields.maybe("error") or "the tool failed and gave no reason"
            stopped = event.get("is_interrupt") is True
            tool, asked = _tool(fields), _asking(fields, place, environ) == "ask"
            return CallEnded(place, name, fields.id("tool_use_id"), tool, error=error, unknown=stopped, asked=asked)
        case "SubagentStart":
            return SubagentBegun(_own(place, fields))
        case "SubagentStop":
            return SubagentEnded(_own(place, fields))
        case "SessionEnd":
            return SessionEnded(place)
        case _ if name in _TELLING:
            return Noticed(name)
        case _ if name in _BEFORE:
            return _call(name, fields, place, environ)
        case _:
            # A later version may let something happen here.
            return CallBegins(place, name, "", HostTool(name, event), event, settles=False)


def _own(place: EventPlace, fields: EventFields) -> EventPlace:
    return EventPlace(place.session, fields.id("agent_id"), place.cwd, place.workdir)


def _call(name: str, fields: EventFields, place: EventPlace, environ: Mapping[str, str]) -> CallBegins:
    raw = fields.some("tool_name", "tool_input", "cwd", "permission_mode", "agent_type", "mcp_server", "command_name")
    # A second hook of the same process is told from the process that resumes the session.
    if process := environ.get("CLAUDE_PID"):
        raw["process"] = process
    own = fields.id("tool_use_id")
    asking = _asking(fields, place, environ) if name == "PreToolUse" else "refuse"
    return CallBegins(place, name, own, _tool(fields), raw, asking, settles=name == "PreToolUse")


def _asking(fields: EventFields, place: EventPlace, environ: Mapping[str, str]) -> Asking:
    attended = environ.get("CLAUDE_CODE_SESSION_ATTENDED", "")
    entry = environ.get("CLAUDE_CODE_ENTRYPOINT", "")
    if attended == "1" or (not attended and entry == "cli"):
        # In this mode a model answers the host's questions.
        return "refuse" if fields.maybe("permission_mode") == "auto" else "ask"
    # A subagent's call that is put off is not asked about again as the session is resumed.
    return "defer" if not place.subagent and entry in ("sdk-cli", "") else "refuse"


def _tool(fields: EventFields) -> HostTool:
    name = fields.text("tool_name")
    told = fields.event.get("mcp_server")
    server, tool = server_of(name, told["name"] if isinstance(told, dict) and isinstance(told.get("name"), str) else "")
    return HostTool(name, fields.event.get("tool_input"), server, tool)


def plain_result(result: Any) -> Any:
    """A result without the wrapping of MCP: texts in lines for a list of text blocks."""
    if (
        isinstance(result, list)
        and result
        and all(
            isinstance(one, dict) and one.get("type") == "text" and isinstance(one.get("text"), str) for one in result
        )
    ):
        return "\n".join(one["text"] for one in result)
    return result


def allowed(call: CallBegins, *, quiet: bool) -> HookAnswer:
    """See `HookHost.allowed`."""
    if quiet or call.event not in _BEFORE:
        return HookAnswer("{}\n")
    return _decided(call, "allow")


def denied(call: CallBegins, reason: str) -> HookAnswer:
    """See `HookHost.denied`."""
    return _decided(call, "deny", reason) if call.event in _BEFORE else refused(reason)


def asked(call: CallBegins, message: str) -> HookAnswer:
    """See `HookHost.asked`."""
    if call.asking == "refuse" or call.event != "PreToolUse":
        return denied(call, message)
    return _decided(call, call.asking, message)


def _decided(call: CallBegins, decision: str, reason: str = "") -> HookAnswer:
    # Without `hookEventName` the host ignores the rest without a word.
    said: dict[str, Any] = {"hookEventName": call.event, "permissionDecision": decision}
    if reason:
        said["permissionDecisionReason"] = reason
    whole: dict[str, Any] = {"hookSpecificOutput": said}
    if decision == "defer":
        whole["systemMessage"] = reason
    return HookAnswer(json.dumps(whole) + "\n")
