"""What is kept of a sealed execution as ciphertext, by slot: texts that are written with marks, whole; the values that
are looked for; and where sealed values stand."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from rebuno.journal.data_keys import SealedText
from rebuno.journal.records import ExecutionRow, StepRow
from rebuno.kernel.core.seals import SealedValue, Seals
from rebuno.model import identity
from rebuno.policy import SealedPlaces
from rebuno.sealing import ExecutionKey, KeyRing

# How the slots of the values begin that are looked for.
VALUES: Final = "value:"
# Where sealed values stand, as the execution began.
PLACES: Final = "places"
OF_EXECUTION: Final = ("input", "output", "state", "failure_reason")
OF_STEP: Final = ("args", "result", "error", "reason")
OF_ROOT: Final = ("input", "turns", "read_args")

Texts = Mapping[str, Any]


def opened_execution(row: ExecutionRow, texts: Texts) -> ExecutionRow:
    """The row of an execution with its texts in clear."""
    made = {name: texts[name] for name in OF_EXECUTION if name in texts}
    return replace(row, **made) if made else row


def opened_step(row: StepRow, texts: Texts) -> StepRow:
    """The same of a step."""
    made = {name: texts[slot] for name in OF_STEP if (slot := step_slot(row.step_id, name)) in texts}
    return replace(row, **made) if made else row


def step_slot(step_id: str, name: str) -> str:
    """The slot of a text of a step."""
    return f"step:{step_id}:{name}"


def value_slot(seals: Seals, one: SealedValue) -> tuple[str, str]:
    """The slot of a value that is looked for, and what is kept there."""
    said = {"value": one.value, "step_id": one.step_id, "target": one.target}
    return VALUES + seals.digest(f"value {identity.canonical(one.value)}"), identity.canonical(said)


def value_of(text: str) -> SealedValue:
    """What `value_slot` kept."""
    said = json.loads(text)
    return SealedValue(said["value"], said["step_id"], said["target"])


class OpenedTexts:
    """All that is kept of one execution, opened. Raises `SealBroken`."""

    def __init__(self, ring: KeyRing, key: ExecutionKey, kept: Iterable[SealedText]) -> None:
        self._texts = {one.slot: key.decrypt(one.text, one.slot).decode() for one in kept}
        places = identity.parse(self._texts[PLACES]) if PLACES in self._texts else None
        self.seals = Seals(ring, key, SealedPlaces() if places is None else SealedPlaces.from_json(places))
        self.seals.learn(value_of(text) for slot, text in self._texts.items() if slot.startswith(VALUES))

    def execution(self, row: ExecutionRow) -> ExecutionRow:
        """Its row with its texts in clear."""
        return opened_execution(row, self._texts)

    def step(self, row: StepRow) -> StepRow:
        """The same of a step."""
        return opened_step(row, self._texts)
