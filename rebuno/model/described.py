"""What the wire's schema says of a field beside its type."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic_core import CoreSchema


class Described:
    """More that the wire's schema says of a field."""

    def __init__(self, **schema: Any) -> None:
        self._schema = schema

    def __get_pydantic_json_schema__(self, core: "CoreSchema", handler: "GetJsonSchemaHandler") -> dict[str, Any]:
        return {**handler(core), **self._schema}


def one_of(words: Iterable[str]) -> Described:
    """The words that a field has on the wire as far as this version knows; a newer server may say others."""
    return Described(enum=[str(word) for word in words])
