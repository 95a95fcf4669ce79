"""A tool call of a framework: what is judged, what is recorded of its end, and what the model is told."""

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any, Final

from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from rebuno.errors import NotJSON, ValidationError, text_of
from rebuno.gate import Ask, Deny, Recorded, Verdict, text
from rebuno.mcp import UNANSWERED
from rebuno.model import identity
from rebuno.model.definition import Definition, define
from rebuno.sdk.body_errors import OutcomeUnknownError, recordable

# A tool that paused the run itself (for a question of its own) comes again: as another call, since it ran in part.
DEFERRED: Final = {"reason": "deferred", "message": "the tool paused the run"}
CANCELLED: Final = {"reason": "withdrawn", "message": "the call was cancelled before its tool ran"}

_MOST_CAUSES: Final = 8

# Names of tools that only read, or a function that tells of a name whether its tool only reads.
Safe = Container[str] | Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call. `session` and `agent` say whose, `id` is the model's id of it, unique in the session. `safe` tells
    that its tool only reads: it may run again where a crash left its outcome unknown. `raw` is kept in the journal
    beside it. `run` is the framework's run of the agent, where it tells runs apart: a call that another run makes
    inside this one's tool is a subagent's."""

    session: str
    agent: str
    id: str
    tool: str
    args: dict[str, Any]
    safe: bool = False
    definition: Definition | None = None
    raw: Any = None
    run: str = ""


def is_safe(safe: Safe, tool: str) -> bool:
    """Whether a tool only reads."""
    return bool(safe(tool)) if callable(safe) else tool in safe


def described(tool: str, description: Any, schema: Any, *, server: str = "") -> Definition | None:
    """The definition of a tool as its framework shows it to the model; None where JSON cannot hold it."""
    try:
        return define(server, tool, description=description or "", input_schema=schema)
    except (NotJSON, ValidationError):
        return None


def arguments(args: Any) -> dict[str, Any]:
    """The arguments of a call as a JSON object, models and dates written out.

    Raises:
        ValidationError: JSON cannot hold them, or they are no object; the call must not run.
    """
    try:
        plain = to_jsonable_python(args)
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        raise ValidationError(f"the arguments of the call cannot be written as JSON: {text_of(error)}") from None
    if not isinstance(plain, dict):
        raise ValidationError(f"the arguments of a call are an object, not of type {type(plain).__name__}")
    return plain


def jsonable(value: Any) -> Any:
    """A tool's return value as a JSON value: models and dataclasses as objects, bytes as Base64. What has no JSON form
    is recorded as its text."""
    try:
        plain = identity.parse(to_json(value, bytes_mode="base64", inf_nan_mode="strings", fallback=str).decode())
        identity.canonical(plain, "result")
    except (PydanticSerializationError, NotJSON, ValidationError, ValueError, RecursionError):
        return recordable(str(value))
    return plain


def error_of(error: BaseException) -> dict[str, Any]:
    """What is recorded of a tool that raised."""
    return {"type": type(error).__name__, "message": recordable(text_of(error))}


def leaves_unknown(error: BaseException) -> bool:
    """Whether nobody knows, after this exception of a tool, if its effect happened: the call was cut off, its time was
    up, or its MCP server gave no answer."""
    if not isinstance(error, Exception) or isinstance(error, OutcomeUnknownError | TimeoutError):
        return True
    inner: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if inner is None or _unanswered(inner):
            break
        # A framework has its own exception for what the client raised.
        inner = inner.__cause__ or inner.__context__
    return _unanswered(inner)


def _unanswered(error: BaseException | None) -> bool:
    code = getattr(error, "code", None)
    return isinstance(code, int) and code in UNANSWERED


def put_off(verdict: Verdict) -> bool:
    """Whether the call has ended only in so far as its tool paused the run."""
    return (
        isinstance(verdict, Recorded)
        and verdict.error is not None
        and verdict.error.get("reason") == DEFERRED["reason"]
    )


def told(call: ToolCall, verdict: Deny | Ask | Recorded, *, store: str = "") -> str:
    """What the model is told instead of a result. For a recorded call: how it failed. `store` is what `--db` names."""
    if isinstance(verdict, Deny):
        return text.denied(call.tool, verdict)
    if isinstance(verdict, Ask):
        return text.waiting(call.tool, verdict, store=store)
    if verdict.unknown:
        return text.unknown(call.tool)
    error = verdict.error or {}
    said = str(error.get("message") or error.get("reason") or "it failed")
    return f"{text.brief(call.tool, 200)} has run already and failed: {text.brief(said)}"


def question(call: ToolCall, ask: Ask, *, store: str = "") -> dict[str, str]:
    """What a framework's own pause carries: `approval_id`, the `message` and the `reason` for the person, the
    `rule_id`, and in `waiting` the command that answers."""
    return {
        "approval_id": ask.approval_id,
        "message": ask.message,
        "reason": ask.reason,
        "rule_id": ask.rule_id,
        "waiting": told(call, ask, store=store),
    }
