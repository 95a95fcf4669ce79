"""The hash chain over an execution's events: each hash covers the one before it, so a changed event is detected."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final

from rebuno.journal.records import EventRow, NewEvent
from rebuno.model.identity import canonical

START: Final = bytes(32)


def event_hash(
    previous: bytes, execution_id: str, event_seq: int, type: str, payload: dict[str, Any], occurred_at: str
) -> bytes:
    """The hash of one event: SHA-256 of the previous hash (32 zero bytes before the first event) and the canonical JSON
    of `{execution_id, event_seq, type, payload, occurred_at}`."""
    return payload_hash(previous, execution_id, event_seq, type, canonical(payload, "payload"), occurred_at)


def payload_hash(
    previous: bytes, execution_id: str, event_seq: int, type: str, payload: str, occurred_at: str
) -> bytes:
    """`event_hash` where the payload is canonical JSON already."""
    # The keys stand in the order of their code points, as canonical JSON has them.
    text = (
        f'{{"event_seq":{event_seq},"execution_id":{quoted(execution_id)},"occurred_at":{_timed(occurred_at)},'
        f'"payload":{payload},"type":{quoted(type)}}}'
    )
    return sha256(previous + text.encode()).digest()


# What is written now has a time of its own, which holds nothing to escape.
_TIME: Final = re.compile("[0-9TZ:.+-]+")


def _timed(text: str) -> str:
    """The time of an event as canonical JSON."""
    return f'"{text}"' if _TIME.fullmatch(text) else quoted(text)


# An execution's next event has the same id, and one of a few types, rules and targets.
@lru_cache(maxsize=1024)
def quoted(text: str) -> str:
    """A text as canonical JSON. For those that come again."""
    return canonical(text)


# Both are made for every step: treat them as frozen.
@dataclass(slots=True)
class Head:
    """The newest event of an execution."""

    seq: int
    hash: bytes


@dataclass(slots=True)
class Written:
    """An event with the canonical text of its payload; `occurred_at` is empty where it is the time of the write."""

    type: str
    payload: str
    occurred_at: str


# The columns of a row of events: execution, number, type, payload, time, hash.
EventColumns = tuple[str, int, str, str, str, bytes]


def written(events: Iterable[NewEvent]) -> list[Written]:
    """Events ready to be chained. Raises `NotJSON` for a payload that JSON cannot hold."""
    return [Written(event.type, _text(event.payload), event.occurred_at) for event in events]


def _text(payload: dict[str, Any] | str) -> str:
    return payload if isinstance(payload, str) else canonical(payload, "payload")


def chained(execution_id: str, head: Head, events: Sequence[Written], at: str) -> tuple[list[EventColumns], Head]:
    """The rows of the events that follow a head at the time `at`, and the head that they lead to."""
    rows: list[EventColumns] = []
    seq, previous = head.seq, head.hash
    for event in events:
        seq += 1
        time = event.occurred_at or at
        previous = payload_hash(previous, execution_id, seq, event.type, event.payload, time)
        rows.append((execution_id, seq, event.type, event.payload, time, previous))
    return rows, Head(seq, previous)


@dataclass(frozen=True, slots=True)
class Chain:
    """How far a log was checked: its last good event (number and hash) and what is wrong after it, or empty."""

    seq: int = 0
    hash: bytes = START
    fault: str = ""


def verify(events: Iterable[EventRow], after: Chain | None = None) -> Chain:
    """Recomputes a run of events, one page after another: `after` is what the page before came to.

    Ends at the first fault. A log that was rewritten whole, or cut at its end, has none: compare the head with one
    kept elsewhere.
    """
    chain = after or Chain()
    for event in events:
        if chain.fault:
            break
        seq = chain.seq + 1
        if event.event_seq != seq:
            return Chain(chain.seq, chain.hash, f"event {seq} is missing, event {event.event_seq} follows")
        payload = event.payload if event.stored is None else event.stored
        found = event_hash(chain.hash, event.execution_id, seq, event.type, payload, event.occurred_at)
        if found != event.hash:
            return Chain(chain.seq, chain.hash, f"event {seq} does not fit its hash: it or one before was changed")
        chain = Chain(seq, found)
    return chain
