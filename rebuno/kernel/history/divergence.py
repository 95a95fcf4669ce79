"""Where an attempt left the way of the recorded run, from the events that say so."""

from dataclasses import dataclass
from typing import Any

from rebuno.journal.records import Event


@dataclass(frozen=True, slots=True)
class NamedStep:
    """A step, as an event names it."""

    step_id: str
    kind: str
    target: str

    def to_json(self) -> dict[str, Any]:
        """`{"step_id", "kind", "target"}`."""
        return {"step_id": self.step_id, "kind": self.kind, "target": self.target}


@dataclass(frozen=True, slots=True)
class Divergence:
    """What came in an attempt instead of what. `fresh` are the first of its `fresh_count` new steps, `unvisited` the
    first of the `unvisited_count` recorded ones that it did not come to again."""

    fresh: tuple[NamedStep, ...]
    fresh_count: int
    unvisited: tuple[NamedStep, ...]
    unvisited_count: int

    def to_json(self) -> dict[str, Any]:
        """The divergence as JSON data."""
        return {
            "fresh": [step.to_json() for step in self.fresh],
            "fresh_count": self.fresh_count,
            "unvisited": [step.to_json() for step in self.unvisited],
            "unvisited_count": self.unvisited_count,
        }


def divergence_of(event: Event) -> Divergence:
    """What an `execution.diverged` says; raises `KeyError`, `ValueError` or `TypeError` where it was damaged."""
    said = event.payload
    return Divergence(
        _named(said["fresh"]), int(said["fresh_count"]), _named(said["unvisited"]), int(said["unvisited_count"])
    )


def _named(steps: list[dict[str, Any]]) -> tuple[NamedStep, ...]:
    return tuple(NamedStep(str(step["step_id"]), str(step["step_type"]), str(step["target"])) for step in steps)
