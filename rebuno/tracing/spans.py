"""A span for each execution and for each step whose body has run, written when it has ended."""

import time
from dataclasses import replace
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import Link, SpanKind, StatusCode

from rebuno.journal.records import ExecutionRow, StepRow
from rebuno.kernel import Attempt, Observer
from rebuno.model import usage
from rebuno.model.answer import Answer
from rebuno.model.resource import Captured
from rebuno.model.step import Kind, StepStatus
from rebuno.sdk.transport import Transport
from rebuno.tracing.attributes import SpanText, capturing, of_execution, of_step
from rebuno.tracing.ids import span_id, span_of, trace_id

_NANOSECONDS: Final = 1_000_000_000


class _GivenIds(IdGenerator):
    """Gives the ids that were set just before."""

    def __init__(self) -> None:
        self.trace = 0
        self.span = 0

    def generate_trace_id(self) -> int:
        return self.trace

    def generate_span_id(self) -> int:
        return self.span


class ExecutionSpans(Observer):
    """Writes spans with a tracer of this provider; with `content` a tool's arguments and results too (None: as
    `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` says).

    An execution is a trace: steps are children of the execution's span, or of that of the
    step in whose body they ran. Nothing is kept between two calls, so each replica writes what it has seen. Call it
    from one thread.
    """

    def __init__(self, provider: Any, *, content: bool | None = None) -> None:
        self._content = capturing() if content is None else content
        self._ids = _GivenIds()
        self._tracer = provider.get_tracer("rebuno.tracing")
        self._tracer.id_generator = self._ids

    def settled(self, step: StepRow, execution: ExecutionRow) -> None:
        # What is sealed leaves the store nowhere in clear.
        said = of_step(step, execution, content=self._content and not execution.seal)
        parent = span_of(step.execution_id, step.parent_id or step.execution_id, sampled=self._sampled(execution))
        began = step.started_at or step.decided_at
        self._write(
            said,
            step.execution_id,
            step.step_id,
            (began, step.completed_at or time.time()),
            trace.set_span_in_context(trace.NonRecordingSpan(parent), Context()),
        )

    def ended(self, execution: ExecutionRow) -> None:
        links = []
        if execution.spawned_step_id:
            links.append(Link(span_of(execution.spawned_execution_id, execution.spawned_step_id, sampled=True)))
        if execution.forked_from:
            links.append(Link(span_of(execution.forked_from, execution.forked_from, sampled=True)))
        times = (execution.created_at, execution.updated_at)
        self._write(of_execution(execution), execution.id, execution.id, times, Context(), links)

    def around(self, transport: Transport, attempt: Attempt) -> Transport:
        """An embedded attempt's transport whose outcomes are written as spans too."""
        return _SpannedTransport(transport, attempt, self)

    def _sampled(self, execution: ExecutionRow) -> bool:
        """What a sampler says of the execution's span: steps go the way of their execution."""
        sampler = getattr(self._tracer, "sampler", None)
        if sampler is None:
            return True
        said = of_execution(execution)
        asked = sampler.should_sample(Context(), trace_id(execution.id), said.name, SpanKind.INTERNAL, said.attributes)
        sampled: bool = asked.decision.is_sampled()
        return sampled

    def _write(
        self,
        said: SpanText,
        execution_id: str,
        name: str,
        times: tuple[float, float],
        context: Context,
        links: list[Link] | None = None,
    ) -> None:
        began, ended = (round(at * _NANOSECONDS) for at in times)
        self._ids.trace, self._ids.span = trace_id(execution_id), span_id(name)
        span = self._tracer.start_span(
            said.name,
            context=context,
            kind=SpanKind.CLIENT if said.client else SpanKind.INTERNAL,
            attributes=said.attributes,
            links=links,
            start_time=began,
        )
        if said.failed:
            span.set_status(StatusCode.ERROR)
        # The store's clock and ours may differ.
        span.end(max(began, ended))


class _SpannedTransport:
    """A transport inside one process, with a span for each outcome."""

    def __init__(self, transport: Transport, attempt: Attempt, spans: ExecutionSpans) -> None:
        self._transport = transport
        self._attempt = attempt
        self._spans = spans
        self.recorded = transport.recorded
        self.start = transport.start
        self.submit = transport.submit
        self.release = transport.release
        self.external = transport.external
        self.sealed = getattr(transport, "sealed", None)

    async def succeed(
        self, step_id: str, result: str, value: object, *, captured: Captured | None = None
    ) -> Answer | None:
        step = self._attempt.steps.get(step_id)
        other = await self._transport.succeed(step_id, result, value, captured=captured)
        if step is not None and other is None:
            ended = step.ended(StepStatus.SUCCEEDED, result=result)
            if ended.kind is Kind.LLM and (used := usage.parse(value)) is not None:
                ended = replace(ended, input_tokens=used.input_tokens, output_tokens=used.output_tokens)
            self._settled(ended)
        return other

    async def fail(
        self,
        step_id: str,
        error: str,
        *,
        wait: bool = True,
        raised: str = "",
        nothing_done: bool = False,
        captured: Captured | None = None,
    ) -> Answer | None:
        step = self._attempt.steps.get(step_id)
        other = await self._transport.fail(
            step_id, error, wait=wait, raised=raised, nothing_done=nothing_done, captured=captured
        )
        if step is not None and other is None:
            self._settled(step.ended(StepStatus.FAILED, error=error))
        return other

    def _settled(self, step: StepRow) -> None:
        seals = self._attempt.seals
        self._spans.settled(step if seals is None else seals.written(step), self._attempt.execution)
