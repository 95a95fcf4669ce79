"""Whether a replica can do its work: anybody may ask, however often, and the store is asked once a moment."""

import asyncio
from time import monotonic
from typing import Final

from rebuno.journal.served import ServedStore

# For how long what the store said is told again, in seconds.
FRESH: Final = 0.5


class Readiness:
    """What one replica knows of its store."""

    def __init__(self, store: ServedStore) -> None:
        self._store = store
        self._asked: asyncio.Task[None] | None = None
        self._asked_at = 0.0

    async def check(self) -> None:
        """Returns where the store took a write a moment ago at most; who waits no longer is cancelled alone.

        Raises:
            StoreError: it cannot be written.
        """
        asked = self._asked
        if asked is None or (asked.done() and monotonic() - self._asked_at >= FRESH):
            asked = self._asked = asyncio.create_task(self._store.ready())
            asked.add_done_callback(self._told)
        await asyncio.shield(asked)

    def _told(self, asked: "asyncio.Task[None]") -> None:
        self._asked_at = monotonic()
        if not asked.cancelled():
            # Who asked may be gone.
            asked.exception()
