"""A served kernel as a backend, over HTTP."""

import time
from collections.abc import Sequence
from contextlib import suppress
from io import BytesIO
from typing import Any, Final

from rebuno import types
from rebuno.errors import ForbiddenError, NotFoundError, ValidationError
from rebuno.kernel import Panel, Recording, Timeline, compose_timeline, read_recording, recording_lines
from rebuno.sdk.client import Client
from rebuno.types import (
    Approval,
    CheckedHistory,
    ErasedExecutions,
    Event,
    Execution,
    ForkPoints,
    StandingGrant,
    Step,
    Stop,
    SweptStore,
    UsedLimit,
)
from rebuno_cli import from_log
from rebuno_cli.ids import beginning, only

# The server's own limits.
_PAGE: Final = 200
_EVENTS: Final = 1000
# An execution that is named by less than its id is looked for among so many of the newest.
_LOOKED_AT: Final = 2000


class HttpBackend:
    """What `rebuno_cli.backend.Backend` says, of the server that a client speaks to."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def now(self) -> float:
        return time.time()

    # ------------------------------------------------------------ executions

    async def execution(self, ref: str) -> Execution:
        found = await self._find(ref)
        log = await self.events(found.id)
        return from_log.execution(await self._asking(found, log), log)

    async def again(self, execution_id: str) -> Execution:
        return from_log.execution(await self._client.get(execution_id), ())

    async def executions(self, *, agent_id: str | None, status: str | None, limit: int) -> list[Execution]:
        found: list[Execution] = []
        cursor: str | None = ""
        while cursor is not None and len(found) < limit:
            page = await self._client.list_executions(
                agent_id=agent_id or "", status=status or "", cursor=cursor, limit=min(limit - len(found), _PAGE)
            )
            found += page.executions
            cursor = page.next_cursor
        return [from_log.execution(await self._asking(one, ()), ()) for one in found]

    async def _asking(self, found: Execution, log: Sequence[Event]) -> Execution:
        """The execution with its open questions."""
        if any(one.type == "approval" for one in found.blocked_on):
            # A key that may not read questions is told of them by `blocked_on` alone.
            with suppress(ForbiddenError):
                asked = await self._client.list_approvals(execution_id=found.id)
                found.approvals = [from_log.approval(one, log) for one in asked]
        return found

    async def steps(self, execution_id: str) -> Sequence[Step]:
        return from_log.steps(await self._client.list_steps(execution_id), await self.events(execution_id))

    async def events(self, execution_id: str, *, after: int = 0) -> list[Event]:
        found: list[Event] = []
        while True:
            page = await self._client.events(execution_id, after_seq=after, limit=_EVENTS)
            found += page
            if len(page) < _EVENTS:
                return found
            after = page[-1].event_seq

    async def story(self, ref: str) -> Timeline:
        found = await self._find(ref)
        log = await self.events(found.id)
        steps = from_log.steps(await self._client.list_steps(found.id), log)
        asked = await self._client.list_approvals(status="all", execution_id=found.id)
        approvals = [from_log.approval(one, log) for one in asked]
        # A list of executions does not tell what was said.
        execution = from_log.execution(await self._client.get(found.id), log)
        return compose_timeline(execution, log, steps, approvals, alive=not execution.status.terminal)

    async def as_rule(self, ref: str) -> dict[str, Any]:
        return await self._client.allowing_rule(await self._approval_id(ref))

    async def explain(self, ref: str, step_id: str) -> dict[str, Any]:
        found = await self._find(ref)
        named = [one.step_id for one in await self._client.list_steps(found.id)]
        return await self._client.explain(found.id, only("step", step_id, beginning(step_id, named)))

    async def rules(self, digests: Sequence[str]) -> list[tuple[str, str, str]]:
        from rebuno.policy import rules_in

        with suppress(ForbiddenError):
            texts = [one.policy_bundle for one in await self._client.list_agents()]
            return [rule for text in texts if text for rule in rules_in(text)]
        return []

    async def changed_files(self, executions: Sequence[Execution]) -> list[str]:
        return []

    async def create(
        self, agent_id: str, input: Any, *, session: str, key: str, parent: str, on_behalf_of: str, workdir: str
    ) -> Execution:
        made = await self._client.create(
            agent_id,
            input,
            session=session,
            parent_execution_id=parent,
            idempotency_key=key,
            on_behalf_of=on_behalf_of,
            workdir=workdir,
        )
        return from_log.execution(made, ())

    async def say(self, ref: str, text: str, *, by: str) -> Execution:
        _by_key(by)
        found = await self._find(ref)
        await self._client.say(found.id, text)
        return await self.execution(found.id)

    async def cancel(self, ref: str, *, reason: str | None) -> Execution:
        if reason is not None:
            raise ValidationError("a server takes no reason of a cancellation; leave out `--reason`")
        found = await self._find(ref)
        await self._client.cancel(found.id)
        return await self.execution(found.id)

    async def fork(
        self,
        ref: str,
        *,
        at_seq: int | None,
        key: str | None,
        session: str,
        keep_policy: bool,
        deadline: float | None,
    ) -> Execution:
        if key is not None:
            raise ValidationError("a server takes no id of yours for a fork; leave out `--id`")
        found = await self._find(ref)
        at = await self._client.latest_seq(found.id) if at_seq is None else at_seq
        made = await self._client.fork(
            found.id, at_seq=at, session=session, keep_policy=keep_policy, deadline_seconds=deadline
        )
        return from_log.execution(made, ())

    async def fork_points(self, ref: str) -> ForkPoints:
        return await self._client.fork_points((await self._find(ref)).id)

    async def retry(self, ref: str, *, key: str | None, keep_policy: bool, deadline: float | None) -> Execution:
        if key is not None:
            raise ValidationError("a server takes no id of yours for a fork; leave out `--id`")
        found = await self._find(ref)
        made = await self._client.retry(found.id, keep_policy=keep_policy, deadline_seconds=deadline)
        return from_log.execution(made, ())

    async def verify(self, ref: str, *, head: str) -> CheckedHistory:
        return await self._client.verify((await self._find(ref)).id, head=head)

    async def record(self, ref: str) -> Recording:
        text = await self._client.export((await self._find(ref)).id)
        return read_recording(BytesIO(text.encode()), name="the server's answer")

    async def restore(self, recording: Recording) -> None:
        await self._client.import_history("".join(recording_lines(recording)))

    async def sweep(self, *, older_than: float | None) -> SweptStore:
        return await self._client.sweep(older_than_seconds=older_than)

    async def erase(self, ref: str, *, person: str, end: bool) -> ErasedExecutions:
        if person:
            return await self._client.erase_person(person, cancel=end)
        return await self._client.erase((await self._find(ref)).id, cancel=end)

    async def _find(self, ref: str) -> Execution:
        try:
            return await self._client.get(ref)
        except (NotFoundError, ValidationError):
            return await self._look_for(ref)

    async def _look_for(self, ref: str) -> Execution:
        rows: list[Execution] = []
        cursor: str | None = ""
        while cursor is not None and len(rows) < _LOOKED_AT:
            page = await self._client.list_executions(cursor=cursor, limit=_PAGE)
            rows += page.executions
            cursor = page.next_cursor
        ids = {row.id: row for row in rows}
        named = [row.id for row in rows if row.idempotency_key == ref] or beginning(ref, ids)
        if not named and cursor is not None:
            raise NotFoundError(f"none of the {len(rows)} newest executions is `{ref}`; give the whole id")
        return ids[only("execution", ref, named)]

    # ------------------------------------------------------------ approvals

    async def approvals(self, *, status: str | None, execution: str | None) -> list[Approval]:
        within = (await self._find(execution)).id if execution is not None else ""
        return await self._client.list_approvals(status=status or "all", execution_id=within)

    async def limits(self) -> list[UsedLimit]:
        return await self._client.list_limits()

    async def stop(self, *, agent: str, tool: str, everything: bool, reason: str, by: str) -> Stop:
        _by_key(by)
        return await self._client.stop(agent_id=agent, tool=tool, everything=everything, reason=reason)

    async def stops(self, *, lifted: bool) -> list[Stop]:
        return await self._client.list_stops(lifted=lifted)

    async def lift(self, ref: str, *, by: str) -> Stop:
        _by_key(by)
        every = [one.id for one in await self._client.list_stops(lifted=True)]
        return await self._client.lift(only("stop", ref, beginning(ref, every)))

    async def approval(self, ref: str) -> Approval:
        found = await self._client.get_approval(await self._approval_id(ref))
        return from_log.approval(found, await self.events(found.execution_id))

    async def panels(self, approval: Approval) -> list[Panel]:
        return from_log.panels(approval, await self.events(approval.execution_id))

    async def resolve(
        self,
        ref: str,
        *,
        granted: bool,
        decided_by: str,
        rationale: str,
        scope: str,
        edit: dict[str, Any] | None = None,
        lasts: float | None = None,
        known: dict[str, str] | None = None,
        free: Sequence[str] | None = None,
    ) -> Approval:
        approval_id = await self._approval_id(ref)
        if granted:
            await self._client.grant_approval(
                approval_id,
                decided_by=decided_by,
                rationale=rationale,
                scope=scope,
                edits=edit,
                for_seconds=lasts,
                known=known or None,
                free=free or None,
            )
        else:
            await self._client.deny_approval(approval_id, decided_by=decided_by, rationale=rationale)
        # A key that answers need not be one that reads logs.
        return await self._client.get_approval(approval_id)

    async def standing_grants(self, *, agent_id: str, over: bool) -> list[StandingGrant]:
        return await self._client.list_grants(agent_id=agent_id, over=over)

    async def revoke_grant(self, ref: str, *, by: str) -> StandingGrant:
        _by_key(by)
        every = [one.id for one in await self._client.list_grants(over=True)]
        return await self._client.revoke_grant(only("grant", ref, beginning(ref, every)))

    async def _approval_id(self, ref: str) -> str:
        try:
            return (await self._client.get_approval(ref)).id
        except (NotFoundError, ValidationError):
            every = [one.id for one in await self._client.list_approvals(status="all")]
            return only("approval", ref, beginning(ref, every))

    # ------------------------------------------------------------ agents and keys

    async def agents(self) -> list[types.Agent]:
        return await self._client.list_agents()

    async def agent(self, agent_id: str) -> types.Agent:
        return await self._client.get_agent(agent_id)

    async def put_agent(self, agent_id: str, *, webhook_url: str, secret: str, lease: float | None) -> types.Agent:
        return await self._client.put_agent(
            agent_id, webhook_url=webhook_url, secret=secret, lease_timeout_seconds=lease
        )

    async def delete_agent(self, agent_id: str, *, force: bool) -> None:
        await self._client.delete_agent(agent_id, force=force)

    async def set_policy(self, agent_id: str, text: str) -> None:
        await self._client.set_policy(agent_id, text)

    async def test_policy(
        self, agent_id: str, *, bundle: str, cases: Sequence[dict[str, Any]], execution_ids: Sequence[str]
    ) -> types.Tested:
        found = types.Tested()
        if cases or not execution_ids:
            found = await self._client.test_policy(agent_id, bundle=bundle, cases=cases)
        for ref in execution_ids:
            about = (await self._find(ref)).id
            more = await self._client.test_policy(agent_id, bundle=bundle, execution_id=about)
            found.results += more.results
            found.failed += more.failed
        return found

    async def tools(self) -> list[types.ToolDefinition]:
        return await self._client.list_tools()

    async def keys(self) -> list[types.ApiKey]:
        return await self._client.list_keys()

    async def create_key(self, name: str, scopes: Sequence[str], agents: Sequence[str]) -> types.NewApiKey:
        return await self._client.create_key(name, scopes, agents=agents)

    async def rotate_key(self, ref: str) -> types.NewApiKey:
        return await self._client.rotate_key((await self._key(ref)).id)

    async def revoke_key(self, ref: str) -> types.ApiKey:
        key = await self._key(ref)
        await self._client.revoke_key(key.id)
        return key

    async def _key(self, ref: str) -> types.ApiKey:
        found = {key.id: key for key in await self._client.list_keys()}
        return found[only("key", ref, beginning(ref, found))]


def _by_key(by: str) -> None:
    if by:
        raise ValidationError("a server goes by its key; leave out `--as`")
