"""A kernel in this process: one store, handlers run in place."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from rebuno.errors import (
    ConflictError,
    ForbiddenError,
    LeaseSuperseded,
    NotFoundError,
    StoreError,
    Terminated,
    ValidationError,
)
from rebuno.journal import records
from rebuno.journal.opening import open_store
from rebuno.journal.served import ServedStore
from rebuno.journal.store import Store
from rebuno.kernel import (
    DEADLINE_EXCEEDED,
    Attempt,
    BeginOptions,
    ChangedFiles,
    Operator,
    begin_options,
    check_name,
    check_ring,
    finish_execution,
    keep_sweeping,
    may_be_own,
    recorded_result,
    start_step,
    suspend_execution,
)
from rebuno.kernel import Kernel as Core
from rebuno.model import identity
from rebuno.model.answer import Answer, CallKey, Submission
from rebuno.policy import Policy, compile_policy, permissive_policy, read_source, shadow_policies
from rebuno.sdk.binding import bind
from rebuno.sdk.context import BODY_THREADS, ExecutionContext, current, current_step
from rebuno.sdk.ending import Completed, Failed, Waits, ending, log_failure, to_its_end
from rebuno.sdk.transport import Transport
from rebuno.types import Execution, UserTurn

if TYPE_CHECKING:
    from rebuno.notices import Notices
    from rebuno.sealing import KeyRing
    from rebuno.tracing.spans import ExecutionSpans

T = TypeVar("T")

# The interval in seconds at which the kernel checks that a running handler still owns its execution.
WATCH_SECONDS = 1.0
# The time in seconds that a canceller may need to end an execution after taking it from its handler.
ENDING_SECONDS = 2.0
# The interval in seconds at which an open kernel ends overdue executions and removes old ones.
SWEEP_SECONDS = 15.0


class Permissive(Enum):
    """The explicit policy that allows every step."""

    PERMISSIVE = "permissive"


PERMISSIVE: Final = Permissive.PERMISSIVE

PolicyLike = str | Path | Policy | Permissive | Sequence[str | Path]


class _Direct:
    """The transport inside one process."""

    def __init__(self, core: Core, attempt: Attempt) -> None:
        self._core = core
        self._attempt = attempt
        self.sealed = attempt.seals
        self.start = partial(start_step, attempt)
        self.succeed = partial(core.succeed, attempt)
        self.external = core.external(attempt)

    def recorded(self, call_key: CallKey) -> tuple[Any] | Answer | None:
        # At the end of the log there is nothing to replay.
        return None if self._attempt.at_end() else recorded_result(self._attempt, call_key)

    async def submit(self, submission: Submission) -> Answer:
        return await self._core.submit(self._attempt, submission)

    async def fail(self, step_id: str, error: str, **more: Any) -> None:
        await self._core.fail(self._attempt, step_id, error, **more)

    def release(self, step_id: str) -> None:
        self._core.release(self._attempt, step_id)


class Kernel:
    """An open kernel. Use it from the event loop that opened it. `operator` reads executions and answers approvals."""

    def __init__(
        self, store: ServedStore, policy: Policy, *, strict: bool, spans: "ExecutionSpans | None" = None
    ) -> None:
        self.policy = policy
        self._spans = spans
        self.operator = Operator(store, policy)
        # For each running execution the future that ends its handler; for each `run` the future that is set on return.
        self._stops: dict[str, asyncio.Future[None]] = {}
        self._runs: set[asyncio.Future[None]] = set()
        self._closing = False
        self._files = ChangedFiles(policy)
        self._core = Core(store, policy, strict=strict)
        self._executor = ThreadPoolExecutor(BODY_THREADS, thread_name_prefix="rebuno-body")

    async def run(
        self,
        handler: Callable[..., Any],
        input: Any = None,
        *,
        id: str | None = None,
        agent: str | None = None,
        pin: bool = False,
        deadline: float | None = None,
        workdir: str = "",
        on_divergence: Literal["record", "block"] = "record",
    ) -> Execution:
        """Runs a handler on an input, or resumes where an earlier run of the same `id` stopped.

        `id` is the run's name, unique per agent: the same line again resumes it or returns how it ended. Without one
        every call is a new run (the returned `id` resumes it; an execution's own id needs no input). `agent` is what
        policies see, the handler's name if not given. Returns with status `completed`, `failed`, `cancelled`, or
        `blocked` with the `approvals` it waits for.

        With `pin` a new execution is judged to its end by the policy of its start. It is cancelled (reason
        `deadline_exceeded`) where it has not ended `deadline` seconds after its start. `workdir` is the folder that it
        works in (`workdir session`); a run that a handler begins works in its own. With `on_divergence="block"` a
        person is asked about every new step that comes while recorded ones have not come again.

        Raises:
            ConflictError: the id belongs to another input or workdir, or a live process runs it (`holder` names it).
            ExecutionExpired: the id belongs to an execution that retention has taken.
            NotJSON, ValidationError: the input, the id, the agent's name or the workdir is malformed, or a handler
                names another workdir than its own; nothing was recorded.
            BundleError: it is pinned, and the policy of its start cannot be compiled any more; nothing was recorded.
            StoreError, LeaseSuperseded: the run stopped where it stood, as where the kernel is closed under it; the
                same line again resumes it.
        """
        name = agent if agent is not None else getattr(handler, "__name__", "")
        _check_id("agent", name)
        if id is not None:
            _check_id("id", id)
        new = begin_options(pin=pin, deadline=deadline, workdir=workdir)
        if on_divergence not in ("record", "block"):
            raise ValidationError(f"`on_divergence={on_divergence!r}` is neither `record` nor `block`")
        return await to_its_end(self._run(handler, input, new, id=id, name=name, block=on_divergence == "block"))

    async def _run(
        self,
        handler: Callable[..., Any],
        input: Any,
        new: BeginOptions,
        *,
        id: str | None,
        name: str,
        block: bool,
    ) -> Execution:
        """`run`, in a task of its own that is cancelled once at most."""
        with self._running():
            text = identity.canonical(input, "input")
            if input is None and id is not None and may_be_own(id):
                text = await self._input_of(id, name) or text
            bind(handler, identity.parse(text))
            self._files.look()
            replayed = 0
            while True:
                if self._closing:
                    raise _closed_under(id or name)
                begun = await self._begin(new, agent_id=name, input=text, key=id)
                if isinstance(begun, records.ExecutionRow):
                    return await self._told(begun, replayed)
                id = id if id is not None else begun.execution.id
                begun.block_diverged = block
                ended = await self._attempt(begun, bind(handler, identity.parse(text)))
                replayed = begun.replayed
                if ended is not None:
                    if self._spans is not None and ended.status.terminal:
                        self._spans.ended(ended)
                    return await self._told(ended, replayed)

    def _transport(self, attempt: Attempt) -> Transport:
        direct = _Direct(self._core, attempt)
        return direct if self._spans is None else self._spans.around(direct, attempt)

    async def _told(self, row: records.ExecutionRow, replayed: int) -> Execution:
        ended = await self.operator.shown(await self._core.store.execution(row.id) if row.seal else row)  # With marks.
        ended.replayed = replayed
        return ended

    async def say(self, ref: str, text: str, *, by: str = "") -> UserTurn:
        """As `Operator.say`: adds what the user wrote to an execution after it began. Raises `ForbiddenError` where a
        handler calls it: what an agent writes is not the user's word."""
        if current() is not None:
            raise ForbiddenError("a handler cannot say what the user wrote; the program that runs it can")
        return await self.operator.say(ref, text, by=by)

    async def cancel(self, ref: str, *, reason: str = "cancelled") -> Execution:
        """Cancels an execution, named as in `Operator.execution`, wherever it runs; a handler that runs in this kernel
        is stopped at once, and its `run` returns with status `cancelled`.

        Raises:
            NotFoundError, ConflictError: there is none, or several, or it has ended already.
        """
        ended = await self.operator.cancel(ref, reason=reason)
        stop = self._stops.get(ended.id)
        if stop is not None and not stop.done():
            stop.set_result(None)
        return ended

    async def _input_of(self, execution_id: str, agent_id: str) -> str | None:
        with suppress(NotFoundError):
            found = await self._core.store.execution(execution_id)
            return await self._core.input_of(found) if found.agent_id == agent_id else None
        return None

    async def _begin(
        self, new: BeginOptions, *, agent_id: str, input: str, key: str | None
    ) -> Attempt | records.ExecutionRow:
        # The input that a handler passes on is not the user's word, in any store.
        outer = current()
        beginning = asyncio.create_task(
            self._core.begin(
                agent_id=agent_id,
                input=input,
                key=key,
                **new,
                parent=outer.id if outer is not None else "",
                parent_step=current_step(),
            )
        )
        try:
            return await asyncio.shield(beginning)
        except asyncio.CancelledError:
            # The new execution is on the disk: release it, otherwise this process would keep it.
            await asyncio.wait({beginning})
            if beginning.exception() is None and isinstance(begun := beginning.result(), Attempt):
                await self._abandon(begun)
            raise

    async def _attempt(self, attempt: Attempt, handler: Callable[[], Any]) -> records.ExecutionRow | None:
        execution = attempt.execution
        context = ExecutionContext(
            self._transport(attempt),
            self._executor,
            execution_id=execution.id,
            agent_id=execution.agent_id,
            # A copy: a change by the handler must not reach the policies.
            input=identity.parse(execution.input),
        )
        task = asyncio.create_task(context.run(handler))
        stop: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stops[execution.id] = stop
        try:
            try:
                ours = not self._closing and await self._watch(attempt, task, stop)
                if ours and context.blocked:
                    ours = await self._watch(attempt, asyncio.create_task(context.settle()), stop)
            finally:
                del self._stops[execution.id]
                context.end()
                # Nothing happens to a task that is done.
                task.cancel()
                # INVARIANT: nothing of the attempt runs any more where its lease is let go.
                await to_its_end(_settled(task, context), once=False)
            if ours:
                return await self._end(attempt, context, task)
            if not self._closing:
                raise LeaseSuperseded
            found = await attempt.store.execution(execution.id)
            if found.status.terminal:
                return found
            raise _closed_under(execution.key or execution.id)
        except (Terminated, LeaseSuperseded):
            row = await _ended(attempt.store, execution.id)
            if row is None:
                raise
            return row
        finally:
            if not attempt.ended:
                await self._abandon(attempt)
            attempt.forget()

    async def _watch(self, attempt: Attempt, task: "asyncio.Task[Any]", stop: "asyncio.Future[None]") -> bool:
        """Waits for a task. False if the execution was ended, moved to another process, or stopped before that."""
        execution, lease, store = attempt.execution, attempt.lease, attempt.store
        while not task.done():
            left = execution.deadline_at - store.now() if execution.deadline_at else WATCH_SECONDS
            if left <= 0:
                with suppress(ConflictError):
                    await self.operator.cancel(execution.id, reason=DEADLINE_EXCEEDED)
                return False
            await asyncio.wait({task, stop}, timeout=min(left, WATCH_SECONDS), return_when=asyncio.FIRST_COMPLETED)
            if not task.done() and (stop.done() or lease.lost):
                return False
        return True

    async def _end(
        self, attempt: Attempt, context: ExecutionContext, task: "asyncio.Task[Any]"
    ) -> records.ExecutionRow | None:
        match ending(task, blocked=context.blocked):
            case Waits():
                return await suspend_execution(attempt)
            case Completed(output=output):
                # No execution in this process continues another one, so a state would have no reader.
                return await finish_execution(attempt, output=output)
            case Failed(reason=reason, raised=raised) as failed:
                log_failure(failed, attempt.execution.id, attempt.seals)
                return await finish_execution(attempt, failure_reason=reason, raised=raised)

    async def _abandon(self, attempt: Attempt) -> None:
        # What ended the attempt is already on its way to the caller.
        with suppress(StoreError, LeaseSuperseded, Terminated):
            await asyncio.shield(self._core.abandon(attempt))

    @contextmanager
    def _running(self) -> Iterator[None]:
        """While it is open, `shut` waits."""
        if self._closing:
            raise StoreError("the kernel is closed; open it again")
        left: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._runs.add(left)
        try:
            yield
        finally:
            self._runs.discard(left)
            left.set_result(None)

    async def shut(self) -> None:
        """Stops the running executions at their current steps, to be resumed, and takes no more. The caller who opened
        the kernel closes its store."""
        self._closing = True
        loop = asyncio.get_running_loop()
        for stop in self._stops.values():
            if stop.get_loop() is loop and not stop.done():
                stop.set_result(None)
        try:
            if here := [left for left in self._runs if left.get_loop() is loop]:
                await asyncio.wait(here)
        finally:
            self._executor.shutdown(wait=False, cancel_futures=True)


def _closed_under(ref: str) -> StoreError:
    return StoreError(f"the kernel was closed while it ran the execution `{ref}`; the same line again resumes it")


async def _settled(task: "asyncio.Task[Any]", context: ExecutionContext) -> None:
    await asyncio.wait({task})
    await context.settle()


async def _ended(store: Store, execution_id: str) -> records.ExecutionRow | None:
    """The end of an execution that was taken from here; None if another process continues it. A canceller takes the
    lease of a busy execution first."""
    until = time.monotonic() + ENDING_SECONDS
    while True:
        row = await store.execution(execution_id)
        if row.status.terminal:
            return row
        if row.holder is not None or time.monotonic() >= until:
            return None
        await asyncio.sleep(0.01)


def _check_id(what: str, text: object) -> None:
    if not isinstance(text, str):
        raise ValidationError(f"the {what} is of type {type(text).__name__}; pass text")
    if not text.strip():
        raise ValidationError(f"the {what} is blank; pass `{what}=`")
    check_name(what, text)


def compiled(policy: PolicyLike | None) -> Policy:
    """The policy of the caller's argument; raises as `open` does."""
    if policy is None:
        raise ValueError('a kernel needs a policy: pass `policy="agent.rbp"`, or `policy=rebuno.PERMISSIVE`')
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, Permissive):
        return permissive_policy()
    given: object = [policy] if isinstance(policy, str | Path) else policy
    if not isinstance(given, Sequence) or not all(isinstance(path, str | Path) for path in given):
        raise TypeError("a policy is the path of a bundle, a list of paths, a compiled policy, or rebuno.PERMISSIVE")
    return compile_policy([read_source(path) for path in given])


@asynccontextmanager
async def open(
    path: str | Path,
    *,
    policy: PolicyLike | None = None,
    durability: Literal["group", "strict"] = "group",
    retention: float | None = None,
    shadow: Sequence[str | Path] = (),
    tracer_provider: Any = None,
    encrypt: bool = False,
    key_ring: "str | Path | KeyRing | None" = None,
    key_command: str = "",
    notify: "str | Path | Notices | None" = None,
    public_url: str = "",
) -> AsyncIterator[Kernel]:
    """Opens the kernel on a store: `async with rebuno.open("agent.db", policy="a.rbp")`. `path` is that of a SQLite
    file, made if it is missing, or the URL of a PostgreSQL database (`postgresql://…`).

    `policy` is a bundle's path, a list of paths (one a layer, the outermost first; the strictest verdict wins), a
    compiled policy, or `rebuno.PERMISSIVE`; bundle files are read now and not again.
    `durability="strict"` syncs every outcome before it is returned; otherwise that of a `safe_to_retry` step may wait
    2 ms at most. `retention` is for how many seconds executions are kept once they have ended; without it for ever.
    While the kernel is open, it ends what is overdue and removes what is not kept any more, every quarter of a minute.
    `shadow` are paths of bundles that are tried beside the policy (`rebuno.policy.shadow_policies`).
    `tracer_provider` is OpenTelemetry's: executions and steps are written as spans with it.

    With `encrypt` every payload of a new execution is stored encrypted. `key_ring` is a `rebuno.KeyRing`, or the path
    of its file of mode 0600; `key_command` prints one. A kernel with the ring runs what is encrypted in any case.

    `notify` is the path of a YAML file of targets, or what `rebuno.notices.read_notices` made of one: they are told of
    questions while the kernel is open. `public_url` is the beginning of the links to the console.

    Raises:
        KeyRingError: the key ring cannot be used, or it is to encrypt and there is none.
        BundleError: the bundle, or the file of targets, has errors.
        ValidationError: the file of targets does not fit.
        ValueError: no policy was given, an unknown durability, or a negative retention.
        RebunoError: a tracer provider was given, and the extra `otel` is not installed.
        StoreError: the store cannot be used, for the reason that the subclass names.
    """
    if durability not in ("group", "strict"):
        raise ValueError(f"the durability `{durability}` is neither `group` nor `strict`")
    if retention is not None and retention < 0:
        raise ValueError(f"the retention {retention!r} is no number of seconds")
    judge = compiled(policy).with_shadows(shadow_policies(shadow))
    spans = _spans(tracer_provider) if tracer_provider is not None else None
    told = _told_by(notify, public_url) if notify is not None else None
    store = await open_store(path, key_ring=key_ring, key_command=key_command, encrypt=encrypt)
    try:
        check_ring(judge, store)
        kernel = Kernel(store, judge, strict=durability == "strict", spans=spans)
        sweeping = asyncio.create_task(keep_sweeping(store, retention=retention, every=SWEEP_SECONDS))
        try:
            async with nullcontext() if told is None else told(store):
                yield kernel
        finally:
            sweeping.cancel()
            await kernel.shut()
    finally:
        await store.close()


def _told_by(
    notify: "str | Path | Notices", public_url: str
) -> Callable[[ServedStore], AbstractAsyncContextManager[None]]:
    from rebuno.notices import told_by

    return told_by(notify, public_url)


def _spans(provider: Any) -> "ExecutionSpans":
    from rebuno.tracing import span_writer

    return span_writer(provider)


@asynccontextmanager
async def operate(
    path: str | Path,
    *,
    create: bool = False,
    key_ring: "str | Path | KeyRing | None" = None,
    key_command: str = "",
) -> AsyncIterator[Operator]:
    """Opens a store, a file or a database, for reading and approving; it needs no policy. Without `create` it must be
    there already. `key_ring` and `key_command` are as in `open`: what is encrypted is shown only with its key.

    Raises:
        KeyRingError: the key ring cannot be used.
        StoreError: there is no usable store at `path`.
    """
    store = await open_store(path, create=create, key_ring=key_ring, key_command=key_command)
    try:
        yield Operator(store)
    finally:
        await store.close()
