"""How a handler's end is to be recorded: the same over every transport."""

import asyncio
from dataclasses import dataclass
from typing import Any

from rebuno.errors import LeaseSuperseded, StoreError, Terminated, failure_reason
from rebuno.model import identity
from rebuno.sdk import refusals
from rebuno.sdk.context import recordable


@dataclass(frozen=True, slots=True)
class Result:
    """What a handler may return in the place of a plain output: `output`, and the `state` that the next execution of
    the session finds by `previous()` (None: that finds the output). Both are JSON values."""

    output: Any = None
    state: Any = None


@dataclass(frozen=True, slots=True)
class Completed:
    """The handler returned; both are canonical JSON."""

    output: str
    state: str | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The handler raised."""

    reason: str


@dataclass(frozen=True, slots=True)
class Waits:
    """A step waits for a person or a subagent: whatever the handler made of it is dropped."""


def ending(task: "asyncio.Task[Any]", *, blocked: bool) -> Completed | Failed | Waits:
    """What became of a handler whose task is done; `blocked` tells that one of its steps waits.

    Raises:
        StoreError, LeaseSuperseded, Terminated: the attempt is over, and its end is recorded by others or not at all.
        BaseException: the handler raised something that ends programs.
    """
    # A run that is cancelled from outside does not come here: this handler cancelled itself.
    error = asyncio.CancelledError() if task.cancelled() else task.exception()
    if error is not None:
        # A provider's SDK makes its own error of a refusal.
        error = refusals.of(error) or error
    if isinstance(error, StoreError | LeaseSuperseded | Terminated):
        raise error
    if blocked:
        return Waits()
    if error is None:
        try:
            return _completed(task.result())
        except TypeError as unfit:
            error = unfit
    if not isinstance(error, Exception | asyncio.CancelledError):
        raise error
    return Failed(recordable(failure_reason(error)))


def _completed(value: Any) -> Completed:
    if not isinstance(value, Result):
        return Completed(identity.canonical(value, "output"))
    state = None if value.state is None else identity.canonical(value.state, "state")
    return Completed(identity.canonical(value.output, "output"), state)
