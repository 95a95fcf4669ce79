"""Shows executions and approvals: lists as tables, one of them as lines of names and values."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from rich.console import RenderableType
from rich.text import Text

from rebuno.journal.records import Approval, Execution, Step
from rebuno.kernel.panels import GRANT_LASTS
from rebuno.model import identity
from rebuno.model.clock import rfc3339
from rebuno_cli.render.escape import escape, spelled, stored
from rebuno_cli.render.layout import Rows, fields

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
                escape(row.key or "", 40),
                _status(row.status.value),
                str(row.attempt),
                _when(row.updated_at),
            )
            for row in rows
        ],
    )


def execution(row: Execution, steps: Sequence[Step]) -> Iterator[RenderableType]:
    """One execution and how its steps stand."""
    tally: dict[str, int] = {}
    for step in steps:
        tally[step.status.value] = tally.get(step.status.value, 0) + 1
    yield from fields(
        ("execution", row.id),
        ("agent", escape(row.agent_id)),
        ("own id", escape(row.key or "")),
        ("status", _status(row.status.value)),
        ("because", escape(row.failure_reason, 1000)),
        ("input", stored(row.input, _INPUT * 5)),
        ("output", stored(row.output, _INPUT * 5) if row.output is not None else ""),
        ("attempts", str(row.attempt)),
        ("runs in", escape(str(row.holder)) if row.holder else ""),
        ("steps", ", ".join(f"{count} {status}" for status, count in tally.items()) or "none"),
        ("created", _when(row.created_at)),
        ("updated", _when(row.updated_at)),
        ("policy", row.digest),
        ("head", f"event {row.head_seq}, {row.head_hash.hex()}"),
    )


def execution_json(row: Execution) -> dict[str, Any]:
    """One execution as JSON data."""
    return {
        "id": row.id,
        "agent_id": row.agent_id,
        "key": row.key,
        "status": row.status.value,
        "input": identity.parse(row.input),
        "output": None if row.output is None else identity.parse(row.output),
        "failure_reason": row.failure_reason,
        "attempt": row.attempt,
        "holder": None if row.holder is None else {"host": row.holder.host, "pid": row.holder.pid},
        "digest": row.digest,
        "head_seq": row.head_seq,
        "head_hash": row.head_hash.hex(),
        "created_at": rfc3339(row.created_at),
        "updated_at": rfc3339(row.updated_at),
    }


def approvals(rows: Iterable[tuple[Approval, Step | None]]) -> Iterator[RenderableType]:
    """A table of approvals with the steps that they are about."""
    lines = [
        (
            row.id,
            _status(row.status),
            spelled(step.target, 40) if step else "",
            stored(step.args, _INPUT) if step else "",
            escape(row.rule_id, 40),
            _when(row.created_at),
        )
        for row, step in rows
    ]
    if not lines:
        yield Text("no approvals")
        return
    yield Rows(("id", "status", "target", "args", "rule", "asked"), lines)


def approval(row: Approval, step: Step | None) -> Iterator[RenderableType]:
    """One approval with all of its step: whoever answers must be able to read everything."""
    yield from fields(
        ("approval", row.id),
        ("status", _status(row.status)),
        ("execution", row.execution_id),
        ("step", row.step_id),
        ("kind", step.kind.value if step else ""),
        ("target", spelled(step.target, None) if step else ""),
        ("args", stored(step.args, None) if step else ""),
        ("rule", escape(row.rule_id)),
        ("because", escape(step.reason, None) if step else ""),
        ("message", escape(row.message, None)),
        ("asks", _asks(row)),
        ("asked", _when(row.created_at)),
        ("answered", _when(row.decided_at) if row.decided_at else ""),
        ("by", escape(row.decided_by)),
        ("rationale", escape(row.rationale, None)),
    )


def approval_json(row: Approval, step: Step | None) -> dict[str, Any]:
    """One approval as JSON data."""
    out: dict[str, Any] = {
        "id": row.id,
        "execution_id": row.execution_id,
        "step_id": row.step_id,
        "cause": row.cause,
        "status": row.status,
        "message": row.message,
        "rule_id": row.rule_id,
        "scope": row.scope,
        "decided_by": row.decided_by,
        "rationale": row.rationale,
        "created_at": rfc3339(row.created_at),
        "decided_at": rfc3339(row.decided_at) if row.decided_at else None,
    }
    if step is not None:
        out |= {"kind": step.kind.value, "target": step.target, "args": identity.parse(step.args)}
    return out


def stamp(time: str) -> str:
    """An RFC 3339 time to the second."""
    return f"{time[:10]} {time[11:19]}Z"


def span(seconds: float) -> str:
    """`12 ms`, `3.4 s`, `5 min`."""
    if seconds < 1:
        return f"{max(0.0, seconds) * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _asks(row: Approval) -> str:
    if row.cause == "revoked":
        return "whether the execution may go on: the step is done, and a later bundle denies it"
    return f"whether this one step may run, within {GRANT_LASTS // 60} minutes of the answer"


def _status(status: str) -> Text:
    return Text(status, STATUS_STYLE.get(status, ""))


def _when(seconds: float) -> str:
    return stamp(rfc3339(seconds)) if seconds else ""
