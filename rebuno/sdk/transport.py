"""The way from a handler to its kernel, in this process or over HTTP."""

from typing import Protocol

from rebuno.model.answer import Answer, Submission


class Transport(Protocol):
    """One attempt's connection to its kernel. Every method may raise a `RebunoError` that ends the attempt."""

    def recorded(self, submission: Submission) -> Answer | None:
        """The answer, if it is a recorded end and known here without asking, counted as `submit` counts it; else None,
        and nothing is counted."""
        ...

    async def submit(self, submission: Submission) -> Answer:
        """Asks what to do. Counts the submission before it awaits anything."""
        ...

    async def succeed(self, step_id: str, result: str, value: object) -> None:
        """Reports a body's result, as canonical JSON text and as the value that it reads as."""
        ...

    async def fail(self, step_id: str, error: str, *, wait: bool = True) -> None:
        """Reports a body's failure, a JSON object as canonical text. With `wait` False it returns without awaiting."""
        ...

    def release(self, step_id: str) -> None:
        """A body ended without an outcome."""
        ...
