"""The routes of agents: submissions, outcomes, and the end of an execution."""

import logging
from functools import partial
from typing import Final

from starlette.responses import Response

from rebuno.errors import ForbiddenError, ValidationError
from rebuno.kernel import beside
from rebuno.model import definition, identity, raised
from rebuno.model.answer import Answer, Submission
from rebuno.model.resource import NOTHING_CAPTURED, Capture, Captured, CaptureFailure, Registration
from rebuno.server.routes import LONG_BODY, ApiCall, Endpoint, Who, nothing, said
from rebuno.server.wire import answers, requests
from rebuno.server.wire.writing import obj
from rebuno.types import Delta

# At debug level, one line a decision.
decisions: Final = logging.getLogger("rebuno.server.decisions")

_EXECUTION: Final = "/v0/executions/{id}"
_STEP: Final = "/v0/executions/{id}/steps/{step_id}"


async def submit(call: ApiCall) -> Response:
    """Submit a step"""
    asked = call.body(requests.Submit)
    defined = None
    if asked.definition is not None:
        read = partial(definition.read, asked.definition)
        defined = read() if len(call.raw) <= LONG_BODY else await beside(read)
    submission = Submission(
        asked.kind,
        asked.target,
        call.canonical(asked.args, "args"),
        asked.idempotency or "safe_to_retry",
        asked.parent_step_id or "",
        defined,
        tuple(asked.resources or ()),
        asked.edits is True,
    )
    answer = await call.serving.submit(
        call.caller.agent_id, call.id, call.dispatch(), submission, asked.submission or 0
    )
    call.server.metrics.answered(asked.kind, answer)
    if call.told is not None:
        more = {"step_id": answer.step_id, "decision": answer.kind.value, "rule_id": answer.rule_id}
        call.told |= {f"rebuno.{name}": value for name, value in more.items()}
    _follow(call, submission, answer)
    return said(answers.decision(answer))


async def complete_step(call: ApiCall) -> Response:
    """Report the result of a step's body"""
    body = call.body(requests.StepResult)
    settled = await call.serving.complete_step(
        call.caller.agent_id,
        call.id,
        call.dispatch(),
        call.step_id,
        call.canonical(body.result, "result"),
        _captured(body),
    )
    return said(answers.settled(settled, call.step_id))


async def fail_step(call: ApiCall) -> Response:
    """Report that a step's body failed"""
    body = call.body(requests.StepError)
    error = body.error
    if not isinstance(error, dict):
        error = {"message": error if isinstance(error, str) else call.canonical(error, "error")}
    # It is kept in the log, and no part of what the handler gets.
    kept = raised.checked(error.get(raised.KEY))
    if raised.KEY in error:
        error = {key: value for key, value in error.items() if key != raised.KEY}
    settled = await call.serving.fail_step(
        call.caller.agent_id,
        call.id,
        call.dispatch(),
        call.step_id,
        call.canonical(error, "error"),
        "" if kept is None else identity.canonical(kept),
        nothing_done=body.nothing_done is True,
        captures=_captured(body),
    )
    return said(answers.settled(settled, call.step_id))


async def register_resource(call: ApiCall) -> Response:
    """Register a resource"""
    body = call.body(requests.RegisterResource)
    asked = Registration(
        body.key,
        body.driver_id,
        call.canonical(body.configuration, "configuration"),
        body.coverage_reuse is True,
        body.every_steps or 0,
        body.on_completion is not False,
    )
    return said(
        answers.resource(await call.serving.register_resource(call.caller.agent_id, call.id, call.dispatch(), asked))
    )


async def bind_resource(call: ApiCall) -> Response:
    """Note what a resource is bound to"""
    binding = call.canonical(call.body(requests.BindResource).binding, "binding")
    await call.serving.bind_resource(call.caller.agent_id, call.id, call.dispatch(), call.path["key"], binding)
    return nothing()


async def publish_checkpoints(call: ApiCall) -> Response:
    """Publish checkpoints of resources"""
    captures = _captured(call.body(requests.PublishCheckpoints))
    await call.serving.publish_checkpoints(call.caller.agent_id, call.id, call.dispatch(), captures)
    return nothing()


def _captured(body: requests.StepResult | requests.StepError | requests.PublishCheckpoints) -> Captured:
    if not body.captures and not body.capture_failures:
        return NOTHING_CAPTURED
    return Captured(
        tuple(Capture(one.key, one.generation, one.checkpoint_ref or "") for one in body.captures or ()),
        tuple(CaptureFailure(one.key, one.generation, one.error or "") for one in body.capture_failures or ()),
    )


async def publish(call: ApiCall) -> Response:
    """Publish a piece of a step's output"""
    body = call.body(requests.DeltaBody)
    delta = Delta(step_id=call.step_id, seq=body.seq, data=body.data)
    await call.serving.publish(call.caller.agent_id, call.id, call.dispatch(), delta)
    return nothing()


async def heartbeat(call: ApiCall) -> Response:
    """Renew the lease"""
    call.body(requests.Nothing)
    await call.serving.heartbeat(call.caller.agent_id, call.id, call.dispatch())
    return nothing()


async def suspend(call: ApiCall) -> Response:
    """Release an execution that waits"""
    call.body(requests.Nothing)
    return said(obj(suspended=await call.serving.suspend(call.caller.agent_id, call.id, call.dispatch())))


async def complete(call: ApiCall) -> Response:
    """End an execution with an output"""
    body = call.body(requests.Complete)
    state = call.canonical(body.state, "state") if "state" in body.model_fields_set else None
    output = call.canonical(body.output, "output")
    await call.serving.complete(call.caller.agent_id, call.id, call.dispatch(), output, state)
    call.note("execution completed")
    return nothing()


async def fail(call: ApiCall) -> Response:
    """End an execution as failed"""
    body = call.body(requests.Fail)
    kept = raised.checked(body.raised)
    await call.serving.fail(call.caller.agent_id, call.id, call.dispatch(), body.error or "agent_error", kept)
    call.note("execution failed")
    return nothing()


async def set_metadata(call: ApiCall) -> Response:
    """Publish an agent's description and schemas"""
    if call.caller.agent_id != call.id:
        raise ForbiddenError("an agent speaks for itself only")
    body = call.body(requests.Metadata)
    schemas = body.input_schema, body.output_schema
    if any(schema is not None and not isinstance(schema, dict | bool) for schema in schemas):
        raise ValidationError("a JSON Schema is an object")
    taken, given = (None if one is None else call.canonical(one, "schema") for one in schemas)
    await call.serving.set_metadata(call.id, description=body.description, input_schema=taken, output_schema=given)
    return nothing()


def _follow(call: ApiCall, submission: Submission, answer: Answer) -> None:
    # A question waits for a person, so it is told where other decisions are not.
    level = logging.INFO if answer.approval_id else logging.DEBUG
    if decisions.isEnabledFor(level):
        more = {
            "execution_id": call.id,
            "step_id": answer.step_id,
            "agent_id": call.caller.agent_id,
            "kind": submission.kind,
            "target": submission.target,
            "decision": answer.kind.value,
            "rule_id": answer.rule_id,
            "reason": answer.reason,
            "approval_id": answer.approval_id,
        }
        decisions.log(level, "%s %s", answer.kind.value, submission.target, extra=more)


# The busiest first: routes are tried in their order.
ENDPOINTS: Final = (
    Endpoint(
        "POST",
        f"{_EXECUTION}/steps",
        submit,
        Who.AGENT,
        body=requests.Submit,
        answer=answers.DecisionOut,
        dispatched=True,
    ),
    Endpoint(
        "POST",
        f"{_STEP}/complete",
        complete_step,
        Who.AGENT,
        body=requests.StepResult,
        answer=answers.SettledOut,
        dispatched=True,
    ),
    Endpoint(
        "POST",
        f"{_STEP}/fail",
        fail_step,
        Who.AGENT,
        body=requests.StepError,
        answer=answers.SettledOut,
        dispatched=True,
    ),
    Endpoint("POST", f"{_STEP}/stream", publish, Who.AGENT, body=requests.DeltaBody, status=204, dispatched=True),
    Endpoint("POST", f"{_EXECUTION}/heartbeat", heartbeat, Who.AGENT, status=204, dispatched=True),
    Endpoint("POST", f"{_EXECUTION}/suspend", suspend, Who.AGENT, answer=answers.SuspendedOut, dispatched=True),
    Endpoint(
        "POST",
        f"{_EXECUTION}/resources",
        register_resource,
        Who.AGENT,
        body=requests.RegisterResource,
        answer=answers.ResourceOut,
        dispatched=True,
    ),
    Endpoint(
        "POST",
        f"{_EXECUTION}/resources/checkpoints",
        publish_checkpoints,
        Who.AGENT,
        body=requests.PublishCheckpoints,
        status=204,
        dispatched=True,
    ),
    Endpoint(
        "POST",
        f"{_EXECUTION}/resources/{{key}}/binding",
        bind_resource,
        Who.AGENT,
        body=requests.BindResource,
        status=204,
        dispatched=True,
    ),
    Endpoint(
        "POST", f"{_EXECUTION}/complete", complete, Who.AGENT, body=requests.Complete, status=204, dispatched=True
    ),
    Endpoint("POST", f"{_EXECUTION}/fail", fail, Who.AGENT, body=requests.Fail, status=204, dispatched=True),
    Endpoint("PUT", "/v0/agents/{id}/metadata", set_metadata, Who.AGENT, body=requests.Metadata, status=204),
)
