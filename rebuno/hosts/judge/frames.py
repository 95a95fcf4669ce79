"""The two messages between `rebuno-hook` and the judge. `rebuno_cli.hook_client` has the other end, and cannot import
this one: it imports next to nothing."""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

MAGIC: Final = b"rebuno-hook 1\n"
# In bytes: the largest event, and the largest answer.
LARGEST: Final = 1 << 26
# In bytes: the variables of the host, its name and what else goes with an event.
LARGEST_HEAD: Final = 1 << 22
# The judge has gone or is going: the client asks another one.
GONE: Final = b"G"
_DIGITS: Final = 8


class MalformedFrameError(Exception):
    """What came is no request."""


@dataclass(frozen=True, slots=True)
class Request:
    """An event of a host. `identity` is the installation of the client, `seconds` its deadline, `argv` the host's name
    with the options of `rebuno hook run`, `environ` the host's variables that matter."""

    identity: str
    seconds: float
    cwd: str
    argv: tuple[str, ...]
    environ: Mapping[str, str]
    event: bytes


async def read_request(reader: asyncio.StreamReader) -> Request:
    """The request that a client sends.

    Raises:
        MalformedFrameError: it is none, or it ends too early.
    """
    try:
        if await reader.readexactly(len(MAGIC)) != MAGIC:
            raise MalformedFrameError("it does not begin as a request does")
        sizes = await reader.readexactly(2 * _DIGITS)
        head, event = int(sizes[:_DIGITS], 16), int(sizes[_DIGITS:], 16)
        if not (0 <= head <= LARGEST_HEAD and 0 <= event <= LARGEST):
            raise MalformedFrameError("it is too large")
        return _request(await reader.readexactly(head), await reader.readexactly(event))
    except (asyncio.IncompleteReadError, ValueError) as error:
        raise MalformedFrameError(str(error)) from None


def _request(head: bytes, event: bytes) -> Request:
    identity, seconds, cwd, count, *rest = (os.fsdecode(field) for field in head.split(b"\0"))
    words = int(count)
    if not 0 < words <= len(rest):
        raise MalformedFrameError("it names no host")
    pairs = (variable.partition("=") for variable in rest[words:])
    environ = {name: value for name, _, value in pairs}
    return Request(identity, float(seconds), cwd, tuple(rest[:words]), environ, event)


def pack_answer(code: int, out: bytes, said: bytes) -> bytes:
    """The answer, as the client reads it. `code` is 0 or 2; any other one is sent as 2."""
    out, said = out[: LARGEST + 1], said[:LARGEST]
    if len(out) > LARGEST or code not in (0, 2):
        code, out = 2, b""
    return b"A%d%08x%08x%s%s" % (code, len(out), len(said), out, said)
