"""Spans of executions and steps, as an exporter gets them."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.trace import SpanKind, StatusCode

import rebuno
from rebuno.journal.records import ExecutionRow, StepRow
from rebuno.model import identity
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import Idempotency, Kind, StepStatus
from rebuno.policy import compile_text
from rebuno.tracing import span_writer, step_context
from rebuno.tracing.attributes import CAPTURE, capturing, of_execution, of_step
from rebuno.tracing.ids import trace_id
from tests.embedded.support import in_loop
from tests.llm.provider import INPUT_TOKENS, OUTPUT_TOKENS, provider
from tests.llm.support import Clients, clients
from tests.llm.test_calls import CALLS
from tests.sdk.served import served

SECRET: Final = "hunter2-77"
RULES: Final = 'bundle b\ndefault allow\nrule no { deny tool "drop" because "never" }\n'


class Traces:
    """A provider whose spans stay in memory."""

    def __init__(self, **options: Any) -> None:
        self.provider = TracerProvider(**options)
        self._exporter = InMemorySpanExporter()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    def all(self) -> list[ReadableSpan]:
        """What was exported."""
        return list(self._exporter.get_finished_spans())

    def named(self) -> dict[str, ReadableSpan]:
        """By name; each comes once."""
        spans = {span.name: span for span in self.all()}
        assert len(spans) == len(self.all())
        return spans


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def ids(span: ReadableSpan) -> tuple[int, int, int | None]:
    """Trace, span and parent."""
    assert span.context is not None
    return span.context.trace_id, span.context.span_id, span.parent.span_id if span.parent is not None else None


@rebuno.tool("pay", idempotency="at_most_once")
async def pay(amount: int, to: str) -> dict[str, str]:
    return {"paid": to}


@rebuno.tool("drop")
async def drop() -> None: ...


@rebuno.tool("fetch")
async def fetch() -> None:
    raise TimeoutError(SECRET)


@rebuno.tool("outer")
async def outer() -> Any:
    return await rebuno.step("inner", lambda: SECRET)


async def agent(n: int) -> str:
    await pay(amount=n, to=SECRET)
    await outer()
    for refused in (drop, fetch):
        with suppress(rebuno.ToolError):
            await refused()
    return "done"


async def played(path: Path, traces: Traces, **options: Any) -> rebuno.Execution:
    async with rebuno.open(path, policy=compile_text(RULES), tracer_provider=traces.provider) as kernel:
        return await kernel.run(agent, {"n": 7}, id="run", **options)


def checked(traces: Traces, execution_id: str) -> None:
    """What is written of `agent`, whichever kernel ran it."""
    spans = traces.named()
    assert set(spans) == {
        "invoke_agent agent",
        "execute_tool pay",
        "execute_tool outer",
        "local inner",
        "execute_tool fetch",
    }
    root, tool = spans["invoke_agent agent"], spans["execute_tool pay"]
    assert ids(root)[0] == trace_id(execution_id)
    assert ids(root)[2] is None
    assert {ids(span)[0] for span in spans.values()} == {trace_id(execution_id)}
    assert {ids(spans[f"execute_tool {name}"])[2] for name in ("pay", "outer", "fetch")} == {ids(root)[1]}
    assert ids(spans["local inner"])[2] == ids(spans["execute_tool outer"])[1]
    assert {span.kind for span in spans.values()} == {SpanKind.INTERNAL}
    of_agent = {"gen_ai.agent.id": "agent", "gen_ai.agent.name": "agent", "rebuno.execution.id": execution_id}
    assert attributes(root) == of_agent | {
        "gen_ai.operation.name": "invoke_agent",
        "rebuno.execution.status": "completed",
    }
    said = attributes(tool)
    step_id = said.pop("rebuno.step.id")
    assert said == of_agent | {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "pay",
        "gen_ai.tool.call.id": step_id,
        "gen_ai.tool.type": "function",
        "rebuno.step.kind": "tool_call",
        "rebuno.step.idempotency": "at_most_once",
        "rebuno.rule.id": "default",
    }
    assert not any(name.startswith("gen_ai.operation") for name in attributes(spans["local inner"]))
    failed = spans["execute_tool fetch"]
    assert (failed.status.status_code, attributes(failed)["error.type"]) == (StatusCode.ERROR, "TimeoutError")
    assert {span.status.status_code for span in spans.values() if span is not failed} == {StatusCode.UNSET}
    for span in spans.values():
        assert span.start_time is not None
        assert span.end_time is not None
        assert span.start_time <= span.end_time
        assert SECRET not in span.to_json()
    known = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}
    assert {name for span in spans.values() for name in attributes(span) if name.startswith("gen_ai.")} <= known


@in_loop
async def test_an_embedded_execution_is_a_trace(tmp_path: Path) -> None:
    """Its steps stand below it, a step of a body below that step; what was denied has not run. A resumed run writes
    nothing of what it replays, and no text of arguments, results or errors is written."""
    traces = Traces()
    ended = await played(tmp_path / "a.db", traces)
    checked(traces, ended.id)
    await played(tmp_path / "a.db", traces)
    assert len(traces.all()) == 5


@in_loop
async def test_a_served_execution_is_a_trace(tmp_path: Path) -> None:
    """The same that the embedded kernel writes, by the kernel alone: the agent needs nothing."""
    traces = Traces()
    async with served(str(tmp_path / "a.db"), spans=span_writer(traces.provider)) as kernel:
        async with kernel.agent("agent", agent, bundle=RULES):
            ended = await kernel.ended((await kernel.client.create("agent", {"n": 7})).id)
        assert ended.status == "completed"
        checked(traces, ended.id)


@in_loop
async def test_what_continues_a_session_and_what_fails(tmp_path: Path) -> None:
    """A session is a conversation; a failure is named by the first word of its reason."""
    traces = Traces()

    def fails() -> None:
        raise ValueError(SECRET)

    writer = span_writer(traces.provider)
    async with served(str(tmp_path / "a.db"), spans=writer) as kernel, kernel.agent("agent", fails):
        await kernel.ended((await kernel.client.create("agent", session="chat")).id)
    (span,) = traces.all()
    said = attributes(span)
    assert (said["gen_ai.conversation.id"], said["error.type"]) == ("chat", "agent_error")
    assert said["rebuno.execution.status"] == "failed"
    assert span.status.status_code is StatusCode.ERROR
    assert SECRET not in span.to_json()


@in_loop
async def test_a_question_lies_within_one_span(tmp_path: Path) -> None:
    """An execution that waits for a person is written once it has ended, with the id that its steps named before."""
    traces = Traces()
    asks = compile_text('bundle b\ndefault allow\nrule asks { require approval for tool "pay" }\n')

    async def run() -> rebuno.Execution:
        async with rebuno.open(tmp_path / "a.db", policy=asks, tracer_provider=traces.provider) as kernel:
            return await kernel.run(agent, {"n": 7}, id="run")

    waits = await run()
    assert (waits.status, traces.all()) == ("blocked", [])
    async with rebuno.operate(tmp_path / "a.db") as operator:
        await operator.grant(waits.approvals[0].id, decided_by="ana")
    assert (await run()).status == "completed"
    spans = traces.named()
    assert ids(spans["execute_tool pay"])[2] == ids(spans["invoke_agent agent"])[1]


@pytest.mark.parametrize("content", [False, True])
@in_loop
async def test_content_is_written_where_it_is_asked_for(
    tmp_path: Path, content: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the variable that instrumentations of generative AI share: arguments and results of tools."""
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY" if content else "false")
    traces = Traces()
    await played(tmp_path / "a.db", traces)
    said = attributes(traces.named()["execute_tool pay"])
    expected = (f'{{"amount":7,"to":"{SECRET}"}}', f'{{"paid":"{SECRET}"}}') if content else (None, None)
    assert (said.get("gen_ai.tool.call.arguments"), said.get("gen_ai.tool.call.result")) == expected


@pytest.mark.parametrize(
    ("value", "captures"),
    [
        ("true", True),
        ("True", True),
        ("SPAN_AND_EVENT", True),
        ("EVENT_ONLY", False),
        ("NO_CONTENT", False),
        ("", False),
    ],
)
def test_which_values_ask_for_content(value: str, captures: bool) -> None:
    """Those that mean attributes of spans."""
    assert capturing({CAPTURE: value}) is captures
    assert not capturing({})


@pytest.mark.parametrize("call", CALLS)
@in_loop
async def test_a_model_call_is_a_client_span(call: Callable[[Clients], Awaitable[Any]]) -> None:
    """Of the provider's real client, plain and streamed: what was asked for, what was used, and no message."""
    traces = Traces()

    async def handler() -> None:
        async with clients(stub) as c:
            await call(c)

    with provider() as stub:
        async with rebuno.open(":memory:", policy=rebuno.PERMISSIVE, tracer_provider=traces.provider) as kernel:
            ended = await kernel.run(handler)
    assert ended.status == "completed"
    claude = call.__name__.startswith("messages")
    model = "claude-5" if claude else "gpt-5"
    span = traces.named()[f"chat {model}"]
    assert span.kind is SpanKind.CLIENT
    said = attributes(span)
    expected = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic" if claude else "openai",
        "gen_ai.request.model": model,
        "gen_ai.response.model": model,
        "gen_ai.usage.input_tokens": INPUT_TOKENS,
        "gen_ai.usage.output_tokens": OUTPUT_TOKENS,
    }
    assert {name: said.get(name) for name in expected} == expected
    assert said["gen_ai.response.id"]
    assert said.get("gen_ai.request.stream", False) is call.__name__.endswith("stream")
    assert said.get("gen_ai.request.max_tokens") == (9 if claude else None)
    if not call.__name__.startswith("responses"):
        assert said["gen_ai.response.finish_reasons"] == (("end_turn",) if claude else ("stop",))
    assert "hello" not in span.to_json()


@in_loop
async def test_spans_of_a_body_belong_to_its_step(tmp_path: Path) -> None:
    """Those that a tool makes itself, in the context that it asks for; outside a handler there is none."""
    traces = Traces()
    tracer = traces.provider.get_tracer("mine")

    @rebuno.tool("query")
    def query() -> None:
        with tracer.start_as_current_span("select", context=step_context()):
            pass

    async def handler() -> None:
        with tracer.start_as_current_span("plan", context=step_context()):
            pass
        await query()

    async with rebuno.open(tmp_path / "a.db", policy=rebuno.PERMISSIVE, tracer_provider=traces.provider) as kernel:
        await kernel.run(handler, agent="agent")
    spans = traces.named()
    assert ids(spans["select"])[2] == ids(spans["execute_tool query"])[1]
    assert ids(spans["plan"])[2] == ids(spans["invoke_agent agent"])[1]
    assert len({ids(span)[0] for span in spans.values()}) == 1
    assert step_context() == {}


def test_a_trace_is_sampled_whole(tmp_path: Path) -> None:
    """Of some executions everything is written, of the others nothing."""
    traces = Traces(sampler=ParentBased(TraceIdRatioBased(0.5)))
    seen: dict[int, int] = {}

    async def run() -> None:
        async with rebuno.open(
            tmp_path / "a.db", policy=compile_text(RULES), tracer_provider=traces.provider
        ) as kernel:
            for _ in range(24):
                await kernel.run(agent, {"n": 7})

    asyncio.run(run())
    for span in traces.all():
        seen[ids(span)[0]] = seen.get(ids(span)[0], 0) + 1
    assert set(seen.values()) == {5}
    assert len(seen) < 24


def row(**more: Any) -> StepRow:
    given: dict[str, Any] = {
        "step_id": "s", "execution_id": "e", "parent_id": "", "kind": Kind.LLM, "target": "m", "args": "{}",
        "args_hash": "", "occurrence": 0, "idempotency": Idempotency.SAFE, "status": StepStatus.SUCCEEDED,
        "verdict": "allow", "rule_id": "r", "bundle": "b", "digest": "d", "reason": "",
    }  # fmt: skip
    return StepRow(**given | more)


EXECUTION: Final = ExecutionRow("e", "agent", None, ExecutionStatus.COMPLETED, "null", "")
FIELDS: Final = [
    "model", "id", "object", "type", "usage", "choices", "delta", "message", "response", "messages", "input", "stream",
    "seed", "max_tokens", "body", "headers", "content-type", "finish_reason", "stop_reason", "cached_tokens",
    "prompt_tokens_details", "reason", "status",
]  # fmt: skip
JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(FIELDS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON, JSON, st.booleans())
def test_whatever_a_provider_says_is_no_mistake(asked: Any, answered: Any, streamed: bool) -> None:
    """Attributes are texts, numbers and lists of texts, and short."""
    body = identity.canonical(answered)
    kind = "text/event-stream" if streamed else "application/json"
    body = f"data: {body}\n\n" if streamed else body
    for result in (identity.canonical({"status": 200, "headers": {"content-type": kind}, "body": body}), body, None):
        for status in (StepStatus.SUCCEEDED, StepStatus.FAILED):
            step = row(args=identity.canonical(asked), result=result, error=body, status=status)
            for name, value in of_step(step, EXECUTION, content=True).attributes.items():
                assert isinstance(value, str | bool | int | float | list), name
                assert len(str(value)) < 20_000


@pytest.mark.parametrize("reason", ["", "policy_denied: no", "x" * 500])
def test_an_error_has_a_short_name(reason: str) -> None:
    """Never empty."""
    failed = ExecutionRow("e", "a" * 500, None, ExecutionStatus.FAILED, "null", "", failure_reason=reason)
    said = of_execution(failed)
    assert 0 < len(str(said.attributes["error.type"])) <= 128
    assert len(said.name) < 200


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("status", [StepStatus.SUCCEEDED, StepStatus.FAILED])
def test_spans_of_what_is_sealed_hold_no_content(kind: Kind, status: StepStatus) -> None:
    """Also where content is asked for: no argument, result, answer of a model, error or reason."""
    sealed = replace(EXECUTION, seal="k1", status=ExecutionStatus.FAILED, failure_reason=f"{SECRET}: no")
    text = identity.canonical({"model": SECRET, "id": SECRET, "type": SECRET, "reason": SECRET, "stop_reason": SECRET})
    answer = identity.canonical({"status": 200, "headers": {"content-type": "application/json"}, "body": text})
    step = row(kind=kind, status=status, args=text, result=answer, error=text, reason=SECRET)
    assert SECRET in repr(of_step(step, EXECUTION, content=True)) or kind is Kind.LOCAL
    assert SECRET not in repr(of_step(step, sealed, content=True))
    assert SECRET not in repr(of_execution(sealed))
