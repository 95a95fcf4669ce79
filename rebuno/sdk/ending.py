"""Decides how to record a handler's end, in the same way over every transport."""

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from rebuno.errors import (
    LeaseSuperseded,
    PolicyError,
    RateLimited,
    StoreError,
    Terminated,
    ToolError,
    failure_reason,
)
from rebuno.model import identity, raised
from rebuno.sdk import refusals
from rebuno.sdk.body_errors import recordable
from rebuno.sdk.sealed_log import SealedLog, log_sealed

T = TypeVar("T")

logger: Final = logging.getLogger("rebuno.agent")

_LONGEST_NAME: Final = 120
_LONGEST_MESSAGE: Final = 1000


@dataclass(frozen=True, slots=True)
class Result:
    """A handler may return it instead of a plain output: `output`, and the `state` that `previous()` returns in the
    next execution of the session (None: it returns the output). Both are JSON values."""

    output: Any = None
    state: Any = None


@dataclass(frozen=True, slots=True)
class Completed:
    """The handler returned; both are canonical JSON."""

    output: str
    state: str | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The handler raised `error`. `raised` is the journal's record of it, None for an error that the kernel caused."""

    reason: str
    raised: dict[str, Any] | None = None
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class Waits:
    """A step waits for a person or a subagent. The handler's own end is dropped."""


def ending(task: "asyncio.Task[Any]", *, blocked: bool) -> Completed | Failed | Waits:
    """The end of a handler whose task is done; `blocked` says that one of its steps waits.

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
    return Failed(recordable(failure_reason(error)), _kept(error), error)


def log_failure(failed: Failed, execution_id: str, sealed: SealedLog | None = None) -> None:
    """Logs a handler's failure, with the traceback unless it was logged before. `sealed` says what may be told, where
    something of the execution is sealed."""
    error = failed.error
    where = {"execution_id": execution_id}
    # The policy did what it is there for.
    expected = isinstance(error, PolicyError | RateLimited)
    # A mistake in a body was logged where it was.
    known = isinstance(error, ToolError) and raised.mistaken(error.__cause__)
    if sealed is not None:
        reason = "agent_error" if sealed.whole else failed.reason
        what = f"the handler of execution {execution_id} failed: {reason}"
        told = None if (expected or known) and not sealed.whole else error
        log_sealed(sealed, logging.INFO if expected else logging.ERROR, what, told, where)
        return
    said = {"execution_id": execution_id, "reason": failed.reason}
    if expected:
        logger.info("execution %(execution_id)s failed: %(reason)s", said, extra=where)
        return
    logger.error(
        "the handler of execution %(execution_id)s failed: %(reason)s",
        said,
        exc_info=None if known else error,
        extra=where,
    )


def _kept(error: BaseException) -> dict[str, Any] | None:
    if isinstance(error, ToolError):
        if error.__cause__ is not None:
            return raised.of(error.__cause__)
        # It was replayed: its step's event has the rest.
        kind, said = error.error.get("type"), error.error.get("message")
        if not isinstance(kind, str):
            return None
        return raised.of(error) | {"type": kind[:_LONGEST_NAME], "message": str(said)[:_LONGEST_MESSAGE]}
    return None if isinstance(error, PolicyError | RateLimited) else raised.of(error)


def _completed(value: Any) -> Completed:
    if not isinstance(value, Result):
        return Completed(identity.canonical(value, "output"))
    state = None if value.state is None else identity.canonical(value.state, "state")
    return Completed(identity.canonical(value.output, "output"), state)


async def to_its_end(work: Coroutine[Any, Any, T], *, once: bool = True) -> T:
    """Awaits work in a task of its own. Cancelled, however often, it waits until that has ended, and is cancelled only
    then; the work itself is cancelled `once`, or not at all: what it does to let go is never cut short."""
    task = asyncio.create_task(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            if cancelled is None and once:
                task.cancel()
            cancelled = cancelled or error
    if cancelled is not None:
        if not task.cancelled():
            # Looked at, or asyncio would complain.
            task.exception()
        raise cancelled
    return task.result()
