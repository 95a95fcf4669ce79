"""The ids of traces and spans: those of executions and steps, so that every process comes to the same ones."""

from hashlib import sha256
from typing import Any

from rebuno.sdk.context import current, current_step


def trace_id(execution_id: str) -> int:
    """The id of an execution's trace. Not its own bits: samplers take those of a trace to be random, and some of a
    UUID's are fixed."""
    return int.from_bytes(sha256(execution_id.encode()).digest()[:16]) or 1


def span_id(name: str) -> int:
    """The id of the span of an execution or a step."""
    return int.from_bytes(sha256(name.encode()).digest()[16:24]) or 1


def step_context() -> Any:
    """The context of OpenTelemetry whose spans belong to the step in whose body this is called, or to the execution in
    whose handler: `tracer.start_as_current_span("query", context=step_context())`. An empty one outside a handler."""
    from opentelemetry import trace
    from opentelemetry.context import Context

    running = current()
    if running is None:
        return Context()
    parent = span_of(running.id, current_step() or running.id, sampled=True)
    return trace.set_span_in_context(trace.NonRecordingSpan(parent), Context())


def span_of(execution_id: str, name: str, *, sampled: bool) -> Any:
    """The `SpanContext` of the execution's own span, where `name` is its id, or of that of its step."""
    from opentelemetry.trace import SpanContext, TraceFlags

    flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)
    return SpanContext(trace_id(execution_id), span_id(name), is_remote=True, trace_flags=flags)
