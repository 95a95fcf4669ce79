"""Reads the state that the execution continues from."""

from typing import Any

from rebuno.sdk.context import required


async def previous() -> Any:
    """The state that the previous execution of the session left (`Result`), else its output, as a JSON value. None if
    there is no previous execution, and always in an embedded kernel.

    It never changes, so that it needs no step.

    Raises:
        RuntimeError: outside an execution.
    """
    served = required("previous()").served
    return None if served is None else await served.previous()
