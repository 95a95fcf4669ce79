"""Finds a record by the beginning of its id."""

from collections.abc import Iterable, Sequence

from rebuno.errors import ConflictError, NotFoundError
from rebuno.kernel import SHORTEST_PREFIX


def beginning(ref: str, ids: Iterable[str]) -> list[str]:
    """The ids that begin so; none where `ref` is too short to mean one."""
    return [one for one in ids if one.startswith(ref)] if len(ref) >= SHORTEST_PREFIX else []


def only(noun: str, ref: str, found: Sequence[str]) -> str:
    """The one that was found.

    Raises:
        NotFoundError: there is none.
        ConflictError: there are several.
    """
    if not found:
        raise NotFoundError(f"there is no {noun} `{ref}`")
    if len(found) > 1:
        raise ConflictError(f"`{ref}` names {len(found)} {noun}s ({', '.join(found[:3])}…); give the whole id")
    return found[0]
