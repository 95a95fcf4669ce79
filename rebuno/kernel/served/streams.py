"""Passes the output of running steps to the listeners on every replica."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rebuno.errors import ValidationError
from rebuno.journal.served import ServedStore
from rebuno.types import Delta

# Of a piece, in bytes.
LONGEST: Final = 7000
# A listener that is so many pieces behind loses the oldest.
_MOST_WAITING: Final = 1000


class Streams:
    """The listeners of one replica."""

    def __init__(self, store: ServedStore) -> None:
        self._store = store
        self._listening: dict[str, set[asyncio.Queue[Delta]]] = {}
        # Of each execution that somebody listens to, the newest piece of each step.
        self._newest: dict[str, dict[str, Delta]] = {}

    async def publish(self, execution_id: str, delta: Delta) -> None:
        """Hands a piece over. It may be lost."""
        await self._store.notify(f"{execution_id} {delta.step_id} {delta.seq} {delta.data}")

    @contextmanager
    def listen(self, execution_id: str) -> Iterator["asyncio.Queue[Delta]"]:
        """What an execution publishes while the context is open."""
        queue: asyncio.Queue[Delta] = asyncio.Queue(_MOST_WAITING)
        self._listening.setdefault(execution_id, set()).add(queue)
        try:
            yield queue
        finally:
            rest = self._listening[execution_id]
            rest.discard(queue)
            if not rest:
                del self._listening[execution_id]
                self._newest.pop(execution_id, None)

    async def run(self) -> None:
        """Hands on what any replica publishes, until it is cancelled."""
        async for text in self._store.listen():
            execution_id, step_id, seq, data = text.split(" ", 3)
            if execution_id not in self._listening:
                continue
            delta = Delta(step_id=step_id, seq=int(seq), data=data)
            newest = self._newest.setdefault(execution_id, {})
            # A store that lost its answer says it a second time.
            if newest.get(step_id) == delta:
                continue
            newest[step_id] = delta
            for queue in self._listening[execution_id]:
                if queue.full():
                    queue.get_nowait()
                queue.put_nowait(delta)


def check_length(delta: Delta) -> None:
    """Refuses a piece that no channel carries."""
    try:
        size = len(delta.data.encode())
    except UnicodeEncodeError:
        raise ValidationError("the data is not valid Unicode") from None
    if size > LONGEST:
        raise ValidationError(f"the data has {size:,} bytes, {LONGEST:,} at most; send it in pieces")
    if delta.seq < 0:
        raise ValidationError(f"the `seq` {delta.seq} is below 0")
