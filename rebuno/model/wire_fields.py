"""The fields of the public models that are read when somebody looks, and what the wire says in the place of None."""

from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final, overload

from rebuno.model import identity

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class RawJson(str):
    """A JSON text as it was recorded. The server sends it as it is; `JsonValue` reads it when somebody looks."""

    __slots__ = ()


class JsonValue:
    """A field that holds a JSON value, or a `RawJson`, which is parsed at the first look."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object | None, owner: type | None = None) -> Any:
        if instance is None:
            # The default of the dataclass.
            return None
        value = instance.__dict__[self._name]
        if type(value) is RawJson:
            value = instance.__dict__[self._name] = identity.parse(value)
        return value

    def __set__(self, instance: object, value: Any) -> None:
        instance.__dict__[self._name] = value

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        from pydantic_core import core_schema

        return core_schema.any_schema()


class Seconds(float):
    """Seconds since 1970, as the store keeps times."""

    __slots__ = ()


class Moment:
    """A field that holds an aware datetime, or seconds since 1970 (0: no time), which become one at the first look."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> None: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> datetime | None: ...

    def __get__(self, instance: object | None, owner: type | None = None) -> datetime | None:
        if instance is None:
            return None
        value = instance.__dict__[self._name]
        if type(value) is Seconds:
            # As `rfc3339` does: to the nearest microsecond.
            value = instance.__dict__[self._name] = _EPOCH + timedelta(microseconds=round(value * 1_000_000))
        found: datetime | None = value
        return found

    def __set__(self, instance: object, value: datetime | float | None) -> None:
        if isinstance(value, float | int):
            value = Seconds(value) if value else None
        instance.__dict__[self._name] = value

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        from pydantic_core import core_schema

        moment = core_schema.nullable_schema(core_schema.datetime_schema())
        return core_schema.no_info_before_validator_function(_unless_blank, moment)


class Absent(Enum):
    """What the wire says in the place of None. A field without this mark is null there."""

    BLANK = auto()
    LEFT_OUT = auto()
    # The field is no part of the protocol: the store, or the log, tells it.
    NEVER = auto()

    def __get_pydantic_core_schema__(self, source: object, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        from pydantic_core import core_schema

        return core_schema.no_info_before_validator_function(_unless_blank, handler(source))

    def __get_pydantic_json_schema__(self, core: "CoreSchema", handler: "GetJsonSchemaHandler") -> dict[str, Any]:
        schema: dict[str, Any] = handler(core)
        match schema.get("anyOf"):
            case [dict(only), {"type": "null"}] if self is not Absent.NEVER:
                del schema["anyOf"]
                schema |= only
        return schema


def _unless_blank(said: object) -> object:
    return None if said == "" else said
