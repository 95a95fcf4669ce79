"""HTTP connections that wait for nobody for ever: heads of requests, and readers of answers, have their limits."""

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEAD_BYTES: Final = 64 * 1024
# How long the head of a request may be on its way, and how long an answer may wait for its reader, in seconds.
HEAD_SECONDS: Final = 20.0
READER_SECONDS: Final = 60.0

_SAID: Final = b'{"code":"validation_error","message":"the head of a request has at most 64 KiB"}'
_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: application/json\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%b" % (len(_SAID), _SAID)
)


class Connection(HttpToolsProtocol):
    """A connection of a client that may be slow or hostile."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_head = True
        self._head_bytes = 0
        # A connection that says nothing at all is as slow as one that stops in the middle.
        self._head_timer: asyncio.TimerHandle | None = self.loop.call_later(HEAD_SECONDS, self._give_up)
        self._reader_timer: asyncio.TimerHandle | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._head_timer, self._reader_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._in_head or self.transport.is_closing():
            return
        self._head_bytes += len(data)
        if self._head_bytes > MOST_HEAD_BYTES:
            self.transport.write(_TOO_LARGE)
            self.transport.close()
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0

    def on_headers_complete(self) -> None:
        self._in_head = False
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
        super().on_headers_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reader_timer = self.loop.call_later(READER_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        if self._reader_timer is not None:
            self._reader_timer.cancel()
            self._reader_timer = None
        super().resume_writing()

    def _give_up(self) -> None:
        self._head_timer = None
        self.transport.close()
