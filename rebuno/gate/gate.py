"""Sessions of agents that other programs run, over one store and one policy."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rebuno.embedded import SWEEP_SECONDS, PolicyLike, compiled
from rebuno.errors import (
    ConflictError,
    LeaseSuperseded,
    NotJSON,
    StoreError,
    Terminated,
    ValidationError,
    text_of,
)
from rebuno.gate.verdict import UNSET, Allow, Ask, Deny, Recorded, Unset, Verdict
from rebuno.journal.opening import open_store
from rebuno.journal.records import ExecutionRow
from rebuno.journal.served import ServedStore
from rebuno.kernel import HostSession, Judged, Kernel, Operator, check_name, check_ring, keep_sweeping, open_session
from rebuno.model import identity
from rebuno.model.answer import AnswerKind, Submission
from rebuno.model.definition import Definition
from rebuno.model.step import Idempotency, Kind, StepStatus
from rebuno.policy import Policy, shadow_policies

if TYPE_CHECKING:
    from rebuno.sealing import KeyRing

# How often the answer of a person is looked for, in seconds.
_LOOK: Final = 0.2
# After so many seconds without a call another process may have a session.
_HOLD: Final = 600.0
_PAGE: Final = 100


class Gate:
    """The kernel in front of agents that other programs run. Use it from the event loop that opened it; calls of one
    session may come at once. A session is an execution: its agent is the host's name, its own id the session's.

    Whatever a method raises, the call must not run: `StoreError`, `LeaseSuperseded`, `ConflictError` (a live process
    holds the session), `ValidationError` (a name, tool or argument is malformed).
    """

    def __init__(self, store: ServedStore, policy: Policy, *, observe: bool = False) -> None:
        self.policy = policy
        self.operator = Operator(store, policy)
        self.observe = observe
        self._store = store
        self._kernel = Kernel(store, policy, strict=True)
        self._sessions: dict[tuple[str, str], HostSession] = {}
        self._opening: dict[tuple[str, str], asyncio.Lock] = {}
        # When each session was last asked for, on the monotonic clock.
        self._seen: dict[tuple[str, str], float] = {}
        # Where the log of an idle session ended that a person is asked about: until it grows, nothing is to be done.
        self._waiting: dict[str, int] = {}

    # ------------------------------------------------------------ sessions

    async def start(
        self,
        session: str,
        agent: str,
        *,
        request: str | None = None,
        workdir: str = "",
        parent: str = "",
        parent_call: str = "",
        resumed: bool = False,
    ) -> None:
        """Begins a session, or takes it up again where it stood; a second time it changes nothing.

        A new one gets the input `{"request": request}` and works in the folder `workdir`. `parent` is the session whose
        call `parent_call` began it, of the same agent: what it was given is then not a person's word. A parent that is
        new begins too. With `resumed` the program has begun anew: nobody knows how the calls ended that were running.

        Raises:
            ValidationError: a name is malformed, or the session is its own parent.
            ExecutionExpired: retention took the session.
        """
        opened = await self._open(
            session, agent, request=request, workdir=workdir, parent=parent, parent_call=parent_call
        )
        if resumed and isinstance(opened, HostSession):
            await opened.lose()

    async def say(self, session: str, agent: str, text: str, *, by: str = "") -> None:
        """What a person typed: the input of a session that is new, or its next turn.

        Raises:
            ValidationError: it is blank, no valid Unicode, or a turn of more than 65,536 bytes.
            ConflictError: the session has ended, another one began it, or it takes no more turns.
        """
        if await self._is_new(session, agent):
            await self._open(session, agent, request=text)
            return
        opened = await self._open(session, agent)
        if isinstance(opened, ExecutionRow):
            raise ConflictError(_over(opened))
        await opened.say(text, by=by)

    async def judge(
        self,
        session: str,
        call_id: str,
        tool: str,
        args: dict[str, Any],
        agent: str,
        *,
        safe: bool = False,
        definition: Definition | None = None,
        call: Any = None,
    ) -> Verdict:
        """Whether a call may run. It begins the session if that is new.

        The same `call_id` gets the same answer again; `Recorded` where it has ended. A new one is a new call, but takes
        the place of one with the same tool and arguments that waits for a person, or was granted and has not run.
        `safe` says that the tool only reads: such a call may run again where nobody knows how it ended, any other asks
        a person first. `call` is a JSON value that is kept with the step: the call as the program wrote it.

        Raises:
            ConflictError: the `call_id` belongs to another call.
            ValidationError, NotJSON: a name or the arguments are malformed.
        """
        _check("call", call_id)
        if not isinstance(args, dict):
            raise ValidationError(f"the arguments of `{tool}` are of type {type(args).__name__}; pass an object")
        idempotency = Idempotency.SAFE if safe else Idempotency.ONCE
        text = identity.canonical(args, "args")
        submission = Submission(Kind.TOOL.value, tool, text, idempotency.value, "", definition)
        opened = await self._open(session, agent)
        if isinstance(opened, ExecutionRow):
            return Deny(_over(opened), "__session_over")
        try:
            judged = await opened.judge(call_id, submission, call)
        except Terminated:
            row = await self._store.execution(opened.execution.id)
            return Deny(_over(row), "__session_over")
        return self._verdict(judged)

    async def settle(
        self,
        session: str,
        call_id: str,
        agent: str,
        *,
        result: Any = UNSET,
        error: str | dict[str, Any] | None = None,
        unknown: bool = False,
        granted_by: str = "",
    ) -> bool:
        """Records how a call ended: with its `result` (a JSON value), its `error` (a text, or an object with
        `message`), or so that nobody knows. True if it was recorded now; False where the call was not judged, did not
        start, or has ended. `granted_by` is the person who let it run in the host, where it waited for one.

        Raises:
            ValueError: not exactly one of the three is given.
        """
        if (result is not UNSET) + (error is not None) + unknown != 1:
            raise ValueError("give the result of the call, its error, or `unknown=True`")
        if await self._is_new(session, agent):
            return False
        opened = await self._open(session, agent, goes_on=False)
        if isinstance(opened, ExecutionRow):
            return False
        given: dict[str, Any] = {"unknown": unknown, "granted_by": granted_by}
        if isinstance(result, Unset):
            if error is not None:
                given["error"] = _error(error)
        else:
            try:
                given["result"] = identity.canonical(result, "result")
                given["value"] = identity.reread(given["result"])
            except (NotJSON, ValidationError) as wrong:
                # The call was carried out; what it gave cannot be kept.
                given["error"] = _error({"type": type(wrong).__name__, "message": text_of(wrong)})
        try:
            return await opened.settle(call_id, **given)
        except Terminated:
            return False

    async def wait(self, session: str, call_id: str, agent: str, ask: Ask, *, seconds: float) -> Verdict:
        """Waits until people have answered a question, or for `seconds` at most: then what was asked."""
        until = time.monotonic() + seconds
        while True:
            found = await self.operator.approval(ask.approval_id)
            if found.status != "pending":
                return await self._again(session, call_id, agent)
            left = until - time.monotonic()
            if left <= 0:
                return ask
            await asyncio.sleep(min(_LOOK, left))

    async def end(self, session: str, agent: str) -> None:
        """Completes a session. One of which a call waits for a person, or was granted and has not run, stays open."""
        await self._end(session, agent)

    async def _end(self, session: str, agent: str) -> ExecutionRow | None:
        """How it stands then; None where there was nothing to end."""
        if await self._is_new(session, agent):
            return None
        key, ended = (agent, session), None
        async with self._lock(key):
            # A fork that is begun only to be ended would hold the whole log once more.
            opened = await self._held(key, goes_on=False)
            if isinstance(opened, HostSession):
                with suppress(Terminated):
                    ended = await opened.end()
                self._forget(key)
        return ended

    async def let_go(self, session: str, agent: str) -> None:
        """Lets another process have a session. What runs in it stays as it is, and the next call takes it up again."""
        await self._let_go((agent, session))

    async def idle(self, *, seconds: float) -> int:
        """Completes the sessions of this gate's agents that had no call for so long; how many. Lets others have those
        that had none for ten minutes."""
        now, before = time.monotonic(), self._store.now() - seconds
        for key in [key for key, seen in self._seen.items() if now - seen > _HOLD]:
            await self._let_go(key)
        ended, last = 0, None
        while page := await self._store.executions(status="running", before=last, limit=_PAGE):
            for row in page:
                hosted = row.key is not None and not row.served and row.holder is None
                if not hosted or row.updated_at >= before or self._waiting.get(row.id) == row.head_seq:
                    continue
                if await self._is_session(row):
                    with suppress(ConflictError, LeaseSuperseded):
                        now_is = await self._end(row.key or "", row.agent_id)
                        if now_is is not None and now_is.status.terminal:
                            ended += 1
                            self._waiting.pop(row.id, None)
                        elif now_is is not None:
                            self._waiting[row.id] = now_is.head_seq
            last = page[-1].id
        return ended

    async def close(self) -> None:
        """Lets other processes have the sessions; what runs stays as it is."""
        for key in tuple(self._sessions):
            await self._let_go(key)

    # ------------------------------------------------------------ holding them

    async def _is_new(self, session: str, agent: str) -> bool:
        _check("session", session)
        _check("agent", agent)
        if (agent, session) in self._sessions:
            return False
        return await self._store.find(agent, session) is None

    async def _is_session(self, row: ExecutionRow) -> bool:
        first = await self._store.events(row.id, limit=1)
        return bool(first) and first[0].payload.get("hosted") is True

    def _lock(self, key: tuple[str, str]) -> asyncio.Lock:
        return self._opening.setdefault(key, asyncio.Lock())

    async def _open(
        self,
        session: str,
        agent: str,
        *,
        request: str | None = None,
        workdir: str = "",
        parent: str = "",
        parent_call: str = "",
        goes_on: bool = True,
    ) -> HostSession | ExecutionRow:
        _check("session", session)
        _check("agent", agent)
        key = (agent, session)
        if parent == session:
            raise ValidationError(f"the session `{session[:80]}` is named as its own parent")
        self._seen[key] = time.monotonic()
        begun_by = step = ""
        if parent:
            # Before the lock is taken: two sessions that name each other would wait for one another.
            outer = await self._open(parent, agent)
            begun_by = outer.id if isinstance(outer, ExecutionRow) else outer.execution.id
            step = outer.step_of(parent_call) if isinstance(outer, HostSession) and parent_call else ""

        async def alone() -> HostSession | ExecutionRow:
            async with self._lock(key):
                return await self._held(
                    key,
                    request=request,
                    workdir=workdir,
                    parent=begun_by,
                    parent_step=step,
                    goes_on=goes_on,
                )

        # To its end, also where the caller goes: the store would name this process as the holder of a session that
        # nothing here knows of.
        opening = asyncio.ensure_future(alone())
        opening.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(opening)

    async def _held(
        self,
        key: tuple[str, str],
        *,
        request: str | None = None,
        workdir: str = "",
        parent: str = "",
        parent_step: str = "",
        goes_on: bool = True,
    ) -> HostSession | ExecutionRow:
        held = self._sessions.get(key)
        if held is not None and not held.over:
            return held
        self._sessions.pop(key, None)
        if held is not None and held.attempt.lease.poison is not None:
            # A write that failed ended it here, though the store may still name it as held by this process.
            with suppress(StoreError, LeaseSuperseded, Terminated):
                await held.let_go()
        agent, session = key
        opened = await open_session(
            self._kernel,
            agent_id=agent,
            name=session,
            input={"request": request or ""},
            workdir=workdir,
            parent=parent,
            parent_step=parent_step,
            observe=self.observe,
            goes_on=goes_on,
        )
        if isinstance(opened, HostSession):
            self._sessions[key] = opened
        return opened

    async def _let_go(self, key: tuple[str, str]) -> None:
        held = self._sessions.get(key)
        self._forget(key)
        if held is not None and not held.over:
            with suppress(StoreError, LeaseSuperseded, Terminated):
                await held.let_go()

    def _forget(self, key: tuple[str, str]) -> None:
        self._sessions.pop(key, None)
        self._seen.pop(key, None)
        lock = self._opening.get(key)
        if lock is not None and not lock.locked():
            del self._opening[key]

    # ------------------------------------------------------------ answers

    async def _again(self, session: str, call_id: str, agent: str) -> Verdict:
        opened = await self._open(session, agent)
        if isinstance(opened, ExecutionRow):
            return Deny(_over(opened), "__session_over")
        try:
            return self._verdict(await opened.again(call_id))
        except Terminated:
            return Deny(_over(await self._store.execution(opened.execution.id)), "__session_over")

    def _verdict(self, judged: Judged) -> Verdict:
        answer, step = judged.answer, judged.step
        match answer.kind:
            case AnswerKind.PROCEED if step is not None:
                return Allow(step.step_id, _observed(judged), step.approval_id or "")
            case AnswerKind.REPLAY if step is not None:
                if answer.error is not None or step.status is not StepStatus.SUCCEEDED:
                    error = identity.parse(answer.error) if answer.error else {"reason": step.status.value}
                    return Recorded(step.step_id, error=error)
                return Recorded(step.step_id, identity.parse(answer.result or "null"))
            case AnswerKind.BLOCKED if step is not None and judged.question is not None:
                asked = judged.question
                return Ask(
                    asked.id,
                    asked.message,
                    step.reason,
                    asked.rule_id,
                    step.step_id,
                    asked.approvers,
                    asked.quorum,
                    asked.timeout_at,
                )
            case AnswerKind.DENIED | AnswerKind.RATE_LIMITED | AnswerKind.PARKED:
                return Deny(answer.reason, answer.rule_id, answer.step_id)
            case _:
                return Deny(f"the kernel answered `{answer.kind.value}`", "", answer.step_id)


@asynccontextmanager
async def open_gate(
    store: str | Path,
    *,
    policy: PolicyLike,
    observe: bool = False,
    retention: float | None = None,
    shadow: Sequence[str | Path] = (),
    encrypt: bool = False,
    key_ring: "str | Path | KeyRing | None" = None,
    key_command: str = "",
) -> AsyncIterator[Gate]:
    """Opens a gate on a store. The arguments are as in `rebuno.open`; with `observe` the policy decides, and what it
    decides is recorded and not enforced.

    Raises:
        BundleError: the bundle has errors; there is no policy then.
        StoreError: the store cannot be used, for the reason that the subclass names.
    """
    judge = compiled(policy).with_shadows(shadow_policies(shadow))
    opened = await open_store(store, key_ring=key_ring, key_command=key_command, encrypt=encrypt)
    try:
        check_ring(judge, opened)
        gate = Gate(opened, judge, observe=observe)
        sweeping = asyncio.create_task(keep_sweeping(opened, retention=retention, every=SWEEP_SECONDS))
        try:
            yield gate
        finally:
            sweeping.cancel()
            await gate.close()
    finally:
        await opened.close()


def _check(what: str, text: object) -> None:
    if not isinstance(text, str) or not text.strip():
        raise ValidationError(f"the {what}'s name is {text!r:.80}; pass a text")
    check_name(f"{what}'s name", text)


def _over(row: ExecutionRow) -> str:
    why = f": {row.failure_reason}" if row.failure_reason else ""
    return f"the session is over, it was {row.status.value}{why}"


def _observed(judged: Judged) -> str:
    step = judged.step
    if step is None or step.verdict == "allow" or step.approval_id:
        return ""
    return f"{step.verdict.replace('_', ' ')}: {step.reason or step.rule_id}"


def _error(error: str | dict[str, Any]) -> str:
    said = {"message": error} if isinstance(error, str) else dict(error)
    said.setdefault("type", "")
    # Only the kernel says what nobody knows.
    if said.get("reason") in ("indeterminate", "policy_revoked", "cancelled"):
        del said["reason"]
    try:
        return identity.canonical(said, "error")
    except (NotJSON, ValidationError):
        return identity.canonical({"type": "", "message": _plain(said.get("message"))})


def _plain(value: object) -> str:
    # A text that JSON can hold.
    return str(value)[:65_536].encode("utf-8", "replace").decode()
