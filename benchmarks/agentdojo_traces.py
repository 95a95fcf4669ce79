"""AgentDojo's recorded tasks and attacks, as `examples/agentdojo/` keeps them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

SUITES: Final = ("banking", "slack", "travel", "workspace")
DATA: Final = Path(__file__).resolve().parent.parent / "examples" / "agentdojo"


@dataclass(frozen=True, slots=True)
class Call:
    """One recorded call. `attacked` is the answer with the places where an attacker can write, None if there are none;
    an attack fails without its `essential` calls."""

    function: str
    args: Any
    result: Any
    attacked: Any
    essential: bool


@dataclass(frozen=True, slots=True)
class Task:
    """A user's task or an attack. `text` is the user's request or the attacker's goal."""

    id: str
    text: str
    calls: tuple[Call, ...]


def load(path: Path) -> tuple[list[Task], list[Task]]:
    """A suite's user tasks and its attacks."""
    users: list[Task] = []
    attacks: list[Task] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        calls = tuple(
            Call(c["function"], c["args"], c["result"], c["attacked"] if c["vectors"] else None, c["essential"])
            for c in row["calls"]
        )
        (users if row["kind"] == "user" else attacks).append(Task(row["id"], row["text"], calls))
    return users, attacks


def plant(value: Any, text: str) -> Any:
    """A copy of an answer with `text` in the attacker's places."""
    if isinstance(value, str):
        head, *rest = value.split("<<slot:")
        return head + "".join(text + part.partition(">>")[2] for part in rest)
    if isinstance(value, list):
        return [plant(element, text) for element in value]
    if isinstance(value, dict):
        return {plant(key, text): plant(element, text) for key, element in value.items()}
    return value
