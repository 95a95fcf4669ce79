"""The routes of operators: agents and their policies, approvals, keys, and health."""

import asyncio
import logging
from typing import Final

from starlette.responses import Response

from rebuno import types
from rebuno.errors import ForbiddenError, StoreError, ValidationError
from rebuno.journal import records
from rebuno.kernel import (
    agent_view,
    approval_view,
    key_view,
    new_key_view,
    pot_view,
    standing_terms,
    standing_view,
    stop_view,
)
from rebuno.model import identity
from rebuno.server.auth import ANYONE, BOOTSTRAP, KeyScope
from rebuno.server.bound import check_agent
from rebuno.server.policies import tested
from rebuno.server.routes import ApiCall, Endpoint, Who, nothing, said
from rebuno.server.wire import operating, requests
from rebuno.server.wire.writing import model, models, obj, raw

logger: Final = logging.getLogger("rebuno.server")

# How long a store may take to say that it is there, in seconds.
READY_SECONDS: Final = 2.0

# On a page. Its last id is the cursor of the next.
_MOST_APPROVALS: Final = 200
_MOST_POTS: Final = 1000

_AGENT: Final = "/v0/agents/{id}"
_APPROVAL: Final = "/v0/approvals/{id}"
_KEY: Final = "/v0/api-keys/{id}"
_READ_AGENTS: Final = (KeyScope.AGENTS_READ,)
_WRITE_AGENTS: Final = (KeyScope.AGENTS_WRITE,)
_READ_APPROVALS: Final = (KeyScope.APPROVALS_READ,)
_WRITE_APPROVALS: Final = (KeyScope.APPROVALS_WRITE,)
_KEYS: Final = (KeyScope.API_KEYS_MANAGE,)


async def put_agent(call: ApiCall) -> Response:
    """Register an agent, or change it"""
    body = call.body(requests.PutAgent)
    call.server.allowed.check(body.webhook_url)
    row = await call.serving.put_agent(
        body.id, webhook_url=body.webhook_url, secret=body.secret, lease=body.lease_timeout_seconds or 0.0
    )
    return said(model(await _agent(call, row)), 201)


async def list_agents(call: ApiCall) -> Response:
    """List agents"""
    rows = await call.serving.agents()
    return said(models([await _agent(call, row) for row in rows]))


async def get_agent(call: ApiCall) -> Response:
    """Show an agent"""
    return said(model(await _agent(call, await call.serving.agent(call.id))))


async def delete_agent(call: ApiCall) -> Response:
    """Remove an agent"""
    await call.serving.delete_agent(call.id, force=call.query(requests.DeleteQuery).force)
    return nothing()


async def put_policy(call: ApiCall) -> Response:
    """Set the bundle of an agent"""
    await call.serving.set_policy(call.id, call.body(requests.PutPolicy).bundle)
    return nothing()


async def test_policy(call: ApiCall) -> Response:
    """Test a bundle against cases and recorded steps"""
    return said(await tested(call.serving, call.id, call.body(requests.TestPolicy)))


async def list_approvals(call: ApiCall) -> Response:
    """List the questions to people"""
    query = call.query(requests.ApprovalsQuery)
    if call.caller.agents:
        if not query.execution_id:
            raise ForbiddenError("this key is bound to agents; name the `execution_id` of one of theirs")
        check_agent(call, (await call.serving.execution(query.execution_id)).agent_id)
    status = None if query.status == "all" else query.status or "pending"
    rows = await call.serving.approvals(
        status=status,
        execution_id=query.execution_id or None,
        after=query.cursor or None,
        limit=min(query.limit, _MOST_APPROVALS) if query.limit > 0 else _MOST_APPROVALS,
    )
    return said(models([await _approval(call, row) for row in rows]))


async def list_limits(call: ApiCall) -> Response:
    """List what is taken from limits"""
    query = call.query(requests.LimitsQuery)
    limit = min(query.limit, _MOST_POTS) if query.limit > 0 else _MOST_POTS
    return said(models(map(pot_view, await call.serving.pots(after=query.cursor, limit=limit))))


async def create_stop(call: ApiCall) -> Response:
    """Stop an agent, tools, or everything"""
    body = call.body(requests.CreateStop)
    row = await call.serving.stop(
        agent=body.agent_id or "",
        tool=body.tool or "",
        everything=bool(body.all),
        reason=body.reason or "",
        by=call.caller.name,
    )
    return said(model(stop_view(row)), 201)


async def list_stops(call: ApiCall) -> Response:
    """List what is stopped"""
    rows = await call.serving.stops(lifted=call.query(requests.StopsQuery).lifted)
    return said(models(map(stop_view, rows)))


async def lift_stop(call: ApiCall) -> Response:
    """Lift a stop"""
    return said(model(stop_view(await call.serving.lift(call.id, by=call.caller.name))))


async def get_approval(call: ApiCall) -> Response:
    """Show a question"""
    row = await call.serving.approval(call.id)
    return said(model(await call.serving.reasoned(row, await _approval(call, row))))


async def grant(call: ApiCall) -> Response:
    """Grant an approval"""
    return await _resolve(call, granted=True)


async def deny(call: ApiCall) -> Response:
    """Deny an approval"""
    return await _resolve(call, granted=False)


async def create_key(call: ApiCall) -> Response:
    """Create an API key"""
    body = call.body(requests.CreateKey)
    if body.name in (ANYONE, BOOTSTRAP):
        raise ValidationError(f"the name `{body.name}` would be taken for somebody without a key; use another one")
    scopes = list(dict.fromkeys(body.scopes))
    known = [scope.value for scope in KeyScope]
    for scope in scopes:
        if scope not in known:
            raise ValidationError(f"the scope `{scope}` is none of {', '.join(known)}")
    row, token = await call.serving.create_key(body.name, scopes, body.agents or ())
    return said(model(new_key_view(row, token)), 201)


async def list_tools(call: ApiCall) -> Response:
    """List what servers say of their tools"""
    return said(models(await call.serving.tools()))


async def list_keys(call: ApiCall) -> Response:
    """List API keys"""
    return said(models(map(key_view, await call.serving.keys())))


async def rotate_key(call: ApiCall) -> Response:
    """Give an API key a new token"""
    call.body(requests.Nothing)
    row, token = await call.serving.rotate_key(call.id)
    return said(model(new_key_view(row, token)))


async def delete_key(call: ApiCall) -> Response:
    """Revoke an API key"""
    await call.serving.revoke_key(call.id)
    return nothing()


async def health(call: ApiCall) -> Response:
    """Whether the server answers"""
    return said(obj(status="ok"))


async def ready(call: ApiCall) -> Response:
    """Whether the store takes writes; 503 if it does not"""
    try:
        # A store that is away is waited for, which this caller does not.
        async with asyncio.timeout(READY_SECONDS):
            await call.serving.ready()
    except TimeoutError:
        logger.error("not ready: the store did not answer within %g seconds", READY_SECONDS)
    except StoreError as error:
        logger.error("not ready: %s", error)
    else:
        return said(obj(status="ready"))
    return said(obj(status="unavailable"), 503)


async def metrics(call: ApiCall) -> Response:
    """Numbers for Prometheus"""
    text = await call.server.metrics.scrape(call.serving)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


async def _agent(call: ApiCall, row: records.AgentRow) -> types.Agent:
    return agent_view(row, await call.serving.bundle(row.id))


async def as_rule(call: ApiCall) -> Response:
    """Show the narrowest rule that would have allowed the call"""
    return said(raw(identity.canonical(await call.serving.as_rule(call.id))))


async def list_grants(call: ApiCall) -> Response:
    """List the grants that outlive their executions"""
    query = call.query(requests.GrantsQuery)
    rows = await call.serving.standing_grants(agent_id=query.agent_id or None, over=query.over)
    return said(models(map(standing_view, rows)))


async def revoke_grant(call: ApiCall) -> Response:
    """Revoke a grant that outlives its execution"""
    return said(model(standing_view(await call.serving.revoke_grant(call.id, by=call.caller.name))))


async def _approval(call: ApiCall, row: records.ApprovalRow) -> types.Approval:
    return approval_view(row, await call.serving.step(row.execution_id, row.step_id))


async def _resolve(call: ApiCall, *, granted: bool) -> Response:
    body = call.body(requests.Resolution)
    if body.decided_by and body.decided_by != call.caller.name:
        # INVARIANT: one key is one voter, unless it was trusted to say who people are.
        call.caller.need(KeyScope.APPROVALS_SPEAK)
    stands = standing_terms(body.scope or "once", body.for_seconds, body.known, body.free)
    resolved = await call.serving.resolve(
        call.id,
        granted=granted,
        decided_by=body.decided_by or call.caller.name,
        asserted_by=call.caller.name,
        rationale=body.rationale or "",
        scope=body.scope or "once" if stands is None else "once",
        edit=body.edits,
        stands=stands,
    )
    more = {"execution_id": resolved.execution_id, "step_id": resolved.step_id, "approval_id": resolved.id}
    call.note(f"approval {resolved.status}", **more)
    return nothing()


ENDPOINTS: Final = (
    Endpoint("GET", "/v0/health", health, Who.ANYONE, answer=operating.HealthOut),
    Endpoint("GET", "/v0/ready", ready, Who.ANYONE, answer=operating.ReadyOut),
    Endpoint("GET", "/metrics", metrics, Who.ANYONE, media="text/plain"),
    Endpoint(
        "POST",
        "/v0/agents",
        put_agent,
        scopes=_WRITE_AGENTS,
        body=requests.PutAgent,
        answer=types.Agent,
        status=201,
    ),
    Endpoint("GET", "/v0/agents", list_agents, scopes=_READ_AGENTS, answer=list[types.Agent]),
    Endpoint("GET", _AGENT, get_agent, scopes=_READ_AGENTS, answer=types.Agent),
    Endpoint("DELETE", _AGENT, delete_agent, scopes=_WRITE_AGENTS, query=requests.DeleteQuery, status=204),
    Endpoint(
        "POST",
        "/v0/policies/{id}",
        put_policy,
        scopes=(KeyScope.POLICIES_WRITE,),
        body=requests.PutPolicy,
        status=204,
    ),
    Endpoint(
        "POST",
        "/v0/policies/{id}/test",
        test_policy,
        scopes=(KeyScope.POLICIES_WRITE, KeyScope.EXECUTIONS_READ),
        body=requests.TestPolicy,
        answer=operating.TestedOut,
    ),
    Endpoint(
        "GET",
        "/v0/approvals",
        list_approvals,
        scopes=_READ_APPROVALS,
        query=requests.ApprovalsQuery,
        answer=list[types.Approval],
    ),
    Endpoint(
        "GET",
        "/v0/limits",
        list_limits,
        scopes=(KeyScope.EXECUTIONS_READ,),
        query=requests.LimitsQuery,
        answer=list[types.UsedLimit],
    ),
    Endpoint(
        "POST",
        "/v0/stops",
        create_stop,
        scopes=(KeyScope.POLICIES_WRITE,),
        body=requests.CreateStop,
        answer=types.Stop,
        status=201,
    ),
    Endpoint(
        "GET",
        "/v0/stops",
        list_stops,
        scopes=(KeyScope.EXECUTIONS_READ,),
        query=requests.StopsQuery,
        answer=list[types.Stop],
    ),
    Endpoint("POST", "/v0/stops/{id}/lift", lift_stop, scopes=(KeyScope.POLICIES_WRITE,), answer=types.Stop),
    Endpoint(
        "GET",
        "/v0/grants",
        list_grants,
        scopes=_READ_APPROVALS,
        query=requests.GrantsQuery,
        answer=list[types.StandingGrant],
    ),
    Endpoint("DELETE", "/v0/grants/{id}", revoke_grant, scopes=_WRITE_APPROVALS, answer=types.StandingGrant),
    Endpoint("GET", _APPROVAL, get_approval, scopes=_READ_APPROVALS, answer=types.Approval),
    Endpoint("GET", f"{_APPROVAL}/rule", as_rule, scopes=_READ_APPROVALS, answer=operating.AllowingRuleOut),
    Endpoint("POST", f"{_APPROVAL}/grant", grant, scopes=_WRITE_APPROVALS, body=requests.Resolution, status=204),
    Endpoint("POST", f"{_APPROVAL}/deny", deny, scopes=_WRITE_APPROVALS, body=requests.Resolution, status=204),
    Endpoint(
        "POST", "/v0/api-keys", create_key, scopes=_KEYS, body=requests.CreateKey, answer=types.NewApiKey, status=201
    ),
    Endpoint("GET", "/v0/tools", list_tools, scopes=_READ_AGENTS, answer=list[types.ToolDefinition]),
    Endpoint("GET", "/v0/api-keys", list_keys, scopes=_KEYS, answer=list[types.ApiKey]),
    Endpoint("POST", f"{_KEY}/rotate", rotate_key, scopes=_KEYS, answer=types.NewApiKey),
    Endpoint("DELETE", _KEY, delete_key, scopes=_KEYS, status=204),
)
