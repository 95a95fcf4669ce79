"""What every public model can do: a dataclass that pydantic reads and describes, imported by the first use."""

from dataclasses import Field, dataclass, fields
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Literal, dataclass_transform

from rebuno.model import identity
from rebuno.model.clock import rfc3339
from rebuno.model.wire_fields import Absent, RawJson

if TYPE_CHECKING:
    from typing import Self

    from pydantic import GetJsonSchemaHandler, TypeAdapter
    from pydantic_core import CoreSchema


def _field(one: "Field[Any]") -> tuple[str, str, Absent | None]:
    marks = getattr(one.type, "__metadata__", ())
    absent = next((mark for mark in marks if isinstance(mark, Absent)), None)
    return one.name, str(one.metadata.get("alias", one.name)), absent


def _dumped(value: Any, as_json: bool) -> Any:
    if isinstance(value, Model):
        return value.model_dump(mode="json" if as_json else "python")
    if isinstance(value, list):
        return [_dumped(item, as_json) for item in value]
    if as_json and isinstance(value, datetime):
        return rfc3339(value.timestamp())
    return value.value if as_json and isinstance(value, Enum) else value


@dataclass_transform(kw_only_default=True, eq_default=False)
class Model:
    """What every model can do, under pydantic's names. `shape` are its fields in their order: name, name in JSON, and
    what the wire says in the place of None (None: null)."""

    shape: ClassVar[tuple[tuple[str, str, Absent | None], ...]]
    _adapter: ClassVar["TypeAdapter[Any] | None"]

    def __init_subclass__(cls) -> None:
        # Two methods for all models instead of two generated for each: half of what the import takes.
        dataclass(kw_only=True, repr=False, eq=False)(cls)
        cls.shape = tuple(map(_field, fields(cls)))  # type: ignore[arg-type]
        cls._adapter = None

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={getattr(self, name)!r}" for name, _, _ in self.shape)
        return f"{type(self).__name__}({told})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name, _, _ in self.shape)

    @classmethod
    def model_validate(cls, data: object) -> "Self":
        """The model of this JSON data; fields that this version does not know are passed over. Raises
        `pydantic.ValidationError` where the data is none."""
        if cls._adapter is None:
            from pydantic import TypeAdapter

            cls._adapter = TypeAdapter(cls)
        found: Self = cls._adapter.validate_python(data)
        return found

    def model_dump(self, *, mode: Literal["python", "json"] = "python") -> dict[str, Any]:
        """Its fields by name; in the mode `json` as JSON data, times as RFC 3339 texts."""
        return {alias: _dumped(getattr(self, name), mode == "json") for name, alias, _ in self.shape}

    def model_dump_json(self) -> str:
        """`model_dump(mode="json")` as canonical JSON."""
        return identity.canonical(self.model_dump(mode="json"))

    def raw(self, name: str) -> str:
        """The canonical JSON text of a field."""
        value = self.__dict__[name]
        return value if type(value) is RawJson else identity.canonical(value)

    @classmethod
    def __get_pydantic_json_schema__(cls, core: "CoreSchema", handler: "GetJsonSchemaHandler") -> dict[str, Any]:
        # What is answered on the wire, whole: null or blank fields are there, and no others are.
        schema: dict[str, Any] = handler.resolve_ref_schema(handler(core))
        absent = {alias: rule for _, alias, rule in cls.shape}
        sent = {name: told for name, told in schema["properties"].items() if absent[name] is not Absent.NEVER}
        for told in sent.values():
            told.pop("default", None)
        schema["properties"] = sent
        schema["required"] = [name for name in sent if absent[name] is not Absent.LEFT_OUT]
        schema["additionalProperties"] = False
        return schema
