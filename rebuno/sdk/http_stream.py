"""Passes a provider's stream to the caller and reads it to its end for the journal."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator
from typing import Any, Final

import httpx2

from rebuno.errors import NotJSON, ToolError
from rebuno.model import identity
from rebuno.sdk import context, http_record
from rebuno.sdk.body_errors import BodyError
from rebuno.sdk.context import ExecutionContext

_TOO_LONG: Final = {
    "reason": "too_large",
    "message": f"the response is longer than the {identity.MAX_BYTES:,} bytes that a step can record",
}
# What a transport raises, by the name that is recorded.
_ERRORS: Final[dict[str, type[httpx2.RequestError]]] = {
    error.__name__: error
    for error in (
        httpx2.CloseError,
        httpx2.ConnectError,
        httpx2.ConnectTimeout,
        httpx2.DecodingError,
        httpx2.LocalProtocolError,
        httpx2.PoolTimeout,
        httpx2.ProxyError,
        httpx2.ReadError,
        httpx2.ReadTimeout,
        httpx2.RemoteProtocolError,
        httpx2.UnsupportedProtocol,
        httpx2.WriteError,
        httpx2.WriteTimeout,
    )
}


def failure(message: str, *, response: dict[str, Any], **more: Any) -> BodyError:
    """The recorded form of a call that failed after its response began."""
    error = {"message": message, "response": response, **more}
    try:
        identity.canonical(error)
    except NotJSON:
        return BodyError(_TOO_LONG)
    return BodyError(error)


def transport_error(error: dict[str, Any], request: httpx2.Request) -> httpx2.RequestError | None:
    """The exception of a recorded connection failure; None for any other failure."""
    if "reason" in error or error.get("type") == NotJSON.__name__:
        return None
    return _ERRORS.get(error.get("type", ""), httpx2.TransportError)(error.get("message", ""), request=request)


async def whole(response: httpx2.Response) -> bytes:
    """The body of a response, decoded.

    Raises:
        BodyError: it is longer than a step can record.
        httpx2.RequestError: the connection broke, or closed before the body's end.
    """
    body = bytearray()
    async for data in response.aiter_bytes():
        body += data
        _check(body)
    if _unframed(response) and _is_json(response) and not _reads(body):
        raise httpx2.RemoteProtocolError("the connection closed before the body's end")
    return bytes(body)


class Live(httpx2.AsyncByteStream):
    """The stream of a response with this `status` and these `headers` (the recorded ones), passed on while it arrives.

    It is read as fast as it comes, whatever the caller does, so that the step ends when the provider is done.
    """

    def __init__(self, request: httpx2.Request, response: httpx2.Response, headers: dict[str, str]) -> None:
        self.status = response.status_code
        self.headers = headers
        self._request = request
        self._response = response
        self._body = bytearray()
        self._cut = http_record.Pieces(events=http_record.is_event_stream(headers))
        self._ready: deque[bytes] = deque()
        self._more = asyncio.Event()
        self._waiting = False
        self._closed = False
        self._reader: asyncio.Task[None] | None = None
        self._step: asyncio.Task[Any] | None = None
        self._context: ExecutionContext | None = None

    def follow(self, step: "asyncio.Task[Any]", context: ExecutionContext) -> None:
        """Sets the step of this stream: the caller sees the stream's end once the outcome is recorded."""
        self._step = step
        self._context = context
        step.add_done_callback(self._settled)

    # ------------------------------------------------------------ the step's side

    async def read(self) -> dict[str, Any]:
        """Reads to the end and returns the record.

        Raises:
            BodyError: the stream was cut, or its caller closed it before its last event.
        """
        self._reader = asyncio.create_task(self._read())
        try:
            await self._reader
        except asyncio.CancelledError:
            if not self._closed:
                raise
            if not http_record.is_whole(self._body):
                message = "the caller closed the stream before its end"
                raise failure(message, response=self._half(), reason="abandoned", waiting=self._waiting) from None
        except httpx2.RequestError as error:
            raise failure(str(error), response=self._half(), type=type(error).__name__) from error
        return http_record.record(self.status, self.headers, bytes(self._body))

    async def _read(self) -> None:
        async for data in self._response.aiter_bytes():
            self._body += data
            _check(self._body)
            self._hand_on(*self._cut.add(data))
        if (
            _unframed(self._response)
            and http_record.is_event_stream(self.headers)
            and not http_record.is_whole(self._body)
        ):
            raise httpx2.RemoteProtocolError("the connection closed before the stream's last event")
        self._hand_on(*filter(None, (self._cut.last(),)))

    def _hand_on(self, *pieces: bytes) -> None:
        self._ready.extend(pieces)
        self._more.set()
        execution = context.current()
        if execution is not None and execution.served is not None and pieces:
            execution.served.publish(context.current_step(), b"".join(pieces).decode(errors="replace"))

    def _half(self) -> dict[str, Any]:
        """What was handed on: half an event was not, and would be on a replay."""
        whole = len(self._body) - len(self._cut.last())
        return http_record.record(self.status, self.headers, bytes(self._body[:whole]))

    # ------------------------------------------------------------ the caller's side

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (piece := await self._next()) is not None:
            yield piece

    async def _next(self) -> bytes | None:
        while not self._ready:
            if self._step is not None and self._step.done():
                _raise(self._step, self._request)
                return None
            self._more.clear()
            # Stays so where the caller is cancelled here: then it had seen all there was, and wanted more.
            self._waiting = True
            await self._more.wait()
            self._waiting = False
        return self._ready.popleft()

    async def aclose(self) -> None:
        if self._step is None or self._step.done():
            return
        if self._context is not None and self._context.settling:
            # The handler is unwound, which says nothing about what it will want when it is resumed.
            return
        self._closed = True
        if self._reader is not None:
            self._reader.cancel()
        await asyncio.wait({self._step})

    def _settled(self, step: "asyncio.Task[Any]") -> None:
        self._more.set()
        if not step.cancelled():
            # The caller may never read so far; what went wrong is recorded.
            step.exception()


def _raise(step: "asyncio.Task[Any]", request: httpx2.Request) -> None:
    try:
        step.result()
    except ToolError as failed:
        raise ended(failed, request) from failed


def ended(failed: ToolError, request: httpx2.Request) -> httpx2.RequestError:
    """The exception at the end of a stream whose step failed."""
    return transport_error(failed.error, request) or httpx2.ReadError(
        f"the recorded stream ends here: {failed.error.get('message', '')}", request=request
    )


def _check(body: bytearray) -> None:
    if len(body) > identity.MAX_BYTES:
        raise BodyError(_TOO_LONG)


def _unframed(response: httpx2.Response) -> bool:
    """Whether only the end of the connection marks the end of the body."""
    return (
        "network_stream" in response.extensions
        and response.http_version.startswith("HTTP/1")
        and "content-length" not in response.headers
        and "chunked" not in response.headers.get("transfer-encoding", "").lower()
    )


def _is_json(response: httpx2.Response) -> bool:
    return "json" in response.headers.get("content-type", "").split(";")[0]


def _reads(body: bytearray) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True
