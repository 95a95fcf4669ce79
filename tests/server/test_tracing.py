"""Spans of requests."""

import asyncio

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from tests.server.support import Running, agent, running

PARENT = "0123456789abcdef0123456789abcdef"


def test_each_request_is_a_span() -> None:
    """It is named after its route, says what was decided about what, and belongs to the caller's trace."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            traced = {"traceparent": f"00-{PARENT}-0123456789abcdef-01"}
            begun = (await server.http.post("/v0/executions", json={"agent_id": "agent"}, headers=traced)).json()
            await one.take()
            step = await one.submit(begun["id"])
            await server.http.get("/v0/nothing")
            spans = {span.name: span for span in exporter.get_finished_spans()}
            begin = spans["POST /v0/executions"]
            assert begin.context is not None
            assert f"{begin.context.trace_id:032x}" == PARENT
            assert spans["POST /v0/executions/{id}/steps"].attributes == {
                "http.request.method": "POST",
                "http.route": "/v0/executions/{id}/steps",
                "http.response.status_code": 200,
                "rebuno.execution_id": begun["id"],
                "rebuno.step_id": step["step_id"],
                "rebuno.agent_id": "agent",
                "rebuno.decision": "proceed",
                "rebuno.rule_id": "default",
            }
            assert spans["GET"].attributes == {"http.request.method": "GET", "http.response.status_code": 404}
            assert {span.status.status_code for span in spans.values()} == {StatusCode.UNSET}

    async def whole() -> None:
        async with running(tracer=provider.get_tracer("tests")) as server:
            await scenario(server)

    asyncio.run(whole())
