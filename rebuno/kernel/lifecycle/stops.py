"""How an operator stops agents and tools, and lifts that."""

from typing import Final

import uuid_utils

from rebuno.errors import ConflictError, NotFoundError, ValidationError
from rebuno.journal.stops import StopRow
from rebuno.journal.store import Store
from rebuno.kernel.core import stops
from rebuno.kernel.core.names import check_name

# In characters.
_LONGEST_REASON: Final = 1000


async def stop(
    store: Store, *, agent: str = "", tool: str = "", everything: bool = False, reason: str = "", by: str
) -> StopRow:
    """Stops an agent, the tools that a pattern matches (`*`, `?`, `[…]`), or everything in a store: from at most one
    second later on nothing of it starts, on any kernel. What has started goes on. Committed when this returns.

    Raises:
        ValidationError: not exactly one of the three is named, or a name or the reason is malformed.
        StoreError
    """
    if bool(agent) + bool(tool) + everything != 1:
        raise ValidationError("name what to stop: an agent, a tool, or all")
    check_name("agent", agent)
    check_name("tool", tool)
    check_name("name of who stops it", by)
    if len(reason) > _LONGEST_REASON:
        raise ValidationError(f"the reason has {len(reason):,} characters, {_LONGEST_REASON:,} at most")
    try:
        reason.encode()
    except UnicodeEncodeError:
        raise ValidationError("the reason is not valid Unicode") from None
    made = StopRow(str(uuid_utils.uuid7()), agent, tool, reason, by, round(store.now(), 6))
    await store.add_stop(made)
    stops.forget(store)
    return made


async def lift(store: Store, stop_id: str, *, by: str) -> StopRow:
    """Ends a stop, named by its id or the beginning of it. What waits goes on within a second.

    Raises:
        NotFoundError: there is none.
        ConflictError: several begin so, or it is lifted already.
        ValidationError: the name is malformed.
        StoreError
    """
    check_name("name of who lifts it", by)
    found = [one for one in await store.stops(lifted=True) if stop_id and one.id.startswith(stop_id)]
    found = [one for one in found if one.id == stop_id] or found
    if not found:
        raise NotFoundError(f"there is no stop `{stop_id}`")
    if len(found) > 1:
        raise ConflictError(f"`{stop_id}` names {len(found)} stops; give the whole id")
    (one,) = found
    if one.lifted_at:
        raise ConflictError(f"the stop `{one.id}` was lifted by {one.lifted_by} already")
    await store.lift_stop(one.id, by)
    stops.forget(store)
    return next(lifted for lifted in await store.stops(lifted=True) if lifted.id == one.id)
