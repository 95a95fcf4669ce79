"""What a node of the tree holds, for those that walk through all of it."""

from dataclasses import fields, is_dataclass
from typing import Any, Final

# The fields of each type, None for what is no node: a bundle has thousands of nodes, of some tens of types.
_names: Final[dict[type, tuple[str, ...] | None]] = {}


def parts_of(node: Any) -> list[Any] | None:
    """The values of the fields of a node, in their order; None for what is no node."""
    kind = type(node)
    if kind not in _names:
        _names[kind] = tuple(field.name for field in fields(kind)) if is_dataclass(kind) else None
    names = _names[kind]
    return None if names is None else [getattr(node, name) for name in names]
