"""Follows an execution on a terminal: its events one below the other, and under them a line that says how it stands."""

import sys
from collections.abc import Iterable, Mapping
from types import TracebackType

from rich.console import Console
from rich.status import Status

from rebuno.model.step import StepStatus
from rebuno.types import Event, Execution, Step
from rebuno_cli.render import console, events, output
from rebuno_cli.render.escape import escape
from rebuno_cli.render.records import delivery


class Follower:
    """Shows what comes, until it is left. The last line is there on a terminal only; with `as_json` each event is one
    line of JSON."""

    def __init__(self, row: Execution, *, as_json: bool) -> None:
        self._as_json = as_json
        self._waits = ""
        self._status: Status | None = None
        if sys.stderr.isatty() and not as_json:
            self._status = Status(f"execution {row.id}", console=Console(stderr=True))

    def __enter__(self) -> "Follower":
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def event(self, row: Event, steps: Mapping[str, Step]) -> None:
        """One more event."""
        if self._as_json:
            output.write_json(row.model_dump(mode="json"), indent=None)
            return
        console.write([events.line(row, steps)])

    def state(self, row: Execution, steps: Iterable[Step]) -> None:
        """How it stands while nothing new comes."""
        if self._status is None:
            return
        ran = [step for step in steps if step.status == StepStatus.EXECUTING]
        runs = ", ".join(escape(step.target, 40) for step in ran[:3])
        waits = delivery(row)
        runs = f"waits for {waits}" if waits else runs
        self._status.update(f"{row.status}{': ' if runs else ''}{runs}")
