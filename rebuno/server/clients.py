"""The routes of clients: create, read, cancel and fork executions, and tell them what the user wrote."""

from typing import Final

from starlette.responses import Response

from rebuno import types
from rebuno.errors import ForbiddenError
from rebuno.journal.records import ExecutionRow
from rebuno.kernel import step_view
from rebuno.model import identity
from rebuno.server.auth import KeyScope
from rebuno.server.bound import check_agent, only_agent
from rebuno.server.routes import ApiCall, Endpoint, Who, nothing, said
from rebuno.server.stream import stream
from rebuno.server.wire import answers, requests
from rebuno.server.wire.writing import model, models, obj, raw

_EXECUTION: Final = "/v0/executions/{id}"
# How many of them a page holds: unless the caller says it, and at most.
_EXECUTIONS: Final = 50
_MOST_EXECUTIONS: Final = 200
_EVENTS: Final = 100
_MOST_EVENTS: Final = 1000
_READ: Final = (KeyScope.EXECUTIONS_READ,)
_WRITE: Final = (KeyScope.EXECUTIONS_WRITE,)


async def create(call: ApiCall) -> Response:
    """Create an execution"""
    body = call.body(requests.CreateExecution)
    spawned = body.spawned_by
    if call.caller.agents:
        # A subagent may be any agent's; the step that begins it is of an agent of the key.
        parent = body.agent_id if spawned is None else (await call.serving.execution(spawned.execution_id)).agent_id
        check_agent(call, parent)
        if body.parent_execution_id:
            check_agent(call, (await call.serving.execution(body.parent_execution_id)).agent_id)
    row = await call.serving.create(
        agent_id=body.agent_id,
        input=call.canonical(body.input, "input"),
        session=body.session or "",
        parent_execution_id=body.parent_execution_id or "",
        key=body.idempotency_key or "",
        spawned_by=(spawned.execution_id, spawned.step_id) if spawned is not None else None,
        on_behalf_of=body.on_behalf_of or "",
        created_by=call.caller.name,
        by_agent=bool(call.caller.agents),
        workdir=body.workdir or "",
    )
    call.note("execution begun", execution_id=row.id, agent_id=row.agent_id)
    made = await call.serving.shown(row)
    if body.workdir or spawned is not None:
        made.workdir = await call.serving.workdir(row)
    return said(model(made), 201)


async def list_executions(call: ApiCall) -> Response:
    """List executions, newest first"""
    query = call.query(requests.ExecutionsQuery)
    rows, cursor = await call.serving.executions(
        agent_id=only_agent(call, query.agent_id or "") or None,
        session=query.session or None,
        status=query.status or None,
        cursor=query.cursor or None,
        limit=min(query.limit, _MOST_EXECUTIONS) if query.limit > 0 else _EXECUTIONS,
    )
    return said(model(types.Page(executions=[await call.serving.shown(row) for row in rows], next_cursor=cursor)))


async def get_execution(call: ApiCall) -> Response:
    """Show an execution"""
    row = await _own(call)
    clear = row if call.caller.agent_id else None
    execution = await call.serving.shown(row if clear is None else await call.serving.in_clear(row))
    execution.turns = await call.serving.turns(row.id, clear=clear)
    execution.workdir = await call.serving.workdir(row)
    if not call.caller.agent_id:
        execution.delivery = await call.serving.delivery(row)
    return said(model(execution))


async def say(call: ApiCall) -> Response:
    """Add what the user wrote to an execution"""
    body = call.body(requests.SayTurn)
    if call.caller.agents:
        raise ForbiddenError("this key is an agent's; only a client says what the user wrote")
    await call.serving.say(call.id, body.text, by=call.caller.name)
    call.note("turn added")
    return nothing()


async def list_events(call: ApiCall) -> Response:
    """List the events of an execution"""
    query = call.query(requests.EventsQuery)
    limit = min(query.limit, _MOST_EVENTS) if query.limit > 0 else _EVENTS
    rows = await call.serving.events(call.id, after=query.after_seq, limit=limit)
    return said(models([await call.serving.documented(row) for row in rows]))


async def list_steps(call: ApiCall) -> Response:
    """List the steps of an execution"""
    query = call.query(requests.StepsQuery)
    row = await _own(call)
    clear = row if call.caller.agent_id else None
    rows = await call.serving.steps(call.id, terminal=query.status == "terminal", clear=clear)
    return said(models(map(step_view, rows)))


async def get_step(call: ApiCall) -> Response:
    """Show a step"""
    row = await _own(call)
    clear = row if call.caller.agent_id else None
    return said(model(step_view(await call.serving.step(call.id, call.step_id, clear=clear))))


async def explain(call: ApiCall) -> Response:
    """Show why a step was decided so"""
    await _own(call)
    return said(raw(identity.canonical(await call.serving.explain(call.id, call.step_id))))


async def previous(call: ApiCall) -> Response:
    """Show the state that an execution continues from"""
    await _own(call)
    return said(obj(state=raw(await call.serving.previous(call.id, clear=bool(call.caller.agent_id)))))


async def cancel(call: ApiCall) -> Response:
    """Cancel an execution"""
    call.body(requests.Nothing)
    await call.serving.cancel(call.id)
    call.note("execution cancelled")
    return nothing()


async def fork(call: ApiCall) -> Response:
    """Create an execution from the middle of another one"""
    body = call.body(requests.Fork)
    if body.policy_bundle or body.keep_policy:
        # INVARIANT: who forks a fork asks for it anew, so that nobody runs under rules that they may not choose.
        call.caller.need(KeyScope.POLICIES_WRITE)
    row = await call.serving.fork(
        call.id,
        at_seq=body.at_seq,
        session=body.session or "",
        bundle=body.policy_bundle or None,
        keep_policy=bool(body.keep_policy),
        deadline=body.deadline_seconds,
        created_by=call.caller.name,
    )
    call.note("execution forked", fork=row.id)
    return said(model(await call.serving.with_restoration(await call.serving.shown(row))), 201)


async def fork_points(call: ApiCall) -> Response:
    """Show where a fork may begin"""
    return said(model(await call.serving.fork_points(call.id)))


async def _own(call: ApiCall) -> ExecutionRow:
    """The execution; an agent sees only its own."""
    row = await call.serving.execution(call.id)
    if call.caller.agent_id and row.agent_id != call.caller.agent_id:
        raise ForbiddenError("this execution is another agent's")
    return row


ENDPOINTS: Final = (
    Endpoint("GET", _EXECUTION, get_execution, Who.EITHER, _READ, answer=types.Execution),
    Endpoint(
        "POST",
        "/v0/executions",
        create,
        scopes=_WRITE,
        body=requests.CreateExecution,
        answer=types.Execution,
        status=201,
    ),
    Endpoint(
        "GET",
        "/v0/executions",
        list_executions,
        scopes=_READ,
        query=requests.ExecutionsQuery,
        answer=types.Page,
    ),
    Endpoint(
        "GET",
        f"{_EXECUTION}/events",
        list_events,
        scopes=_READ,
        query=requests.EventsQuery,
        answer=list[types.Event],
    ),
    Endpoint(
        "GET",
        f"{_EXECUTION}/steps",
        list_steps,
        Who.EITHER,
        _READ,
        query=requests.StepsQuery,
        answer=list[types.Step],
    ),
    Endpoint("GET", f"{_EXECUTION}/steps/{{step_id}}", get_step, Who.EITHER, _READ, answer=types.Step),
    Endpoint(
        "GET",
        f"{_EXECUTION}/steps/{{step_id}}/explain",
        explain,
        scopes=_READ,
        answer=answers.ExplainedOut,
    ),
    Endpoint("GET", f"{_EXECUTION}/stream", stream, scopes=_READ, media="text/event-stream"),
    Endpoint("GET", f"{_EXECUTION}/previous", previous, Who.EITHER, _READ, answer=answers.PreviousOut),
    Endpoint("POST", f"{_EXECUTION}/turns", say, scopes=_WRITE, body=requests.SayTurn, status=204),
    Endpoint("POST", f"{_EXECUTION}/cancel", cancel, scopes=_WRITE, status=204),
    Endpoint("POST", f"{_EXECUTION}/fork", fork, scopes=_WRITE, body=requests.Fork, answer=types.Execution, status=201),
    Endpoint("GET", f"{_EXECUTION}/fork-points", fork_points, scopes=_READ, answer=types.ForkPoints),
)
