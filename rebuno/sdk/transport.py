"""The interface between a handler and its kernel, in this process or over HTTP."""

from collections.abc import Callable
from typing import Any, Protocol

from rebuno.model.answer import Answer, CallKey, Submission
from rebuno.model.resource import Captured, RegisteredResource, Registration


class ResourceTransport(Protocol):
    """What a kernel does for resources. Every method may raise a `RebunoError`."""

    async def register(self, asked: Registration) -> RegisteredResource:
        """Registers a resource, or finds it registered."""
        ...

    async def bind(self, key: str, binding: str) -> None:
        """Notes what a resource is bound to, as canonical JSON."""
        ...

    async def publish(self, captured: Captured) -> None:
        """Publishes checkpoints of what is recorded so far."""
        ...


class Transport(Protocol):
    """One attempt's connection to its kernel. Every method may raise a `RebunoError` that ends the attempt."""

    @property
    def external(self) -> ResourceTransport | None:
        """What the kernel does for resources; None where nothing is opened."""
        ...

    def recorded(self, call_key: CallKey) -> tuple[Any] | Answer | None:
        """What a step has recorded, if it has ended and that is known here without asking: what its result reads as, or
        the answer that tells its failure. Counted as `submit` counts it; else None, and nothing is counted."""
        ...

    def start(self, submission: Submission, on_answer: Callable[[Answer | BaseException | None], None]) -> bool:
        """Submits a step at once, and counts it, if nothing has to be awaited before it is recorded. `on_answer` is
        called afterwards, with the answer; or with the error; or with None if `submit` must be called. Returns False,
        and counts nothing, if `submit` must be called in any case."""
        ...

    async def submit(self, submission: Submission) -> Answer:
        """Submits a step and returns the answer. The step is counted before anything is awaited."""
        ...

    async def succeed(
        self, step_id: str, result: str, value: object, *, captured: Captured | None = None
    ) -> Answer | None:
        """Reports a body's result, as canonical JSON text and as the value that it reads as, with the checkpoints that
        were made after it. What is recorded instead, where the step had ended by then; else None."""
        ...

    async def fail(
        self,
        step_id: str,
        error: str,
        *,
        wait: bool = True,
        raised: str = "",
        nothing_done: bool = False,
        captured: Captured | None = None,
    ) -> Answer | None:
        """Reports a body's failure, a JSON object as canonical text; answers as `succeed`. With `wait` False it returns
        without awaiting, and None. `raised` is what `rebuno.model.raised` keeps of the exception, as canonical JSON:
        it is kept in the log, and is no part of the error that a handler gets. `nothing_done` says that the body failed
        before it did anything; that is kept beside the error. `captured` is as in `succeed`."""
        ...

    def release(self, step_id: str) -> None:
        """A body ended without an outcome."""
        ...


class ServedTransport(Protocol):
    """The operations that only a served kernel has: executions that continue others, subagents, and listeners."""

    @property
    def url(self) -> str:
        """Where the kernel is."""
        ...

    async def previous(self) -> Any:
        """The state, else the output, of the execution that this one continues, as a JSON value; None without one."""
        ...

    async def suspend(self) -> bool:
        """Releases the execution until everything it waits for has ended; False if it waits for nothing."""
        ...

    async def outcome(self, step_id: str) -> Answer | None:
        """The recorded end of a step, as a replay; None where it has none."""
        ...

    def publish(self, step_id: str, text: str) -> None:
        """Passes a piece of a running body's output to the listeners; it may be lost."""
        ...
