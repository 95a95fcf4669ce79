"""The resources of an execution beside its log: read, held against the log, and taken over by another store."""

from dataclasses import replace

from rebuno.journal.records import NewEvent
from rebuno.journal.resource_records import CheckpointRow, ResourceRow, ResourceRows
from rebuno.journal.store import Store
from rebuno.kernel.core import resources
from rebuno.kernel.core.resource_log import ResourceLog


async def held(store: Store, execution_id: str) -> ResourceRows:
    """What the store holds of an execution's resources; whether one is covered its checkpoints say.

    Raises:
        StoreError
    """
    rows = await resources.load(store, execution_id)
    checkpoints = await store.checkpoints(execution_id) if rows else []
    return ResourceRows(tuple(replace(row, covered=False) for row in rows.values()), tuple(checkpoints))


def fault(log: ResourceLog, rows: ResourceRows) -> str:
    """What is wrong with these rows by the log; empty where nothing is."""
    known = {row.key: replace(row, covered=False) for row in log.resources.values()}
    for row in rows.resources:
        told = known.pop(row.key, None)
        if told is None:
            return f"no event speaks of the resource `{row.key}`"
        if _held(row) != _held(told):
            return f"the resource `{row.key}` (event {told.registered_seq}) is not as its events say"
    for key in known:
        return f"the resource `{key}` is missing"
    # Of several that cover one event the newest is kept.
    made: dict[tuple[str, int], CheckpointRow] = {(one.key, one.covered_seq): one for one in log.checkpoints}
    for one in rows.checkpoints:
        if made.pop((one.key, one.covered_seq), None) != one:
            return f"the checkpoint of `{one.key}` at event {one.covered_seq} is not as its events say"
    for key, seq in made:
        return f"the checkpoint of `{key}` at event {seq} is missing"
    return ""


def _held(row: ResourceRow) -> ResourceRow:
    return replace(row, writers=tuple(sorted(row.writers)))


def taken_over(rows: ResourceRows) -> tuple[list[NewEvent], ResourceRows]:
    """Resources as an execution that goes on in another store begins with them, and the events that tell so: the store
    that it is from may go on with what they are bound to, so each is created anew, from its newest checkpoint."""
    events, begun = [], []
    for row in rows.resources:
        own = [one for one in rows.checkpoints if one.key == row.key]
        covering = [one for one in own if not one.invalidated_seq and one.generation == row.generation]
        chosen = max(covering or own, key=lambda one: one.covered_seq, default=None)
        ref = "" if chosen is None else chosen.checkpoint_ref
        generation = row.generation + (not covering)
        said = {"key": row.key, "generation": generation, **({"checkpoint_ref": ref} if ref else {})}
        events.append(NewEvent("resource.initialized", said))
        begun.append(replace(row, generation=generation, binding=None, checkpoint_ref=ref))
    return events, ResourceRows(tuple(begun), rows.checkpoints)
