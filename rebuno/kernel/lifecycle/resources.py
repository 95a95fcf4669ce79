"""What a handler does with resources besides its steps: it registers and binds them, and publishes checkpoints.

Each function is one try, which rests on the log as the attempt knows it: `Stale` says that it has to be tried again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from rebuno.errors import Stale
from rebuno.journal.records import NewEvent, StepRow, StepWrite
from rebuno.journal.resource_records import ResourceChanges
from rebuno.kernel.core import resources
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.transact import transact
from rebuno.model.resource import Captured, RegisteredResource, Registration

T = TypeVar("T")


async def in_turn(attempt: Attempt, one_try: Callable[[], Awaitable[T]]) -> T:
    """What a try of an attempt in this process comes to, once nobody has written between what it read and what it
    wrote. Raises as `Attempt.check`, and what the try does."""

    async def current(_: int) -> T:
        await attempt.current()
        attempt.check()
        return await one_try()

    return await transact(current)


class AttemptResources:
    """The resources of one attempt in this process. Every method may raise `LeaseSuperseded`, `Terminated` and a
    `StoreError`."""

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt

    async def register(self, asked: Registration) -> RegisteredResource:
        """Registers a resource, or finds it registered. `ValidationError`, or `ConflictError` where it is registered
        with another driver, configuration or reuse."""
        return await in_turn(self._attempt, partial(register, self._attempt, asked))

    async def bind(self, key: str, binding: str) -> None:
        """Notes what a resource is bound to, canonical JSON. `ValidationError`, `NotFoundError`, or `ConflictError`
        where it is bound otherwise."""
        await in_turn(self._attempt, partial(bind, self._attempt, key, binding))

    async def publish(self, captured: Captured) -> None:
        """Adds checkpoints that cover the newest event; what is refused is recorded so."""
        await in_turn(self._attempt, partial(publish, self._attempt, captured))


async def register(attempt: Attempt, asked: Registration) -> RegisteredResource:
    """Registers a resource, or finds it registered. Committed when this returns. Raises `Stale`, and as
    `rebuno.kernel.core.resources.registered`."""
    row, events, changes = resources.registered(attempt.execution.id, attempt.resources.get(asked.key), asked)
    if changes is None:
        return resources.view(row)
    number = await asyncio.shield(attempt.write(events, external=changes, judged=True))
    if not row.registered_seq:
        row = replace(row, registered_seq=number)
        attempt.resources = {**attempt.resources, row.key: row}
    return resources.view(row)


async def bind(attempt: Attempt, key: str, binding: str) -> None:
    """Notes what a resource is bound to, canonical JSON. Committed when this returns. Raises `Stale`, and as
    `rebuno.kernel.core.resources.bound`."""
    events, changes = resources.bound(attempt.resources.get(key), key, binding)
    if changes is not None:
        await asyncio.shield(attempt.write(events, external=changes, judged=True))


async def publish(attempt: Attempt, captures: Captured) -> None:
    """Adds checkpoints that cover the newest event. Committed when this returns. Raises `Stale`."""
    attempt.release_held()
    events, checkpoints = resources.captured(attempt.resources, captures, covers=attempt.head, at=-1)
    if events:
        changes = ResourceChanges(checkpoints=checkpoints) if checkpoints else None
        await asyncio.shield(attempt.write(events, external=changes, judged=True))


async def settle(attempt: Attempt, row: StepRow, event: NewEvent, value: Any, captures: Captured) -> None:
    """Writes how a body ended and the checkpoints that were made after it; `value` is what its result reads as.
    Committed when this returns. Raises `Stale`."""
    attempt.release_held()
    covers = attempt.head + 1
    more, checkpoints = resources.captured(attempt.resources, captures, covers=covers, at=0, settles=row.step_id)
    attempt.settled(row, value)
    changes = ResourceChanges(checkpoints=checkpoints) if checkpoints else None
    attempt.bodies.discard(row.step_id)
    written = attempt.write((event, *more), steps=(StepWrite(row, settled=0),), external=changes, judged=True)
    try:
        await asyncio.shield(written)
    except Stale:
        attempt.bodies.add(row.step_id)
        raise
