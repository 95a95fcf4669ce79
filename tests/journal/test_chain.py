"""A log's hashes: what they cover, and that any change to an event shows."""

import json
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

from rebuno.journal.chain import START, Chain, event_hash, verify
from rebuno.journal.records import EventRow
from rebuno.model.identity import canonical

AT = "2026-01-01T00:00:00.000000Z"


def log(length: int) -> list[EventRow]:
    events: list[EventRow] = []
    previous = START
    for seq in range(1, length + 1):
        payload = {"n": seq, "text": "<é>"}
        previous = event_hash(previous, "e1", seq, "step.executing", payload, AT)
        events.append(EventRow("e1", seq, "step.executing", payload, AT, previous))
    return events


def test_a_hash_covers_the_one_before_and_the_canonical_event() -> None:
    """As the contract writes it, over the canonical JSON of the five fields."""
    payload = {"b": 1.0, "a": "<\u2028"}
    fields = {"type": "x", "execution_id": 'é"', "event_seq": 7, "payload": payload, "occurred_at": AT}
    expected = sha256(b"\1" * 32 + canonical(fields).encode()).digest()
    assert event_hash(b"\1" * 32, 'é"', 7, "x", payload, AT) == expected
    assert json.loads(canonical(fields)) == fields


def test_a_whole_log_is_sound() -> None:
    """Checked at once or page by page, it comes to the newest event."""
    events = log(5)
    assert verify(events) == verify(events[3:], verify(events[:3])) == Chain(5, events[-1].hash)
    assert verify([]) == Chain(0, START)


CHANGES: list[tuple[str, int, dict[str, Any]]] = [
    ("payload", 3, {"payload": {"n": 4, "text": "<é>"}}),
    ("type", 1, {"type": "step.denied"}),
    ("time", 5, {"occurred_at": AT.replace("2026", "2025")}),
    ("execution", 2, {"execution_id": "e2"}),
    ("hash", 4, {"hash": START}),
]


@pytest.mark.parametrize(("seq", "change"), [c[1:] for c in CHANGES], ids=[c[0] for c in CHANGES])
def test_a_changed_event_is_found(seq: int, change: dict[str, Any]) -> None:
    """The check ends at the event before it, and stays there over later pages."""
    events = log(5)
    events[seq - 1] = replace(events[seq - 1], **change)
    found = verify(events)
    assert (found.seq, found.hash) == (seq - 1, events[seq - 2].hash if seq > 1 else START)
    assert f"event {seq} does not fit its hash" in found.fault
    assert verify(log(9)[5:], found) == found


def test_a_missing_event_is_found() -> None:
    """Also the first."""
    events = log(4)
    assert verify(events[:1] + events[2:]).fault == "event 2 is missing, event 3 follows"
    assert verify(events[1:]).fault == "event 1 is missing, event 2 follows"
