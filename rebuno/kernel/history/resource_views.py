"""What became of an execution's resources, for a person to read."""

from dataclasses import dataclass
from typing import Any

from rebuno.kernel.core.resource_log import ResourceLog
from rebuno.types import Event


@dataclass(frozen=True, slots=True)
class ResourceView:
    """A resource in the story: how many checkpoints there are and which one is the newest (empty: there is none),
    whether it covers the end of the log, and why others could not be made or were refused."""

    key: str
    driver_id: str
    generation: int
    checkpoints: int
    newest: str = ""
    covered: bool = False
    failures: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The resource as JSON data."""
        return {
            "key": self.key,
            "driver_id": self.driver_id,
            "generation": self.generation,
            "checkpoints": self.checkpoints,
            "checkpoint_ref": self.newest or None,
            "covered": self.covered,
            "failures": list(self.failures),
        }


class ResourceStory:
    """Reads the log of one execution, event by event."""

    def __init__(self) -> None:
        self._log = ResourceLog("")
        self._failures: dict[str, list[str]] = {}

    def read(self, event: Event) -> None:
        """Takes in the next event. Raises as `ResourceLog.take`."""
        self._log.take(event.event_seq, event.type, event.payload)
        if event.type == "resource.checkpoint_failed":
            self._failures.setdefault(str(event.payload["key"]), []).append(str(event.payload["error"]))

    def told(self) -> tuple[ResourceView, ...]:
        """The resources in the order in which they were registered."""
        refs: dict[str, list[str]] = {}
        for one in self._log.checkpoints:
            refs.setdefault(one.key, []).append(one.checkpoint_ref)
        return tuple(
            ResourceView(
                row.key,
                row.driver_id,
                row.generation,
                len(refs.get(row.key, ())),
                refs.get(row.key, [""])[-1],
                row.covered,
                tuple(self._failures.get(row.key, ())),
            )
            for row in self._log.resources.values()
        )
