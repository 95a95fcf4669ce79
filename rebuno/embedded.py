"""A kernel in this process: one SQLite file, handlers run in place."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final, Literal

from rebuno.errors import LeaseSuperseded, StoreError, Terminated, ValidationError, failure_reason
from rebuno.journal import records
from rebuno.journal.sqlite import SQLiteStore
from rebuno.kernel import executions
from rebuno.kernel.attempt import Attempt
from rebuno.kernel.kernel import Kernel as Core
from rebuno.kernel.operator import Operator
from rebuno.model import identity
from rebuno.model.answer import Answer, Submission
from rebuno.model.execution import ExecutionStatus
from rebuno.policy.compile import compile_policy, permissive
from rebuno.policy.decide import Policy
from rebuno.policy.source import read
from rebuno.sdk.binding import bind
from rebuno.sdk.context import ExecutionContext, recordable

# Bodies that are plain functions run in threads; more at a time than this wait for a free one.
BODY_THREADS = 64
# What the protocol allows a caller's own id and an agent's id, in bytes.
LONGEST_ID = 256


class Permissive(Enum):
    """Says aloud that every step is allowed."""

    PERMISSIVE = "permissive"


PERMISSIVE: Final = Permissive.PERMISSIVE

PolicyLike = str | Path | Policy | Permissive | Sequence[str | Path]


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked: the approval's `id`, and the step that it is about. `args` is a JSON value, `message`
    what the rule says to show, `cause` is `policy`, or `revoked`: the step is done, and today's bundle denies it."""

    id: str
    step_id: str
    kind: str
    target: str
    args: Any
    message: str
    rule_id: str
    reason: str
    cause: str


@dataclass(frozen=True, slots=True)
class Execution:
    """How a run ended. `key` is the caller's own id, `output` a JSON value (None unless completed), `approvals` what it
    waits for, `replayed` how many recorded steps this call answered from the journal, `head_hash` the hex hash of the
    newest event."""

    id: str
    agent_id: str
    key: str | None
    status: ExecutionStatus
    input: Any
    output: Any
    failure_reason: str
    attempt: int
    approvals: tuple[Question, ...]
    replayed: int
    head_hash: str


class _Direct:
    """The transport inside one process."""

    def __init__(self, core: Core, attempt: Attempt) -> None:
        self._core = core
        self._attempt = attempt

    async def submit(self, submission: Submission) -> Answer:
        return await self._core.submit(self._attempt, submission)

    async def succeed(self, step_id: str, result: str, value: object) -> None:
        await self._core.succeed(self._attempt, step_id, result, value)

    async def fail(self, step_id: str, error: str, *, wait: bool = True) -> None:
        await self._core.fail(self._attempt, step_id, error, wait=wait)

    def release(self, step_id: str) -> None:
        self._core.release(self._attempt, step_id)


class Kernel:
    """An open kernel. Use it from the event loop that opened it; `operator` is the view for looking and approving."""

    def __init__(self, store: SQLiteStore, policy: Policy, *, strict: bool) -> None:
        self.policy = policy
        self.operator = Operator(store)
        self._core = Core(store, policy, strict=strict)
        self._executor = ThreadPoolExecutor(BODY_THREADS, thread_name_prefix="rebuno-body")

    async def run(
        self, handler: Callable[..., Any], input: Any = None, *, id: str | None = None, agent: str | None = None
    ) -> Execution:
        """Runs a handler on an input, or resumes where an earlier run of the same `id` stopped.

        `id` is the run's name, unique per agent: the same line again resumes it or returns how it ended. Without one
        every call is a new run (the returned `id` resumes it). `agent` is what policies see, the handler's name if not
        given. Returns with status `completed`, `failed`, `cancelled`, or `blocked` with the `approvals` it waits for.

        Raises:
            ConflictError: the id belongs to another input, or a live process runs it (`holder` names it).
            NotJSON, ValidationError: the input, the id or the agent's name is malformed; nothing was recorded.
            StoreError, LeaseSuperseded: the run stopped where it stood; the same line again resumes it.
        """
        name = agent if agent is not None else getattr(handler, "__name__", "")
        _check_id("agent", name)
        if id is not None:
            _check_id("id", id)
        text = identity.canonical(input, "input")
        bind(handler, identity.parse(text))
        replayed = 0
        while True:
            begun = await self._begin(agent_id=name, input=text, key=id)
            if isinstance(begun, records.Execution):
                return await self._view(begun, replayed)
            id = id if id is not None else begun.execution.id
            ended = await self._attempt(begun, bind(handler, identity.parse(text)))
            replayed = len(begun.replayed)
            if ended is not None:
                return await self._view(ended, replayed)

    async def _begin(self, *, agent_id: str, input: str, key: str | None) -> Attempt | records.Execution:
        beginning = asyncio.create_task(self._core.begin(agent_id=agent_id, input=input, key=key))
        try:
            return await asyncio.shield(beginning)
        except asyncio.CancelledError:
            # What is begun is on the disk: let it go again, or this very process would keep it.
            await asyncio.wait({beginning})
            if beginning.exception() is None and isinstance(begun := beginning.result(), Attempt):
                await self._abandon(begun)
            raise

    async def _attempt(self, attempt: Attempt, handler: Callable[[], Any]) -> records.Execution | None:
        execution = attempt.execution
        context = ExecutionContext(
            _Direct(self._core, attempt),
            self._executor,
            execution_id=execution.id,
            agent_id=execution.agent_id,
            # A copy: what the handler does to it must not change what policies see.
            input=identity.parse(execution.input),
        )
        task = asyncio.create_task(context.run(handler))
        try:
            await asyncio.wait({task})
            if context.blocked:
                await context.settle()
            context.end()
            await context.settle()
            return await self._end(attempt, context, task)
        except asyncio.CancelledError:
            context.end()
            task.cancel()
            await asyncio.wait({task})
            await context.settle()
            raise
        except Terminated:
            return await attempt.store.execution(execution.id)
        finally:
            if not attempt.ended:
                await self._abandon(attempt)

    async def _end(
        self, attempt: Attempt, context: ExecutionContext, task: "asyncio.Task[Any]"
    ) -> records.Execution | None:
        # A run that is cancelled from outside does not come here: this handler cancelled itself.
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if isinstance(error, StoreError | LeaseSuperseded | Terminated):
            raise error
        if context.blocked:
            return await executions.suspend(attempt)
        if error is None:
            try:
                return await executions.finish(attempt, output=identity.canonical(task.result(), "output"))
            except TypeError as unfit:
                error = unfit
        if not isinstance(error, Exception | asyncio.CancelledError):
            raise error
        return await executions.finish(attempt, failure_reason=recordable(failure_reason(error)))

    async def _abandon(self, attempt: Attempt) -> None:
        # What ended the attempt is already on its way to the caller.
        with suppress(StoreError, LeaseSuperseded, Terminated):
            await asyncio.shield(self._core.abandon(attempt))

    async def _view(self, row: records.Execution, replayed: int) -> Execution:
        questions = []
        if row.status is ExecutionStatus.BLOCKED:
            steps = {step.step_id: step for step in await self.operator.steps(row.id)}
            for asked in await self.operator.approvals(status="pending", execution_id=row.id):
                step = steps[asked.step_id]
                questions.append(
                    Question(
                        asked.id,
                        asked.step_id,
                        step.kind.value,
                        step.target,
                        identity.parse(step.args),
                        asked.message,
                        asked.rule_id,
                        step.reason,
                        asked.cause,
                    )
                )
        return Execution(
            row.id,
            row.agent_id,
            row.key,
            row.status,
            identity.parse(row.input),
            identity.parse(row.output) if row.output is not None else None,
            row.failure_reason,
            row.attempt,
            tuple(questions),
            replayed,
            row.head_hash.hex(),
        )

    def shut(self) -> None:
        """Takes no more bodies; whoever opened the kernel closes its store."""
        self._executor.shutdown(wait=False, cancel_futures=True)


def _check_id(what: str, text: object) -> None:
    if not isinstance(text, str):
        raise ValidationError(f"the {what} is of type {type(text).__name__}; pass text")
    if not text.strip():
        raise ValidationError(f"the {what} is blank; pass `{what}=`")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise ValidationError(f"the {what} is not valid Unicode") from None
    if size > LONGEST_ID or "\0" in text:
        raise ValidationError(f"the {what} must be at most {LONGEST_ID} bytes without NUL")


def compiled(policy: PolicyLike | None) -> Policy:
    """The policy that a caller named; raises as `open` does."""
    if policy is None:
        raise ValueError(
            'a kernel needs a policy: pass `policy="agent.rbp"`, or `policy=rebuno.PERMISSIVE` to allow all'
        )
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, Permissive):
        return permissive()
    given: object = [policy] if isinstance(policy, str | Path) else policy
    if not isinstance(given, Sequence) or not all(isinstance(path, str | Path) for path in given):
        raise TypeError("a policy is the path of a bundle, a list of paths, a compiled policy, or rebuno.PERMISSIVE")
    return compile_policy([read(path) for path in given])


@asynccontextmanager
async def open(
    path: str | Path, *, policy: PolicyLike | None = None, durability: Literal["group", "strict"] = "group"
) -> AsyncIterator[Kernel]:
    """Opens the kernel on a SQLite file, made if it is missing: `async with rebuno.open("agent.db", policy="a.rbp")`.

    `policy` is a bundle's path, a list of paths (one a layer, the outermost first; the strictest verdict wins), a
    compiled policy, or `rebuno.PERMISSIVE`; bundle files are read now and not again.
    `durability="strict"` syncs every outcome before it is returned; otherwise that of a `safe_to_retry` step may wait
    2 ms at most.

    Raises:
        BundleError: the bundle has errors, or asks for what the kernel does not enforce; there is no policy then.
        ValueError: no policy was given, or an unknown durability.
        StoreError: the file cannot be used, for the reason that the subclass names.
    """
    if durability not in ("group", "strict"):
        raise ValueError(f"the durability `{durability}` is neither `group` nor `strict`")
    judge = compiled(policy)
    store = await SQLiteStore.open(path)
    try:
        kernel = Kernel(store, judge, strict=durability == "strict")
        try:
            yield kernel
        finally:
            kernel.shut()
    finally:
        await store.close()


@asynccontextmanager
async def operate(path: str | Path, *, create: bool = False) -> AsyncIterator[Operator]:
    """Opens a store for looking and approving; it needs no policy, and makes no file unless `create` says so.

    Raises:
        StoreError: there is no usable store at `path`.
    """
    store = await SQLiteStore.open(path, create=create)
    try:
        yield Operator(store)
    finally:
        await store.close()


def run_sync(
    handler: Callable[..., Any],
    input: Any = None,
    *,
    path: str | Path,
    policy: PolicyLike | None = None,
    id: str | None = None,
    agent: str | None = None,
) -> Execution:
    """`Kernel.run` for programs without an event loop: opens the kernel, runs, closes. Raises what both raise."""

    async def once() -> Execution:
        async with open(path, policy=policy) as kernel:
            return await kernel.run(handler, input, id=id, agent=agent)

    return asyncio.run(once())
