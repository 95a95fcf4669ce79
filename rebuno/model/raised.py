"""An exception of an agent's own code as the journal keeps it: its type, its text and its frames.

A frame has file, line, function and source line. Values of variables are never kept, because they may be secret.
"""

import linecache
import os
import sysconfig
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Final

from rebuno.errors import ValidationError, text_of
from rebuno.model import identity

# Exceptions that mistakes of code raise: a service that is away, or says no, is none of them.
MISTAKES: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NameError,
    NotImplementedError,
    RecursionError,
    TypeError,
)
# Under this name it travels within the error that an agent reports of a step.
KEY: Final = "__raised"
# Of one exception, in bytes of its JSON; and of what is in it, in characters.
MOST_BYTES: Final = 8 * 1024
_MESSAGE: Final = 1000
_FILE: Final = 300
_NAME: Final = 120
_SOURCE: Final = 200
_MOST_FRAMES: Final = 20
# Groups and their members that are looked at.
_MOST_MEMBERS: Final = 100

_OURS: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# What carries a call into a thread and back.
_CARRIERS: Final = (os.path.join("concurrent", "futures", "thread.py"), os.path.join("asyncio", "futures.py"))
_LIBRARIES: Final = tuple(
    path + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib") if (path := sysconfig.get_path(name))
)


def mistaken(error: BaseException | None) -> bool:
    """Whether it is a programming error, or a group that contains one."""
    return any(isinstance(one, MISTAKES) for one in _members(error))


def of(error: BaseException) -> dict[str, Any]:
    """`{"type", "message", "file", "line", "function", "traceback": [{"file", "line", "function", "source"}]}` of an
    exception, the frames from the outermost on, ours left out. `file`, `line` and `function` are those of the newest
    frame in the agent's own code, or else the newest; they are left out where there is none. At most `MOST_BYTES`.

    A group of exceptions, as `asyncio.TaskGroup` raises it, says nothing of what went wrong: its message goes on with
    the one of its members that a mistake of the code raised, else the first, and the frames and the place are those
    that lead to it."""
    frames = list(_frames(error.__traceback__))
    data: dict[str, Any] = {"type": _clean(type(error).__name__, _NAME), "message": _clean(text_of(error), _MESSAGE)}
    if isinstance(error, BaseExceptionGroup):
        inner = _telling(error)
        data["message"] = f"{data['message'][:_NAME]}: {_clean(type(inner).__name__, _NAME)}: {text_of(inner)}"
        data["message"] = _clean(data["message"], _MESSAGE)
        frames += _frames(inner.__traceback__)
    own = [frame for frame in frames if not frame["file"].startswith(_LIBRARIES) and not frame["file"].startswith("<")]
    if frames:
        newest = (own or frames)[-1]
        data |= {key: newest[key] for key in ("file", "line", "function")}
    half = _MOST_FRAMES // 2
    data["traceback"] = frames if len(frames) <= _MOST_FRAMES else frames[:half] + frames[-half:]
    while _size(data) > MOST_BYTES and data["traceback"]:
        # What is nearest to the mistake stays longest.
        del data["traceback"][0]
    return data


def checked(data: object) -> dict[str, Any] | None:
    """An agent's report of an exception, if it has the form and the size of `of`; else None."""
    if not isinstance(data, dict) or not isinstance(data.get("traceback"), list):
        return None
    frames = data["traceback"]
    fits = _fits({key: value for key, value in data.items() if key != "traceback"}, "type", "message")
    if not fits or not all(isinstance(frame, dict) and _fits(frame, "file", "source") for frame in frames):
        return None
    return data if _size(data) <= MOST_BYTES else None


def place(data: dict[str, Any]) -> str:
    """`agent.py:12`; empty where no place is known."""
    file, line = data.get("file"), data.get("line")
    return f"{os.path.basename(file)}:{line}" if isinstance(file, str) and file else ""


def _fits(data: dict[str, Any], *needed: str) -> bool:
    kinds = {"type": str, "message": str, "file": str, "line": int, "function": str, "source": str}
    return all(key in data for key in needed) and all(
        key in kinds and type(value) is kinds[key] for key, value in data.items()
    )


def _members(error: BaseException | None) -> Iterator[BaseException]:
    left = [error]
    for _ in range(_MOST_MEMBERS):
        found = left.pop() if left else None
        if isinstance(found, BaseExceptionGroup):
            left += reversed(found.exceptions)
        elif found is not None:
            yield found


def _telling(group: BaseException) -> BaseException:
    members = list(_members(group))
    return next((one for one in members if isinstance(one, MISTAKES)), members[0] if members else group)


def _frames(trace: TracebackType | None) -> Iterator[dict[str, Any]]:
    while trace is not None:
        code, line = trace.tb_frame.f_code, trace.tb_lineno
        if not (code.co_filename.startswith(_OURS) or code.co_filename.endswith(_CARRIERS)):
            source = linecache.getline(code.co_filename, line, trace.tb_frame.f_globals).strip()
            yield {
                "file": _clean(code.co_filename[-_FILE:], _FILE),
                "line": line or 0,
                "function": _clean(code.co_name, _NAME),
                "source": _clean(source, _SOURCE),
            }
        trace = trace.tb_next


def _clean(text: str, limit: int) -> str:
    return text[:limit].encode("utf-8", "replace").decode()


def _size(data: dict[str, Any]) -> int:
    try:
        return len(identity.canonical(data).encode())
    except (ValidationError, TypeError):
        return MOST_BYTES + 1
