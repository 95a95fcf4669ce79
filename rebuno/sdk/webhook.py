"""The web application of an agent: plain ASGI, for the kernel's webhooks only."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

from rebuno.errors import ValidationError
from rebuno.model import identity
from rebuno.sdk import signing
from rebuno.sdk.link import Delivery

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

# A webhook names an execution and a delivery, no more.
_LONGEST: Final = 64 * 1024


class WebhookApp:
    """Takes signed deliveries at one path and hands them to `accept`, which says whether it has taken one; `start` and
    `stop` are called when the server starts and stops."""

    def __init__(
        self,
        path: str,
        secret: str,
        *,
        accept: Callable[[Delivery], bool],
        start: Callable[[], None],
        stop: Callable[[], Awaitable[None]],
    ) -> None:
        self._path = path
        self._secret = secret
        self._accept = accept
        self._start = start
        self._stop = stop

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """One connection, as ASGI 3 has it."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            status = await self._http(scope, receive)
            await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body", "body": b""})
        else:
            await send({"type": "websocket.close"})

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self._start()
                await send({"type": "lifespan.startup.complete"})
            else:
                await self._stop()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _http(self, scope: Message, receive: Receive) -> int:
        """Handles a webhook and returns the status of the answer."""
        if scope["path"] != self._path:
            return 404
        if scope["method"] != "POST":
            return 405
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return 400
            body += message.get("body", b"")
            if len(body) > _LONGEST:
                return 413
            more = message.get("more_body", False)
        signature = next((value for name, value in scope["headers"] if name.lower() == b"rebuno-signature"), b"")
        if not signing.is_webhook(self._secret, bytes(body), signature):
            return 401
        delivery = _delivery(bytes(body))
        if delivery is None:
            return 400
        return 200 if self._accept(delivery) else 503


def _delivery(body: bytes) -> Delivery | None:
    try:
        said = identity.parse(body)
    except ValidationError:
        return None
    match said:
        case {
            "execution_id": str(execution_id),
            "dispatch_id": str(dispatch_id),
            "dispatch_attempt": int(attempt),
            "lease_timeout_seconds": int(lease) | float(lease),
        } if execution_id and lease > 0:
            return Delivery(execution_id, dispatch_id, attempt, float(lease))
    return None
