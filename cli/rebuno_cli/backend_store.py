"""A store on this machine as a desk, whether a server works on it or not."""

import getpass
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from rebuno.errors import NotFoundError, ValidationError
from rebuno.journal import records
from rebuno.journal.records import Approval, Event, Execution, Step
from rebuno.journal.served import ServedStore
from rebuno.kernel import Operator, event_payload, session_of
from rebuno.model import identity
from rebuno.model.clock import rfc3339
from rebuno_cli.ids import beginning, only

if TYPE_CHECKING:
    from rebuno import types
    from rebuno.kernel import Panel, Serving, Timeline
    from rebuno_cli.backend import Fork, Question, Waiting, Wanted

_REASON: Final = "cancelled"
_PAGE: Final = 1000


class LocalDesk:
    """What `rebuno_cli.backend.Desk` says, of a store. Servers on the same store notice what is done here."""

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

    async def execution(self, ref: str) -> Execution:
        return await self._in_session(await self._operator.execution(ref))

    async def _in_session(self, row: Execution) -> Execution:
        return replace(row, session=await session_of(self._store, row))

    async def again(self, execution_id: str) -> Execution:
        return await self._store.execution(execution_id)

    async def executions(self, *, agent_id: str | None, status: str | None, limit: int) -> list[Execution]:
        found = await self._operator.executions(agent_id=agent_id, status=status, limit=limit)
        return [await self._in_session(row) for row in found]

    async def waits_for(self, execution: Execution) -> "list[Waiting]":
        from rebuno_cli.backend import Waiting

        return [Waiting(one.type, one.id, one.step_id) for one in await self._serving.blocked_on(execution)]

    async def steps(self, execution_id: str) -> list[Step]:
        return await self._operator.steps(execution_id)

    async def events(self, execution_id: str, *, after: int = 0) -> list[Event]:
        found: list[Event] = []
        while page := await self._store.events(execution_id, after=after, limit=_PAGE):
            found += [replace(event, payload=await self._documented(event)) for event in page]
            after = page[-1].event_seq
        return found

    async def _documented(self, event: Event) -> Any:
        return identity.parse(await event_payload(self._store, event))

    async def story(self, ref: str) -> "Timeline":
        return await self._operator.story(ref)

    async def changed_files(self, executions: Sequence[Execution]) -> list[str]:
        return await self._operator.changed_files(executions)

    async def create(self, wanted: "Wanted") -> Execution:
        return await self._serving.create(
            agent_id=wanted.agent_id,
            input=identity.canonical(wanted.input),
            session=wanted.session,
            parent_execution_id=wanted.parent,
            key=wanted.key,
            on_behalf_of=wanted.on_behalf_of,
        )

    async def cancel(self, ref: str, *, reason: str | None) -> Execution:
        found = await self._operator.execution(ref)
        if found.served and reason is None:
            # Its subagents end with it, and the next of its session begins.
            await self._serving.cancel(found.id)
            return await self._operator.execution(found.id)
        return await self._operator.cancel(found.id, reason=reason or _REASON)

    async def fork(self, ref: str, wanted: "Fork") -> Execution:
        found = await self._operator.execution(ref)
        if not found.served:
            if wanted.session:
                raise ValidationError(f"the execution `{found.id}` has no sessions; leave out `--session`")
            return await self._operator.fork(
                found.id,
                at_seq=wanted.at_seq,
                key=wanted.key,
                keep_policy=wanted.keep_policy,
                deadline=wanted.deadline,
            )
        if wanted.key is not None:
            raise ValidationError("the fork of a served execution has no id of yours; leave out `--id`")
        return await self._serving.fork(
            found.id,
            at_seq=found.head_seq if wanted.at_seq is None else wanted.at_seq,
            session=wanted.session,
            keep_policy=wanted.keep_policy,
            deadline=wanted.deadline,
        )

    # ------------------------------------------------------------ approvals

    async def approvals(self, *, status: str | None, execution: str | None) -> "list[Question]":
        within = (await self._operator.execution(execution)).id if execution is not None else None
        found = await self._operator.approvals(status=status, execution_id=within)
        steps: dict[str, Step] = {}
        for execution_id in dict.fromkeys(row.execution_id for row in found):
            steps.update((step.step_id, step) for step in await self._operator.steps(execution_id))
        return [(row, steps.get(row.step_id)) for row in found]

    async def approval(self, ref: str) -> "Question":
        row = await self._approval(ref)
        steps = {step.step_id: step for step in await self._operator.steps(row.execution_id)}
        return row, steps.get(row.step_id)

    async def panels(self, approval: Approval) -> "Sequence[Panel]":
        return await self._operator.panels(approval)

    async def resolve(self, ref: str, *, granted: bool, decided_by: str, rationale: str, scope: str) -> "Question":
        login = _login(decided_by)
        row = await self._approval(ref)
        await self._serving.resolve(
            row.id,
            granted=granted,
            decided_by=decided_by or login,
            asserted_by=login,
            rationale=rationale,
            scope=scope,
        )
        return await self.approval(row.id)

    async def _approval(self, ref: str) -> Approval:
        try:
            return await self._operator.approval(ref)
        except NotFoundError:
            every = [row.id for row in await self._operator.approvals()]
            return await self._operator.approval(only("approval", ref, beginning(ref, every)))

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

    async def keys(self) -> "list[types.ApiKey]":
        from rebuno import types

        return [types.ApiKey.model_validate(_key(row)) for row in await self._serving.keys()]

    async def create_key(self, name: str, scopes: Sequence[str]) -> "types.NewApiKey":
        return _new(*await self._serving.create_key(name, scopes))

    async def rotate_key(self, ref: str) -> "types.NewApiKey":
        return _new(*await self._serving.rotate_key((await self._find(ref)).id))

    async def revoke_key(self, ref: str) -> "types.ApiKey":
        key = await self._find(ref)
        await self._serving.revoke_key(key.id)
        return key

    async def _find(self, ref: str) -> "types.ApiKey":
        found = {key.id: key for key in await self.keys()}
        return found[only("key", ref, beginning(ref, found))]

    async def _agent(self, row: records.Agent) -> "types.Agent":
        from rebuno import types

        return types.Agent.model_validate(
            {
                "id": row.id,
                "webhook_url": row.webhook_url,
                "policy_bundle": await self._serving.bundle(row.id),
                "registered_at": rfc3339(row.registered_at),
                "lease_timeout_seconds": row.lease or None,
                "description": row.description,
                "input_schema": None if row.input_schema is None else identity.parse(row.input_schema),
                "output_schema": None if row.output_schema is None else identity.parse(row.output_schema),
            }
        )


def _login(decided_by: str) -> str:
    """Whose login vouches for the name of who answers."""
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        if not decided_by:
            raise ValidationError("your login name is unknown here; say who answers with `--as NAME`") from None
        return ""


def _new(row: records.ApiKey, token: str) -> "types.NewApiKey":
    from rebuno import types

    return types.NewApiKey.model_validate(_key(row) | {"token": token})


def _key(row: records.ApiKey) -> dict[str, Any]:
    revoked = rfc3339(row.revoked_at) if row.revoked_at else None
    return {
        "id": row.id,
        "name": row.name,
        "scopes": list(row.scopes),
        "created_at": rfc3339(row.created_at),
        "revoked_at": revoked,
    }
