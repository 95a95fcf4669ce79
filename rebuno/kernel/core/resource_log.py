"""The resources of an execution and their checkpoints, as its events tell of them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from rebuno.journal.resource_records import CheckpointRow, ResourceRow
from rebuno.model import identity

# After which events a step executes no more, and after which it was carried out.
_LEAVES: Final = frozenset({"succeeded", "failed", "cancelled", "denied", "awaiting_approval"})
_CARRIED_OUT: Final = frozenset({"succeeded", "failed"})


class ResourceLog:
    """What the events so far come to: `resources` by their keys, and `checkpoints` in the order of the log."""

    def __init__(self, execution_id: str) -> None:
        self.resources: dict[str, ResourceRow] = {}
        self.checkpoints: list[CheckpointRow] = []
        self._execution_id = execution_id
        # Where those stand among the checkpoints that are not invalidated.
        self._open: dict[str, list[int]] = {}
        # Of each step that executes, what it has declared.
        self._declared: dict[str, tuple[str, ...]] = {}

    def take(self, number: int, type: str, said: Mapping[str, Any]) -> None:
        """Takes in the next event.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: it was damaged.
        """
        match type.split(".", 1):
            case ["resource", what]:
                self._resource(number, what, said)
            case ["step", "executing"]:
                self._starts(number, said)
            case ["step", what] if what in _LEAVES and said["step_id"] in self._declared:
                self._ends(said["step_id"], what)

    def _resource(self, number: int, what: str, said: Mapping[str, Any]) -> None:
        key = said["key"]
        if what == "registered":
            known = self.resources.get(key)
            every, last = said["every_steps"], said["on_completion"]
            self.resources[key] = (
                ResourceRow(
                    self._execution_id,
                    key,
                    said["driver_id"],
                    identity.canonical(said["configuration"]),
                    said["coverage_reuse"],
                    every,
                    last,
                    number,
                )
                if known is None
                else replace(known, every_steps=every, on_completion=last)
            )
        elif what == "bound":
            self.resources[key] = replace(self.resources[key], binding=identity.canonical(said["binding"]))
        elif what == "initialized":
            row = replace(self.resources[key], binding=None, checkpoint_ref=said.get("checkpoint_ref", ""))
            self._put(replace(row, generation=said["generation"]))
        elif what == "checkpointed":
            made = CheckpointRow(
                self._execution_id,
                key,
                said["covered_seq"],
                said["generation"],
                said["checkpoint_ref"],
                said.get("invalidated_seq", 0),
            )
            if not made.invalidated_seq:
                self._open.setdefault(key, []).append(len(self.checkpoints))
            self.checkpoints.append(made)
            self._put(self.resources[key])

    def _starts(self, number: int, said: Mapping[str, Any]) -> None:
        step_id, affected, generations = said["step_id"], said.get("resources", ()), said.get("generations", {})
        before = self._declared.pop(step_id, ())
        declared = (*(key for key in before if key not in generations), *affected)
        if declared:
            self._declared[step_id] = declared
        for key, generation in generations.items():
            for index in self._open.pop(key, ()):
                self.checkpoints[index] = replace(self.checkpoints[index], invalidated_seq=number)
            row = self._without(key, step_id)
            writers = (*row.writers, step_id) if key in affected else row.writers
            self._put(replace(row, generation=generation, writers=writers))

    def _ends(self, step_id: str, what: str) -> None:
        for key in self._declared.pop(step_id):
            row = self._without(key, step_id)
            self.resources[key] = replace(row, count=row.count + (what in _CARRIED_OUT))

    def _without(self, key: str, step_id: str) -> ResourceRow:
        row = self.resources[key]
        return replace(row, writers=tuple(writer for writer in row.writers if writer != step_id))

    def _put(self, row: ResourceRow) -> None:
        held = self._open.get(row.key, ())
        covered = any(self.checkpoints[index].generation == row.generation for index in held)
        self.resources[row.key] = replace(row, covered=covered)
