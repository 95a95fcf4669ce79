"""`key`: the keys of an object."""

from typing import Any, Final

from rebuno.policy.facets.reading import Facet, PathContext
from rebuno.policy.values.json_values import UNREADABLE, shown, valid


def read(value: Any, _: PathContext) -> Any:
    """The keys of an object in its order, also those of null; an object without keys gives the empty set.

    `UNREADABLE` for a value that is no object, and for a key that is no valid text.
    """
    if type(value) is not dict or not all(type(key) is str and valid(key) for key in value):
        return UNREADABLE
    return list(value)


def _literal(value: Any, _: PathContext) -> str:
    if type(value) is not str:
        raise ValueError(f"`{shown(value)}` is no key; write a string")
    return value


FACETS: Final = (
    Facet(
        name="key",
        of="an object",
        gives="its keys",
        value="string",
        read=read,
        literal=_literal,
        many=True,
        structural=True,
    ),
)
