"""Where an attempt left the way of the recorded run, from the events that say so."""

from dataclasses import dataclass
from typing import Any

from rebuno import types
from rebuno.journal.records import EventRow


@dataclass(frozen=True, slots=True)
class Named:
    """A step, as an event names it."""

    step_id: str
    kind: str
    target: str

    def to_json(self) -> dict[str, Any]:
        """`{"step_id", "kind", "target"}`."""
        return {"step_id": self.step_id, "kind": self.kind, "target": self.target}


@dataclass(frozen=True, slots=True)
class Parted:
    """What came in an attempt instead of what. `fresh` are the first of its `fresh_count` new steps, `unvisited` the
    first of the `unvisited_count` recorded ones that it did not come to again."""

    fresh: tuple[Named, ...]
    fresh_count: int
    unvisited: tuple[Named, ...]
    unvisited_count: int

    def to_json(self) -> dict[str, Any]:
        """The divergence as JSON data."""
        return {
            "new_steps": [step.to_json() for step in self.fresh],
            "new_count": self.fresh_count,
            "missing_steps": [step.to_json() for step in self.unvisited],
            "missing_count": self.unvisited_count,
        }


def parted(event: EventRow | types.Event) -> Parted:
    """What an `execution.diverged` says; raises `KeyError`, `ValueError` or `TypeError` where it was damaged."""
    said = event.payload
    return Parted(
        _named(said["fresh"]), int(said["fresh_count"]), _named(said["unvisited"]), int(said["unvisited_count"])
    )


def _named(steps: list[dict[str, Any]]) -> tuple[Named, ...]:
    return tuple(Named(str(step["step_id"]), str(step["step_type"]), str(step["target"])) for step in steps)
