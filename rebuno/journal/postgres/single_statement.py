"""What the statement for nearly every change is given: a step that ended, a step that begins, and an event each."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Final

from rebuno.journal.chain import EventColumns, Head
from rebuno.journal.postgres.sql import Given, prepared
from rebuno.journal.postgres.texts import ESCAPE, held, hexed
from rebuno.journal.records import Lease
from rebuno.journal.rows import Row

STATEMENT: Final = prepared("write-next")
_ESCAPE: Final = ESCAPE.encode()
# The columns of a step.
STEP: Final = (
    *("step_id", "execution_id", "parent_id", "kind", "target", "args", "args_hash", "occurrence", "idempotency"),
    *("status", "verdict", "rule_id", "bundle", "digest", "reason", "attempt", "result", "error", "approval_id"),
    *("decided_seq", "started_seq", "outcome_seq", "decided_at", "started_at", "completed_at"),
    *("input_tokens", "output_tokens", "visited", "submission"),
)
# The values that `given` has, by the names of their parameters.
_NAMES: Final = (
    *("id", "base_seq", "base_hash", "head_seq", "head_hash", "at", "lease_attempt", "lease_owner"),
    *(f"{column}_{n}" for n in (1, 2) for column in ("seq", "type", "payload", "time", "hash")),
    *(f"{which}_{column}" for which in ("old", "new") for column in STEP),
)
_IN_ORDER: Final = itemgetter(*map(_NAMES.index, STATEMENT.parameters))
_NO_EVENT: Final = (None,) * 5
_NO_STEP: Final = (None,) * len(STEP)


def given(
    id: str,
    head: Head,
    moved: Head,
    at: float,
    lease: Lease | None,
    events: Sequence[EventColumns],
    steps: Sequence[tuple[bool, Row]],
) -> Given | None:
    """The parameters of `STATEMENT`, which moves an execution from a head to another at the time `at`; None where it is
    more than the statement can hold. Each step says whether it is new."""
    rows = dict(steps)
    if len(events) > 2 or len(steps) > len(rows):
        return None
    holder = (None, None) if lease is None else (lease.attempt, lease.owner)
    logged = [(*event[1:5], hexed(event[5])) for event in events]
    values: Row = (
        *(id, head.seq, hexed(head.hash), moved.seq, hexed(moved.hash), at, *holder),
        *(logged[0] if logged else _NO_EVENT),
        *(logged[1] if len(logged) > 1 else _NO_EVENT),
        *rows.get(False, _NO_STEP),
        *rows.get(True, _NO_STEP),
    )
    return _texts(_IN_ORDER(values))


def _texts(values: Row) -> Given:
    """Texts, numbers and None as parameters."""
    found = [None if value is None else str(value).encode() for value in values]
    together = b"".join(filter(None, found))
    if b"\0" in together or _ESCAPE in together:
        return [None if text is None else held(text.decode()).encode() for text in found]
    return found
