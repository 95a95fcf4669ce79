"""Short ways to the records that the journal's tests write."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import wraps
from typing import Any, ParamSpec

from rebuno.journal.records import (
    ApprovalRow,
    ApprovalWrite,
    Batch,
    ExecutionRow,
    ExecutionWrite,
    Holder,
    Lease,
    NewEvent,
    StepRow,
    StepWrite,
)
from rebuno.journal.store import Store
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import Idempotency, Kind, StepStatus

P = ParamSpec("P")
Opener = Callable[[], AbstractAsyncContextManager[Store]]


def in_loop(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Runs an async test in an event loop of its own."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def body() -> None:
            await test(*args, **kwargs)

        asyncio.run(body())

    return run


def execution(id: str = "e1", holder: Holder | None = None, **changes: Any) -> ExecutionRow:
    """A running execution in its first attempt."""
    made = ExecutionRow(id, "agent", None, ExecutionStatus.RUNNING, '{"q":1}', "digest")
    return replace(made, attempt=1, holder=holder, lease_until=time.time() + 30, **changes)


def step(
    id: str = "s1", execution_id: str = "e1", status: StepStatus = StepStatus.EXECUTING, **changes: Any
) -> StepRow:
    """A tool call of an execution."""
    once = Idempotency.ONCE
    made = StepRow(id, execution_id, "", Kind.TOOL, "t", "{}", "h", 0, once, status, "allow", "r", "b", "d", "why")
    return replace(made, **changes)


def approval(id: str = "a1", execution_id: str = "e1", step_id: str = "s1", status: str = "pending") -> ApprovalRow:
    """A question about a step."""
    return ApprovalRow(id, execution_id, step_id, "policy", status, "sure?", "r", "d")


def event(type: str = "step.executing", **payload: Any) -> NewEvent:
    """An event that holds `payload`."""
    return NewEvent(type, payload)


def batch(execution_id: str = "e1", *events: NewEvent, **parts: Any) -> Batch:
    """A batch, with one event where none is given."""
    return Batch(execution_id, events or (event(),), **parts)


def starting(made: StepRow) -> Batch:
    """The batch with which a step is decided and started at once."""
    return batch(made.execution_id, event(step_id=made.step_id), steps=(StepWrite(made, 0, 0),))


def ending(id: str = "e1", status: ExecutionStatus = ExecutionStatus.COMPLETED) -> Batch:
    """The batch that ends an execution and releases its lease."""
    return batch(id, event("execution.completed"), execution=ExecutionWrite(status, output="42", attempt=1))


def asking(made: ApprovalRow) -> Batch:
    """The batch that asks."""
    return batch(made.execution_id, event("approval.requested"), approvals=(ApprovalWrite(made, requested=0),))


async def written(store: Store, made: Batch) -> int:
    """Writes a batch and waits until it is durable."""
    store.write(made)
    return await made.committed


async def started(store: Store, id: str = "e1", **changes: Any) -> Lease:
    """Creates an execution held by this store; its lease."""
    assert await store.create(execution(id, store.holder, **changes), [event("execution.created")])
    return Lease(id, 1, store.holder.owner)
