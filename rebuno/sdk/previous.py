"""Reads the state that the execution continues from."""

from typing import Any

from rebuno.sdk.context import required


async def previous() -> Any:
    """The state that the execution before this one in its session left (`Result`), else its output, as a JSON value;
    None where this one continues none, and always where the kernel is in this process.

    It never changes, so that it needs no step.

    Raises:
        RuntimeError: outside an execution.
    """
    served = required("previous()").served
    return None if served is None else await served.previous()
