"""The name, the kind and the attributes of a span, from the row of an execution or a step.

They follow OpenTelemetry's semantic conventions for generative AI, which are not stable yet. Arguments and results are
among them only where they are asked for.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from rebuno.journal.records import ExecutionRow, StepRow
from rebuno.model import usage
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import Kind, StepStatus

# The variable by which instrumentations of generative AI are told to capture content, and the values that put it into
# attributes of spans.
CAPTURE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_CAPTURING: Final = frozenset({"true", "span_only", "span_and_event"})
# Characters of a captured argument or result, and of what names an error.
LONGEST_CONTENT: Final = 16_384
_LONGEST_NAME: Final = 128
# Characters of a recorded response that is read for its attributes.
_LONGEST_RESPONSE: Final = 1 << 18

_PARAMETERS: Final = {
    "max_tokens": ("max_tokens", "max_completion_tokens", "max_output_tokens"),
    "temperature": ("temperature",),
    "top_p": ("top_p",),
    "frequency_penalty": ("frequency_penalty",),
    "presence_penalty": ("presence_penalty",),
    "seed": ("seed",),
}
_WHOLE: Final = frozenset({"max_tokens", "seed"})
Attributes = dict[str, str | bool | int | float | list[str]]


@dataclass(frozen=True, slots=True)
class SpanText:
    """What a span says: its name, whether it calls another system (`client`), its attributes, and whether what it tells
    of failed."""

    name: str
    attributes: Attributes
    client: bool = False
    failed: bool = False


@dataclass(slots=True)
class _Response:
    """What a model's answer says of itself."""

    model: str = ""
    id: str = ""
    reasons: list[str] = field(default_factory=list)
    shape: str = ""
    cached: dict[str, int] = field(default_factory=dict)


def capturing(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the environment asks for arguments and results."""
    return environment.get(CAPTURE, "").strip().lower() in _CAPTURING


def of_execution(row: ExecutionRow) -> SpanText:
    """An ended execution, as a run of its agent."""
    said: Attributes = {"gen_ai.operation.name": "invoke_agent", **_agent(row), "rebuno.execution.id": row.id}
    said["rebuno.execution.status"] = row.status.value
    if row.forked_from:
        said["rebuno.forked_from"] = row.forked_from
    failed = row.status is ExecutionStatus.FAILED
    if failed:
        said["error.type"] = "_OTHER" if row.seal else _short(row.failure_reason.partition(":")[0]) or "_OTHER"
    return SpanText(f"invoke_agent {_short(row.agent_id)}", said, failed=failed)


def of_step(step: StepRow, execution: ExecutionRow, *, content: bool) -> SpanText:
    """A step whose body has ended; with `content` a tool's arguments and result too."""
    failed = step.status is not StepStatus.SUCCEEDED
    if execution.seal:
        # Nothing of what is encrypted leaves the store in the clear.
        step, content = replace(step, args="null", result=None, error=None), False
    said: Attributes = {
        **_agent(execution),
        "rebuno.execution.id": step.execution_id,
        "rebuno.step.id": step.step_id,
        "rebuno.step.kind": step.kind.value,
        "rebuno.step.idempotency": step.idempotency.value,
        "rebuno.rule.id": step.rule_id,
    }
    if failed:
        said["error.type"] = _error(step.error)
    if step.kind is Kind.LLM:
        said |= _model_call(step)
        name = f"{said['gen_ai.operation.name']} {_short(step.target)}"
        return SpanText(name, said, client=True, failed=failed)
    if step.kind is Kind.TOOL:
        said |= {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": _short(step.target),
            "gen_ai.tool.call.id": step.step_id,
            "gen_ai.tool.type": "function",
        }
        if content:
            said["gen_ai.tool.call.arguments"] = step.args[:LONGEST_CONTENT]
            if step.result is not None:
                said["gen_ai.tool.call.result"] = step.result[:LONGEST_CONTENT]
        return SpanText(f"execute_tool {_short(step.target)}", said, failed=failed)
    return SpanText(f"local {_short(step.target)}", said, failed=failed)


def _agent(execution: ExecutionRow) -> Attributes:
    said: Attributes = {"gen_ai.agent.id": execution.agent_id, "gen_ai.agent.name": execution.agent_id}
    if execution.session:
        said["gen_ai.conversation.id"] = execution.session
    return said


def _model_call(step: StepRow) -> Attributes:
    asked = _object(step.args)
    answered = _response(step.result)
    said: Attributes = {
        "gen_ai.operation.name": _operation(asked, answered.shape),
        "gen_ai.request.model": _short(step.target),
    }
    if provider := _provider(step.target, answered.shape):
        said["gen_ai.provider.name"] = provider
    for name, keys in _PARAMETERS.items():
        for key in keys:
            value = asked.get(key)
            if isinstance(value, int | float) and not isinstance(value, bool):
                said[f"gen_ai.request.{name}"] = int(value) if name in _WHOLE else float(value)
    if asked.get("stream") is True:
        said["gen_ai.request.stream"] = True
    if answered.model:
        said["gen_ai.response.model"] = answered.model
    if answered.id:
        said["gen_ai.response.id"] = answered.id
    if answered.reasons:
        said["gen_ai.response.finish_reasons"] = answered.reasons
    for name, count in (("input_tokens", step.input_tokens), ("output_tokens", step.output_tokens)):
        if count is not None:
            said[f"gen_ai.usage.{name}"] = count
    return said | {f"gen_ai.usage.{name}.input_tokens": count for name, count in answered.cached.items()}


def _operation(asked: Mapping[str, Any], shape: str) -> str:
    if shape == "list" and "input" in asked:
        return "embeddings"
    if "contents" in asked:
        return "generate_content"
    if "prompt" in asked and "messages" not in asked:
        return "text_completion"
    return "chat"


def _provider(model: str, shape: str) -> str:
    """The flavour of the answer; the URL of the request is not recorded."""
    if shape == "message" or model.startswith("claude"):
        return "anthropic"
    if shape.startswith(("chat.completion", "response", "text_completion")) or shape == "list":
        return "openai"
    return ""


def _response(result: str | None) -> _Response:
    found = _Response()
    if result is None or len(result) > _LONGEST_RESPONSE:
        return found
    for event in _events(_object(result)):
        for said in (event, event.get("response"), event.get("message")):
            if isinstance(said, dict):
                _take(found, said)
        delta = event.get("delta")
        if isinstance(delta, dict):
            _add_reason(found, delta.get("stop_reason"))
    return found


def _events(recorded: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The JSON objects of a recorded response: its body, or each event of a stream."""
    body, headers = recorded.get("body"), recorded.get("headers")
    if not isinstance(body, str):
        return
    kind = str(headers.get("content-type", "")) if isinstance(headers, dict) else ""
    for text in usage.events_of(body) if kind.lower().startswith("text/event-stream") else (body,):
        if said := _object(text):
            yield said


def _take(found: _Response, said: Mapping[str, Any]) -> None:
    found.model = _text(said.get("model")) or found.model
    found.id = _text(said.get("id")) or found.id
    shape = _text(said.get("object")) or ("message" if said.get("type") == "message" else "")
    found.shape = found.shape or shape
    _add_reason(found, said.get("stop_reason"))
    choices = said.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict):
            _add_reason(found, choice.get("finish_reason"))
    used = said.get("usage")
    if isinstance(used, dict):
        details = used.get("prompt_tokens_details") or used.get("input_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else None
        for name, count in (
            ("cache_read", used.get("cache_read_input_tokens", cached)),
            ("cache_creation", used.get("cache_creation_input_tokens")),
        ):
            if isinstance(count, int) and 0 <= count < 2**53:
                found.cached[name] = count


def _add_reason(found: _Response, reason: object) -> None:
    if text := _text(reason):
        found.reasons.append(text)


def _error(error: str | None) -> str:
    said = _object(error)
    for key in ("reason", "type"):
        if text := _text(said.get(key)):
            return text
    status = said.get("status")
    return str(status) if isinstance(status, int) else "_OTHER"


def _object(text: str | None) -> dict[str, Any]:
    try:
        value = json.loads(text or "null")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return _short(value) if isinstance(value, str) else ""


def _short(text: str) -> str:
    return text[:_LONGEST_NAME]
