"""One model call: submitted as a step, sent, recorded, answered."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any, Final

import httpx2

from rebuno.errors import RebunoError, ToolError
from rebuno.model.step import Idempotency, Kind
from rebuno.sdk import context, http_record, http_stream, refusals
from rebuno.sdk.body_errors import OutcomeUnknownError
from rebuno.sdk.context import ExecutionContext

# Errors after which the provider has not seen the request.
_NEVER_SENT: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)


class Carrier:
    """The transport that carries what the kernel lets through. It stays open for calls under way where it is closed by
    a handler that is unwound because another branch of it waits: they go on, and what comes of them is recorded."""

    def __init__(self, transport: httpx2.AsyncBaseTransport) -> None:
        self._transport = transport
        self._lent = 0
        self._deferred = False

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[httpx2.AsyncBaseTransport]:
        """The transport, for one call."""
        self._lent += 1
        try:
            yield self._transport
        finally:
            self._lent -= 1
            if self._deferred and not self._lent:
                # What comes of it is nothing to the call, whose answer is there.
                with suppress(httpx2.RequestError, OSError):
                    await self._transport.aclose()

    async def aclose(self) -> None:
        """Closes the transport, now or after the last pending call."""
        execution = context.current()
        self._deferred = execution is not None and execution.settling
        if not (self._deferred and self._lent):
            await self._transport.aclose()


class ModelCall:
    """One request that is a model call: `args` is its body as a JSON value, `target` the model."""

    def __init__(
        self,
        carrier: Carrier,
        request: httpx2.Request,
        *,
        target: str,
        args: dict[str, Any],
        idempotency: Idempotency,
    ) -> None:
        self._carrier = carrier
        self._request = request
        self._target = target
        self._args = args
        self._idempotency = idempotency
        self._sent = False
        self._began = asyncio.get_running_loop().create_future()

    async def answer(self, execution: ExecutionContext) -> httpx2.Response:
        """The provider's response, new or recorded, or the response for a refused call."""
        step = asyncio.create_task(
            execution.invoke(Kind.LLM, self._target, self._args, self._body, idempotency=self._idempotency)
        )
        try:
            await asyncio.wait({step, self._began}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            step.cancel()
            raise
        if self._began.done():
            live: http_stream.Live = self._began.result()
            live.follow(step, execution)
            return self._stream(live.status, live.headers, live)
        try:
            return self._recorded(await step)
        except ToolError as failed:
            return self._failed(failed)
        except RebunoError as refusal:
            return refused(self._request, refusal)

    async def _body(self) -> dict[str, Any]:
        self._sent = True
        try:
            async with self._carrier.lent() as transport:
                response = await transport.handle_async_request(self._request)
                async with aclosing(response):
                    return await self._read(response)
        except _NEVER_SENT:
            raise
        except httpx2.RequestError as error:
            if self._idempotency is Idempotency.ONCE:
                # An SDK would try again, and the provider may have done what it was asked for.
                raise OutcomeUnknownError(str(error)) from error
            raise

    async def _read(self, response: httpx2.Response) -> dict[str, Any]:
        status, headers = response.status_code, http_record.kept(response.headers)
        if status < 400 and self._streams(headers):
            live = http_stream.Live(self._request, response, headers)
            self._began.set_result(live)
            return await live.read()
        recorded = http_record.record(status, headers, await http_stream.whole(response))
        if status >= 400:
            raise http_stream.failure(f"the provider answered {status}", response=recorded)
        return recorded

    def _streams(self, headers: dict[str, str]) -> bool:
        return self._args.get("stream") is True or http_record.is_event_stream(headers)

    # ------------------------------------------------------------ what the caller gets

    def _recorded(self, recorded: dict[str, Any]) -> httpx2.Response:
        status, headers, body = http_record.parts(recorded)
        if self._streams(headers):
            events = http_record.is_event_stream(headers)
            return self._stream(status, headers, http_record.RecordedResponse(body, events=events))
        return httpx2.Response(status, headers=headers, content=body, request=self._request)

    def _failed(self, failed: ToolError) -> httpx2.Response:
        if "response" not in failed.error:
            if error := http_stream.transport_error(failed.error, self._request):
                raise error from failed
            return refused(self._request, failed)
        status, headers, body = http_record.parts(failed.error["response"])
        if status >= 400:
            headers = headers if self._sent else http_record.hurried(headers)
            return httpx2.Response(status, headers=headers, content=body, request=self._request)
        stream = http_record.RecordedResponse(
            body,
            events=http_record.is_event_stream(headers),
            end=http_stream.ended(failed, self._request),
            waits=failed.error.get("waiting") is True,
        )
        return self._stream(status, headers, stream)

    def _stream(self, status: int, headers: dict[str, str], stream: httpx2.AsyncByteStream) -> httpx2.Response:
        return httpx2.Response(status, headers=headers, stream=stream, request=self._request)


def refused(request: httpx2.Request, error: RebunoError) -> httpx2.Response:
    """The response for a refused call. It tells SDKs not to retry."""
    status, said = refusals.body(error)
    return httpx2.Response(
        status,
        headers={"x-should-retry": "false"},
        json=said,
        request=request,
        extensions={refusals.TYPE: error},
    )
