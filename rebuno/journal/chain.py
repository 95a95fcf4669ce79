"""The hash chain over an execution's events: each hash covers the one before, so that no event changes unseen."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from rebuno.journal.records import Event
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
        f'{{"event_seq":{event_seq},"execution_id":{canonical(execution_id)},"occurred_at":{canonical(occurred_at)},'
        f'"payload":{payload},"type":{canonical(type)}}}'
    )
    return sha256(previous + text.encode()).digest()


@dataclass(frozen=True, slots=True)
class Chain:
    """How far a log was checked: its last good event (number and hash) and what is wrong after it, or empty."""

    seq: int = 0
    hash: bytes = START
    fault: str = ""


def verify(events: Iterable[Event], after: Chain | None = None) -> Chain:
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
        found = event_hash(chain.hash, event.execution_id, seq, event.type, event.payload, event.occurred_at)
        if found != event.hash:
            return Chain(chain.seq, chain.hash, f"event {seq} does not fit its hash: it or one before was changed")
        chain = Chain(seq, found)
    return chain
