"""Which execution began another one: what a parent passed on to a child is not the user's word."""

from collections.abc import Iterable

from rebuno.errors import NotFoundError
from rebuno.journal.records import EventRow, ExecutionRow
from rebuno.journal.store import Store


def recorded(execution: ExecutionRow, events: Iterable[EventRow]) -> str | None:
    """The id of the execution that began this one, or the one whose copy it is; empty where a client did. None: a fork
    whose log, written by an older version, does not say so."""
    if execution.spawned_execution_id or not execution.forked_from:
        return execution.spawned_execution_id
    said = next((event.payload for event in events if event.type == "execution.forked"), {})
    parent = said.get("parent")
    return parent if isinstance(parent, str) else None


def in_doubt(execution: ExecutionRow, events: Iterable[EventRow]) -> str:
    """As `recorded`; where the log does not say, the source stands in the place of what may have begun it."""
    parent = recorded(execution, events)
    return execution.forked_from if parent is None else parent


async def began_by(store: Store, execution: ExecutionRow) -> str:
    """As `recorded`, looked up in the source where the log does not say, and where that is gone the source's id: doubt
    falls on the strict side. Asks the store about forks only.

    Raises:
        StoreError
    """
    if execution.spawned_execution_id or not execution.forked_from:
        return execution.spawned_execution_id
    # The fork's own event is its second.
    parent = recorded(execution, await store.events(execution.id, after=0, limit=2))
    if parent is not None:
        return parent
    try:
        source = await store.execution(execution.forked_from)
    except NotFoundError:
        return execution.forked_from
    return await began_by(store, source)
