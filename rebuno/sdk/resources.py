"""Resources of a handler: state outside the journal that it works on, opened by a driver."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, runtime_checkable

from rebuno.errors import (
    Blocked,
    LeaseSuperseded,
    PolicyError,
    RateLimited,
    StoreError,
    Terminated,
    ValidationError,
    text_of,
)
from rebuno.model import identity
from rebuno.model.resource import Capture, Captured, CaptureFailure, RegisteredResource, Registration, StepResource
from rebuno.model.step import Kind

if TYPE_CHECKING:
    from rebuno.sdk.context import ExecutionContext

logger: Final = logging.getLogger("rebuno.resource")

T = TypeVar("T")

# What says nothing about a checkpoint that a driver was making.
_PASSED_ON: Final = (Blocked, Terminated, PolicyError, RateLimited, LeaseSuperseded, StoreError)
# Of a driver's error, in characters.
_LONGEST: Final = 1000
# Of a checkpoint's reference, in characters.
_LONGEST_REF: Final = 65_536


@runtime_checkable
class ResourceDriver(Protocol):
    """Opens a resource. Each method is a plain function, which runs in a thread, or a coroutine function.

    `driver_id` names the driver and the form of its bindings and references. It may have `configuration`, JSON that
    makes another resource of it if it changes, and `coverage_reuse`: only steps that declare the resource change it.
    With checkpoints it has `checkpoint(handle)`, which returns a reference, a text that is not empty: from it `create`
    makes the same state again, also in another process.
    """

    @property
    def driver_id(self) -> str:
        """The name of the driver."""
        ...

    def create(self, ref: str | None, /) -> Any:
        """A new resource, with the state of a checkpoint if there is a reference: the handle, and what it is bound to,
        JSON that is not null. Raises `CheckpointUnavailable` where the checkpoint is gone."""
        ...

    def open(self, binding: Any, /) -> Any:
        """The handle of what a resource was bound to, in this process or in an earlier one."""
        ...


@dataclass(frozen=True, slots=True)
class CheckpointPolicy:
    """When checkpoints of a resource are made: after every `every_steps` steps that declared it, and with
    `on_completion` when the handler returns, unless one holds."""

    every_steps: int = 1
    on_completion: bool = True

    def __post_init__(self) -> None:
        if type(self.every_steps) is not int or self.every_steps < 1:
            raise ValueError(f"`every_steps={self.every_steps!r}` is no number from 1 on")


async def resource(key: str, *, driver: ResourceDriver, checkpoints: CheckpointPolicy | None = None) -> Any:
    """Registers a resource under its key and returns the driver's handle: opened where the execution, or the one before
    in its session, has it already, else created, in a fork with the checkpoint that fits.

    Call it in the handler, at the start of each run. Steps and tools say with `resources=[key]` that they may change
    it. From now on they run one at a time. Again in the same run, it returns the same handle.

    Raises:
        RuntimeError: outside a handler, or in a step's body.
        ValueError: the driver has no `driver_id`, or no `checkpoint` where there are to be checkpoints.
        ValidationError: the key is none; NotJSON: the configuration or the binding is no JSON.
        ConflictError: it is registered with another driver, configuration or reuse.
        Exception: what the driver raises, such as `CheckpointUnavailable`.
    """
    from rebuno.sdk.context import current_step, required

    context = required(f"resource(`{key}`)")
    if current_step():
        raise RuntimeError(f"resource(`{key}`) was called in a step's body; call it in the handler")
    if context.external is None:
        context.external = HeldResources(context)
    return await context.external.open(key, driver, checkpoints)


class UnopenedResource:
    """The handle of a resource where a recorded handler is compared with its log: nothing is opened for that."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(
            f"the resource `{self._key}` is not opened while a recording is replayed; use it in tools and steps only"
        )


@dataclass(slots=True)
class HeldResource:
    """A resource that this run has opened."""

    driver: Any
    handle: Any
    registration: Registration


@dataclass(slots=True)
class StepTurn:
    """One step's turn among those that run one at a time."""

    lock: asyncio.Lock
    # The threads of cancelled steps that run all the same, of the whole run.
    threads: set[Future[Any]]
    held: bool = field(default=False)
    # Whether a step has it, and lets go of it at its end.
    taken: bool = field(default=False)
    # How many bodies in the step wait for a subagent, and whether the step has ended: then nobody needs the turn.
    away: int = field(default=0)
    over: bool = field(default=False)
    # A step may have several bodies inside of it, and its turn is one.
    _taking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def take(self) -> None:
        """Waits for it, unless the step has it already, or does not need it by now."""
        async with self._taking:
            if self.held or not self._needed():
                return
            await self.lock.acquire()
            self.held = True
            if not self._needed():
                self._release()

    def leave(self) -> None:
        """Lets the next step begin: this one has ended."""
        self.over = True
        self._release()

    def step_aside(self) -> None:
        """Lets the next step begin while a body in this one waits for a subagent."""
        self.away += 1
        self._release()

    async def come_back(self, *, take: bool) -> None:
        """A body waits no more; once none does, and with `take`, the step goes on in its turn."""
        self.away -= 1
        if take:
            await self.take()

    def left_behind(self, thread: Future[Any]) -> None:
        """A body was cancelled, and its thread runs on: it may change the resources until it ends."""
        self.threads.add(thread)
        thread.add_done_callback(self.threads.discard)

    def _needed(self) -> bool:
        # INVARIANT: no step has its turn while a body in it waits for a subagent. Another step may wait for the turn,
        # and the execution is given up only when all wait for subagents.
        return not self.over and not self.away

    def _release(self) -> None:
        if self.held:
            self.held = False
            self.lock.release()


_turn: ContextVar[StepTurn | None] = ContextVar("rebuno_turn", default=None)


def current_turn() -> StepTurn | None:
    """The turn of the step in whose body this runs, if it has one."""
    return _turn.get()


class HeldResources:
    """The resources of one run of a handler."""

    def __init__(self, context: "ExecutionContext") -> None:
        self._context = context
        self._transport = context.transport.external
        self._held: dict[str, HeldResource] = {}
        # How many submissions wait for their turn.
        self.queued = 0
        self._lock = asyncio.Lock()
        self.threads: set[Future[Any]] = set()

    def waits(self, kind: str, in_body: bool) -> bool:
        """Whether a submission waits for its turn: tools and local steps that are no part of another step do."""
        return not in_body and kind != Kind.LLM

    async def in_turn(self, submit: Callable[..., Awaitable[T]]) -> T:
        """What a submission comes to that is told its turn, once the steps before it have ended."""
        turn = StepTurn(self._lock, self.threads)
        self.queued += 1
        try:
            await turn.take()
        finally:
            self.queued -= 1
            self._context.stir()
        token = _turn.set(turn)
        try:
            return await submit(turn=turn)
        finally:
            _turn.reset(token)
            # A body goes on where its caller was unwound.
            if not turn.taken:
                turn.leave()

    async def open(self, key: str, driver: ResourceDriver, checkpoints: CheckpointPolicy | None) -> Any:
        """As `resource`."""
        async with self._lock:
            if key in self._held:
                return self._held[key].handle
            asked = _registration(key, driver, checkpoints)
            if self._transport is None:
                return UnopenedResource(key)
            view = await self._transport.register(asked)
            if view.registration.every_steps and not callable(getattr(driver, "checkpoint", None)):
                raise ValueError(f"the resource `{key}` has checkpoints, and its driver no `checkpoint`")
            if view.binding is not None:
                handle = await self._call(driver.open, identity.parse(view.binding))
            else:
                handle, binding = _created(key, await self._call(driver.create, view.checkpoint_ref or None))
                await self._transport.bind(key, binding)
            self._held[key] = HeldResource(driver, handle, asked)
            if view.registration.every_steps and not view.covered:
                await self._transport.publish(await self.capture([StepResource(key, view.generation, True)]))
            return handle

    async def capture(self, due: Iterable[StepResource]) -> Captured:
        """Makes the checkpoints that are due; a failure of a driver is told, and is no error."""
        captures, failures = [], []
        for one in due:
            try:
                captures.append(Capture(one.key, one.generation, await self._checkpoint(one.key)))
            except _PASSED_ON:
                raise
            except (Exception, asyncio.CancelledError) as error:
                if isinstance(error, asyncio.CancelledError) and self._context.settling:
                    raise
                logger.warning("a checkpoint of the resource `%s` failed", one.key, exc_info=error)
                said = text_of(error)[:_LONGEST].encode("utf-8", "replace").decode()
                failures.append(CaptureFailure(one.key, one.generation, said or type(error).__name__))
        return Captured(tuple(captures), tuple(failures))

    async def _checkpoint(self, key: str) -> str:
        held = self._held.get(key)
        if held is None:
            raise LookupError("`resource` was not called in this run")
        if self.threads:
            raise RuntimeError("a step that was cancelled still runs in its thread")
        ref = await self._call(held.driver.checkpoint, held.handle)
        if not isinstance(ref, str):
            raise TypeError(f"a checkpoint's reference is text, not of type {type(ref).__name__}")
        if len(ref) > _LONGEST_REF:
            raise ValueError(
                f"a checkpoint's reference has {len(ref):,} characters, and at most {_LONGEST_REF:,} are taken"
            )
        # INVARIANT: nothing that a driver says keeps the outcome of a step out of the log.
        identity.canonical(ref, "checkpoint_ref")
        return ref

    async def at_end(self) -> None:
        """Makes a checkpoint of each resource that is to have one when the handler returns and is not covered."""
        if self._transport is None or not self._held:
            return
        if self._lock.locked():
            logger.warning("the handler has returned while a step runs: no checkpoint is made")
            return
        try:
            async with self._lock:
                views = [await self._transport.register(held.registration) for held in self._held.values()]
                due = _uncovered(views)
                if due:
                    await self._transport.publish(await self.capture(due))
        except _PASSED_ON:
            raise
        except Exception:
            logger.warning("the checkpoints at the end of the handler failed", exc_info=True)

    def _call(self, function: Callable[..., Any], *args: Any) -> Awaitable[Any]:
        return self._context.call(partial(function, *args))


def _registration(key: str, driver: ResourceDriver, checkpoints: CheckpointPolicy | None) -> Registration:
    name = getattr(driver, "driver_id", None)
    if not isinstance(name, str) or not name:
        raise ValueError(f"the driver of the resource `{key}` has no `driver_id`")
    if not isinstance(key, str):
        raise ValidationError(f"the key of a resource is text, not of type {type(key).__name__}")
    if checkpoints is not None and not isinstance(checkpoints, CheckpointPolicy):
        raise TypeError(f"`checkpoints` is a CheckpointPolicy, not of type {type(checkpoints).__name__}")
    if checkpoints is not None and not callable(getattr(driver, "checkpoint", None)):
        raise ValueError(f"the resource `{key}` is to have checkpoints, and its driver has no `checkpoint`")
    asked = Registration(
        key,
        name,
        identity.canonical(getattr(driver, "configuration", None), "configuration"),
        bool(getattr(driver, "coverage_reuse", False)),
        0 if checkpoints is None else checkpoints.every_steps,
        checkpoints is not None and checkpoints.on_completion,
    )
    asked.check()
    return asked


def _created(key: str, made: Any) -> tuple[Any, str]:
    if not isinstance(made, tuple) or len(made) != 2:
        raise TypeError(f"the driver of the resource `{key}` creates no pair of a handle and a binding")
    handle, binding = made
    return handle, identity.canonical(binding, "binding")


def _uncovered(views: Sequence[RegisteredResource]) -> list[StepResource]:
    return [
        StepResource(view.registration.key, view.generation, True)
        for view in views
        if view.registration.on_completion and not view.covered
    ]
