"""What a process that is killed is told, where it kills itself, and where its bodies note that they ran."""

import json
import os
import signal
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Moment(StrEnum):
    """Where a process can kill itself: moments that are too short to be hit from outside."""

    BEGIN = "before the first line of a handler"
    INTENT = "before the first line of a body"
    BODY = "in a body"
    OUTCOME = "after the last line of a body"
    STREAM = "in a stream"
    BETWEEN = "after a step"
    END = "after a run"


@dataclass(frozen=True, slots=True)
class Order:
    """The orders of a process: the `runs` by their names and inputs, on the store at `url`, with the provider at
    `provider`; notes and standard error go to files in `folder`. At the moment `kill_at`, the `nth` time that one of
    the runs comes there, it kills itself."""

    url: str
    folder: Path
    provider: str
    runs: tuple[tuple[str, int], ...]
    kill_at: Moment | None = None
    nth: int = 0


class Fate:
    """Kills its own process where it was told to."""

    def __init__(self, order: Order) -> None:
        self._moment = order.kill_at
        self._left = order.nth

    def meet(self, moment: Moment) -> None:
        """Does not return from the moment that was meant."""
        if moment is self._moment:
            self._left -= 1
            if self._left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)


class Notes:
    """The file in which the bodies of a run say that they ran; each line is on the disk before the next is reached."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def write(self, i: int, at: str) -> None:
        os.write(self._file, json.dumps({"i": i, "at": at, "pid": os.getpid()}).encode() + b"\n")
        os.fdatasync(self._file)
