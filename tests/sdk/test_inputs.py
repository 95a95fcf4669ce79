"""What an agent says that its handler takes."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from rebuno.sdk.inputs import input_schema, schema_of

INTEGER = {"type": "integer"}
STRING = {"type": "string"}


class Order(BaseModel):
    """An order."""

    item: str
    count: int = 1


class Opaque:
    """What JSON knows nothing of."""


def raw(input: Any) -> None:
    """Takes anything."""


def raw_dict(input: dict[str, Any]) -> None:
    """Takes any object."""


def model(order: Order) -> None:
    """Takes an order."""


def fields(item: str, count: int = 2) -> None:
    """Takes fields."""


def texts(item: "str", count: "int") -> None:
    """Takes fields whose types are written as texts."""


def more(item: str, **others: Any) -> None:
    """Takes whatever else comes."""


def opaque(first: Opaque, second: int) -> None:
    """Takes what no input can be."""


def nothing() -> None:
    """Takes no field."""


def _properties(schema: dict[str, Any] | None) -> object:
    if schema is None:
        return None
    return {name: {"type": field.get("type")} for name, field in schema.get("properties", {}).items()}


ROWS: list[tuple[Callable[..., Any], object, object]] = [
    (raw, None, None),
    (raw_dict, None, None),
    (model, {"item": STRING, "count": INTEGER}, ["item"]),
    (fields, {"item": STRING, "count": INTEGER}, ["item"]),
    (texts, {"item": STRING, "count": INTEGER}, ["item", "count"]),
    (more, {"item": STRING}, ["item"]),
    (opaque, None, None),
    (nothing, {}, None),
]


@pytest.mark.parametrize(("handler", "properties", "required"), ROWS, ids=[row[0].__name__ for row in ROWS])
def test_the_schema_is_that_of_the_parameters(
    handler: Callable[..., Any], properties: object, required: object
) -> None:
    """Fields without a default are required; where anything goes, or nothing can be said, there is none."""
    schema = input_schema(handler)
    assert _properties(schema) == properties
    assert (schema or {}).get("required") == required


def test_other_fields_are_said_to_be_taken_where_they_are() -> None:
    """Only a handler with `**fields` gets them."""
    assert (input_schema(more) or {}).get("additionalProperties") is True
    assert "additionalProperties" not in (input_schema(fields) or {})


def test_an_output_may_be_a_model_or_a_schema() -> None:
    """Both are published as a schema."""
    assert schema_of(None) is None
    assert schema_of({"type": "string"}) == {"type": "string"}
    assert _properties(schema_of(Order)) == {"item": STRING, "count": INTEGER}
