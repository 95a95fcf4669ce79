"""Walks through all nodes of a tree: a bundle has thousands, of some tens of types."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, Final

from rebuno.policy.values.spans import Span

# What holds no node.
_LEAVES: Final = frozenset({str, int, float, bool, type(None), Span})
# The fields of each type that was met; None for what is neither a node nor a leaf.
_names: Final[dict[type, tuple[str, ...] | None]] = {}


def nodes_in(statements: Any, *, without: type) -> Iterator[Any]:
    """The nodes of a tree, or of a tuple of trees, but for those of the type `without` and what they hold. Places in
    the text are no nodes here."""
    stack: list[Any] = [statements]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is tuple:
            stack += [part for part in node if type(part) not in _LEAVES]
            continue
        if kind not in _names:
            _names[kind] = tuple(field.name for field in fields(kind)) if is_dataclass(kind) else None
        names = _names[kind]
        if names is None or kind is without:
            continue
        yield node
        stack += [part for name in names if type(part := getattr(node, name)) not in _LEAVES]
