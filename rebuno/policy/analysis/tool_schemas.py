"""Descriptions of tools as agents get them, and what they say about the values of arguments."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rebuno.errors import ValidationError
from rebuno.policy.analysis.value_sets import ALL_NUMBERS, ALL_TEXTS, BOOLEANS, NO_NUMBERS, NO_TEXTS, ValueSet, listed
from rebuno.policy.syntax.tree import Index, Key, PathPart, Values
from rebuno.policy.values.json_values import type_name

_SCHEMA_KEYS: Final = ("inputSchema", "input_schema", "parameters")
_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
# Schemas of one argument that are looked at; a schema may refer to itself.
_MOST: Final = 100
_MOST_OF_OUTPUT: Final = 10_000
_OUTPUT_KEYS: Final = ("outputSchema", "output_schema")


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool's name and the JSON schemas of its arguments and of its result, None where it gives none."""

    name: str
    schema: Any
    output: Any = None

    def returns(self, names: frozenset[str]) -> bool:
        """Whether the schema of the result, or a schema inside it, has a property of one of these names."""
        waiting = [self.output]
        for _ in range(_MOST_OF_OUTPUT):
            if not waiting:
                break
            found = waiting.pop()
            if isinstance(found, dict):
                if isinstance(properties := found.get("properties"), dict) and not names.isdisjoint(properties):
                    return True
                waiting.extend(found.values())
            elif isinstance(found, list):
                waiting.extend(found)
        return False


@dataclass(frozen=True, slots=True)
class ArgumentSchema:
    """What schemas say of the values at a path: their types in JSON schema's words, and the only values that there are,
    None where any is allowed."""

    types: frozenset[str]
    options: tuple[Any, ...] | None = None

    @property
    def values(self) -> ValueSet:
        """The values as a set."""
        if self.options is not None:
            texts, numbers, truths = listed(self.options, fold=False)
            others = {"list": "list", "object": "object", "null": "null"}
            kinds = {others[name] for name in map(type_name, self.options) if name in others}
            return ValueSet(truths | kinds, texts, numbers)
        states = {"array": {"list", "empty"}, "object": {"object"}, "null": {"null"}, "boolean": BOOLEANS}
        return ValueSet(
            frozenset().union(*(states.get(name, ()) for name in self.types)),
            ALL_TEXTS if "string" in self.types else NO_TEXTS,
            ALL_NUMBERS if self.types & {"number", "integer"} else NO_NUMBERS,
        )


def read_tools(data: Any) -> list[ToolSchema]:
    """The tools of a `tools/list` result of MCP, or of a list of function schemas, each perhaps inside `function`.

    Raises:
        ValidationError: it is neither.
    """
    for key in ("result", "tools", "functions"):
        if isinstance(data, dict) and key in data:
            data = data[key]
    if not isinstance(data, list) or not data:
        raise ValidationError("no list of tools: give the result of `tools/list`, or a list of function schemas")
    return [_tool(entry, number) for number, entry in enumerate(data, 1)]


def _tool(entry: Any, number: int) -> ToolSchema:
    if isinstance(entry, dict) and isinstance(entry.get("function"), dict):
        entry = entry["function"]
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(name, str) or not name:
        raise ValidationError(f"tool number {number} has no `name`")
    schema, output = (next((entry[key] for key in keys if key in entry), None) for keys in (_SCHEMA_KEYS, _OUTPUT_KEYS))
    return ToolSchema(name, schema, output)


def argument_schema(tool: ToolSchema, parts: Sequence[PathPart], *, apart: bool) -> ArgumentSchema | str | None:
    """What a tool's schema says of the values at a path from its arguments on; `apart` takes lists apart, as a
    quantifier does.

    A string names the first part that there is not, for all the schema says. None: nothing is known.
    """
    found = schemas_at(tool, parts, apart=apart)
    return _argument(found) if isinstance(found, list) else found


def schemas_at(tool: ToolSchema, parts: Sequence[PathPart], *, apart: bool) -> list[dict[str, Any]] | str | None:
    """The plain schemas of the values at a path, or what `argument_schema` says where there are none."""
    schemas = _variants([tool.schema], tool.schema)
    for part in parts:
        if schemas is None:
            return None
        below: list[Any] = []
        missing = ""
        for schema in schemas:
            found = _below(schema, part)
            if found is None:
                return None
            if isinstance(found, str):
                missing = missing or found
            else:
                below += found
        if not below:
            return missing or None
        schemas = _variants(below, tool.schema)
    if schemas is not None and apart:
        schemas = _elements(schemas, tool.schema)
    return schemas or None


def formats_at(tool: ToolSchema, parts: Sequence[PathPart]) -> set[str]:
    """The `format`s that a tool's schema gives the values at a path, and the elements of a list there."""
    found: list[dict[str, Any]] = []
    for apart in (False, True):
        schemas = schemas_at(tool, parts, apart=apart)
        found += schemas if isinstance(schemas, list) else []
    return {schema["format"] for schema in found if isinstance(schema.get("format"), str)}


def names_at(tool: ToolSchema, parts: Sequence[PathPart]) -> list[str]:
    """The names of what stands directly below a path, for suggestions."""
    keys = [part for part in parts if isinstance(part, Key)]
    schemas = _variants([tool.schema], tool.schema)
    for part in keys[:-1]:
        below = [found for schema in schemas or [] if isinstance(found := _below(schema, part), list)]
        schemas = _variants([one for found in below for one in found], tool.schema)
    properties = [schema.get("properties") for schema in schemas or []]
    return [name for one in properties if isinstance(one, dict) for name in one]


def optional(tool: ToolSchema) -> list[str]:
    """The names of the arguments that a tool takes and does not need, in the order of its schema."""
    schemas = _variants([tool.schema], tool.schema) or []
    needed = {name for schema in schemas for name in _names(schema.get("required"))}
    names = [name for schema in schemas if isinstance(one := schema.get("properties"), dict) for name in one]
    return [name for name in dict.fromkeys(names) if name not in needed]


def _names(value: object) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _below(schema: dict[str, Any], part: PathPart) -> list[Any] | str | None:
    types = _types(schema)
    if isinstance(part, Key):
        properties = schema.get("properties")
        if types is not None and "object" not in types:
            return part.name
        if not isinstance(properties, dict) or "patternProperties" in schema:
            return None
        if part.name in properties:
            return [properties[part.name]]
        more = schema.get("additionalProperties", False)
        return part.name if more is False and properties else None
    if isinstance(part, Values):
        return _values(schema) if types == frozenset({"object"}) else None
    if types is not None and "array" not in types:
        # `[]` takes a single value for a list of one.
        return f"[{part.position}]" if isinstance(part, Index) else [schema]
    items = schema.get("items")
    plain = isinstance(items, dict) and "prefixItems" not in schema and types == frozenset({"array"})
    return [items] if plain else None


def _values(schema: dict[str, Any]) -> list[Any] | None:
    properties, more = schema.get("properties", {}), schema.get("additionalProperties", False)
    if not isinstance(properties, dict) or "patternProperties" in schema or more is True:
        return None
    below = [*properties.values(), *([] if more is False else [more])]
    return below or None


def _elements(schemas: list[dict[str, Any]], root: Any) -> list[dict[str, Any]] | None:
    out: list[Any] = []
    for schema in schemas:
        types = _types(schema)
        if types is None or ("array" in types and len(types) > 1):
            return None
        if "array" not in types:
            out.append(schema)
        elif isinstance(schema.get("items"), dict) and "prefixItems" not in schema:
            out.append(schema["items"])
        else:
            return None
    return _variants(out, root)


def _variants(schemas: Iterable[Any], root: Any) -> list[dict[str, Any]] | None:
    """The plain schemas that these come to, references followed and alternatives taken apart; None where one of them
    says something that is not looked into."""
    out: list[dict[str, Any]] = []
    stack = list(schemas)
    steps = 0
    while stack:
        schema = stack.pop()
        steps += 1
        if not isinstance(schema, dict) or steps > _MOST:
            return None
        if "$ref" in schema:
            stack.append(_referred(schema["$ref"], root))
            continue
        alternatives = schema.get("anyOf", schema.get("oneOf"))
        if isinstance(alternatives, list) and not {"properties", "items", "type", "enum", "const"} & schema.keys():
            stack += alternatives
        elif {"anyOf", "oneOf", "allOf", "not", "if", "$dynamicRef"} & schema.keys():
            return None
        else:
            out.append(schema)
    return out


def _referred(reference: Any, root: Any) -> Any:
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    found = root
    for step in reference[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, dict) or name not in found:
            return None
        found = found[name]
    return found


def _types(schema: dict[str, Any]) -> frozenset[str] | None:
    stated = schema.get("type")
    names = [stated] if isinstance(stated, str) else stated
    if isinstance(names, list) and names and all(isinstance(name, str) and name in _TYPES for name in names):
        return frozenset(names)
    return frozenset({"object"}) if stated is None and isinstance(schema.get("properties"), dict) else None


def _argument(schemas: list[dict[str, Any]]) -> ArgumentSchema | None:
    types: frozenset[str] = frozenset()
    options: list[Any] = []
    closed = True
    for schema in schemas:
        listed_values = [schema["const"]] if "const" in schema else schema.get("enum")
        if isinstance(listed_values, list) and listed_values:
            options += listed_values
            types |= {"array" if name == "list" else name for name in map(type_name, listed_values)}
            continue
        found = _types(schema)
        if found is None:
            return None
        closed = closed and found <= {"null"}
        types |= found
        options += [None] if found == {"null"} else []
    return ArgumentSchema(types, tuple(options) if closed and options else None)
