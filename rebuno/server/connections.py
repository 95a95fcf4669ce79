"""Bounds the time of HTTP connections: incoming requests and unread answers."""

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rebuno.server.wire import answers

MOST_HEAD_BYTES: Final = 64 * 1024
# How long a request may be on its way, and how long an answer may wait for its reader, in seconds.
REQUEST_SECONDS: Final = 30.0
READER_SECONDS: Final = 60.0


def _answer(status: bytes, message: str) -> bytes:
    said = answers.error("validation_error", message).encode()
    head = b"HTTP/1.1 %b\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
    return head % (status, len(said)) + said


_TOO_LARGE: Final = _answer(b"431 Request Header Fields Too Large", "the head of a request has at most 64 KiB")
_TOO_SLOW: Final = _answer(b"408 Request Timeout", "the request did not arrive in time")
_NO_HTTP: Final = _answer(b"400 Bad Request", "the request is not valid HTTP/1.1")


class ClientConnection(HttpToolsProtocol):
    """A connection of a client that may be slow or hostile."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # A connection that says nothing at all is as slow as one that stops in the middle.
        self._on_its_way = True
        self._in_head = True
        self._head_bytes = 0
        self._sender_timer: asyncio.TimerHandle | None = self.loop.call_later(REQUEST_SECONDS, self._give_up)
        self._reader_timer: asyncio.TimerHandle | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._sender_timer, self._reader_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._on_its_way or self.transport.is_closing():
            return
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEAD_BYTES:
                self.transport.write(_TOO_LARGE)
                self.transport.close()
                return
        # Most requests arrive in one piece, and need no timer.
        if self._sender_timer is None:
            self._sender_timer = self.loop.call_later(REQUEST_SECONDS, self._give_up)

    def send_400_response(self, msg: str) -> None:
        # The same JSON as every other error, where uvicorn answers in plain text.
        self.transport.write(_NO_HTTP)
        self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._on_its_way = self._in_head = True
        self._head_bytes = 0

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._on_its_way = False
        if self._sender_timer is not None:
            self._sender_timer.cancel()
            self._sender_timer = None
        super().on_message_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reader_timer = self.loop.call_later(READER_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        if self._reader_timer is not None:
            self._reader_timer.cancel()
            self._reader_timer = None
        super().resume_writing()

    def _give_up(self) -> None:
        self._sender_timer = None
        # An answer to a body that does not come, unless another one stands before it.
        if not self._in_head and not self.pipeline and not self.cycle.response_started:
            self.transport.write(_TOO_SLOW)
        self.transport.close()
