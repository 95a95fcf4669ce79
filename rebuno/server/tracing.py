"""A span of OpenTelemetry for each request; an extra."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rebuno.errors import ValidationError
from rebuno.packaged import install
from rebuno.server.routes import TOLD

_MISSING: Final = f"traces need the extra `otel`: {install('otel')}"


class Traced:
    """An application that makes each request a span of `tracer`, a child of the span that the request's `traceparent`
    names.

    Its attributes are `http.request.method`, `http.route`, `http.response.status_code`, and as far as they are known
    `rebuno.execution_id`, `rebuno.step_id`, `rebuno.agent_id`, `rebuno.decision` and `rebuno.rule_id`.
    """

    def __init__(self, app: ASGIApp, tracer: Any) -> None:
        self._app = app
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from opentelemetry import propagate, trace

        status = 0

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        told: dict[str, str] = {}
        scope[TOLD] = told
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        with self._tracer.start_as_current_span(
            scope["method"], propagate.extract(headers), kind=trace.SpanKind.SERVER
        ) as span:
            try:
                await self._app(scope, receive, noting)
            finally:
                if route := told.get("http.route"):
                    span.update_name(f"{scope['method']} {route}")
                known = {"http.request.method": scope["method"], "http.response.status_code": status, **told}
                span.set_attributes({name: value for name, value in known.items() if value})
                if status >= 500:
                    span.set_status(trace.StatusCode.ERROR)


@contextmanager
def exported() -> Iterator[Any]:
    """A tracer that exports its spans while the context is open, configured by OpenTelemetry's own variables, such as
    `OTEL_EXPORTER_OTLP_ENDPOINT`.

    Raises:
        ValidationError: the extra is not installed.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("opentelemetry"):
            raise
        raise ValidationError(_MISSING) from None
    provider = TracerProvider(resource=Resource.create({"service.name": "rebuno"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    try:
        yield provider.get_tracer("rebuno")
    finally:
        provider.shutdown()
