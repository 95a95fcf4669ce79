"""A store on this machine as a backend, whether a server works on it or not."""

import getpass
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from rebuno.errors import NotFoundError, ValidationError
from rebuno.journal.served import ServedStore
from rebuno.kernel import Operator, agent_view, event_payload, event_view, key_view, new_key_view, standing_terms
from rebuno.model import identity
from rebuno_cli.ids import beginning, only

if TYPE_CHECKING:
    from rebuno import types
    from rebuno.journal import records
    from rebuno.kernel import Panel, Recording, Serving, Timeline
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

_REASON: Final = "cancelled"
_PAGE: Final = 1000


class StoreBackend:
    """What `rebuno_cli.backend.Backend` says, of a store. Servers on the same store notice what is done here."""

    def __init__(self, store: ServedStore) -> None:
        self._store = store
        self._operator = Operator(store)

    @cached_property
    def _serving(self) -> "Serving":
        # Loaded where it is needed: to look at a store is the matter of a moment.
        from rebuno.kernel import Serving

        return Serving(self._store)

    def now(self) -> float:
        return self._operator.now()

    # ------------------------------------------------------------ executions

    async def execution(self, ref: str) -> "Execution":
        return await self._operator.execution(ref)

    async def again(self, execution_id: str) -> "Execution":
        return await self._operator.execution(execution_id)

    async def executions(self, *, agent_id: str | None, status: str | None, limit: int) -> "list[Execution]":
        return await self._operator.executions(agent_id=agent_id, status=status, limit=limit)

    async def steps(self, execution_id: str) -> "list[Step]":
        return await self._operator.steps(execution_id)

    async def events(self, execution_id: str, *, after: int = 0) -> "list[Event]":
        found: list[Event] = []
        while page := await self._store.events(execution_id, after=after, limit=_PAGE):
            found += [event_view(event, await event_payload(self._store, event)) for event in page]
            after = page[-1].event_seq
        return found

    async def story(self, ref: str) -> "Timeline":
        return await self._operator.story(ref)

    async def as_rule(self, ref: str) -> dict[str, Any]:
        return await self._operator.as_rule((await self.approval(ref)).id)

    async def explain(self, ref: str, step_id: str) -> dict[str, Any]:
        found = await self._store.execution((await self._operator.execution(ref)).id)
        if found.served:
            return await self._serving.explain(found.id, step_id)
        return await self._operator.explain(found.id, step_id)

    async def rules(self, digests: Sequence[str]) -> list[tuple[str, str, str]]:
        return [rule for digest in digests for rule in await self._operator.rules(digest)]

    async def changed_files(self, executions: "Sequence[Execution]") -> list[str]:
        return await self._operator.changed_files(executions)

    async def create(
        self, agent_id: str, input: Any, *, session: str, key: str, parent: str, on_behalf_of: str, workdir: str
    ) -> "Execution":
        row = await self._serving.create(
            agent_id=agent_id,
            input=identity.canonical(input),
            session=session,
            parent_execution_id=parent,
            key=key,
            on_behalf_of=on_behalf_of,
            workdir=workdir,
        )
        return await self._operator.shown(row)

    async def say(self, ref: str, text: str, *, by: str) -> "Execution":
        found = await self._operator.execution(ref)
        await self._operator.say(found.id, text, by=by or _login(""))
        return await self._operator.execution(found.id)

    async def cancel(self, ref: str, *, reason: str | None) -> "Execution":
        found = await self._store.execution((await self._operator.execution(ref)).id)
        if found.served and reason is None:
            # Its subagents end with it, and the next of its session begins.
            await self._serving.cancel(found.id)
            return await self._operator.execution(found.id)
        return await self._operator.cancel(found.id, reason=reason or _REASON)

    async def fork(
        self,
        ref: str,
        *,
        at_seq: int | None,
        key: str | None,
        session: str,
        keep_policy: bool,
        deadline: float | None,
    ) -> "Execution":
        found = await self._store.execution((await self._operator.execution(ref)).id)
        if not found.served:
            if session:
                raise ValidationError(f"the execution `{found.id}` has no sessions; leave out `--session`")
            return await self._operator.fork(
                found.id, at_seq=at_seq, key=key, keep_policy=keep_policy, deadline=deadline
            )
        if key is not None:
            raise ValidationError("the fork of a served execution has no id of yours; leave out `--id`")
        made = await self._serving.fork(
            found.id,
            at_seq=found.head_seq if at_seq is None else at_seq,
            session=session,
            keep_policy=keep_policy,
            deadline=deadline,
        )
        return await self._serving.with_restoration(await self._operator.shown(made))

    async def fork_points(self, ref: str) -> "ForkPoints":
        return await self._operator.fork_points(ref)

    async def retry(self, ref: str, *, key: str | None, keep_policy: bool, deadline: float | None) -> "Execution":
        return await self._operator.retry(ref, key=key, keep_policy=keep_policy, deadline=deadline)

    async def verify(self, ref: str, *, head: str) -> "CheckedHistory":
        return (await self._operator.verify(ref, head=head)).view()

    async def record(self, ref: str) -> "Recording":
        return await self._operator.record(ref)

    async def restore(self, recording: "Recording") -> None:
        await self._operator.restore(recording)

    async def sweep(self, *, older_than: float | None) -> "SweptStore":
        return (await self._operator.sweep(retention=older_than)).view()

    async def erase(self, ref: str, *, person: str, end: bool) -> "ErasedExecutions":
        by = _login("")
        if person:
            return await self._operator.erase_person(person, by=by, end=end)
        return await self._operator.erase(ref, by=by, end=end)

    # ------------------------------------------------------------ approvals

    async def approvals(self, *, status: str | None, execution: str | None) -> "list[Approval]":
        within = (await self._operator.execution(execution)).id if execution is not None else None
        return await self._operator.approvals(status=status, execution_id=within)

    async def limits(self) -> "list[UsedLimit]":
        return await self._operator.limits()

    async def stop(self, *, agent: str, tool: str, everything: bool, reason: str, by: str) -> "Stop":
        return await self._operator.stop(
            agent=agent, tool=tool, everything=everything, reason=reason, by=by or _login("")
        )

    async def stops(self, *, lifted: bool) -> "list[Stop]":
        return await self._operator.stops(lifted=lifted)

    async def lift(self, ref: str, *, by: str) -> "Stop":
        every = [one.id for one in await self._operator.stops(lifted=True)]
        return await self._operator.lift(only("stop", ref, beginning(ref, every)), by=by or _login(""))

    async def approval(self, ref: str) -> "Approval":
        try:
            return await self._operator.approval(ref)
        except NotFoundError:
            every = [row.id for row in await self._store.approvals()]
            return await self._operator.approval(only("approval", ref, beginning(ref, every)))

    async def panels(self, approval: "Approval") -> "Sequence[Panel]":
        return await self._operator.panels(approval.id)

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
    ) -> "Approval":
        login = _login(decided_by)
        stands = standing_terms(scope, lasts, known, free)
        found = await self.approval(ref)
        await self._serving.resolve(
            found.id,
            granted=granted,
            decided_by=decided_by or login,
            asserted_by=login,
            rationale=rationale,
            scope=scope if stands is None else "once",
            edit=edit,
            serves=False,
            stands=stands,
        )
        return await self.approval(found.id)

    async def standing_grants(self, *, agent_id: str, over: bool) -> "list[StandingGrant]":
        return await self._operator.standing_grants(agent_id=agent_id or None, over=over)

    async def revoke_grant(self, ref: str, *, by: str) -> "StandingGrant":
        every = [one.id for one in await self._operator.standing_grants(over=True)]
        return await self._operator.revoke_grant(only("grant", ref, beginning(ref, every)), by=by or _login(""))

    # ------------------------------------------------------------ agents and keys

    async def agents(self) -> "list[types.Agent]":
        return [await self._agent(row) for row in await self._serving.agents()]

    async def agent(self, agent_id: str) -> "types.Agent":
        return await self._agent(await self._serving.agent(agent_id))

    async def put_agent(self, agent_id: str, *, webhook_url: str, secret: str, lease: float | None) -> "types.Agent":
        row = await self._serving.put_agent(agent_id, webhook_url=webhook_url, secret=secret, lease=lease or 0.0)
        return await self._agent(row)

    async def delete_agent(self, agent_id: str, *, force: bool) -> None:
        await self._serving.delete_agent(agent_id, force=force)

    async def set_policy(self, agent_id: str, text: str) -> None:
        await self._serving.set_policy(agent_id, text)

    async def test_policy(
        self, agent_id: str, *, bundle: str, cases: Sequence[dict[str, Any]], execution_ids: Sequence[str]
    ) -> "types.Tested":
        from rebuno import types
        from rebuno.server.policies import tested
        from rebuno.server.wire.requests import TestPolicy

        whole = types.Tested()
        asked = [TestPolicy(bundle=bundle or None, cases=[*cases])] if cases or not execution_ids else []
        for ref in execution_ids:
            found = await self._operator.execution(ref)
            asked.append(TestPolicy(bundle=bundle or None, execution_id=found.id))
        for one in asked:
            said = types.Tested.model_validate(identity.parse(await tested(self._serving, agent_id, one)))
            whole.results += said.results
            whole.failed += said.failed
            whole.unexercised_rules += said.unexercised_rules if one.cases else []
        return whole

    async def tools(self) -> "list[types.ToolDefinition]":
        return await self._operator.tools()

    async def keys(self) -> "list[types.ApiKey]":
        return [key_view(row) for row in await self._serving.keys()]

    async def create_key(self, name: str, scopes: Sequence[str], agents: Sequence[str]) -> "types.NewApiKey":
        return new_key_view(*await self._serving.create_key(name, scopes, agents))

    async def rotate_key(self, ref: str) -> "types.NewApiKey":
        return new_key_view(*await self._serving.rotate_key((await self._key(ref)).id))

    async def revoke_key(self, ref: str) -> "types.ApiKey":
        key = await self._key(ref)
        await self._serving.revoke_key(key.id)
        return key

    async def _key(self, ref: str) -> "types.ApiKey":
        found = {key.id: key for key in await self.keys()}
        return found[only("key", ref, beginning(ref, found))]

    async def _agent(self, row: "records.AgentRow") -> "types.Agent":
        return agent_view(row, await self._serving.bundle(row.id))


def _login(decided_by: str) -> str:
    """Whose login vouches for the name of who answers."""
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        if not decided_by:
            raise ValidationError("your login name is unknown here; say who answers with `--as NAME`") from None
        return ""
