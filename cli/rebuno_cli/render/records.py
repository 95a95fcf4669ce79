"""Shows executions: lists as tables, one of them as lines of names and values."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from rebuno.model.clock import rfc3339
from rebuno.types import Execution, Process, SpawnedBy, Step, UserTurn
from rebuno_cli.render import outcomes
from rebuno_cli.render.escape import escape, spelled, stored
from rebuno_cli.render.hints import command_to_answer, questions
from rebuno_cli.render.layout import Rows, fields, hanging

STATUS_STYLE: Final = {
    "pending": "yellow",
    "running": "cyan",
    "blocked": "yellow",
    "completed": "green",
    "failed": "red",
    "cancelled": "red",
    "granted": "green",
    "denied": "red",
    "expired": "red",
    "withdrawn": "dim",
}
_INPUT: Final = 80
# So many steps of an execution are shown with it.
_STEPS: Final = 20
_UNITS: Final = (("d", 86_400), ("h", 3_600), ("m", 60))


def executions(rows: Sequence[Execution]) -> Iterator[RenderableType]:
    """A table of executions."""
    if not rows:
        yield Text("no executions")
        return
    yield Rows(
        ("id", "agent", "own id", "status", "attempts", "updated"),
        [
            (
                row.id,
                escape(row.agent_id, 40),
                escape(row.idempotency_key, 40),
                status(row.status.value),
                str(row.attempt or ""),
                moment(row.updated_at),
            )
            for row in rows
        ],
    )


def execution(row: Execution, steps: Sequence[Step]) -> Iterator[RenderableType]:
    """One execution, how its steps stand and what they came to, what it waits for, and what its handler raised."""
    tally: dict[str, int] = {}
    for step in steps:
        tally[step.status] = tally.get(step.status, 0) + 1
    yield from fields(
        ("execution", row.id),
        ("agent", escape(row.agent_id)),
        ("own id", escape(row.idempotency_key)),
        ("session", escape(row.session)),
        ("behalf of", escape(row.on_behalf_of)),
        ("workdir", escape(row.workdir)),
        ("made by", escape(row.created_by)),
        ("continues", escape(row.parent_execution_id)),
        ("subagent", _spawned(row.spawned_by)),
        ("status", status(row.status.value)),
        ("waits for", ", ".join(f"{escape(one.type)} {escape(one.id)}" for one in row.blocked_on) or delivery(row)),
        *(("answer", command_to_answer(one)) for one in questions(row.blocked_on)),
        ("because", escape(row.failure_reason, 1000)),
        ("input", stored(row.raw("input"), _INPUT * 5)),
        ("turns", "\n".join(map(_turn, row.turns or ()))),
        ("output", stored(row.raw("output"), _INPUT * 5) if row.status == "completed" else ""),
        ("attempts", "" if row.attempt is None else str(row.attempt)),
        ("runs in", _place(row.holder)),
        ("steps", ", ".join(f"{count} {status}" for status, count in tally.items()) or "none"),
        ("created", moment(row.created_at)),
        ("updated", moment(row.updated_at)),
        ("deadline", moment(row.deadline_at)),
        ("forked", f"from {row.forked_from} at event {row.fork_seq}" if row.forked_from else ""),
        ("imported", f"at event {row.fork_seq}" if row.fork_seq and not row.forked_from else ""),
        ("policy", f"{row.digest} (pinned)" if row.pinned else row.digest or ""),
        ("head", row.head_hash if row.head_seq is None else f"event {row.head_seq}, {row.head_hash}"),
    )
    yield from outcomes.raised(row.failure, 0)
    if steps:
        yield Text()
    if len(steps) > _STEPS:
        yield Text(f"{len(steps) - _STEPS:,} steps before these; `rebuno exec trace` shows all", "dim")
    for step in steps[-_STEPS:]:
        yield _step(step)


def _step(step: Step) -> RenderableType:
    line = Text(f"{step.kind} ")
    line.append(spelled(step.target, 40), "bold")
    line.append(f" {outcomes.asked(step.kind, step.raw('args'), 40)}: ", "default")
    line.append(step.status, STATUS_STYLE.get(step.status, ""))
    if came := outcomes.outcome(step, _INPUT):
        line.append(f": {came}", "default")
    return hanging("- ", line)


def _turn(turn: UserTurn) -> str:
    said = f"{turn.number}, event {turn.event_seq}, {moment(turn.at)}" + (f", by {escape(turn.by)}" if turn.by else "")
    return f"{escape(turn.text, _INPUT * 5)} ({said})"


def delivery(row: Execution) -> str:
    """That an execution waits for its agent, and why; empty where it does not."""
    waits = row.delivery
    if waits is None:
        return ""
    attempts = f"attempt {waits.attempts} came to nothing"
    if waits.unreachable_since is not None:
        tries = "1 try" if waits.unreached == 1 else f"{waits.unreached} tries"
        attempts = f"not reached since {moment(waits.unreachable_since)}, in {tries}"
    following = f"; next try at {moment(waits.next_at)}" if waits.next_at is not None else ""
    return f"its agent {escape(waits.agent_id, 40)}, {attempts}: {escape(waits.error, 200)}{following}"


def _spawned(by: SpawnedBy | None) -> str:
    if by is None:
        return ""
    # No step waits for the fork of a subagent.
    return escape(by.execution_id) + (f", step {escape(by.step_id[:12])}" if by.step_id else "")


def _place(where: Process | None) -> str:
    return f"process {where.pid} on {escape(where.host)}" if where is not None else ""


def stamp(time: str) -> str:
    """An RFC 3339 time to the second."""
    return f"{time[:10]} {time[11:19]}Z"


def span(seconds: float) -> str:
    """`12 ms`, `3.4 s`, `5 min`."""
    if seconds < 1:
        return f"{max(0.0, seconds) * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def window(seconds: int) -> str:
    """A window as a rule writes it: `90d`, `24h`, `90s`."""
    for unit, size in _UNITS:
        if seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def status(status: str) -> Text:
    """A status in its colour."""
    return Text(status, STATUS_STYLE.get(status, ""))


def moment(time: datetime | None) -> str:
    """A time to the second, or nothing."""
    return when(time.timestamp()) if time is not None else ""


def when(seconds: float) -> str:
    """A time to the second, or nothing."""
    return stamp(rfc3339(seconds)) if seconds else ""
