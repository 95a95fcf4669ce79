"""Copies a step's arguments at the call: the policy, the journal and the body get the same values."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Final

from rebuno.model.identity import MAX_DEPTH

_FIXED: Final = frozenset({str, int, float, bool, type(None)})


def detached(value: Any, levels: int = MAX_DEPTH) -> Any:
    """The value with containers of its own, so that a holder of the old ones cannot change what was judged.

    Tuples stay tuples. What JSON cannot hold, and what nests deeper than it may, comes back as it is: the step is
    refused for it.
    """
    if levels < 0 or not isinstance(value, dict | list | tuple):
        return value
    if type(value) is list:
        return [detached(item, levels - 1) for item in value]
    if type(value) is tuple:
        return tuple(detached(item, levels - 1) for item in value)
    if type(value) is dict:
        return {key: detached(item, levels - 1) for key, item in value.items()}
    return deepcopy(value)


def all_detached(named: dict[str, Any]) -> dict[str, Any]:
    """The same for each argument by its name; the arguments themselves if none is mutable."""
    if _FIXED.issuperset(map(type, named.values())):
        return named
    return {name: detached(value) for name, value in named.items()}


def keys_of(resources: Sequence[str]) -> tuple[str, ...]:
    """The keys of resources, as a step declares them. Raises `TypeError` where they are no texts."""
    keys = () if isinstance(resources, str) else tuple(resources)
    if isinstance(resources, str) or not all(isinstance(key, str) for key in keys):
        raise TypeError(f"`resources={resources!r}` is no list of keys")
    return keys
