"""The HTTP client for a model provider's SDK: every model call goes through the kernel first."""

import re
from collections.abc import Mapping
from typing import Any, Final

import httpx2

from rebuno.errors import ValidationError
from rebuno.model import identity
from rebuno.model.step import Idempotency
from rebuno.sdk import context
from rebuno.sdk.http_call import Carrier, ModelCall, refused

# What says how requests leave, and belongs to the transport beneath.
_ROUTE: Final = ("verify", "cert", "trust_env", "http1", "http2", "limits", "proxy")
# Where providers name the model in the path: `/models/NAME:generate`, `/deployments/NAME/…`, `/model/NAME/invoke`.
_NAMED_IN_PATH: Final = re.compile(r"/(?:models?|deployments|engines)/([^/]+?)(?::[A-Za-z]+)?(?:/|$)")


def http_client(*, idempotency: str = "safe_to_retry", **options: Any) -> httpx2.AsyncClient:
    """A client for the asynchronous clients of `openai` (3 and later), `anthropic` (2 and later) and frameworks on top
    of them: `AsyncOpenAI(http_client=rebuno.http_client())`.

    In an execution every model call is judged, recorded and, when the execution is resumed, answered from the journal;
    see `RebunoTransport`. `options` are those of `httpx2.AsyncClient`; a `transport`, a `proxy` and the `mounts` carry
    what the kernel lets through. Proxies that the environment names are not used: pass `proxy=`. With `idempotency`
    `at_most_once` a call whose process died is not made again.

    Raises:
        ValueError: the idempotency is unknown.
    """
    route = {name: options[name] for name in _ROUTE if name in options}
    inner = options.pop("transport", None) or httpx2.AsyncHTTPTransport(**route)
    options.pop("proxy", None)
    mounts: Mapping[str, httpx2.AsyncBaseTransport | None] = options.pop("mounts", None) or {}
    return httpx2.AsyncClient(
        transport=RebunoTransport(inner, idempotency=idempotency),
        mounts={
            pattern: mount and RebunoTransport(mount, idempotency=idempotency) for pattern, mount in mounts.items()
        },
        **options,
    )


class RebunoTransport(httpx2.AsyncBaseTransport):
    """A transport that makes a step of each model call, and sends the allowed calls by the transport `inner`.

    A model call is a POST whose body is JSON. Its step has the kind `llm_call`, the body's `model` as its target (else
    the model that the path names, else the path) and the body as its args; the URL and the headers are not recorded.
    Recorded are the response's status, body and a few headers (never a cookie). A stream is handed on event by event
    while it comes, and a replay is the same stream. An error of the provider or of the connection is recorded as the
    step's failure, and raised or answered the same way when it is replayed; what an SDK tries again by itself is
    another step. Every other request is sent as it is, unjudged and unrecorded: make a tool of what it does.

    A refused call is answered as a provider would: 403 denied, 429 a limit, 409 an execution that waits or has ended, a
    lost lease, an outcome that nobody knows, 400 a body that cannot be judged; `raise_for_refusal` reads it.

    Raises (from a request):
        RuntimeError: a model call outside an execution.
        httpx2.RequestError: the connection failed, now or on the recorded run.
    """

    def __init__(self, inner: httpx2.AsyncBaseTransport | None = None, *, idempotency: str = "safe_to_retry") -> None:
        try:
            self._idempotency = Idempotency(idempotency)
        except ValueError:
            raise ValueError(f"unknown idempotency `{idempotency}`; use one of {', '.join(Idempotency)}") from None
        self._inner = inner if inner is not None else httpx2.AsyncHTTPTransport()
        self._carrier = Carrier(self._inner)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = await _json(request)
        if body is None:
            return await self._inner.handle_async_request(request)
        execution = context.required("a model call")
        try:
            args = identity.parse(body)
            if not isinstance(args, dict):
                raise ValidationError("the body of a model call is a JSON object")
        except ValidationError as unfit:
            return refused(request, unfit)
        target = _target(args, request.url.path)
        call = ModelCall(self._carrier, request, target=target, args=args, idempotency=self._idempotency)
        return await call.answer(execution)

    async def aclose(self) -> None:
        await self._carrier.aclose()


async def _json(request: httpx2.Request) -> bytes | None:
    """The body of a model call; None for any other request."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if request.method != "POST" or kind.startswith("multipart/"):
        return None
    body = await request.aread()
    # An SDK names the type of a body that is not there, and a caller may not name that of one that is.
    says_so = kind == "application/json" or kind.endswith("+json")
    return body if body and (says_so or body.lstrip()[:1] == b"{") else None


def _target(args: dict[str, Any], path: str) -> str:
    model = args.get("model")
    if isinstance(model, str) and model:
        return model
    named = _NAMED_IN_PATH.search(path)
    return named[1] if named else path
