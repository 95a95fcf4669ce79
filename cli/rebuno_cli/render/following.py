"""Follows an execution on a terminal: its events one below the other, and under them a line that says how it stands."""

import sys
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Final

from rich.console import Console
from rich.status import Status
from rich.text import Text

from rebuno.model.step import StepStatus
from rebuno.types import Event, Execution, Step
from rebuno_cli.render import console, events, output
from rebuno_cli.render.escape import escape, spelled
from rebuno_cli.render.hints import command_to_answer
from rebuno_cli.render.records import delivery

_ANSWERED: Final = frozenset(f"approval.{word}" for word in ("granted", "denied", "expired", "withdrawn"))


class Follower:
    """Shows what comes, until it is left. The last line is there on a terminal only; with `as_json` each event is one
    line of JSON."""

    def __init__(self, row: Execution, *, as_json: bool) -> None:
        self._as_json = as_json
        # Of each open question what it is about, and those that a person has been told of.
        self._open: dict[str, str] = {}
        self._asked: set[str] = set()
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
        if row.type.startswith("approval."):
            question = str(row.payload.get("approval_id", ""))
            step = steps.get(str(row.payload.get("step_id", "")))
            if row.type == "approval.requested":
                self._open[question] = step.target if step is not None else "a step"
            elif row.type in _ANSWERED:
                self._open.pop(question, None)
        if self._as_json:
            output.write_json(row.model_dump(mode="json"), indent=None)
            return
        console.write([events.line(row, steps)])

    def state(self, row: Execution, steps: Iterable[Step]) -> None:
        """How it stands while nothing new comes."""
        if not self._as_json:
            self._ask()
        if self._status is None:
            return
        ran = [step for step in steps if step.status == StepStatus.EXECUTING]
        runs = ", ".join(escape(step.target, 40) for step in ran[:3])
        waits = delivery(row)
        runs = f"waits for {waits}" if waits else runs
        self._status.update(f"{row.status}{': ' if runs else ''}{runs}")

    def _ask(self) -> None:
        """Names each question that is open and new, and the command that answers it."""
        for question, about in self._open.items():
            if question not in self._asked:
                self._asked.add(question)
                line = Text(f"a person is asked about {spelled(about, 40)}: ", "yellow")
                console.write([line.append(command_to_answer(question), "bold")])
