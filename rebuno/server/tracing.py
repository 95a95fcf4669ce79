"""Spans of OpenTelemetry: of each request, and of executions and steps; an extra."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rebuno.journal.records import ExecutionRow, StepRow
from rebuno.kernel import Observer
from rebuno.packaged import needing
from rebuno.server.metrics import Metrics
from rebuno.server.routes import TOLD


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


class TracedMetrics(Metrics):
    """Metrics that tell `spans` of executions and steps that have ended."""

    def __init__(self, spans: Observer) -> None:
        super().__init__()
        self._spans = spans

    def settled(self, step: StepRow, execution: ExecutionRow) -> None:
        super().settled(step, execution)
        self._spans.settled(step, execution)

    def ended(self, execution: ExecutionRow) -> None:
        super().ended(execution)
        self._spans.ended(execution)


@contextmanager
def exported() -> Iterator[Any]:
    """A provider of tracers that exports their spans while the context is open, configured by OpenTelemetry's own
    variables, such as `OTEL_EXPORTER_OTLP_ENDPOINT`.

    Raises:
        RebunoError: the extra is not installed.
    """
    with needing("otel", "spans"):
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    provider = TracerProvider(resource=Resource.create({"service.name": "rebuno"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    try:
        yield provider
    finally:
        provider.shutdown()
