"""The rows of resources: state outside the journal that an execution works on, and the checkpoints of it."""

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class ResourceRow:
    """A resource as an execution knows it. `configuration` and `binding` are canonical JSON (binding None: not bound);
    `registered_seq` is the number of its first event, `generation` counts the steps that may have changed it, `count`
    those that ended and had declared it. `checkpoint_ref` is the checkpoint that it has to be created from (empty:
    none). `writers` are the steps that execute and have declared it.

    `covered` is no column: a checkpoint of this generation is not invalidated."""

    execution_id: str
    key: str
    driver_id: str
    configuration: str
    coverage_reuse: bool
    every_steps: int
    on_completion: bool
    registered_seq: int = 0
    generation: int = 0
    count: int = 0
    binding: str | None = None
    checkpoint_ref: str = ""
    writers: tuple[str, ...] = ()
    covered: bool = False


@dataclass(frozen=True, slots=True)
class CheckpointRow:
    """A checkpoint of a resource, which holds its state as of event `covered_seq` until event `invalidated_seq` (0: it
    still does)."""

    execution_id: str
    key: str
    covered_seq: int
    generation: int
    checkpoint_ref: str
    invalidated_seq: int = 0


@dataclass(frozen=True, slots=True)
class ResourceWrite:
    """A resource's whole new row. `registered` says which event of the batch (from 0) registers it (None: the number
    that the store has stands), `invalidated` which one ends the coverage of its checkpoints (None: none does)."""

    row: ResourceRow
    registered: int | None = None
    invalidated: int | None = None


@dataclass(frozen=True, slots=True)
class CheckpointWrite:
    """A new checkpoint. `covered` says which event of the batch (from 0) it covers; -1: the newest before the batch."""

    row: CheckpointRow
    covered: int


@dataclass(frozen=True, slots=True)
class ResourceChanges:
    """What a batch changes about resources."""

    resources: tuple[ResourceWrite, ...] = ()
    checkpoints: tuple[CheckpointWrite, ...] = ()

    def moved(self, by: int) -> "ResourceChanges":
        """The same, where so many events come before those of this change."""
        if not by:
            return self
        return ResourceChanges(
            tuple(
                replace(
                    write,
                    registered=None if write.registered is None else write.registered + by,
                    invalidated=None if write.invalidated is None else write.invalidated + by,
                )
                for write in self.resources
            ),
            tuple(replace(write, covered=write.covered + by) for write in self.checkpoints),
        )


@dataclass(frozen=True, slots=True)
class ResourceRows:
    """The resources that an execution begins with, and their checkpoints, as they must be."""

    resources: tuple[ResourceRow, ...] = ()
    checkpoints: tuple[CheckpointRow, ...] = ()


NO_RESOURCES: Final = ResourceRows()
