"""What the statements for nearly every change are given: a step that ended, a step that begins, and an event each.

`write-next` takes both, or one; a change of one step and one event has a statement of its own, of half as many
parameters."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Final

from rebuno.journal.chain import EventColumns, Head
from rebuno.journal.postgres.sql import Given, Prepared, prepared
from rebuno.journal.postgres.texts import ESCAPE, held, hexed
from rebuno.journal.records import Lease
from rebuno.journal.rows import Row

_ESCAPE: Final = ESCAPE.encode()
# The columns of a step.
STEP: Final = (
    *("step_id", "execution_id", "parent_id", "kind", "target", "args", "args_hash", "occurrence", "idempotency"),
    *("status", "verdict", "rule_id", "bundle", "digest", "reason", "attempt", "result", "error", "approval_id"),
    *("decided_seq", "started_seq", "outcome_seq", "decided_at", "started_at", "completed_at"),
    *("input_tokens", "output_tokens", "visited", "submission"),
)
# The values that `given` has, by the names of their parameters.
_MOVED: Final = ("id", "base_seq", "base_hash", "head_seq", "head_hash", "at", "lease_attempt", "lease_owner")
_EVENTS: Final = [tuple(f"{column}_{n}" for column in ("seq", "type", "payload", "time", "hash")) for n in (1, 2)]
_OLD, _NEW = (tuple(f"{which}_{column}" for column in STEP) for which in ("old", "new"))


class _Statement:
    """A statement, and the order of its parameters among the values that it is given."""

    def __init__(self, name: str, *names: Sequence[str]) -> None:
        self.prepared = prepared(name)
        known = [one for each in names for one in each]
        self.in_order = itemgetter(*map(known.index, self.prepared.parameters))


_BOTH: Final = _Statement("write-next", _MOVED, *_EVENTS, _OLD, _NEW)
_BEGUN: Final = _Statement("write-begun", _MOVED, _EVENTS[0], _NEW)
_ENDED: Final = _Statement("write-ended", _MOVED, _EVENTS[0], _OLD)
STATEMENTS: Final = tuple(one.prepared for one in (_BOTH, _BEGUN, _ENDED))
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
) -> tuple[Prepared, Given] | None:
    """A statement that moves an execution from a head to another at the time `at`, and its parameters; None where it is
    more than a statement can hold. Each step says whether it is new."""
    if len(events) > 2 or len(steps) > 2:
        return None
    holder = (None, None) if lease is None else (lease.attempt, lease.owner)
    moves = (id, head.seq, hexed(head.hash), moved.seq, hexed(moved.hash), at, *holder)
    logged = [(*event[1:5], hexed(event[5])) for event in events]
    if len(logged) == 1 and len(steps) == 1:
        new, row = steps[0]
        one = _BEGUN if new else _ENDED
        return one.prepared, _texts(one.in_order((*moves, *logged[0], *row)))
    rows = dict(steps)
    if len(steps) > len(rows):
        return None
    values: Row = (
        *moves,
        *(logged[0] if logged else _NO_EVENT),
        *(logged[1] if len(logged) > 1 else _NO_EVENT),
        *rows.get(False, _NO_STEP),
        *rows.get(True, _NO_STEP),
    )
    return _BOTH.prepared, _texts(_BOTH.in_order(values))


def _texts(values: Row) -> Given:
    """Texts, numbers and None as parameters."""
    found = [None if value is None else str(value).encode() for value in values]
    together = b"".join(filter(None, found))
    if b"\0" in together or _ESCAPE in together:
        return [None if text is None else held(text.decode()).encode() for text in found]
    return found
