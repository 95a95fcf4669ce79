"""The served kernel: one replica's work for clients, agents and operators, over a store that others share."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

from rebuno.errors import ConflictError
from rebuno.journal.pot_records import PotState
from rebuno.journal.records import AgentRow, ApiKeyRow, ApprovalRow, ExecutionRow
from rebuno.journal.served_records import Counts
from rebuno.journal.standing import StandingGrantRow
from rebuno.journal.stops import StopRow
from rebuno.kernel.history import definitions
from rebuno.kernel.history.as_rule import as_rule
from rebuno.kernel.history.explained import explained
from rebuno.kernel.lifecycle import standing, stops, votes
from rebuno.kernel.lifecycle.edits import asked_policy
from rebuno.kernel.lifecycle.standing import StandingTerms
from rebuno.kernel.operator import question, questions, reasoned
from rebuno.kernel.served.agents import Agents
from rebuno.kernel.served.clients import Clients
from rebuno.kernel.served.dispatcher import Send, Settings
from rebuno.kernel.served.observer import Observer, Webhook
from rebuno.kernel.served.replica import Dispatched
from rebuno.kernel.served.report import ReportAnswer, ReportOutcome
from rebuno.model.execution import ExecutionStatus
from rebuno.policy import Policy
from rebuno.types import Approval, ToolDefinition

__all__ = [
    "Dispatched",
    "Observer",
    "ReportAnswer",
    "ReportOutcome",
    "Send",
    "Serving",
    "Settings",
    "Webhook",
]

_LIVE: Final = (ExecutionStatus.PENDING, ExecutionStatus.RUNNING, ExecutionStatus.BLOCKED)


class Serving(Clients, Agents):
    """One replica, with the operators' side. Every method may raise a `StoreError`."""

    async def approvals(
        self,
        *,
        status: str | None = "pending",
        execution_id: str | None = None,
        after: str | None = None,
        limit: int = sys.maxsize,
    ) -> Sequence[ApprovalRow]:
        """Questions, oldest first; None: in every state. As `rebuno.kernel.operator.questions`."""
        return await questions(self._store, status=status, execution_id=execution_id, after=after, limit=limit)

    async def pots(self, *, after: str = "", limit: int = 1000) -> list[PotState]:
        """A page of the pots of limits, those whose keys come after this one."""
        return await self._store.pots(after=after, limit=limit)

    async def approval(self, approval_id: str) -> ApprovalRow:
        """One question, else `NotFoundError`."""
        return await question(self._store, approval_id)

    async def resolve(
        self,
        approval_id: str,
        *,
        granted: bool,
        decided_by: str,
        asserted_by: str = "",
        rationale: str = "",
        scope: str = "once",
        edit: Mapping[str, Any] | None = None,
        serves: bool = True,
        stands: StandingTerms | None = None,
    ) -> ApprovalRow:
        """One person's answer; raises as `rebuno.kernel.lifecycle.votes.resolve`. Where this kernel `serves` the
        agents, an edit is judged by its policies, else by the one that asked."""
        resolved = await votes.resolve(
            self._store,
            approval_id,
            granted=granted,
            decided_by=decided_by,
            asserted_by=asserted_by,
            rationale=rationale,
            scope=scope,
            edit=edit,
            policy_of=partial(self._judging, serves=serves),
            stands=stands,
        )
        if resolved.status != "pending":
            self._observer.resolved(resolved)
            execution = await self._store.execution(resolved.execution_id)
            if execution.status.terminal:
                await self._follow_up.ended(execution)
            self._wake()
        return resolved

    async def reasoned(self, row: ApprovalRow, told: Approval) -> Approval:
        """A question with why it is asked."""
        return await reasoned(self._store, row, told)

    async def as_rule(self, approval_id: str) -> dict[str, Any]:
        """The narrowest rule that would have allowed a call; as `rebuno.kernel.history.as_rule.as_rule`."""
        return await as_rule(self._store, await self.approval(approval_id))

    async def explain(self, execution_id: str, step_id: str) -> dict[str, Any]:
        """Why a step was decided so, then and today; as `rebuno.kernel.history.explained.explained`."""
        execution = await self._store.execution(execution_id)
        today = await self._policies.of(execution) if execution.served else None
        return await explained(self._store, execution_id, step_id, today)

    async def standing_grants(self, *, agent_id: str | None = None, over: bool = False) -> list[StandingGrantRow]:
        """The grants that outlive their executions; with `over` those that have ended, too."""
        return await self._store.standing_grants(agent_id=agent_id, now=None if over else self._store.now())

    async def revoke_grant(self, ref: str, *, by: str) -> StandingGrantRow:
        """Ends a grant; raises as `rebuno.kernel.lifecycle.standing.revoke`."""
        return await standing.revoke(self._store, ref, by=by)

    async def _judging(self, execution: ExecutionRow, question: ApprovalRow, *, serves: bool) -> Policy:
        """The policy by which a changed call is judged."""
        if not execution.served:
            return await asked_policy(self._store, execution, question)
        if serves:
            return await self._policies.of(execution)
        row = None if execution.pinned else await self._store.policy(execution.agent_id)
        return await asked_policy(self._store, execution, question, "" if row is None else row.text)

    async def put_agent(self, agent_id: str, *, webhook_url: str, secret: str, lease: float = 0.0) -> AgentRow:
        """Registers an agent, or changes where it is and its secret; `lease` is in seconds, at least 10 (0: the usual).
        `ValidationError` where that cannot be."""
        return await self._registry.put_agent(agent_id, webhook_url=webhook_url, secret=secret, lease=lease)

    async def agents(self) -> list[AgentRow]:
        """Every agent by its id."""
        return await self._registry.agents()

    async def agent(self, agent_id: str) -> AgentRow:
        """The agent, as it was a second ago at most; else `NotFoundError`."""
        return await self._registry.agent(agent_id)

    async def delete_agent(self, agent_id: str, *, force: bool = False) -> None:
        """Forgets an agent; with `force` its live executions are cancelled. `NotFoundError`; `ConflictError` where it
        has live ones."""
        await self._registry.agent(agent_id)
        for status in _LIVE:
            while page := await self._store.executions(agent_id=agent_id, status=status.value):
                if not force:
                    raise ConflictError(f"the agent `{agent_id}` has live executions; cancel them, or use `force`")
                for execution in page:
                    with suppress(ConflictError):
                        await self.cancel(execution.id)
        await self._registry.delete_agent(agent_id)
        self._policies.forget(agent_id)

    async def set_policy(self, agent_id: str, text: str) -> None:
        """The bundle of an agent from now on, `.rbp` or YAML. `NotFoundError`; `BundleError` with all diagnostics."""
        await self._registry.agent(agent_id)
        policy = await self._policies.compiled(text)
        await self._policies.keep(policy)
        await self._store.put_policy(agent_id, text)
        self._policies.took(agent_id, text, policy)
        await self._follow_up.rejudge(agent_id, policy)

    async def bundle(self, agent_id: str) -> str | None:
        """The text of an agent's bundle."""
        row = await self._store.policy(agent_id)
        return row.text if row is not None else None

    async def policy(self, agent_id: str, bundle: str | None = None) -> Policy:
        """The policy that an agent is judged by, with the layers of this server; `bundle` in the place of its own."""
        return await (self._policies.compiled(bundle) if bundle is not None else self._policies.today(agent_id))

    async def create_key(self, name: str, scopes: Sequence[str], agents: Sequence[str] = ()) -> tuple[ApiKeyRow, str]:
        """A new key and its token, which nobody can be told again. It is bound to these agents, or to none."""
        return await self._registry.create_key(name, scopes, agents)

    async def stop(
        self, *, agent: str = "", tool: str = "", everything: bool = False, reason: str = "", by: str
    ) -> StopRow:
        """Stops an agent, tools, or everything. Raises as `rebuno.kernel.lifecycle.stops.stop`."""
        return await stops.stop(self._store, agent=agent, tool=tool, everything=everything, reason=reason, by=by)

    async def lift(self, stop_id: str, *, by: str) -> StopRow:
        """Ends a stop. Raises as `rebuno.kernel.lifecycle.stops.lift`."""
        return await stops.lift(self._store, stop_id, by=by)

    async def stops(self, *, lifted: bool = False) -> list[StopRow]:
        """What is stopped, oldest first; with `lifted` what was, too."""
        return await self._store.stops(lifted=lifted)

    async def tools(self) -> list[ToolDefinition]:
        """What servers say of their tools, as agents have told it, by server, name and digest."""
        return await definitions.tools(self._store)

    async def keys(self) -> list[ApiKeyRow]:
        """Every key, oldest first, revoked ones too."""
        return await self._registry.keys()

    async def key(self, token: str) -> ApiKeyRow | None:
        """The key that a token belongs to, as it was a second ago at most; None for an unknown or a revoked one."""
        return await self._registry.key(token)

    async def rotate_key(self, key_id: str) -> tuple[ApiKeyRow, str]:
        """A new token in the place of the old. `NotFoundError`; `ConflictError` for a revoked key."""
        return await self._registry.rotate_key(key_id)

    async def revoke_key(self, key_id: str) -> None:
        """Makes a key useless. `NotFoundError`."""
        await self._registry.revoke_key(key_id)

    async def ready(self) -> None:
        """Returns where the store takes writes."""
        await self._readiness.check()

    async def counts(self) -> Counts:
        """What there is, for metrics."""
        return await self._store.counts()
