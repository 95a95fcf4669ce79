"""Dataclasses whose methods are made when they are first called.

`dataclasses.dataclass` writes and compiles six methods for each class when its module is imported; for the classes of a
syntax tree that takes longer than to parse a bundle. Here equality, hash and text are closures over the names of the
fields, and `__init__` is compiled when the first object of its class is made. Everything else is the standard
library's: `fields`, `replace`, slots, patterns of `match`.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

_Class = TypeVar("_Class", bound=type)

if TYPE_CHECKING:
    # For type checkers these are ordinary dataclasses.
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, slots: bool, frozen: bool = False, unsafe_hash: bool = False) -> Callable[[_Class], _Class]:
        """As `dataclasses.dataclass` with these parameters; without slots there is none here."""
        if not slots:
            raise TypeError("only dataclasses with slots are made here")
        return lambda cls: _made(cls, frozen, unsafe_hash)


def _made(cls: _Class, frozen: bool, unsafe_hash: bool) -> _Class:
    own = {name for name in ("__init__", "__repr__", "__eq__", "__hash__") if name in cls.__dict__}
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    all_fields = fields(made)
    pseudo = any(isinstance(field.type, dataclasses.InitVar) for field in made.__dataclass_fields__.values())
    if pseudo or any(field.hash is not None or not (field.init or _bare(field)) for field in all_fields):
        raise TypeError(f"`{cls.__name__}` has a field that only `dataclasses.dataclass` knows")
    equal, hashed = _comparison([field.name for field in all_fields if field.compare])
    methods = {
        "__init__": _init(made, frozen),
        "__repr__": _repr([field.name for field in all_fields if field.repr]),
        "__eq__": equal,
        "__hash__": hashed if frozen or unsafe_hash else None,
    }
    for name in methods.keys() - own:
        setattr(made, name, methods[name])
    if frozen:
        made.__setattr__, made.__delattr__ = _refuse_set, _refuse_delete
        made.__getstate__, made.__setstate__ = _state, _restore
    found: _Class = made
    return found


def _init(cls: type, frozen: bool) -> Callable[..., None]:
    def first(self: Any, *args: Any, **kwargs: Any) -> None:
        # A subclass without fields of its own comes here too: it is this class's method that is replaced.
        init = _compiled(cls, frozen)
        type.__setattr__(cls, "__init__", init)
        init(self, *args, **kwargs)

    return first


def _compiled(cls: type, frozen: bool) -> Callable[..., None]:
    known: dict[str, Any] = {"_set": object.__setattr__, "_MISSING": MISSING}
    heads: list[str] = []
    keywords: list[str] = []
    lines = []
    for field in fields(cls):
        if not field.init:
            continue
        name = field.name
        (keywords if field.kw_only else heads).append(name + _default(field, known))
        made = f"_factory_{name}() if {name} is _MISSING else {name}" if f"_factory_{name}" in known else name
        lines.append(f"  _set(self, {name!r}, {made})" if frozen else f"  self.{name} = {made}")
    if hasattr(cls, "__post_init__"):
        lines.append("  self.__post_init__()")
    body = "\n".join(lines) or "  pass"
    exec(f"def __init__({', '.join(['self', *heads, *(['*'] if keywords else []), *keywords])}):\n{body}", known)
    init: Callable[..., None] = known["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _bare(field: "Field[Any]") -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _default(field: "Field[Any]", known: dict[str, Any]) -> str:
    if field.default is not MISSING:
        known[f"_default_{field.name}"] = field.default
        return f"=_default_{field.name}"
    if field.default_factory is not MISSING:
        known[f"_factory_{field.name}"] = field.default_factory
        return "=_MISSING"
    return ""


def _repr(names: list[str]) -> Callable[[Any], str]:
    return lambda self: f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"


def _comparison(names: list[str]) -> tuple[Callable[..., Any], Callable[[Any], int]]:
    # One field makes a tuple too: tuples take an object for equal to itself, `nan` too.
    one_by_one = len(names) < 2
    content: Any = (lambda self: tuple([getattr(self, name) for name in names])) if one_by_one else attrgetter(*names)

    def equal(self: Any, other: object) -> Any:
        return content(self) == content(other) if other.__class__ is self.__class__ else NotImplemented

    return equal, lambda self: hash(content(self))


def _refuse_set(self: Any, name: str, value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_delete(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for field, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
