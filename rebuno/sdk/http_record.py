"""Converts a provider's response to its journal record and back."""

import asyncio
import re
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

import httpx2

# What a provider's SDK looks at, or its support asks for. Cookies and the like are secrets, and lengths and encodings
# are not those of the recorded body.
_KEPT: Final = (
    "content-type",
    "location",
    "request-id",
    "retry-after",
    "retry-after-ms",
    "x-request-id",
    "x-should-retry",
)
_EVENT_STREAM: Final = "text/event-stream"
# An empty line, or a line's end. A CR at the end of what has come may be half of a CRLF.
_END_OF_EVENT: Final = re.compile(rb"(?>\r\n|\n|\r(?!\Z))(?>\r\n|\n|\r(?!\Z))")
_END_OF_LINE: Final = re.compile(rb"\n")
# How the providers' streams say that they are whole: chat, messages, responses, and all when they fail on the way.
_LAST: Final = re.compile(
    rb'^data: ?(?:\[DONE\]|\{[^\r\n]*"type": ?"(?:message_stop|response\.(?:completed|incomplete|failed)|error)")',
    re.MULTILINE,
)
# SDKs that are told a wait of up to so many seconds wait and try again, all of them.
_SHORT_WAIT: Final = 60


def record(status: int, headers: dict[str, str], body: bytes) -> dict[str, Any]:
    """`{"status", "headers", "body"}`; a body that is not UTF-8 is in base64, with `"encoding": "base64"`."""
    try:
        return {"status": status, "headers": headers, "body": body.decode()}
    except UnicodeDecodeError:
        return {"status": status, "headers": headers, "body": b64encode(body).decode(), "encoding": "base64"}


def kept(headers: httpx2.Headers) -> dict[str, str]:
    """The headers that are recorded, by their lower-case names."""
    return {name: headers[name] for name in _KEPT if name in headers}


def parts(recorded: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    """The status, the headers and the body of a recorded response."""
    text = recorded["body"]
    body = b64decode(text) if recorded.get("encoding") == "base64" else text.encode()
    return recorded["status"], recorded["headers"], body


def is_event_stream(headers: dict[str, str]) -> bool:
    """Whether a response is a stream of server-sent events."""
    return headers.get("content-type", "").split(";")[0].strip().lower() == _EVENT_STREAM


def is_whole(body: bytes | bytearray) -> bool:
    """Whether a stream of events contains the provider's final event."""
    return _LAST.search(body) is not None


def hurried(headers: dict[str, str]) -> dict[str, str]:
    """The headers of a recorded error on a replay: the SDK waited on the first run, and need not wait again."""
    try:
        wait = float(headers.get("retry-after", "0"))
    except ValueError:
        return headers
    return headers | {"retry-after-ms": "1"} if wait <= _SHORT_WAIT else headers


class Pieces:
    """Cuts a stream into pieces for its reader: one event of an event stream, one line of any other.

    The cuts depend on the bytes alone and not on how the network delivers them, so that a replay has the same.
    """

    def __init__(self, *, events: bool) -> None:
        self._end = _END_OF_EVENT if events else _END_OF_LINE
        self._rest = bytearray()

    def add(self, data: bytes) -> Iterator[bytes]:
        """Adds data and returns the complete pieces."""
        # An end that began in what was there before is four bytes long at most.
        searched = max(len(self._rest) - 4, 0)
        self._rest += data
        start = 0
        while (end := self._end.search(self._rest, max(start, searched))) is not None:
            yield bytes(self._rest[start : end.end()])
            start = end.end()
        del self._rest[:start]

    def last(self) -> bytes:
        """The data after the last complete piece."""
        return bytes(self._rest)


def pieces(body: bytes, *, events: bool) -> Iterator[bytes]:
    """A whole body in pieces."""
    cut = Pieces(events=events)
    yield from cut.add(body)
    if rest := cut.last():
        yield rest


class RecordedResponse(httpx2.AsyncByteStream):
    """A recorded stream, piece by piece; it ends with the `end` of the first run, or, where that run gave up while it
    waited for more (`waits`), not before this one gives up too.

    A second reader goes on where the first stopped, as SDKs do that drain what follows the last event.
    """

    def __init__(self, body: bytes, *, events: bool, end: Exception | None = None, waits: bool = False) -> None:
        self._pieces = pieces(body, events=events)
        self._end = end
        self._waits = waits

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece
        if self._waits:
            await asyncio.get_running_loop().create_future()
        if self._end is not None:
            raise self._end
