"""The rows of events from their public models, for tests of the chain."""

from collections.abc import Iterable

from rebuno import types
from rebuno.journal.records import Event


def rows(events: Iterable[types.Event]) -> list[Event]:
    """The events as the store keeps them."""
    return [
        Event(one.execution_id, one.event_seq, one.type, one.payload, one.occurred_at, bytes.fromhex(one.hash))
        for one in events
    ]
