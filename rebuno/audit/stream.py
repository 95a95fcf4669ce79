"""What a store's logs hold, as lines with signed heads."""

import asyncio
import base64
from collections.abc import AsyncIterator
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from rebuno.journal.chain import START
from rebuno.journal.records import ExecutionRow
from rebuno.journal.sealed.kept import raw
from rebuno.journal.store import Store
from rebuno.model.clock import from_rfc3339, rfc3339
from rebuno.model.identity import canonical

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_PAGE: Final = 200
# How often a stream that follows looks for news, in seconds.
LOOK: Final = 1.0


class AuditStream:
    """Writes each event once, and after the events of an execution its head, which `key` signs (None: nobody does).

    A line is a JSON object. `{"kind": "event", "execution", "seq", "type", "payload", "occurred_at", "previous",
    "hash"}`: one event, with the hash before it. `{"kind": "head", "execution", "agent", "first", "seq", "hash",
    "signed_at", "before", "key", "signature"}`: how far the execution had come, and the first event that was written
    since its head before, so that none can be left out in front. `before` is the SHA-256 of the head line before it
    in this stream (empty in the first), so that no head can be left out; `signature` is over the canonical JSON of the
    rest, in base64. Events of what is encrypted are told as they are stored.
    """

    def __init__(self, store: Store, key: "Ed25519PrivateKey | None" = None) -> None:
        # The chain is over what is stored, and nothing that is encrypted leaves the store in the clear.
        self._store = raw(store)
        self._key = key
        self._before = ""
        # How far each execution was written.
        self._seen: dict[str, int] = {}

    async def lines(self, *, since: float, follow: bool = False) -> AsyncIterator[dict[str, Any]]:
        """The events since this time (seconds since 1970), execution by execution, those first that changed first; with
        `follow` for ever.

        Raises:
            StoreError
        """
        while True:
            for row in await self._changed(since):
                async for line in self._of(row, since):
                    yield line
            if not follow:
                return
            await asyncio.sleep(LOOK)

    async def _changed(self, since: float) -> list[ExecutionRow]:
        found: list[ExecutionRow] = []
        before: str | None = None
        while page := await self._store.executions(before=before, limit=_PAGE):
            found += [row for row in page if row.updated_at >= since and row.head_seq > self._seen.get(row.id, 0)]
            before = page[-1].id
        return sorted(found, key=lambda row: (row.updated_at, row.id))

    async def _of(self, row: ExecutionRow, since: float) -> AsyncIterator[dict[str, Any]]:
        seq, first = self._seen.get(row.id, 0), 0
        previous = START
        if seq:
            last = await self._store.events_at(row.id, (seq,))
            if not last:
                # Retention has taken it since the executions were listed.
                return
            previous = last[0].hash
        while page := await self._store.events(row.id, after=seq):
            for event in page:
                # Of an execution, a log without a gap: from the first event in time on.
                if first or self._seen.get(row.id) or from_rfc3339(event.occurred_at) >= since:
                    first = first or event.event_seq
                    yield {
                        "kind": "event",
                        "execution": row.id,
                        "seq": event.event_seq,
                        "type": event.type,
                        "payload": event.payload,
                        "occurred_at": event.occurred_at,
                        "previous": previous.hex(),
                        "hash": event.hash.hex(),
                    }
                seq, previous = event.event_seq, event.hash
        self._seen[row.id] = seq
        if first:
            yield self._head(row, first, seq, previous)

    def _head(self, row: ExecutionRow, first: int, seq: int, hash: bytes) -> dict[str, Any]:
        head: dict[str, Any] = {
            "kind": "head",
            "execution": row.id,
            "agent": row.agent_id,
            "first": first,
            "seq": seq,
            "hash": hash.hex(),
            "signed_at": rfc3339(self._store.now()),
            "before": self._before,
        }
        if self._key is not None:
            from rebuno.audit import keys

            head["key"] = keys.name(self._key.public_key())
            head["signature"] = base64.b64encode(self._key.sign(canonical(head).encode())).decode()
        self._before = sha256(canonical(head).encode()).hexdigest()
        return head
