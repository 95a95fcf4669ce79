"""The events of every host as one set of types, and what the readers of hosts share."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from rebuno.errors import ValidationError
from rebuno.model.dataclass import dataclass

# The longest id of a session or a call, in characters; hosts send some tens.
LONGEST_ID: Final = 512


@dataclass(frozen=True, slots=True)
class EventPlace:
    """Whose event it is: the host's `session`, in it the `subagent` (its id, empty for the main agent), the folder
    `cwd` in which the event happened, and the project's folder `workdir`, empty where the event does not tell it for
    sure."""

    session: str
    subagent: str = ""
    cwd: str = ""
    workdir: str = ""

    @property
    def key(self) -> str:
        """The id of the execution: that of the session, and for a subagent with its own id below it."""
        return f"{self.session}/{self.subagent}" if self.subagent else self.session


@dataclass(frozen=True, slots=True)
class SessionBegun:
    """A session begins; with `resumed` it is an earlier one, whose calls do not run any more."""

    place: EventPlace
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class Prompted:
    """A prompt. `typed` is false where a program or a server wrote it."""

    place: EventPlace
    text: str
    typed: bool = True


@dataclass(frozen=True, slots=True)
class HostTool:
    """A call as the host names it: its tool, its input as JSON, and of a tool of an MCP server the `server` and the
    name that the server gives it."""

    name: str
    input: Any
    server: str = ""
    server_tool: str = ""


# What a question becomes: the host's own question to its user, a call that the host puts off, or a refusal.
Asking = Literal["ask", "defer", "refuse"]


@dataclass(frozen=True, slots=True)
class CallBegins:
    """A call is about to run. `event` is the host's name of the event, `id` the host's own id of the call, empty where
    it gives none. `raw` is what the journal keeps beside the step. `settles` tells that an event says how it ended."""

    place: EventPlace
    event: str
    id: str
    tool: HostTool
    raw: Mapping[str, Any]
    asking: Asking = "refuse"
    settles: bool = True


@dataclass(frozen=True, slots=True)
class CallEnded:
    """A call has ended: with `result`, with `error`, or, where it was interrupted, nobody knows how (`unknown`).
    `asked` tells that the host had its user answer, if there was a question."""

    place: EventPlace
    event: str
    id: str
    tool: HostTool
    result: Any = None
    error: str | None = None
    unknown: bool = False
    asked: bool = False


@dataclass(frozen=True, slots=True)
class SubagentBegun:
    """A subagent begins; the place is its own."""

    place: EventPlace


@dataclass(frozen=True, slots=True)
class SubagentEnded:
    """A subagent has ended; the place is its own."""

    place: EventPlace


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """The session has ended."""

    place: EventPlace


@dataclass(frozen=True, slots=True)
class TurnInterrupted:
    """The user has stopped the agent: what ran has an unknown outcome."""

    place: EventPlace


@dataclass(frozen=True, slots=True)
class Noticed:
    """An event that tells something and lets nothing happen."""

    event: str


HostEvent = (
    SessionBegun
    | Prompted
    | CallBegins
    | CallEnded
    | SubagentBegun
    | SubagentEnded
    | SessionEnded
    | TurnInterrupted
    | Noticed
)


class EventFields:
    """The fields of an event, each read with a typed error."""

    def __init__(self, event: Any) -> None:
        if not isinstance(event, dict):
            raise ValidationError("the event is no JSON object")
        self.event: dict[str, Any] = event

    def text(self, name: str) -> str:
        """A text that must be there and not empty."""
        found = self.event.get(name)
        if not isinstance(found, str) or not found:
            raise ValidationError(f"the event has no `{name}`, which is a text")
        _unicode(name, found)
        return found

    def maybe(self, name: str) -> str:
        """A text, empty where there is none."""
        found = self.event.get(name)
        if found is None:
            return ""
        if not isinstance(found, str):
            raise ValidationError(f"`{name}` of the event is no text")
        _unicode(name, found)
        return found

    def id(self, name: str, *, needed: bool = True) -> str:
        """An id of the host's, of a bounded length."""
        found = self.text(name) if needed else self.maybe(name)
        if len(found) > LONGEST_ID:
            raise ValidationError(f"`{name}` of the event is longer than {LONGEST_ID} characters")
        return found

    def folder(self, name: str) -> str:
        """An absolute path, empty where there is none."""
        found = self.maybe(name)
        return found if found.startswith("/") else ""

    def some(self, *names: str) -> dict[str, Any]:
        """Those of the fields that are there."""
        return {name: self.event[name] for name in names if name in self.event}


def _unicode(name: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValidationError(f"`{name}` of the event is no valid Unicode") from None


def project_folder(folder: str, environ: Mapping[str, str]) -> str:
    """The folder of a project as the folder of its session: empty for the user's home and what is above it, since
    everything would lie in it."""
    home = (environ.get("HOME") or "/").rstrip("/") or "/"
    plain = folder.rstrip("/") or "/"
    if not folder.startswith("/") or plain == "/" or f"{home}/".startswith(f"{plain}/"):
        return ""
    return plain
