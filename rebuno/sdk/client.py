"""The client of a served kernel: creates and reads executions, answers questions, manages agents, policies and keys."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final, TypeVar

import httpx2

from rebuno.errors import NetworkError, ValidationError
from rebuno.model import identity
from rebuno.sdk import responses
from rebuno.sdk.requests import TIMEOUT, Requests, route
from rebuno.types import (
    Agent,
    ApiKey,
    Approval,
    CheckedHistory,
    Delta,
    ErasedExecutions,
    Event,
    Execution,
    ForkPoints,
    Model,
    NewApiKey,
    Page,
    SpawnedBy,
    StandingGrant,
    Step,
    Stop,
    SweptStore,
    Tested,
    ToolDefinition,
    UsedLimit,
)

T = TypeVar("T", bound=Model)


# How many questions a server is asked for at a time.
_PAGE: Final = 200
_POTS: Final = 1000


class Client:
    """A served kernel for a back end or an operator: `async with Client() as client`.

    Every method may raise `NetworkError` (the kernel cannot be reached), `UnauthorizedError` and `ForbiddenError` (the
    key is unknown, or may not do this), `NotFoundError`, and `APIError` for what the kernel itself cannot do. Nothing
    is tried twice: an execution with an `idempotency_key` can be created again.
    """

    def __init__(self, base_url: str | None = None, api_key: str | None = None, *, timeout: float = TIMEOUT) -> None:
        """`base_url` is the kernel's URL (default REBUNO_URL), `api_key` the bearer token (default REBUNO_API_KEY, else
        none is sent), `timeout` the time limit for an answer, in seconds.

        Raises:
            ValueError: no URL is given.
            ValidationError: it is no URL of a kernel, or holds credentials; or the key is none.
        """
        url = base_url or os.environ.get("REBUNO_URL", "")
        if not url:
            raise ValueError("no kernel is named; pass `base_url=` or set REBUNO_URL")
        key = os.environ.get("REBUNO_API_KEY", "") if api_key is None else api_key
        if not key.isascii() or not key.isprintable() or " " in key:
            raise ValidationError("the API key holds a character that no key of a kernel has; look at REBUNO_API_KEY")
        self._requests = Requests(url, headers={"Authorization": f"Bearer {key}"} if key else None, timeout=timeout)
        self.base_url = self._requests.url

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        await self._requests.close()

    # ------------------------------------------------------------ executions

    async def create(
        self,
        agent_id: str,
        input: Any = None,
        *,
        session: str = "",
        parent_execution_id: str = "",
        idempotency_key: str = "",
        spawned_by: SpawnedBy | None = None,
        on_behalf_of: str = "",
        workdir: str = "",
    ) -> Execution:
        """Creates an execution. The same `idempotency_key` of the same agent returns the first one.

        Executions of one `session` run one after the other, each with the state that the one before left
        (`previous`); `parent_execution_id` continues a completed one in a session of its own. `spawned_by` makes it the
        subagent of a step. `on_behalf_of` says for whom, `workdir` in which folder it works (an absolute path).

        Raises:
            ConflictError: the key has another input or workdir, or the parent is not as it must be.
            ValidationError: a name is blank or overlong, the step is not the parent's, or the workdir is no absolute
                path or named by an agent.
            NotJSON: the input is something that JSON cannot hold (a `TypeError`).
        """
        said = {"agent_id": agent_id, "input": input} | _given(
            session=session,
            parent_execution_id=parent_execution_id,
            idempotency_key=idempotency_key,
            spawned_by=None if spawned_by is None else spawned_by.model_dump(),
            on_behalf_of=on_behalf_of,
            workdir=workdir,
        )
        return await self._one(Execution, "POST", route("executions"), said)

    async def get(self, execution_id: str) -> Execution:
        """One execution."""
        return await self._one(Execution, "GET", route("executions", execution_id))

    async def list_executions(
        self, *, agent_id: str = "", session: str = "", status: str = "", cursor: str = "", limit: int = 50
    ) -> Page:
        """A page of executions, newest first, at most `limit` (200); `cursor` is the `next_cursor` of the previous
        page. `ValidationError` for an unknown cursor or status."""
        path = route("executions", agent_id=agent_id, session=session, status=status, cursor=cursor, limit=limit)
        return await self._one(Page, "GET", path)

    async def wait(self, execution_id: str, *, every: float = 0.5) -> Execution:
        """Returns the execution once it has ended or waits for a person; polls every so many seconds."""
        while True:
            found = await self.get(execution_id)
            if found.status.terminal or any(one.type == "approval" for one in found.blocked_on):
                return found
            await asyncio.sleep(every)

    async def events(self, execution_id: str, *, after_seq: int = 0, limit: int = 100) -> list[Event]:
        """A page of its log: at most `limit` (1000) events, those numbered above `after_seq`."""
        return await self._many(Event, route("executions", execution_id, "events", after_seq=after_seq, limit=limit))

    async def list_steps(self, execution_id: str, *, status: str = "") -> list[Step]:
        """Its steps in the order of decisions; with `status="terminal"` those that have ended."""
        return await self._many(Step, route("executions", execution_id, "steps", status=status))

    async def get_step(self, execution_id: str, step_id: str) -> Step:
        """One of its steps."""
        return await self._one(Step, "GET", route("executions", execution_id, "steps", step_id))

    async def previous(self, execution_id: str) -> Any:
        """The state, else the output, of the execution that it continues; None without one."""
        return (await self._send("GET", route("executions", execution_id, "previous")))["state"]

    async def stream(self, execution_id: str) -> AsyncIterator[Delta]:
        """Yields the output of its steps while they run, until the caller stops or the connection ends. A slow reader
        loses pieces; the steps have the complete results."""
        path = route("executions", execution_id, "stream")
        try:
            async with self._requests.http.stream("GET", path, timeout=TIMEOUT) as response:
                if response.status_code >= 300:
                    raise responses.refusal(response.status_code, await response.aread())
                async for line in response.aiter_lines():
                    if line.startswith("data:"):
                        yield Delta.model_validate(responses.value(line.removeprefix("data:").encode()))
        except httpx2.RequestError as error:
            raise self._requests.unreachable(error) from error

    async def say(self, execution_id: str, text: str) -> None:
        """Adds what the user wrote after the execution began. Rules ask for it as `turns`; it counts for the steps that
        are submitted after it. `get` shows it.

        Raises:
            ConflictError: the execution has ended, was begun by another one, or takes no more turns.
            ValidationError: the text is blank, or longer than 65,536 bytes.
        """
        await self._send("POST", route("executions", execution_id, "turns"), {"text": text})

    async def cancel(self, execution_id: str) -> None:
        """Cancels an execution. `Terminated` or `ConflictError` if it has ended already."""
        await self._send("POST", route("executions", execution_id, "cancel"))

    async def fork(
        self,
        execution_id: str,
        *,
        at_seq: int,
        session: str = "",
        policy_bundle: str = "",
        keep_policy: bool = False,
        deadline_seconds: float | None = None,
    ) -> Execution:
        """Creates an execution that begins at event `at_seq` of this one, in a new session or none. It runs under the
        agent's current policy, its own `policy_bundle` (a text), or with `keep_policy` the policy of this one's start.
        It is cancelled `deadline_seconds` from now, unless it has ended.

        Raises:
            ValidationError: there is no such event.
            ForbiddenError: the key may not choose a policy (`policies:write`).
            ConflictError: the session is not new.
            BundleError: the bundle has errors.
        """
        said = _given(
            at_seq=at_seq,
            session=session,
            policy_bundle=policy_bundle,
            keep_policy=keep_policy or None,
            deadline_seconds=deadline_seconds,
        )
        return await self._one(Execution, "POST", route("executions", execution_id, "fork"), said)

    async def retry(
        self, execution_id: str, *, keep_policy: bool = False, deadline_seconds: float | None = None
    ) -> Execution:
        """Creates an execution that begins right before what made this failed or cancelled one fail. The rest is as in
        `fork`. `ConflictError` if it has not ended, or has completed."""
        said = _given(keep_policy=keep_policy or None, deadline_seconds=deadline_seconds)
        return await self._one(Execution, "POST", route("executions", execution_id, "retry"), said)

    async def verify(self, execution_id: str, *, head: str = "") -> CheckedHistory:
        """Verifies its log; `head` is the hash that the newest event must have, 64 hexadecimal digits."""
        return await self._one(CheckedHistory, "GET", route("executions", execution_id, "verify", head=head))

    async def export(self, execution_id: str) -> str:
        """The execution with its events, steps, answers and bundles, as the text of a file. `ConflictError` if its log
        is damaged."""
        path = route("executions", execution_id, "export")
        return await self._requests.text(self._requests.build("GET", path, b""))

    async def import_history(self, history: str) -> Execution:
        """Adds an execution that was exported.

        Raises:
            ConflictError: the store has it, or had it, or its agent has another one under its id, or one that has not
                ended in its session.
            ValidationError: the history is damaged, or longer than a body may be.
        """
        return await self._one(Execution, "POST", route("executions", "import"), {"history": history})

    async def sweep(self, *, older_than_seconds: float | None = None) -> SweptStore:
        """Ends what is overdue, and removes executions that ended so long ago (None: as the server's settings say)."""
        return await self._one(SweptStore, "POST", route("sweep"), _given(older_than_seconds=older_than_seconds))

    async def fork_points(self, execution_id: str) -> ForkPoints:
        """Its newest event, the last one that a fork can begin at, its resources, and the checkpoints that a fork can
        begin with."""
        return await self._one(ForkPoints, "GET", route("executions", execution_id, "fork-points"))

    async def erase(self, execution_id: str, *, cancel: bool = False) -> ErasedExecutions:
        """Destroys the data key of an encrypted execution, so that nobody can read what it holds. `ConflictError` if it
        has not ended, unless it is to `cancel` it first."""
        path = route("executions", execution_id, "erase")
        return await self._one(ErasedExecutions, "POST", path, _given(cancel=cancel or None))

    async def erase_person(self, on_behalf_of: str, *, cancel: bool = False) -> ErasedExecutions:
        """The same for all executions on behalf of a person."""
        said = {"on_behalf_of": on_behalf_of, **_given(cancel=cancel or None)}
        return await self._one(ErasedExecutions, "POST", route("erase"), said)

    async def latest_seq(self, execution_id: str) -> int:
        """The number of its newest event, the last one that a fork can begin at."""
        return (await self.fork_points(execution_id)).latest_seq

    # ------------------------------------------------------------ approvals

    async def list_approvals(self, *, status: str = "pending", execution_id: str = "") -> list[Approval]:
        """Questions, oldest first; `status` may be `all`."""
        found: list[Approval] = []
        while True:
            cursor = found[-1].id if found else ""
            page = await self._many(
                Approval, route("approvals", status=status, execution_id=execution_id, cursor=cursor, limit=_PAGE)
            )
            # A server that knows no pages gives all at once, and the same again.
            known = {each.id for each in found}
            more = [each for each in page if each.id not in known]
            found += more
            if len(page) != _PAGE or not more:
                return found

    async def list_limits(self) -> list[UsedLimit]:
        """What is taken from limits by amount, by value, by session and with a name, in the order of the pots' ids."""
        found: list[UsedLimit] = []
        while page := await self._many(UsedLimit, route("limits", cursor=found[-1].id if found else "", limit=_POTS)):
            found += page
            if len(page) < _POTS:
                break
        return found

    async def stop(self, *, agent_id: str = "", tool: str = "", everything: bool = False, reason: str = "") -> Stop:
        """Stops an agent, the tools that a pattern matches, or everything, until that is lifted."""
        body = _given(agent_id=agent_id or None, tool=tool or None, all=everything or None, reason=reason or None)
        return await self._one(Stop, "POST", route("stops"), body)

    async def list_stops(self, *, lifted: bool = False) -> list[Stop]:
        """What is stopped, oldest first; with `lifted` what was, too."""
        return await self._many(Stop, route("stops", lifted="true" if lifted else ""))

    async def lift(self, stop_id: str) -> Stop:
        """Ends a stop."""
        return await self._one(Stop, "POST", route("stops", stop_id, "lift"))

    async def get_approval(self, approval_id: str) -> Approval:
        """One question."""
        return await self._one(Approval, "GET", route("approvals", approval_id))

    async def grant_approval(
        self,
        approval_id: str,
        *,
        decided_by: str = "",
        rationale: str = "",
        scope: str = "",
        edits: dict[str, Any] | None = None,
        for_seconds: float | None = None,
        known: dict[str, str] | None = None,
        free: Sequence[str] | None = None,
    ) -> None:
        """Allows the step, once enough approvers have granted. `decided_by` is the person who answers, by default the
        key's name; `scope` is `once`, `execution` or `rule`. `edits` are new values of arguments: the changed call is
        judged anew, and runs in the place of the first. With the `scope` `agent` later steps of the agent may start,
        `for_seconds`: with these arguments, but for those in `known` (by the names of `known` sets) and in `free`.

        Raises:
            ForbiddenError: not among the approvers, or the call may not be changed so, or is denied then.
            ConflictError: it is answered already or overdue, the same person answers twice, others granted another
                call, or a limit has no room for the changed one.
        """
        said = _given(decided_by=decided_by, rationale=rationale, scope=scope)
        said |= {} if edits is None else {"edits": edits}
        said |= _given(for_seconds=for_seconds, known=known, free=None if free is None else list(free))
        await self._send("POST", route("approvals", approval_id, "grant"), said)

    async def allowing_rule(self, approval_id: str) -> dict[str, Any]:
        """The narrowest rule that would have allowed the call (`rule`), its `case`, and the `diff` of the bundle;
        nothing is changed."""
        found: dict[str, Any] = await self._send("GET", route("approvals", approval_id, "rule"))
        return found

    async def explain(self, execution_id: str, step_id: str) -> dict[str, Any]:
        """Why a step was decided so: `recorded`, and the traces on the facts of then under the bundle of `then` and
        under `today`'s."""
        found: dict[str, Any] = await self._send("GET", route("executions", execution_id, "steps", step_id, "explain"))
        return found

    async def list_grants(self, *, agent_id: str = "", over: bool = False) -> list[StandingGrant]:
        """The grants that outlive their executions; with `over` those that have ended, too."""
        return await self._many(StandingGrant, route("grants", agent_id=agent_id, over="true" if over else ""))

    async def revoke_grant(self, grant_id: str) -> StandingGrant:
        """Ends a grant: from now on it lets nothing start. `ConflictError` where it was revoked already."""
        return await self._one(StandingGrant, "DELETE", route("grants", grant_id))

    async def deny_approval(self, approval_id: str, *, decided_by: str = "", rationale: str = "") -> None:
        """Denies the step; the agent receives the rationale. Raises as `grant_approval`."""
        said = _given(decided_by=decided_by, rationale=rationale)
        await self._send("POST", route("approvals", approval_id, "deny"), said)

    # ------------------------------------------------------------ agents and their policies

    async def put_agent(
        self, agent_id: str, *, webhook_url: str, secret: str, lease_timeout_seconds: float | None = None
    ) -> Agent:
        """Registers an agent, or changes its webhook URL and the secret that signs in both directions.
        `lease_timeout_seconds` (at least 10) is the time that it may be silent. `ValidationError` if the URL is not
        allowed."""
        said = {"id": agent_id, "webhook_url": webhook_url, "secret": secret}
        more = _given(lease_timeout_seconds=lease_timeout_seconds)
        return await self._one(Agent, "POST", route("agents"), said | more)

    async def list_agents(self) -> list[Agent]:
        """Every agent."""
        return await self._many(Agent, route("agents"))

    async def get_agent(self, agent_id: str) -> Agent:
        """One agent, with its description and schemas."""
        return await self._one(Agent, "GET", route("agents", agent_id))

    async def delete_agent(self, agent_id: str, *, force: bool = False) -> None:
        """Removes an agent. `ConflictError` if it has live executions; with `force` they are cancelled."""
        await self._send("DELETE", route("agents", agent_id, force="true" if force else None))

    async def set_policy(self, agent_id: str, bundle: str) -> None:
        """Sets the bundle of an agent, a text in the rule language or YAML. `BundleError` with every finding if it has
        errors; the old bundle then stays."""
        await self._send("POST", route("policies", agent_id), {"bundle": bundle})

    async def test_policy(
        self,
        agent_id: str,
        *,
        bundle: str = "",
        cases: Sequence[Mapping[str, Any]] | None = None,
        execution_id: str = "",
        executions: Mapping[str, Any] | None = None,
    ) -> Tested:
        """Tests a bundle (by default the agent's own) against cases, the recorded steps of one execution, or those of
        several (`{"session"?, "since"?, "limit"?}`). `BundleError` if it has errors."""
        said = _given(
            bundle=bundle,
            cases=None if cases is None else [*cases],
            execution_id=execution_id,
            executions=None if executions is None else {**executions},
        )
        return await self._one(Tested, "POST", route("policies", agent_id, "test"), said)

    # ------------------------------------------------------------ API keys

    async def create_key(self, name: str, scopes: Sequence[str], *, agents: Sequence[str] = ()) -> NewApiKey:
        """Creates a key; its token is returned only this once. With `agents` it reaches their executions and questions
        only, and what it gives an execution as input is no user's word. `ValidationError` for an unknown scope."""
        said = {"name": name, "scopes": [*scopes]} | ({"agents": [*agents]} if agents else {})
        return await self._one(NewApiKey, "POST", route("api-keys"), said)

    async def list_tools(self) -> list[ToolDefinition]:
        """What servers say of their tools, as agents have told it, by server, name and digest."""
        return await self._many(ToolDefinition, route("tools"))

    async def list_keys(self) -> list[ApiKey]:
        """Every key, revoked ones too."""
        return await self._many(ApiKey, route("api-keys"))

    async def rotate_key(self, key_id: str) -> NewApiKey:
        """Replaces the token of a key. `ConflictError` if the key is revoked."""
        return await self._one(NewApiKey, "POST", route("api-keys", key_id, "rotate"))

    async def revoke_key(self, key_id: str) -> None:
        """Revokes a key."""
        await self._send("DELETE", route("api-keys", key_id))

    # ------------------------------------------------------------

    async def _one(self, kind: type[T], method: str, path: str, body: dict[str, Any] | None = None) -> T:
        return _read(kind, await self._send(method, path, body))

    async def _many(self, kind: type[T], path: str) -> list[T]:
        found = await self._send("GET", path)
        return [_read(kind, one) for one in found] if isinstance(found, list) else []

    async def _send(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        said = b"" if body is None else identity.canonical(body, "body").encode()
        return await self._requests.send(self._requests.build(method, path, said))


def _read(kind: type[T], said: object) -> T:
    try:
        return kind.model_validate(said)
    except ValueError as error:
        raise NetworkError(f"the answer is no {kind.__name__} of a kernel; look at the URL") from error


def _given(**said: object) -> dict[str, Any]:
    return {name: value for name, value in said.items() if value not in (None, "")}
