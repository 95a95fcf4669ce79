"""What bodies have really done: one line a start, in a file that outlives the process."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import rebuno

VARIABLE: Final = "CONFORMANCE_LEDGER"


@dataclass(frozen=True, slots=True)
class Note:
    """That a process did something for an execution."""

    execution_id: str
    what: str
    pid: int


def note(what: str) -> None:
    """Writes down what is done now, for the execution that runs here."""
    line = json.dumps([rebuno.execution().id, what, os.getpid()]) + "\n"
    with Path(os.environ[VARIABLE]).open("a", encoding="utf-8") as file:
        file.write(line)


def notes(file: Path, execution_id: str) -> list[Note]:
    """What was done for an execution, in order."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [found for found in (Note(*json.loads(line)) for line in lines) if found.execution_id == execution_id]
