"""The syntax tree of a bundle as JSON, and back: for editors, reviews and programs that ask what a bundle says."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any, Final, NoReturn, get_args, get_type_hints

from rebuno.errors import ValidationError
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.keywords import did_you_mean
from rebuno.policy.syntax.parse import DEEPEST

VERSION: Final = 1

# Of a bundle, what a reader of one file does not need: its text, and how far reading it got.
_LEFT_OUT: Final = frozenset({"text", "whole", "broken", "files"})
_PLACES: Final = ("line", "column", "end_line", "end_column", "start", "end")
_NODES: Final[dict[str, type]] = {
    name: node
    for name, node in vars(s).items()
    if isinstance(node, type) and is_dataclass(node) and node not in (s.Span, s.File)
}


def dump(bundle: s.Bundle) -> dict[str, Any]:
    """`{"version": 1, "bundle": NODE}` as JSON data.

    A NODE is `{"node": NAME, FIELD: …}` with the names and fields of `rebuno.policy.syntax.tree`; a place is the list
    `[line, column, end_line, end_column, start, end]`.
    """
    top: dict[str, Any] = {}
    left: list[tuple[Any, dict[str, Any]]] = [(bundle, top)]
    while left:
        node, out = left.pop()
        out["node"] = type(node).__name__
        for name in _FIELDS[type(node).__name__]:
            value = getattr(node, name)
            if isinstance(value, s.Span):
                out[name] = [getattr(value, place) for place in _PLACES]
            elif isinstance(value, tuple):
                out[name] = [{} for _ in value]
                left += zip(value, out[name], strict=True)
            elif is_dataclass(value):
                out[name] = {}
                left.append((value, out[name]))
            else:
                out[name] = value.value if isinstance(value, Enum) else value
    return {"version": VERSION, "bundle": top}


def load(text: str) -> s.Bundle:
    """The tree of a JSON text that `dump` made; equal to the one that was dumped, places included.

    Raises:
        ValidationError: it is no JSON, of another version, or no tree; the message names the node and the field.
    """
    try:
        data = json.loads(text, object_hook=_node, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise ValidationError(f"this is not JSON: {error.msg.lower()} at line {error.lineno}") from None
    except ValueError:  # an integer of thousands of digits
        raise ValidationError("a number in the tree is too long") from None
    except RecursionError:
        raise ValidationError("the tree nests too deeply") from None
    if not isinstance(data, dict) or "version" not in data:
        raise ValidationError('a tree is `{"version": 1, "bundle": …}`')
    if data["version"] != VERSION:
        raise ValidationError(f"the tree has version {json.dumps(data['version'])}; only {VERSION} is read")
    bundle = data.get("bundle")
    if not isinstance(bundle, s.Bundle):
        raise ValidationError("`bundle` holds no node `Bundle`")
    _shallow(bundle)
    return bundle


@dataclass(frozen=True, slots=True)
class _Field:
    """What a field holds: one value of a type in `one`, or a list of such in `many`."""

    one: tuple[type, ...]
    many: tuple[type, ...]


def _fields(node: Any) -> dict[str, _Field]:
    hints = get_type_hints(node, vars(s))
    found = {}
    for field in fields(node):
        if node is not s.Bundle or field.name not in _LEFT_OUT:
            types = list(_flat(hints[field.name]))
            lists = [inner for hint in types if hint.__name__ == "tuple" for inner in _flat(get_args(hint)[0])]
            found[field.name] = _Field(tuple(t for t in types if not get_args(t)), tuple(lists))
    return found


def _flat(hint: Any) -> Iterator[Any]:
    # A union's members; everything else, a list too, is one of itself.
    if get_args(hint) and getattr(hint, "__name__", "") != "tuple":
        for inner in get_args(hint):
            yield from _flat(inner)
    else:
        yield hint


_FIELDS: Final = {name: _fields(node) for name, node in _NODES.items()}


def _node(data: dict[str, Any]) -> Any:
    # Called for the innermost objects first, so what a field holds is a tree already.
    if "node" not in data:
        return data
    name = data.pop("node")
    kind = _NODES.get(name) if isinstance(name, str) else None
    if kind is None:
        hint = did_you_mean(name, list(_NODES)) if isinstance(name, str) else ""
        raise ValidationError(f"there is no node {_shown(name)}{f' ({hint})' if hint else ''}")
    known = _FIELDS[name]
    for key in data:
        if key not in known:
            hint = did_you_mean(key, list(known))
            raise ValidationError(f"a `{name}` has no field {_shown(key)}{f' ({hint})' if hint else ''}")
    missing = [key for key in known if key not in data]
    if missing:
        raise ValidationError(f"a `{name}` needs the field `{missing[0]}`")
    return kind(**{key: _value(value, known[key], name, key) for key, value in data.items()})


def _value(value: Any, field: _Field, node: str, key: str) -> Any:
    if s.Span in field.one:
        places = value if isinstance(value, list) else []
        if len(places) == len(_PLACES) and all(type(place) is int and place >= 0 for place in places):
            return s.Span(*places)
        raise ValidationError(f"`{key}` of a `{node}` is no list of {len(_PLACES)} whole numbers")
    if isinstance(value, list) and field.many:
        return tuple(_one(item, field.many, node, key) for item in value)
    return _one(value, field.one, node, key)


def _one(value: Any, types: tuple[type, ...], node: str, key: str) -> Any:
    for kind in types:
        if issubclass(kind, Enum) and isinstance(value, str) and value in {member.value for member in kind}:
            return kind(value)
        if type(value) is kind and (not isinstance(value, str) or _whole(value)):
            return value
    raise ValidationError(f"`{key}` of a `{node}` cannot be {_shown(value)}")


def _whole(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _shown(value: Any) -> str:
    text = f"a `{type(value).__name__}`" if is_dataclass(value) else f"`{json.dumps(value, default=repr)}`"
    return text if len(text) <= 80 else "of that shape"


def _no_constant(text: str) -> NoReturn:
    raise ValidationError(f"`{text}` is no JSON number")


def _shallow(bundle: s.Bundle) -> None:
    # INVARIANT: no tree is deeper than those that are parsed, so code that walks one need not mind its depth.
    left: list[tuple[Any, int]] = [(bundle, 0)]
    while left:
        node, depth = left.pop()
        if depth > 2 * DEEPEST + 3:
            raise ValidationError("the tree nests too deeply")
        if isinstance(node, tuple):
            left += [(item, depth) for item in node]
        elif type(node).__name__ in _FIELDS:
            depth += isinstance(node, s.Not | s.And | s.Or | s.Test | s.After | s.Count)
            left += [(getattr(node, name), depth) for name in _FIELDS[type(node).__name__]]
