"""What a simulated model asks for: turns of calls, written before it is started."""

from dataclasses import dataclass
from typing import Any, Final

# The tool of a call that is a line for the shell; every host names its tool for that differently.
SHELL: Final = ""
MAIN: Final = "main"


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call of a tool by the host's own name, with the arguments that this tool takes. `SHELL` stands for the host's
    tool for commands, with `{"command": line}`. `input` is a text where the tool takes no JSON."""

    tool: str
    input: dict[str, Any] | str


@dataclass(frozen=True, slots=True)
class Script:
    """The turns of one conversation, one for each request. A turn without calls is a closing word, after which the next
    prompt of the same session goes on with the following turn. `asked` is a part of the first prompt by which the
    conversation is known; the script of a session's own agent has none."""

    turns: tuple[tuple[PlannedCall, ...], ...]
    name: str = MAIN
    asked: str = ""


def command(line: str) -> PlannedCall:
    """A call of the host's tool for shell commands."""
    return PlannedCall(SHELL, {"command": line})


def mark(script: str, turn: int, number: int | str) -> str:
    """The id of the call `number` of a turn, or of its closing word. It is how a later request shows which turns it has
    behind it, so that a request that is sent twice gets the same answer twice."""
    return f"sim-{script}-{turn}-{number}"
