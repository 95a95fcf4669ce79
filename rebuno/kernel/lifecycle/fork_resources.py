"""What a fork takes over of its source's resources: their registrations, and the checkpoint that each begins with."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rebuno.journal.records import EventRow, NewEvent
from rebuno.journal.resource_records import CheckpointRow, ResourceRow, ResourceRows
from rebuno.journal.store import Store
from rebuno.kernel.core.resource_log import ResourceLog
from rebuno.kernel.core.resources import checkpointed, payload_of
from rebuno.types import Checkpoint, Execution, ForkPoints


async def fork_points(store: Store, execution_id: str) -> ForkPoints:
    """Where a fork of an execution may begin, and which checkpoints there are.

    Raises:
        NotFoundError, StoreError
    """
    execution = await store.execution(execution_id)
    resources = {row.key: row.registered_seq for row in await store.resources(execution_id)}
    checkpoints = [
        Checkpoint(
            key=one.key,
            generation=one.generation,
            checkpoint_ref=one.checkpoint_ref,
            covered_seq=one.covered_seq,
            invalidated_seq=one.invalidated_seq or None,
        )
        for one in await store.checkpoints(execution_id)
    ]
    return ForkPoints(latest_seq=execution.head_seq, resources=resources, checkpoints=checkpoints)


async def with_restoration(store: Store, forked: Execution) -> Execution:
    """A new fork with what its resources begin with, as its second event tells.

    Raises:
        StoreError
    """
    for event in await store.events(forked.id, after=1, limit=1):
        found = event.payload.get("restoration")
        if isinstance(found, dict):
            forked.restoration = found
    return forked


class CopiedResources:
    """The resources of a source as of its event `at_seq`, for a fork."""

    def __init__(self, source_id: str, at_seq: int) -> None:
        self._log = ResourceLog(source_id)
        self._source_id = source_id
        self._at_seq = at_seq

    def take(self, event: EventRow) -> bool:
        """Takes in the next event of the source; whether it stands in the fork's log too.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: it was damaged.
        """
        if event.event_seq > self._at_seq:
            return False
        self._log.take(event.event_seq, event.type, event.payload)
        return event.type == "resource.registered"

    async def copied(
        self, store: Store, execution_id: str, events: Sequence[NewEvent], numbers: Mapping[int, int]
    ) -> tuple[list[NewEvent], ResourceRows | None, dict[str, dict[str, Any]]]:
        """The events that come after the copied `events` of the fork, its rows, and by key what each resource begins
        with. `numbers` are those of the copied events of the source, in the fork.

        Raises:
            StoreError
        """
        if not self._log.resources:
            return [], None, {}
        known = [one for one in await store.checkpoints(self._source_id) if one.covered_seq <= self._at_seq]
        then = [replace(one, invalidated_seq=self._then(one.invalidated_seq)) for one in known]
        chosen = {key: _choose(then, key) for key in self._log.resources}
        kept = sorted(numbers)
        moved: dict[tuple[str, int], CheckpointRow] = {}
        for one in then:
            covered, over = _moved(numbers, kept, one.covered_seq), _moved(numbers, kept, one.invalidated_seq)
            moved[one.key, covered] = replace(one, execution_id=execution_id, covered_seq=covered, invalidated_seq=over)
        more = [checkpointed(one) for one in moved.values()]
        more += [self._initialized(row, chosen[key]) for key, row in self._log.resources.items()]
        log = ResourceLog(execution_id)
        for number, event in enumerate((*events, *more), 1):
            log.take(number, event.type, payload_of(event))
        rows = ResourceRows(tuple(log.resources.values()), tuple(log.checkpoints))
        return more, rows, {key: _told(one) for key, one in chosen.items()}

    def _then(self, invalidated_seq: int) -> int:
        """What a checkpoint's `invalidated_seq` was at the event of the fork."""
        return invalidated_seq if invalidated_seq <= self._at_seq else 0

    def _initialized(self, row: ResourceRow, chosen: CheckpointRow | None) -> NewEvent:
        covered = chosen is not None and not chosen.invalidated_seq
        ref = {} if chosen is None else {"checkpoint_ref": chosen.checkpoint_ref}
        return NewEvent("resource.initialized", {"key": row.key, "generation": row.generation + (not covered), **ref})


def _choose(checkpoints: Sequence[CheckpointRow], key: str) -> CheckpointRow | None:
    """The newest checkpoint that covers, else the newest."""
    own = [one for one in checkpoints if one.key == key]
    covering = [one for one in own if not one.invalidated_seq]
    return max(covering or own, key=lambda one: one.covered_seq, default=None)


def _told(chosen: CheckpointRow | None) -> dict[str, Any]:
    if chosen is None:
        return {"covered": False}
    return {
        "checkpoint_ref": chosen.checkpoint_ref,
        "checkpoint_seq": chosen.covered_seq,
        "covered": not chosen.invalidated_seq,
    }


def _moved(numbers: Mapping[int, int], copied: Sequence[int], seq: int) -> int:
    """Where the newest of the `copied` events stands in the fork that is not behind this one of the source; 0 for 0."""
    return numbers[copied[bisect_right(copied, seq) - 1]] if seq else 0
