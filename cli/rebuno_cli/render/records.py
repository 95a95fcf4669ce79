"""Shows executions: lists as tables, one of them as lines of names and values."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from rich.console import RenderableType
from rich.text import Text

from rebuno.journal.records import ExecutionRow, StepRow
from rebuno.model import identity
from rebuno.model.clock import rfc3339
from rebuno_cli.backend import Waiting
from rebuno_cli.render import outcomes
from rebuno_cli.render.escape import escape, spelled, stored
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


def executions(rows: Sequence[ExecutionRow]) -> Iterator[RenderableType]:
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
                escape(row.key or "", 40),
                status(row.status.value),
                str(row.attempt or ""),
                when(row.updated_at),
            )
            for row in rows
        ],
    )


def execution(
    row: ExecutionRow, steps: Sequence[StepRow], waits: Sequence[Waiting] = (), raised: Mapping[str, Any] | None = None
) -> Iterator[RenderableType]:
    """One execution, how its steps stand and what they came to, what it waits for, and what its handler raised."""
    tally: dict[str, int] = {}
    for step in steps:
        tally[step.status.value] = tally.get(step.status.value, 0) + 1
    yield from fields(
        ("execution", row.id),
        ("agent", escape(row.agent_id)),
        ("own id", escape(row.key or "")),
        ("session", escape(row.session)),
        ("behalf of", escape(row.on_behalf_of)),
        ("made by", escape(row.created_by)),
        ("continues", escape(row.continues)),
        ("subagent", _spawned(row)),
        ("status", status(row.status.value)),
        ("waits for", ", ".join(f"{escape(one.type)} {escape(one.id)}" for one in waits)),
        ("because", escape(row.failure_reason, 1000)),
        ("input", stored(row.input, _INPUT * 5)),
        ("output", stored(row.output, _INPUT * 5) if row.output is not None else ""),
        ("attempts", str(row.attempt)),
        ("runs in", escape(str(row.holder)) if row.holder else ""),
        ("steps", ", ".join(f"{count} {status}" for status, count in tally.items()) or "none"),
        ("created", when(row.created_at)),
        ("updated", when(row.updated_at)),
        ("deadline", when(row.deadline_at)),
        ("forked", f"from {row.forked_from} at event {row.fork_seq}" if row.forked_from else ""),
        ("imported", f"at event {row.fork_seq}" if row.fork_seq and not row.forked_from else ""),
        ("policy", f"{row.digest} (pinned)" if row.pinned else row.digest),
        ("head", f"event {row.head_seq}, {row.head_hash.hex()}"),
    )
    yield from outcomes.raised(raised, 0)
    if steps:
        yield Text()
    if len(steps) > _STEPS:
        yield Text(f"{len(steps) - _STEPS:,} steps before these; `rebuno exec trace` shows all", "dim")
    for step in steps[-_STEPS:]:
        yield _step(step)


def _step(step: StepRow) -> RenderableType:
    line = Text(f"{step.kind.value} ")
    line.append(spelled(step.target, 40), "bold")
    line.append(f" {outcomes.asked(step.kind.value, step.args, 40)}: ", "default")
    line.append(step.status.value, STATUS_STYLE.get(step.status.value, ""))
    if came := outcomes.outcome(step, _INPUT):
        line.append(f": {came}", "default")
    return hanging("- ", line)


def _spawned(row: ExecutionRow) -> str:
    if not row.spawned_execution_id:
        return ""
    step = f", step {escape(row.spawned_step_id[:12])}" if row.spawned_step_id else ""
    return f"{escape(row.spawned_execution_id)}{step}"


def execution_json(row: ExecutionRow) -> dict[str, Any]:
    """One execution as JSON data: what a server says of it under the same names, and what a store knows besides."""
    spawned = {"execution_id": row.spawned_execution_id, "step_id": row.spawned_step_id}
    return {
        "id": row.id,
        "agent_id": row.agent_id,
        "key": row.key,
        "idempotency_key": row.key,
        "session": row.session,
        "on_behalf_of": row.on_behalf_of,
        "created_by": row.created_by,
        "subject_groups": [],
        "parent_execution_id": row.continues or None,
        "spawned_by": spawned if row.spawned_execution_id else None,
        "restoration": None,
        "status": row.status.value,
        "input": identity.parse(row.input),
        "output": None if row.output is None else identity.parse(row.output),
        "failure_reason": row.failure_reason,
        "attempt": row.attempt,
        "holder": None if row.holder is None else {"host": row.holder.host, "pid": row.holder.pid},
        "digest": row.digest,
        "pinned": row.pinned,
        "deadline_at": rfc3339(row.deadline_at) if row.deadline_at else None,
        "forked_from": row.forked_from,
        "fork_seq": row.fork_seq,
        "head_seq": row.head_seq,
        "head_hash": row.head_hash.hex(),
        "created_at": rfc3339(row.created_at),
        "updated_at": rfc3339(row.updated_at),
    }


def stamp(time: str) -> str:
    """An RFC 3339 time to the second."""
    return f"{time[:10]} {time[11:19]}Z"


def span(seconds: float) -> str:
    """`12 ms`, `3.4 s`, `5 min`."""
    if seconds < 1:
        return f"{max(0.0, seconds) * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def status(status: str) -> Text:
    """A status in its colour."""
    return Text(status, STATUS_STYLE.get(status, ""))


def moment(time: datetime | None) -> str:
    """A time to the second, or nothing."""
    return when(time.timestamp()) if time is not None else ""


def exact(time: datetime | None) -> str | None:
    """A time as JSON data: RFC 3339 in UTC, like every other time."""
    return rfc3339(time.timestamp()) if time is not None else None


def when(seconds: float) -> str:
    """A time to the second, or nothing."""
    return stamp(rfc3339(seconds)) if seconds else ""
