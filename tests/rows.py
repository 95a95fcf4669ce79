"""The rows of events from their public models, for tests of the chain."""

from collections.abc import Iterable

from rebuno import types
from rebuno.journal.records import EventRow


def rows(events: Iterable[types.Event]) -> list[EventRow]:
    """The events as the store keeps them."""
    return [
        EventRow(one.execution_id, one.event_seq, one.type, one.payload, one.occurred_at, bytes.fromhex(one.hash))
        for one in events
    ]
