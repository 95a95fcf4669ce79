"""Spans of OpenTelemetry for executions and steps, by its conventions for generative AI; an extra."""

from typing import TYPE_CHECKING, Any

from rebuno.packaged import needing
from rebuno.tracing.ids import step_context

if TYPE_CHECKING:
    from rebuno.tracing.spans import ExecutionSpans

__all__ = ["span_writer", "step_context"]


def span_writer(provider: Any, *, content: bool | None = None) -> "ExecutionSpans":
    """What writes spans with a tracer of this provider; see `rebuno.tracing.spans.ExecutionSpans`.

    Raises:
        RebunoError: the extra `otel` is not installed.
    """
    with needing("otel", "spans"):
        from rebuno.tracing.spans import ExecutionSpans
    return ExecutionSpans(provider, content=content)
