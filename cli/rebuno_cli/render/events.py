"""Shows the events of an execution, each on a line."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from rebuno.types import Event, Step
from rebuno_cli.render import outcomes
from rebuno_cli.render.escape import escape, spelled
from rebuno_cli.render.layout import Rows
from rebuno_cli.render.records import STATUS_STYLE, stamp

_ARGS: Final = 60
_STYLES: Final = STATUS_STYLE | {
    "awaiting_approval": "yellow",
    "requested": "yellow",
    "succeeded": "green",
    "rate_limited": "red",
    "revoked": "red",
    "diverged": "yellow",
}
# What is worth a word of a payload, in this order.
_SAID: Final = ("rule_id", "reason", "failure_reason", "error", "decided_by", "rationale", "approval_id", "attempt")


def events(rows: Sequence[Event], steps: Mapping[str, Step]) -> Iterator[RenderableType]:
    """A table of events, with what the steps were asked and what came of them."""
    if not rows:
        yield Text("no events")
        return
    yield Rows(
        ("event", "time", "type", "what"),
        [(str(row.event_seq), stamp(row.occurred_at), kind(row), what(row, steps)) for row in rows],
    )


def line(row: Event, steps: Mapping[str, Step]) -> Text:
    """One event while it comes, with what the step that it is about was asked, or came to."""
    return Text.assemble((row.occurred_at[11:19], "dim"), " ", kind(row), " ", what(row, steps))


def kind(row: Event) -> Text:
    """The type of an event in the colour of what it means."""
    return Text(escape(row.type, 60), _STYLES.get(row.type.partition(".")[2], ""))


def what(row: Event, steps: Mapping[str, Step]) -> str:
    """What an event is about, in a few words."""
    payload = row.payload
    words = []
    if isinstance(target := payload.get("target"), str):
        words.append(spelled(target, 40))
    step = steps.get(str(payload.get("step_id", "")))
    if step is not None and "args_hash" in payload:
        words.append(outcomes.asked(step.kind, step.raw("args"), _ARGS))
    if step is not None and row.type in ("step.succeeded", "step.failed"):
        words.append(outcomes.outcome(step, _ARGS))
    for name in _SAID:
        if (said := payload.get(name)) not in (None, ""):
            words.append(f"{name.removesuffix('_id')} {escape(str(said))}")
    return "  ".join(words)
