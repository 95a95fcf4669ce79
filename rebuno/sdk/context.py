"""Submits a handler's steps to its kernel and carries out the answers, in the same way over every transport."""

import asyncio
import contextvars
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from typing import Any, Final

from rebuno.errors import (
    Blocked,
    LeaseSuperseded,
    NothingDone,
    NotJSON,
    PolicyError,
    RateLimited,
    ResultError,
    StoreError,
    Terminated,
    ToolError,
    text_of,
)
from rebuno.model import identity
from rebuno.model.answer import Answer, AnswerKind, Submission, Unheard
from rebuno.model.definition import Definition
from rebuno.sdk.arguments import all_detached
from rebuno.sdk.body_errors import BodyError, OutcomeUnknownError, kept_of, recordable
from rebuno.sdk.calls import BodyScope, EditedStep, StepCall, asked_to_stop, by_name, in_thread, rerun_changed
from rebuno.sdk.resources import HeldResources, StepTurn, current_turn
from rebuno.sdk.sealed_log import log_of
from rebuno.sdk.transport import ServedTransport, Transport

# What ends an attempt says nothing about the step in whose body it surfaced.
_ENDS_ATTEMPT: Final = (Blocked, Terminated, LeaseSuperseded, StoreError)
# Bodies that are plain functions run in threads; more at a time than this wait for a free one.
BODY_THREADS: Final = 64
# After so many recorded answers in a row the event loop gets a turn.
TURN: Final = 128
# How long a subagent's end may take to reach its parent's step before it is asked for again, in seconds.
_FIRST_PAUSE: Final = 0.05
_LAST_PAUSE: Final = 2.0
_CANCELLED: Final = identity.canonical({"reason": "cancelled", "message": "the body was cancelled"})


_scope: contextvars.ContextVar[BodyScope | None] = contextvars.ContextVar("rebuno_scope", default=None)


def current() -> "ExecutionContext | None":
    """The context of the running handler, or None outside of a handler."""
    scope = _scope.get()
    return scope.context if scope is not None else None


def current_step() -> str:
    """The id of the step whose body runs; empty outside of a body."""
    scope = _scope.get()
    return scope.step_id if scope is not None else ""


def required(what: str) -> "ExecutionContext":
    """The context of the running handler.

    Raises:
        RuntimeError: there is none; says what was called and why that may be.
    """
    context = current()
    if context is None:
        raise RuntimeError(
            f"{what} was called outside an execution; call it in a handler that a kernel runs"
            " (executor pools, callbacks and tasks made at import lose the execution's context)"
        )
    return context


class ExecutionContext:
    """One attempt of a handler. `edited` are its calls so far that approvers have changed.

    `id` is the execution's id, `agent_id` its agent, `input` its input as a JSON value. `blocked` tells that a step of
    this attempt waits for a person: the handler's return value then counts for nothing, whatever it made of `Blocked`.
    `served` is what a served kernel has besides; None where the kernel is in this process.
    """

    def __init__(
        self,
        transport: Transport,
        executor: Executor,
        *,
        execution_id: str,
        agent_id: str,
        input: Any,
        served: ServedTransport | None = None,
    ) -> None:
        self.id = execution_id
        self.agent_id = agent_id
        self.input = input
        self.blocked = False
        self.edited: tuple[EditedStep, ...] = ()
        self.served = served
        # The resources that it has opened; None: none yet.
        self.external: HeldResources | None = None
        self.transport = transport
        self._recorded = transport.recorded
        self._executor = executor
        self._loop = asyncio.get_running_loop()
        # Every submission that is under way, with the body that it may run.
        self._under_way: set[StepCall] = set()
        # Those of them that are not submitted yet, or were cancelled and have not said so yet: what comes later has to
        # come after them.
        self._starting: set[StepCall] = set()
        # The bodies that wait for their subagents; set whenever one more does, or something under way has ended.
        self._waiting: set[BodyScope] = set()
        self._stirred = asyncio.Event()
        self._suspending = asyncio.Lock()
        self._replayed = 0
        self._ending = False

    @property
    def settling(self) -> bool:
        """Whether what is under way goes on, or has been stopped, without regard to those who wait for it."""
        return self.blocked or self._ending

    async def run(self, handler: Callable[[], Any]) -> Any:
        """Runs the handler with this context, in a thread if it is not a coroutine function."""
        _scope.set(BodyScope(self))
        output = await self.call(handler)
        if self.external is not None and not self.blocked:
            await self.external.at_end()
        return output

    async def settle(self) -> None:
        """Waits for the pending submissions and for the bodies that they run."""
        while self._under_way:
            self._stirred.clear()
            await self._stirred.wait()

    def end(self) -> None:
        """Stops everything that is pending, and refuses later submissions. Nothing about it is recorded any more."""
        self._ending = True
        for call in tuple(self._under_way):
            self._cancel(call)

    async def invoke(
        self,
        kind: str,
        target: str,
        args: dict[str, Any],
        body: Callable[..., Any],
        *,
        idempotency: str,
        named: bool = False,
        definition: Definition | None = None,
        rerun: Callable[[dict[str, Any]], Callable[[], Any]] | None = None,
        resources: tuple[str, ...] = (),
        turn: StepTurn | None = None,
    ) -> Any:
        """Submits one effect, and runs `body` if the kernel allows it; with `named` on the arguments by name.
        `definition` is that of the tool. `rerun` gives the body for other arguments, which an approver may write.
        `resources` are those that the body may change.

        Returns what the recorded result reads as, on the first run and on every later one.

        Raises:
            NotJSON: an argument is something that JSON cannot hold; nothing was submitted.
            PolicyError, Blocked, RateLimited, Terminated, ToolError: as the kernel answered.
            RuntimeError: called from another event loop than the handler's.
        """
        scope = _scope.get()
        if scope is None or asyncio.get_running_loop() is not self._loop:
            raise RuntimeError(
                f"the step `{target}` was submitted from another event loop than its handler's; await it there"
            )
        if self.external is not None and turn is None and self.external.waits(kind, bool(scope.step_id)):
            again = partial(self.invoke, kind, target, args, body, idempotency=idempotency, named=named)
            return await self.external.in_turn(partial(again, definition=definition, rerun=rerun, resources=resources))
        text = identity.canonical(args, "args")
        if self._ending:
            raise Terminated(
                f"the step `{target}` was submitted after its handler's end; await every task in the handler"
            )
        # INVARIANT: nothing overtakes a call that was made before and is not counted yet.
        recorded = None if self._starting else self._recorded((scope.step_id, kind, target, text))
        if recorded is not None:
            self._replayed += 1
            if self._replayed % TURN == 0:
                await asyncio.sleep(0)
            if turn is not None:
                # What was cancelled comes to no end here.
                turn.leave()
            return recorded[0] if isinstance(recorded, tuple) else await _read(target, recorded)
        edits = named or rerun is not None
        submission = Submission(kind, target, text, idempotency, scope.step_id, definition, resources, edits)
        call = StepCall(submission, body, scope, self._loop.create_future(), turn)
        if named:
            # What was judged is what the body gets, whatever the caller makes of its values meanwhile.
            call.body, call.rerun = partial(body, **all_detached(args)), partial(by_name, body)
        else:
            call.rerun = rerun
        if self._starting or not self.transport.start(submission, partial(self._on_answer, call)):
            self._submit(call)
        self._under_way.add(call)
        if turn is not None:
            turn.taken = True
        try:
            answer = await call.waiter
        except asyncio.CancelledError:
            # Once: a second cancellation would interrupt what the body does to clean up.
            if not self.settling:
                self._cancel(call)
                if call.once:
                    await self._over(call)
            raise
        return identity.reread(answer.result or "null") if answer.error is None else await _read(target, answer)

    async def _over(self, call: StepCall) -> None:
        """Waits until what became of a call is recorded, however often that wait is cancelled: the caller hears of its
        cancellation all the same."""
        while not call.over and not self.settling:
            if call.ended is None:
                call.ended = self._loop.create_future()
            with suppress(asyncio.CancelledError):
                await asyncio.wait({call.ended})

    def _on_answer(self, call: StepCall, said: Answer | BaseException | None) -> None:
        if call.left and not call.over:
            self._leave(call, said if isinstance(said, Answer) else None)
        elif call.over:
            # The caller is gone before it heard the answer: no body runs, the step stays started with no outcome.
            if isinstance(said, Answer):
                self.transport.release(said.step_id)
        elif said is None:
            self._submit(call)
        elif isinstance(said, Answer):
            self._begin(call, said)
        else:
            self._end(call)
            if not call.waiter.done():
                call.waiter.set_exception(said)

    def _submit(self, call: StepCall) -> None:
        self._starting.add(call)
        self._begin(call, None)

    def _begin(self, call: StepCall, answer: Answer | None) -> None:
        # A task of its own, so that a handler that is unwound by `Blocked` elsewhere does not take the body with it.
        # Tasks start in the order in which they are made, so that identical calls are counted in the order of calls.
        call.answer = answer
        call.task = self._loop.create_task(self._carry(call), context=call.context)

    def _end(self, call: StepCall) -> None:
        call.over = True
        self._under_way.discard(call)
        self._starting.discard(call)
        if call.turn is not None:
            call.turn.leave()
        self._stirred.set()
        if call.ended is not None and not call.ended.done():
            call.ended.set_result(None)

    def _leave(self, call: StepCall, answer: Answer | None) -> None:
        """Handles a caller cancelled before the body began: the body never runs, the step ends as cancelled."""
        if answer is None or answer.kind is not AnswerKind.PROCEED:
            if answer is not None:
                self.transport.release(answer.step_id)
            self._end(call)
        else:
            call.task = self._loop.create_task(self._fail_unbegun(call, answer.step_id))

    async def _fail_unbegun(self, call: StepCall, step_id: str) -> None:
        try:
            # What it fails with, the attempt keeps for whatever comes next.
            with suppress(StoreError, LeaseSuperseded, Terminated):
                await self.transport.fail(step_id, _CANCELLED)
        finally:
            self._end(call)

    def _cancel(self, call: StepCall) -> None:
        if call.task is not None:
            call.task.cancel()
        if call.running and not call.over:
            self._starting.add(call)
        elif call.once and not call.over and not self._ending:
            call.left = True
            self._starting.add(call)
            call.waiter.cancel()
            if call.answer is not None:
                self._leave(call, call.answer)
            elif call.task is not None:
                # It was never submitted.
                self._end(call)
        elif not call.over:
            if call.answer is not None:
                self.transport.release(call.answer.step_id)
            self._end(call)
            call.waiter.cancel()

    async def _carry(self, call: StepCall) -> None:
        """Gets the answer for the waiting caller, if it still waits."""
        call.running = True
        self._starting.discard(call)
        waiter = call.waiter
        try:
            answer = call.answer or await self._submitted(call)
            # What comes back of a body is read like a replay, always.
            if answer.args is not None:
                self._note_edit(call, answer, answer.args)
            if answer.kind is AnswerKind.PROCEED:
                call.due = tuple(one for one in answer.resources if one.due) if answer.resources else ()
                answer = await self._body(call, answer.step_id, BodyScope(self, answer.step_id, call.scope))
            elif answer.kind is not AnswerKind.REPLAY:
                raise self._refused(call.scope, answer)
        except asyncio.CancelledError:
            waiter.cancel()
            raise
        except BaseException as error:
            # Where the caller is gone, its error has been recorded all the same; of a task that is collected after the
            # end of its loop nobody hears.
            if not waiter.done() and not self._loop.is_closed():
                waiter.set_exception(error)
            if not isinstance(error, Exception):
                if call.task is not None:
                    # The waiting caller gets it, so the task need not report it as well.
                    call.task.add_done_callback(asyncio.Task.exception)
                raise
        else:
            # Now: what is told when the task is done is told a turn of the event loop later.
            if not waiter.done():
                waiter.set_result(answer)
        finally:
            self._end(call)

    def _note_edit(self, call: StepCall, answer: Answer, args: str) -> None:
        """A person has changed the arguments: the handler can see it, and the body gets those."""
        submitted, ran = identity.reread(call.submission.args), identity.reread(args)
        self.edited = (*self.edited, EditedStep(answer.step_id, call.submission.target, submitted, ran))
        if answer.kind is AnswerKind.PROCEED:
            call.body = partial(rerun_changed, self.call, call.rerun, identity.reread(args))

    async def _submitted(self, call: StepCall) -> Answer:
        try:
            return await self.transport.submit(call.submission)
        except Unheard as error:
            if call.once and not self._ending and asked_to_stop():
                await self.transport.fail(error.step_id, _CANCELLED)
            else:
                self.transport.release(error.step_id)
            raise

    def _refused(self, scope: BodyScope, answer: Answer) -> Exception:
        match answer.kind:
            case AnswerKind.DENIED:
                return PolicyError(answer.reason, rule_id=answer.rule_id, step_id=answer.step_id)
            case AnswerKind.RATE_LIMITED:
                return RateLimited(answer.reason, rule_id=answer.rule_id)
            case AnswerKind.EXECUTION_TERMINAL:
                return Terminated()
            case _:
                return self._block(scope, answer)

    def _block(self, scope: BodyScope, answer: Answer) -> Blocked:
        self.blocked = True
        outer: BodyScope | None = scope
        while outer is not None:
            outer.blocked = True
            outer = outer.parent
        return Blocked(answer.step_id, answer.approval_id)

    # ------------------------------------------------------------ bodies

    async def _body(self, call: StepCall, step_id: str, scope: BodyScope) -> Answer:
        target = call.submission.target
        _scope.set(scope)
        try:
            value = await self.call(call.body)
            if scope.blocked:
                # Whatever the body made of the refusal inside it is no result.
                raise Blocked(step_id)
            text = _recorded(value)
            captured = await self.external.capture(call.due) if call.due and self.external is not None else None
        except _ENDS_ATTEMPT:
            self.transport.release(step_id)
            raise
        except asyncio.CancelledError as error:
            if self._ending:
                self.transport.release(step_id)
                raise
            if asked_to_stop():
                await self.transport.fail(step_id, _CANCELLED, wait=call.once)
                raise
            # Nobody cancelled this body: it waited for something that was cancelled, and failed like any other.
            return await self._failed(call, step_id, error)
        except Exception as error:
            if scope.blocked:
                self.transport.release(step_id)
                raise Blocked(step_id) from error
            return await self._failed(call, step_id, error)
        try:
            settled = await self.transport.succeed(step_id, text, identity.reread(text), captured=captured)
        except StoreError as error:
            said = f"{error}; the body of the step `{target}` has run, and how it ended could not be recorded"
            raise type(error)(said, path=error.path) from error
        return settled or Answer(AnswerKind.REPLAY, step_id, result=text)

    async def _failed(self, call: StepCall, step_id: str, error: BaseException) -> Answer:
        """Records a body's exception, and raises the handler's form of it, now and on every replay. Returns the
        recorded outcome if there is one already."""
        said: dict[str, Any] = {"type": type(error).__name__}
        if isinstance(error, BodyError):
            said = dict(error.error)
        elif isinstance(error, OutcomeUnknownError):
            said["reason"] = "indeterminate"
        said |= {"message": recordable(text_of(error))}
        recorded, target = identity.canonical(said), call.submission.target
        kept, clean = kept_of(self.id, step_id, target, error, log_of(self.transport)), isinstance(error, NothingDone)
        captured = await self.external.capture(call.due) if call.due and self.external is not None else None
        settled = await self.transport.fail(step_id, recorded, raised=kept, nothing_done=clean, captured=captured)
        if settled is not None:
            return settled
        raise _failure(identity.parse(recorded), target, step_id) from error

    # ------------------------------------------------------------ subagents

    async def await_child(self, served: ServedTransport) -> Any:
        """What is recorded of the step in whose body this runs, once its subagent has ended. While bodies run that wait
        for none, the attempt goes on; then the execution is given up until a subagent has ended.

        Raises:
            Blocked: it was given up.
            ToolError: the subagent failed or was cancelled.
        """
        scope = _scope.get()
        if scope is None or not scope.step_id:
            raise RuntimeError("only the body of a tool or a step can wait for a subagent")
        self._waiting.add(scope)
        self.stir()
        # Others may begin subagents of their own meanwhile.
        turn = current_turn()
        if turn is not None:
            turn.step_aside()
        try:
            pause = _FIRST_PAUSE
            while True:
                while not self._all_wait():
                    self._stirred.clear()
                    await self._stirred.wait()
                async with self._suspending:
                    if self.blocked or await served.suspend():
                        raise self._block(scope, Answer(AnswerKind.BLOCKED, scope.step_id))
                if (answer := await served.outcome(scope.step_id)) is not None:
                    return await _read("subagent", answer)
                # The child has ended, and its parent's step is told in a moment.
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LAST_PAUSE)
        finally:
            self._waiting.discard(scope)
            if turn is not None:
                await turn.come_back(take=not self.settling)

    def _all_wait(self) -> bool:
        """Whether every body that is under way waits for its own subagent, or for a body inside it that does."""
        waiting: set[BodyScope] = set()
        for scope in self._waiting:
            outer: BodyScope | None = scope
            while outer is not None and outer.step_id:
                waiting.add(outer)
                outer = outer.parent
        queued = 0 if self.external is None else self.external.queued
        return len(waiting) == len(self._under_way) and not queued

    def stir(self) -> None:
        """Something is no more under way, or waits: all who wait for that look again."""
        self._stirred.set()

    def call(self, function: Callable[[], Any]) -> Awaitable[Any]:
        """Calls a function and returns its value. A plain function runs in a thread."""
        return function() if inspect.iscoroutinefunction(function) else in_thread(function, self._executor)


def _recorded(value: Any) -> str:
    """A body's result as canonical JSON. If it is not JSON, the error says that the body has run."""
    try:
        return identity.canonical(value, "result")
    except NotJSON as error:
        raise NotJSON(error.path, f"{error.why} (the body has run, its result is not kept)") from None


async def _read(target: str, answer: Answer) -> Any:
    if answer.error is None:
        return identity.reread(answer.result or "null")
    error = identity.parse(answer.error)
    if error.get("reason") == "cancelled":
        # The first run was cancelled here; another exception now would send the handler down another path.
        await asyncio.get_running_loop().create_future()
    raise _failure(error, target, answer.step_id)


def _failure(error: dict[str, Any], target: str, step_id: str) -> ToolError:
    kind = ResultError if error.get("type") == NotJSON.__name__ else ToolError
    return kind(error, target=target, step_id=step_id)
