"""Streams the output of an execution's running steps as server-sent events."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from starlette.responses import Response, StreamingResponse

from rebuno.errors import NotFoundError, StoreError
from rebuno.server.routes import ApiCall
from rebuno.server.wire.writing import model

KEEP_ALIVE: Final = 15.0


async def stream(call: ApiCall) -> Response:
    """Follow the output of an execution's steps"""
    row = await call.serving.execution(call.id)
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    texts = _texts(call) if not row.status.terminal else _none()
    return StreamingResponse(texts, headers=headers, media_type="text/event-stream")


async def _none() -> AsyncIterator[str]:
    yield ": the execution has ended\n\n"


async def _texts(call: ApiCall) -> AsyncIterator[str]:
    # The stream ends with its execution, which is looked at where nothing comes any more.
    closing = asyncio.ensure_future(call.server.closing.wait())
    try:
        with call.serving.listen(call.id) as deltas:
            yield ": listening\n\n"
            while True:
                coming = asyncio.ensure_future(deltas.get())
                await asyncio.wait({coming, closing}, timeout=KEEP_ALIVE, return_when=asyncio.FIRST_COMPLETED)
                if coming.done():
                    yield f"data: {model(coming.result())}\n\n"
                    continue
                coming.cancel()
                if closing.done():
                    return
                yield ": keep-alive\n\n"
                if await _over(call):
                    return
    finally:
        closing.cancel()


async def _over(call: ApiCall) -> bool:
    try:
        return (await call.serving.execution(call.id)).status.terminal
    except NotFoundError:
        # Retention took it.
        return True
    except StoreError:
        # The store is away for a moment; what comes is not out of it.
        return False
