"""The answers to agents, and those that are no public model: what is written, beside the model that describes it.
These are written for every step, so that nothing is built for them but their text."""

from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from rebuno.kernel import ReportAnswer
from rebuno.model import identity
from rebuno.model.answer import Answer, AnswerKind
from rebuno.model.resource import RegisteredResource
from rebuno.server.wire.writing import Json, array, obj, raw

DecisionName: TypeAlias = Literal[
    "proceed", "replay", "denied", "blocked", "execution_blocked", "rate_limited", "execution_terminal"
]


class Out(BaseModel):
    """An answer, whole."""

    model_config = ConfigDict(extra="forbid")


class Error(Out):
    """Why a call was refused."""

    code: Literal[
        "validation_error",
        "unauthorized",
        "forbidden",
        "policy_denied",
        "not_found",
        "conflict",
        "execution_terminal",
        "lease_superseded",
        "rate_limited",
        "internal_error",
    ]
    message: str
    details: Any = None


def error(code: str, message: str, details: Any = None) -> Json:
    return obj(code=code, message=message) if details is None else obj(code=code, message=message, details=details)


class StepResourceOut(Out):
    """A resource that a step may change: the generation that it begins, and whether a checkpoint is due after it."""

    key: str
    generation: int
    due: bool | None = None


class DecisionOut(Out):
    """What an agent must do now."""

    decision: DecisionName
    step_id: str | None = None
    args: Any = None
    result: Any = None
    error: Any = None
    reason: str | None = None
    rule_id: str | None = None
    approval_id: str | None = None
    resources: list[StepResourceOut] | None = None


def decision(answer: Answer) -> Json:
    match answer.kind:
        case AnswerKind.PROCEED if answer.resources:
            touched = array(
                obj(key=one.key, generation=one.generation, **({"due": True} if one.due else {}))
                for one in answer.resources
            )
            return obj(decision="proceed", step_id=answer.step_id, resources=touched)
        case AnswerKind.PROCEED:
            return obj(decision="proceed", step_id=answer.step_id, **_changed(answer))
        case AnswerKind.REPLAY if answer.error is not None:
            return obj(decision="replay", step_id=answer.step_id, error=raw(answer.error), **_changed(answer))
        case AnswerKind.REPLAY:
            return obj(decision="replay", step_id=answer.step_id, result=raw(answer.result), **_changed(answer))
        case AnswerKind.DENIED:
            reason = answer.reason or "policy_denied"
            return obj(decision="denied", step_id=answer.step_id, reason=reason, rule_id=answer.rule_id)
        case AnswerKind.BLOCKED:
            return obj(decision="blocked", step_id=answer.step_id, approval_id=answer.approval_id)
        case AnswerKind.PARKED:
            return obj(decision="blocked", reason=answer.reason or "rate_limit_exceeded")
        case AnswerKind.RATE_LIMITED:
            reason = answer.reason or "rate_limit_exceeded"
            return obj(decision="rate_limited", reason=reason, rule_id=answer.rule_id)
        case _:
            return obj(decision=answer.kind.value)


def _changed(answer: Answer) -> dict[str, Json]:
    return {} if answer.args is None else {"args": raw(answer.args)}


class ExplainedOut(Out):
    """Why a step was decided so: `recorded` is what the journal says, `then` and `today` are traces, null where the
    bundle cannot be read any more."""

    recorded: dict[str, Any]
    then: dict[str, Any] | None
    today: dict[str, Any] | None
    today_digest: str | None


class SettledOut(Out):
    """What became of a reported outcome."""

    decision: Literal["recorded", "replay", "execution_terminal"]
    step_id: str | None = None
    result: Any = None
    error: Any = None


def settled(said: ReportAnswer, step_id: str) -> Json:
    if said.outcome != "replay":
        return obj(decision=said.outcome.value)
    if said.error is not None:
        return obj(decision="replay", step_id=step_id, error=raw(said.error))
    return obj(decision="replay", step_id=step_id, result=raw(said.result))


class ResourceOut(Out):
    """A resource as its execution knows it."""

    key: str
    driver_id: str
    configuration: Any
    coverage_reuse: bool
    every_steps: int
    on_completion: bool
    registered_seq: int
    generation: int
    count: int
    covered: bool
    binding: Any = None
    checkpoint_ref: str | None = None


def resource(said: RegisteredResource) -> Json:
    asked = said.registration
    more = {} if said.binding is None else {"binding": raw(said.binding)}
    if said.checkpoint_ref:
        more["checkpoint_ref"] = Json(identity.canonical(said.checkpoint_ref))
    return obj(
        key=asked.key,
        driver_id=asked.driver_id,
        configuration=raw(asked.configuration),
        coverage_reuse=asked.coverage_reuse,
        every_steps=asked.every_steps,
        on_completion=asked.on_completion,
        registered_seq=said.registered_seq,
        generation=said.generation,
        count=said.count,
        covered=said.covered,
        **more,
    )


class SuspendedOut(Out):
    """Whether something is waited for."""

    suspended: bool


class PreviousOut(Out):
    """What the execution continues from."""

    state: Any
