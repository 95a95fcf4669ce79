"""The origin of a tool, which distinguishes two tools with one name from one tool that is registered again."""

import functools
import inspect
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any, Final

# What a closure or a partial may hold and what is compared by value.
_PLAIN: Final = (str, bytes, int, float, bool, type(None))
_DEEPEST: Final = 4
_WIDEST: Final = 60


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a tool: a function, or a tool of a server.

    `label` says it in words. `place` is what is the same each time that the tool is registered. Of a tool of a server
    `caller` gives what calls the server, or None once nothing uses that any more; `named` says that the user gave the
    server a name of its own.
    """

    label: str
    place: tuple[str, ...]
    module: str = ""
    file: str = ""
    caller: Callable[[], Any] | None = None
    named: bool = False

    def same(self, other: "Origin") -> bool:
        """Whether both are the same tool: code that was reloaded, or a server that was reconnected."""
        if self.place != other.place or (self.caller is None) is not (other.caller is None):
            return False
        if self.caller is None or other.caller is None:
            return self.module == other.module or bool(self.file and self.file == other.file)
        mine, theirs = self.caller(), other.caller()
        # INVARIANT: a server without a name is known by what calls it. Where that is gone, so are its tools.
        if mine is None or theirs is None:
            return True
        alike = _alike(mine, theirs, 0)
        return self.named if alike is None else alike


def function_origin(function: Callable[..., Any]) -> Origin:
    """The origin of a function, a method, or any other object that can be called."""
    while isinstance(function, functools.partial):
        function = function.func
    named = function if hasattr(function, "__qualname__") else type(function)
    module, name = getattr(named, "__module__", None) or "", named.__qualname__
    code = getattr(inspect.unwrap(function), "__code__", None)
    return Origin(
        f"the function `{brief(f'{module}.{name}')}`", ("function", name), module, getattr(code, "co_filename", "")
    )


def server_origin(tool: str, call: Callable[..., Any], *, server: str, prefix: str) -> Origin:
    """The origin of a tool that an MCP server lists under the name `tool`, and that `call` calls."""
    given = f"server `{brief(server)}`" if server else f"server of the prefix `{brief(prefix)}`" if prefix else "server"
    label = f"`{brief(tool)}` of the MCP {given}" + ("" if server or prefix else f" that {_words(call)} calls")
    return Origin(label, ("server", server, prefix, tool), caller=_weak(call), named=bool(server or prefix))


def brief(text: str) -> str:
    """A foreign name, shortened, without invisible characters."""
    shown = "".join(c if c.isprintable() and c != "`" else "?" for c in text[: _WIDEST + 1])
    return f"{shown[:_WIDEST]}…" if len(text) > _WIDEST else shown


def _words(call: Callable[..., Any]) -> str:
    origin = function_origin(call)
    return origin.label.removeprefix("the function ")


def _weak(call: Callable[..., Any]) -> Callable[[], Any]:
    try:
        return weakref.WeakMethod(call) if inspect.ismethod(call) else weakref.ref(call)
    except TypeError:  # nothing refers weakly to it
        return lambda: call


def _alike(one: Any, other: Any, depth: int) -> bool | None:
    """Whether two objects call the same server; None if it cannot be told."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if depth > _DEEPEST:
        return None
    if isinstance(one, _PLAIN):
        return bool(one == other)
    if inspect.ismethod(one):
        return _alike(one.__self__, other.__self__, depth + 1) if one.__func__ is other.__func__ else False
    if isinstance(one, functools.partial):
        pairs = [(one.func, other.func), (one.args, other.args), (one.keywords, other.keywords)]
        return _all(pairs, depth)
    if inspect.isfunction(one):
        return _all(list(zip(_held(one), _held(other), strict=True)), depth) if _place(one) == _place(other) else False
    if isinstance(one, tuple | list):
        return _all(list(zip(one, other, strict=True)), depth) if len(one) == len(other) else False
    if isinstance(one, dict):
        return _all([(one[key], other[key]) for key in one], depth) if one.keys() == other.keys() else False
    # The official client keeps what it was made for: a URL, a command, a transport.
    if getattr(one, "server", None) is not None and getattr(other, "server", None) is not None:
        return bool(one.server == other.server)
    return None


def _all(pairs: Sequence[tuple[Any, Any]], depth: int) -> bool | None:
    found = [_alike(one, other, depth + 1) for one, other in pairs]
    return False if False in found else None if None in found else True


def _place(function: Any) -> tuple[Any, ...]:
    return function.__module__, function.__qualname__, len(_held(function)), _does(function.__code__)


def _does(code: CodeType) -> tuple[Any, ...]:
    """What a code does, wherever its lines stand: two lambdas of one function have one name."""
    consts = tuple(_does(one) if isinstance(one, CodeType) else (type(one), one) for one in code.co_consts)
    return code.co_code, code.co_names, code.co_freevars, consts


def _held(function: Any) -> list[Any]:
    # What a function was made with: the variables of its closure, and its defaults.
    held = [_content(cell) for cell in getattr(function, "__closure__", None) or ()]
    return [*held, *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a variable that is not set yet
        return None
