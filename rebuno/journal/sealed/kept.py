"""Holds what the rows of a sealed execution hold against the hashes in its events: that needs no key."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rebuno.errors import SealKeyMissing
from rebuno.journal.data_keys import DataKeyRow
from rebuno.journal.records import ApprovalRow, EventRow, ExecutionRow, StepRow
from rebuno.journal.resource_records import ResourceRows
from rebuno.journal.sealed.log import KEPT, SEALED, opened_event
from rebuno.journal.sealed.rows import (
    opened_approval,
    opened_checkpoint,
    opened_execution,
    opened_resource,
    opened_root,
    opened_step,
    opened_turn,
    root_text,
)
from rebuno.journal.sealed.seal import Seal, kept_hash
from rebuno.journal.store import Store
from rebuno.journal.words import RootRow, TurnRow

if TYPE_CHECKING:
    from rebuno.sealing import ExecutionKey


def raw(store: Store) -> Store:
    """The store that holds the ciphertext, behind one that seals; else itself."""
    inner: Store = getattr(store, "inner", store)
    return inner


class KeptPayloads:
    """One sealed execution as its store holds it: first its `events` in order, then its rows in any. `fault` is the
    first thing that is wrong, in words, or empty; `payloads` counts what is sealed."""

    def __init__(self) -> None:
        self.fault = ""
        self.payloads = 0
        self._steps: dict[tuple[str, str], str] = {}
        self._turns: dict[int, str] = {}
        self._whole: dict[str, str] = {}

    def events(self, page: Iterable[EventRow]) -> None:
        """Takes in events, as they are stored."""
        for event in page:
            self.payloads += SEALED in event.payload
            kept = event.payload.get(KEPT)
            if not isinstance(kept, dict):
                continue
            if event.type.startswith("step."):
                self._steps |= {(str(event.payload.get("step_id")), name): hashed for name, hashed in kept.items()}
            elif event.type == "execution.said":
                self._turns[event.payload.get("number", 0)] = kept.get("text", "")
            else:
                self._whole |= kept

    def execution(self, row: ExecutionRow) -> None:
        """Takes in the execution's row, after all events."""
        for name in ("input", "output", "state"):
            self._check(self._whole.pop(name, None), getattr(row, name), f"the {name}")

    def step(self, row: StepRow) -> None:
        """Takes in a step's row, after all events."""
        for name in ("args", "result", "error"):
            kept = self._steps.pop((row.step_id, name), None)
            self._check(kept, getattr(row, name), f"the {name} of the step `{row.step_id}`")

    def turn(self, row: TurnRow) -> None:
        """Takes in what the user wrote, after all events."""
        self._check(self._turns.get(row.number), row.text, f"turn {row.number}")

    def root(self, row: RootRow | None) -> None:
        """Takes in what the user wrote to the root, after all events."""
        self._check(self._whole.pop("root", None), None if row is None else root_text(row), "what the root was told")

    def _check(self, kept: str | None, stored: str | None, what: str) -> None:
        self.payloads += stored is not None
        if kept is None and stored is None:
            return
        if stored is None:
            self.fault = self.fault or f"{what} is missing"
        elif kept != kept_hash(stored):
            self.fault = self.fault or f"{what} is not what was stored when the log was written"


class ShownRows:
    """The rows of a sealed execution opened with its `key`; without one there are placeholders for all that is sealed
    in it."""

    def __init__(self, row: DataKeyRow, key: "ExecutionKey | None" = None) -> None:
        why = SealKeyMissing(row.key_id, execution_id=row.execution_id)
        self._seal = Seal(row.execution_id, row, key, why)

    def execution(self, row: ExecutionRow) -> ExecutionRow:
        """An execution's row."""
        return opened_execution(row, self._seal)

    def event(self, row: EventRow) -> EventRow:
        """An event."""
        return opened_event(row, self._seal)

    def step(self, row: StepRow) -> StepRow:
        """A step's row."""
        return opened_step(row, self._seal)

    def approval(self, row: ApprovalRow) -> ApprovalRow:
        """A question's row."""
        return opened_approval(row, self._seal)

    def turn(self, row: TurnRow) -> TurnRow:
        """The row of a turn."""
        return opened_turn(row, self._seal)

    def external(self, rows: ResourceRows) -> ResourceRows:
        """The rows of resources and their checkpoints."""
        resources = tuple(opened_resource(row, self._seal) for row in rows.resources)
        return ResourceRows(resources, tuple(opened_checkpoint(row, self._seal) for row in rows.checkpoints))

    def root(self, row: RootRow | None) -> RootRow | None:
        """The row of what the root was told."""
        return None if row is None else opened_root(row, self._seal)
