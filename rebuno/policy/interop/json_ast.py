"""Converts the syntax tree of a bundle to JSON and back, for editors, reviews and other programs."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any, Final, NoReturn, get_args, get_type_hints

from rebuno.errors import ValidationError
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.keywords import did_you_mean
from rebuno.policy.syntax.nodes import DEEPEST_TREE

VERSION: Final = 1

# Fields of a bundle that a reader of one file does not need.
_LEFT_OUT: Final = frozenset({"text", "whole", "broken", "files"})
_PLACES: Final = ("line", "column", "end_line", "end_column", "start", "end")
# Nodes whose name in JSON is older than the name of their class.
_NAMES: Final[dict[str, str]] = {"BudgetClause": "Budget", "LimitClause": "Limit"}
# Fields of the second edition. They are left out where they say nothing, so a tree of the first edition is as it was.
_ADDED: Final[dict[str, tuple[str, ...]]] = {
    "After": ("who", "since", "within"),
    "Count": ("who", "since", "within"),
    "ResultSource": ("who", "words"),
    "Limit": ("measure", "key", "named"),
    "Budget": ("scope",),
    "EffectTables": ("text",),
}
_NODES: Final[dict[str, type]] = {
    _NAMES.get(name, name): node
    for name, node in vars(s).items()
    if isinstance(node, type) and is_dataclass(node) and node not in (s.Span, s.File)
}


def dump_ast(bundle: s.Bundle) -> dict[str, Any]:
    """`{"version": 1, "bundle": NODE}` as JSON data.

    A NODE is `{"node": NAME, FIELD: …}` with the names and fields of `rebuno.policy.syntax.tree`; a place is the list
    `[line, column, end_line, end_column, start, end]`.
    """
    top: dict[str, Any] = {}
    left: list[tuple[Any, dict[str, Any]]] = [(bundle, top)]
    while left:
        node, out = left.pop()
        out["node"] = _name(node)
        added = _ADDED.get(out["node"], ())
        for name in _FIELDS[out["node"]]:
            value = getattr(node, name)
            if name in added and value == _default(type(node), name):
                continue
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


def load_ast(text: str) -> s.Bundle:
    """The tree of a JSON text that `dump_ast` made. It equals the tree that was dumped, places included.

    Raises:
        ValidationError: the text is no JSON, has another version, or is no tree. The message names the node and the
            field.
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


def _default(node: type, field: str) -> Any:
    return next(one.default for one in fields(node) if one.name == field)


def _name(node: Any) -> str:
    name = type(node).__name__
    return _NAMES.get(name, name)


@dataclass(frozen=True, slots=True)
class _Field:
    """The types of a field: one value of a type in `one`, or a list of values of the types in `many`."""

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
    missing = [key for key in known if key not in data and key not in _ADDED.get(name, ())]
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
    text = f"a `{_name(value)}`" if is_dataclass(value) else f"`{json.dumps(value, default=repr)}`"
    return text if len(text) <= 80 else "of that shape"


def _no_constant(text: str) -> NoReturn:
    raise ValidationError(f"`{text}` is no JSON number")


def _shallow(bundle: s.Bundle) -> None:
    # INVARIANT: no tree is deeper than a parsed one, so a walk through a tree can recurse.
    left: list[tuple[Any, int]] = [(bundle, 0)]
    while left:
        node, depth = left.pop()
        if depth > 2 * DEEPEST_TREE + 3:
            raise ValidationError("the tree nests too deeply")
        if isinstance(node, tuple):
            left += [(item, depth) for item in node]
        elif _name(node) in _FIELDS:
            depth += isinstance(node, s.Not | s.And | s.Or | s.Test | s.After | s.Count | s.Sum | s.Since)
            left += [(getattr(node, name), depth) for name in _FIELDS[_name(node)]]
