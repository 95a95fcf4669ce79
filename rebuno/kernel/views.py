"""The rows of the journal as the public models."""

from collections.abc import Iterable, Mapping
from typing import Any

from rebuno import types
from rebuno.journal import records
from rebuno.journal.pot_records import OWN, PotState
from rebuno.journal.standing import StandingGrantRow
from rebuno.journal.stops import StopRow
from rebuno.journal.words import TurnRow
from rebuno.model import identity
from rebuno.model.definition import described
from rebuno.types import RawJson


def pot(row: PotState) -> types.UsedLimit:
    """What is taken from a limit."""
    own = row.name.startswith(OWN)
    return types.UsedLimit(
        id=row.key,
        bundle=row.bundle,
        name=None if own else row.name,
        rule_id=row.name.removeprefix(OWN) if own else None,
        of=row.measure.split(", ") if row.measure else [],
        scope=row.scope,
        owner=row.owner or None,
        number=row.number,
        window=row.window,
        taken=row.taken,
        asked=row.asked,
        steps=row.places,
        frees_at=row.frees_at,
    )


def stop(row: StopRow) -> types.Stop:
    """A standing denial."""
    return types.Stop(
        id=row.id,
        agent_id=row.agent or None,
        tool=row.tool or None,
        reason=row.reason or None,
        created_by=row.created_by,
        created_at=row.created_at,
        lifted_by=row.lifted_by or None,
        lifted_at=row.lifted_at,
    )


def execution(
    row: records.ExecutionRow,
    *,
    session: str = "",
    blocked_on: Iterable[types.BlockedOn] = (),
    failure: Mapping[str, Any] | None = None,
    turns: Iterable[TurnRow] | None = None,
) -> types.Execution:
    """An execution. `session` is the one that it belongs to, `failure` what `rebuno.model.raised` keeps of the
    exception that its handler ended with, `turns` what the user wrote into it."""
    spawned, holder = row.spawned_execution_id, row.holder
    return types.Execution(
        id=row.id,
        agent_id=row.agent_id,
        status=row.status,
        input=RawJson(row.input),
        output=_json(row.output),
        failure_reason=row.failure_reason or None,
        session=session or row.session or None,
        idempotency_key=row.key or None,
        parent_execution_id=row.continues or None,
        forked_from=row.forked_from or None,
        fork_seq=row.fork_seq,
        spawned_by=types.SpawnedBy(execution_id=spawned, step_id=row.spawned_step_id) if spawned else None,
        created_by=row.created_by or None,
        on_behalf_of=row.on_behalf_of or None,
        created_at=row.created_at,
        updated_at=row.updated_at,
        deadline_at=row.deadline_at,
        blocked_on=[*blocked_on],
        head_hash=row.head_hash.hex(),
        failure=None if failure is None else raised(failure),
        turns=None if turns is None else [*map(turn, turns)],
        attempt=row.attempt,
        digest=row.digest,
        pinned=row.pinned,
        served=row.served,
        holder=None if holder is None else types.Process(host=holder.host, pid=holder.pid),
        head_seq=row.head_seq,
    )


def turn(row: TurnRow) -> types.UserTurn:
    """What the user wrote."""
    return types.UserTurn(number=row.number, text=row.text, by=row.said_by, at=row.said_at, event_seq=row.event_seq)


def raised(data: Mapping[str, Any]) -> types.Failure:
    """What `rebuno.model.raised` keeps of an exception."""
    frames = [types.StackFrame(**frame) for frame in data.get("traceback", ())]
    return types.Failure(**{**data, "traceback": frames})


def step(row: records.StepRow) -> types.Step:
    """A step."""
    return types.Step(
        step_id=row.step_id,
        execution_id=row.execution_id,
        kind=row.kind.value,
        target=row.target,
        args_hash=row.args_hash,
        occurrence=row.occurrence,
        status=row.status.value,
        idempotency=row.idempotency.value,
        args=RawJson(row.args),
        ran_args=_json(row.ran_args or None),
        result=_json(row.result),
        error=_json(row.error),
        nothing_done=row.nothing_done or None,
        definition=identity.parse(row.definition) if row.definition else None,
        started_at=row.started_at,
        completed_at=row.completed_at,
        parent_step_id=row.parent_id or None,
        decision=str(row.verdict) or None,
        rule_id=row.rule_id or None,
        bundle=row.bundle or None,
        digest=row.digest or None,
        reason=row.reason or None,
        approval_id=row.approval_id or None,
        attempt=row.attempt,
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        decided_at=row.decided_at,
        decided_seq=row.decided_seq,
        started_seq=row.started_seq,
        outcome_seq=row.outcome_seq,
    )


def event(row: records.EventRow, payload: str | None = None) -> types.Event:
    """A record of the log; `payload` is a JSON text that stands in the place of the recorded one."""
    return types.Event(
        execution_id=row.execution_id,
        event_seq=row.event_seq,
        type=row.type,
        payload=row.payload if payload is None else RawJson(payload),
        occurred_at=row.occurred_at,
        hash=row.hash.hex(),
    )


def approval(row: records.ApprovalRow, about: records.StepRow | None) -> types.Approval:
    """A question, with the step that it is about (None: the row of the step is damaged)."""
    # A later rule may ask; the reason of that one stands in the log.
    reason = about.reason if about is not None and about.rule_id == row.rule_id else ""
    asked = types.Approval(
        id=row.id,
        step_id=row.step_id,
        execution_id=row.execution_id,
        status=row.status,
        message=row.message or None,
        approvers=[*row.approvers],
        quorum=row.quorum,
        votes=[_vote(vote) for vote in row.votes],
        rule_id=row.rule_id or None,
        scope=row.scope,
        decided_by=row.decided_by or None,
        asserted_by=row.asserted_by or None,
        rationale=row.rationale or None,
        timeout_at=row.timeout_at,
        decided_at=row.decided_at,
        created_at=row.created_at,
        cause=row.cause,
        bundle=row.bundle or None,
        reason=reason or None,
        edits=[*row.edits] or None,
        edited_args=_json(row.edited or None),
        edited_by=row.edited_by or None,
    )
    if about is not None:
        asked.kind, asked.target, asked.args = about.kind.value, about.target, RawJson(about.args)
    return asked


def standing(row: StandingGrantRow) -> types.StandingGrant:
    """A grant that outlives its execution."""
    return types.StandingGrant(
        id=row.id,
        agent_id=row.agent_id,
        kind=row.kind,
        target=row.target,
        bundle=row.bundle,
        rule_id=row.rule_id,
        matches=RawJson(row.matches),
        approval_id=row.approval_id,
        granted_by=[str(name) for name in identity.parse(row.granted_by)],
        asserted_by=row.asserted_by or None,
        rationale=row.rationale or None,
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        revoked_by=row.revoked_by or None,
    )


def agent(row: records.AgentRow, bundle: str | None) -> types.Agent:
    """An agent, with the text of its bundle."""
    return types.Agent(
        id=row.id,
        webhook_url=row.webhook_url,
        registered_at=row.registered_at,
        policy_bundle=bundle,
        lease_timeout_seconds=row.lease or None,
        description=row.description,
        input_schema=_json(row.input_schema),
        output_schema=_json(row.output_schema),
    )


def key(row: records.ApiKeyRow) -> types.ApiKey:
    """A key, without its token."""
    return types.ApiKey(
        id=row.id,
        name=row.name,
        scopes=[*row.granted],
        agents=[*row.agents],
        created_at=row.created_at,
        revoked_at=row.revoked_at,
    )


def tool(digest: str, text: str) -> types.ToolDefinition:
    """A definition that is kept under this digest. Raises `ValidationError` for a text that is none."""
    said = described(text)
    return types.ToolDefinition(
        digest=digest,
        server=said["server"],
        name=said["name"],
        description=said["description"],
        input_schema=RawJson(identity.canonical(said["input_schema"])),
        output_schema=RawJson(identity.canonical(said["output_schema"])),
    )


def new_key(row: records.ApiKeyRow, token: str) -> types.NewApiKey:
    """A key with its token."""
    return types.NewApiKey(**vars(key(row)), token=token)


def _vote(row: records.VoteRow) -> types.Vote:
    return types.Vote(
        decided_by=row.decided_by,
        decision=row.decision,
        at=row.at,
        asserted_by=row.asserted_by or None,
        rationale=row.rationale or None,
    )


def _json(text: str | None) -> RawJson | None:
    return None if text is None else RawJson(text)
