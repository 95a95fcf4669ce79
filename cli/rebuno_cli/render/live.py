"""Shows live executions, open questions and rates, one look after the other."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from rebuno.types import Approval, Execution
from rebuno_cli.render import console, output
from rebuno_cli.render.approvals import approvals
from rebuno_cli.render.escape import escape
from rebuno_cli.render.hints import command_to_answer
from rebuno_cli.render.layout import Rows
from rebuno_cli.render.records import delivery, span, status

# So many lines of each list are shown.
_LINES: Final = 15


@dataclass(frozen=True, slots=True)
class Frame:
    """One look: at which second of this process's clock and of the store's, the live executions, and the questions."""

    at: float
    now: float
    executions: Sequence[Execution]
    questions: Sequence[Approval]

    def events_since(self, before: "Frame | None") -> float | None:
        """How many events a second the executions of both looks got; None at the first look, and where the numbers of
        events are not told."""
        if before is None or self.at <= before.at:
            return None
        heads = {row.id: row.head_seq for row in before.executions}
        known = [(row.head_seq, heads.get(row.id)) for row in self.executions]
        added = [new - old for new, old in known if new is not None and old is not None]
        return sum(added) / (self.at - before.at) if added else None

    def to_json(self, before: "Frame | None") -> dict[str, Any]:
        """The look as JSON data."""
        tally: dict[str, int] = {}
        for row in self.executions:
            tally[row.status.value] = tally.get(row.status.value, 0) + 1
        return {
            "executions": [row.model_dump(mode="json") for row in self.executions],
            "questions": [row.model_dump(mode="json") for row in self.questions],
            "statuses": tally,
            "events_per_second": self.events_since(before),
        }


class Screen:
    """Where looks are shown: on a terminal each in the place of the one before, elsewhere below it. `once` says that
    the first one is all."""

    def __init__(self, *, as_json: bool, once: bool) -> None:
        self.once = once
        self._as_json = as_json
        self._live = None if as_json or once else Live(console=Console(), auto_refresh=False)

    def __enter__(self) -> "Screen":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, frame: Frame, before: Frame | None) -> None:
        """Shows one look; `before` is the one before it."""
        if self._as_json:
            output.write_json(frame.to_json(before), indent=None)
        elif self._live is not None:
            self._live.update(Group(*_items(frame, before)), refresh=True)
        else:
            console.write(_items(frame, before), to=sys.stdout)


def _items(frame: Frame, before: Frame | None) -> Iterator[RenderableType]:
    tally: dict[str, int] = {}
    for row in frame.executions:
        tally[row.status.value] = tally.get(row.status.value, 0) + 1
    head = ", ".join(f"{count} {name}" for name, count in tally.items()) or "nothing is live"
    rate = frame.events_since(before)
    yield Text(head + (f", {rate:.1f} events a second" if rate is not None else ""), "bold")
    if frame.executions:
        yield Text()
        yield Rows(
            ("id", "agent", "status", "since", "waits for"),
            [
                (
                    row.id,
                    escape(row.agent_id, 24),
                    status(row.status.value),
                    span(frame.now - row.updated_at.timestamp()) if row.updated_at else "",
                    ", ".join(one.type for one in row.blocked_on[:2]) or delivery(row),
                )
                for row in frame.executions[:_LINES]
            ],
        )
        yield from _more(len(frame.executions), "executions")
    if frame.questions:
        yield Text()
        yield from approvals(frame.questions[:_LINES], frame.now)
        yield from _more(len(frame.questions), "questions")
        yield Text(f"answer the first: {command_to_answer(frame.questions[0].id)}", "yellow")


def _more(count: int, what: str) -> Iterator[Text]:
    if count > _LINES:
        yield Text(f"and {count - _LINES:,} more {what}", "dim")
