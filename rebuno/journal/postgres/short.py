"""What the statement for nearly every change is given: a step that ended, a step that begins, and an event each."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Final

from rebuno.journal.chain import EventRow, Head
from rebuno.journal.postgres.sql import Given, prepared
from rebuno.journal.postgres.texts import ESCAPE, held, hexed
from rebuno.journal.records import Lease
from rebuno.journal.rows import Row

STATEMENT: Final = prepared("write-next")
# The columns of a step.
STEP: Final = (
    *("step_id", "execution_id", "parent_id", "kind", "target", "args", "args_hash", "occurrence", "idempotency"),
    *("status", "verdict", "rule_id", "bundle", "digest", "reason", "attempt", "result", "error", "approval_id"),
    *("decided_seq", "started_seq", "outcome_seq", "decided_at", "started_at", "completed_at"),
    *("input_tokens", "output_tokens", "visited", "submission"),
)
_NOTHING: Final[dict[str, Any]] = dict.fromkeys(STATEMENT.parameters)
_IN_ORDER: Final = itemgetter(*STATEMENT.parameters)
_OLD: Final = tuple(f"old_{column}" for column in STEP)
_NEW: Final = tuple(f"new_{column}" for column in STEP)
_EVENTS: Final = tuple(tuple(f"{column}_{n}" for column in ("seq", "type", "payload", "time", "hash")) for n in (1, 2))


def given(
    id: str,
    head: Head,
    moved: Head,
    at: float,
    lease: Lease | None,
    events: Sequence[EventRow],
    steps: Sequence[tuple[bool, Row]],
) -> Given | None:
    """The parameters of `STATEMENT`, which moves an execution from a head to another at the time `at`; None where it is
    more than the statement can hold. Each step says whether it is new."""
    if len(events) > len(_EVENTS) or len(steps) > len({new for new, _ in steps}):
        return None
    values = _NOTHING | {
        "id": id,
        "base_seq": head.seq,
        "base_hash": hexed(head.hash),
        "head_seq": moved.seq,
        "head_hash": hexed(moved.hash),
        "at": at,
        "rows": len(steps),
    }
    if lease is not None:
        values["lease_attempt"], values["lease_owner"] = lease.attempt, lease.owner
    for names, (_, seq, type, payload, time, hash) in zip(_EVENTS, events, strict=False):
        values.update(zip(names, (seq, type, payload, time, hexed(hash)), strict=True))
    for new, row in steps:
        values.update(zip(_NEW if new else _OLD, row, strict=True))
    return _texts(_IN_ORDER(values))


def _texts(values: Sequence[Any]) -> Given:
    """Texts, numbers and None as parameters."""
    found = [
        value.encode() if isinstance(value, str) else None if value is None else repr(value).encode()
        for value in values
    ]
    together = b"".join(filter(None, found))
    if b"\0" in together or ESCAPE.encode() in together:
        return [None if text is None else held(text.decode()).encode() for text in found]
    return found
