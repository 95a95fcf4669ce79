"""What an erasure did, as lines."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rebuno.types import ErasedExecutions


def lines(done: "ErasedExecutions") -> list[str]:
    """A line for each execution, and what holds copies."""
    said = [f"execution {one} erased" for one in done.erased]
    said += [f"execution {one} was erased before" for one in done.erased_before]
    said += [f"execution {one} is not encrypted: it can only be removed (`exec sweep`)" for one in done.not_sealed]
    said += [f"execution {one} holds copies and was not erased" for one in done.copies]
    return said or ["nothing to erase"]
