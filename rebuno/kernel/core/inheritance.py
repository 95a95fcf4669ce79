"""What an execution that is made from another one takes along besides its steps: their places in limits, and what only
the log of a fork keeps of its source."""

from collections.abc import Iterator
from typing import Any

from rebuno.errors import NotFoundError
from rebuno.journal.pot_records import WindowPlace
from rebuno.journal.records import EventRow, ExecutionRow
from rebuno.journal.store import Store
from rebuno.kernel.core.rate_limited import counted
from rebuno.kernel.core.windows import window
from rebuno.model.clock import from_rfc3339
from rebuno.model.obligation import LimitScope

# What made an execution is told by its second event.
_MADE = 2


def places(execution: ExecutionRow, step_id: str, first: EventRow) -> Iterator[WindowPlace]:
    """The places that a step takes in the windows of `execution` under this id, since the time of its `first` event.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: the event was damaged.
    """
    at = from_rfc3339(first.occurred_at)
    for limit in counted(first):
        if limit.amount:
            continue
        yield WindowPlace(window(limit.bundle, limit.rule_id, LimitScope(limit.scope), execution), step_id, at)


async def session_of(store: Store, execution: ExecutionRow) -> str:
    """The session that an execution belongs to: its own, or that of the execution that it was forked from, in which a
    fork takes no turn. Empty where there is none.

    Raises:
        StoreError
    """
    if execution.session or not execution.forked_from:
        return execution.session
    try:
        made = await store.events(execution.id, after=_MADE - 1, limit=1)
    except NotFoundError:
        return ""
    return session_in(made[0].payload) if made else ""


def session_in(forked: dict[str, Any]) -> str:
    """The source's session, by the payload of `execution.forked`; an earlier version does not tell it."""
    session = forked.get("session")
    return session if isinstance(session, str) else ""
