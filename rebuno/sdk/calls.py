"""The submissions and running bodies of one attempt of a handler."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from rebuno.model.answer import Answer, Submission
from rebuno.model.step import Idempotency
from rebuno.sdk.resources import current_turn

if TYPE_CHECKING:
    from rebuno.model.resource import StepResource
    from rebuno.sdk.context import ExecutionContext
    from rebuno.sdk.resources import StepTurn


@dataclass(frozen=True, slots=True)
class EditedStep:
    """A call that an approver has changed: `args` are the arguments that the agent submitted, `ran_args` those that it
    ran with."""

    step_id: str
    target: str
    args: Any
    ran_args: Any


class BodyScope:
    """The body that runs now, the parent of every step submitted in it."""

    __slots__ = ("blocked", "context", "parent", "step_id")

    def __init__(self, context: ExecutionContext, step_id: str = "", parent: BodyScope | None = None) -> None:
        self.context = context
        self.step_id = step_id
        self.parent = parent
        self.blocked = False


class StepCall:
    """A submission that is under way, and the tasks that wait for its answer. `task` carries out the `answer`, which it
    requests if there is none yet; it has not begun to until it is `running`."""

    __slots__ = (
        "answer",
        "body",
        "context",
        "due",
        "ended",
        "left",
        "over",
        "rerun",
        "running",
        "scope",
        "submission",
        "task",
        "turn",
        "waiter",
    )

    def __init__(
        self,
        submission: Submission,
        body: Callable[[], Any],
        scope: BodyScope,
        waiter: asyncio.Future[Answer],
        turn: StepTurn | None = None,
    ) -> None:
        self.submission = submission
        self.body = body
        # The body for the arguments that an approver has written; None: it takes no other ones.
        self.rerun: Callable[[dict[str, Any]], Callable[[], Any]] | None = None
        self.scope = scope
        self.waiter = waiter
        # Its turn, where steps run one at a time, and the checkpoints that are due after it.
        self.turn = turn
        self.due: tuple[StepResource, ...] = ()
        # What the body sees: the contextvars of the call.
        self.context = contextvars.copy_context()
        self.answer: Answer | None = None
        self.task: asyncio.Task[None] | None = None
        self.running = False
        self.over = False
        # Whether the caller was cancelled before the body began, and waits until that is recorded; and what tells it.
        self.left = False
        self.ended: asyncio.Future[None] | None = None

    @property
    def once(self) -> bool:
        """Whether its outcome must be on the disk before the caller sees it."""
        return self.submission.idempotency == Idempotency.ONCE


def by_name(function: Callable[..., Any], args: dict[str, Any]) -> Callable[[], Any]:
    """The function with these arguments."""
    return partial(function, **args)


async def rerun_changed(
    call: Callable[[Callable[[], Any]], Awaitable[Any]],
    rerun: Callable[[dict[str, Any]], Callable[[], Any]] | None,
    args: dict[str, Any],
) -> Any:
    """Runs the body with the arguments that an approver has written: where they do not fit it, it fails."""
    if rerun is None:
        raise TypeError("the body runs with no other arguments than those that were submitted")
    return await call(rerun(args))


def asked_to_stop() -> bool:
    """Whether the task that runs was cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def in_thread(function: Callable[[], Any], executor: Executor) -> Any:
    """What a plain function gives, or what the awaitable gives that it returns; it does not stop the event loop.
    Contextvars are copied in, and do not come out."""
    running = executor.submit(contextvars.copy_context().run, _guarded, function)
    try:
        value = await asyncio.wrap_future(running)
    except asyncio.CancelledError:
        running.add_done_callback(_never_awaited)
        turn = current_turn()
        if turn is not None:
            turn.left_behind(running)
        raise
    return await value if inspect.isawaitable(value) else value


def _guarded(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except StopIteration as error:
        # asyncio cannot carry it out of a thread: an awaiting task would wait for ever.
        raise RuntimeError("the function raised StopIteration") from error


def _never_awaited(running: Future[Any]) -> None:
    """Closes the coroutine that a cancelled plain function returned to nobody."""
    if not running.cancelled() and running.exception() is None and inspect.iscoroutine(value := running.result()):
        value.close()
