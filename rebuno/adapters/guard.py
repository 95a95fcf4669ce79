"""The gate for any framework: it runs on an event loop of its own, in a thread, so that plain functions, threads and
any event loop can ask it."""

import asyncio
import contextvars
import itertools
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from rebuno.adapters.calls import CANCELLED, ToolCall, error_of, jsonable, leaves_unknown, put_off
from rebuno.embedded import PolicyLike
from rebuno.errors import RebunoError
from rebuno.gate import UNSET, Allow, Ask, Gate, Verdict, open_gate
from rebuno.types import Approval

T = TypeVar("T")
# How often the answer of a person is looked for.
LOOK_SECONDS: Final = 0.2
# How a call failed: what its tool raised, what it said, or the object that is recorded. None: it did not fail.
Ended = BaseException | str | dict[str, Any] | None

# The call in whose tool this code runs, as its framework made it and as it is recorded.
_Inside = tuple["Guard", ToolCall, ToolCall]
_inside: contextvars.ContextVar[_Inside | None] = contextvars.ContextVar("rebuno_inside", default=None)


class Guard:
    """A policy and a store in front of the tools of a framework's agents. Opened when it is made; `close` it, or use it
    in a `with` statement. Its methods may be called from any thread; those that begin with `a` are coroutines for any
    event loop.

    `store` and `policy` are as in `rebuno.open`. `observe` decides and records, and enforces nothing. `wait` is for how
    many seconds a call that needs a person is held before the framework's own pause takes over.

    Raises:
        BundleError: the bundle has errors.
        StoreError: the store cannot be used.
    """

    def __init__(self, store: str | Path, *, policy: PolicyLike, observe: bool = False, wait: float = 0.0) -> None:
        self.store = self.shown_store(store)
        self.wait = wait
        self.observe = observe
        self._arguments: Final = (store, policy, observe)
        self._begun: set[tuple[str, str]] = set()
        # The calls that were let in, as they are recorded.
        self._running: dict[tuple[str, str, str, str], ToolCall] = {}
        self._locks: dict[tuple[str, str], asyncio.Lock] = {}
        self._opened: Future[Gate] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing: asyncio.Event | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="rebuno-guard", daemon=True)
        self._thread.start()
        self._opened.result()

    @staticmethod
    def shown_store(store: str | Path) -> str:
        """The store as the model may read it; empty for a URL, which may hold a password."""
        return "" if "://" in str(store) else str(store)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the store. A call that is judged afterwards does not run: `judge` raises."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None and self._closing is not None:
            loop.call_soon_threadsafe(self._closing.set)
        self._thread.join()

    # ------------------------------------------------------------ from a plain function

    def judge(self, call: ToolCall) -> Verdict:
        """Whether a call may run now.

        Raises:
            RebunoError: it could not be judged; it must not run.
        """
        return self._ask(self._judged(call)).result()

    def settle(self, call: ToolCall, *, result: Any = UNSET, error: Ended = None) -> None:
        """Records how a call ended: its return value, or what its tool raised, or what it said of its failure.

        Raises:
            RebunoError: the outcome could not be recorded, and counts as unknown.
        """
        self._ask(self._settled(call, result, error)).result()

    def say(self, session: str, agent: str, words: str, *, run: str = "") -> None:
        """Records what a person typed: the first of a session is its request, the later ones are further turns. What a
        run is given inside another one's tool is its request, and no person's word. Nothing is recorded of a blank."""
        self._ask(self._said(session, agent, words, run)).result()

    def end(self, session: str, agent: str) -> None:
        """Completes a session, unless a call waits for a person or was granted and has not run."""
        self._ask(self._ended(session, agent)).result()

    def release(self, session: str, agent: str) -> None:
        """Lets another process go on with a session; a process that has it keeps it otherwise. Nothing happens while
        one of its calls runs."""
        self._ask(self._released(session, agent)).result()

    def pending(self, session: str, agent: str) -> list[Approval]:
        """The questions of a session that nobody has answered, the oldest first."""
        return self._ask(self._pending(session, agent)).result()

    def answered(self, approval_id: str, *, seconds: float) -> bool:
        """Whether people have answered a question; waits for `seconds` at most."""
        return self._ask(self._answered(approval_id, seconds)).result()

    def asked(self, allowed: Allow) -> bool:
        """Whether a person was asked about this very step before it was let in."""
        return bool(allowed.approval_id) and self._ask(self._was_asked(allowed)).result()

    # ------------------------------------------------------------ from a coroutine

    async def ajudge(self, call: ToolCall) -> Verdict:
        """As `judge`. Where the caller is cancelled meanwhile, the call ends as cancelled."""
        answer = self._ask(self._judged(call))
        try:
            return await _awaited(answer)
        except asyncio.CancelledError:
            answer.add_done_callback(lambda done: self._withdraw(call, done))
            raise

    async def asettle(self, call: ToolCall, *, result: Any = UNSET, error: Ended = None) -> None:
        """As `settle`; it is recorded also where the caller is cancelled."""
        await _awaited(self._ask(self._settled(call, result, error)))

    async def asay(self, session: str, agent: str, words: str, *, run: str = "") -> None:
        """As `say`."""
        await _awaited(self._ask(self._said(session, agent, words, run)))

    async def aend(self, session: str, agent: str) -> None:
        """As `end`."""
        await _awaited(self._ask(self._ended(session, agent)))

    async def arelease(self, session: str, agent: str) -> None:
        """As `release`."""
        await _awaited(self._ask(self._released(session, agent)))

    async def apending(self, session: str, agent: str) -> list[Approval]:
        """As `pending`."""
        return await _awaited(self._ask(self._pending(session, agent)))

    async def aanswered(self, approval_id: str, *, seconds: float) -> bool:
        """As `answered`."""
        return await _awaited(self._ask(self._answered(approval_id, seconds)))

    async def aasked(self, allowed: Allow) -> bool:
        """As `asked`."""
        return bool(allowed.approval_id) and await _awaited(self._ask(self._was_asked(allowed)))

    async def agate(self, work: Callable[[Gate], Coroutine[Any, Any, T]]) -> T:
        """What a coroutine function gives that is run with the gate, on the gate's own event loop."""
        return await _awaited(self._ask(self._with_gate(work)))

    # ------------------------------------------------------------ around a tool

    @contextmanager
    def inside(self, call: ToolCall) -> Iterator[None]:
        """Around the body of a call's tool: sessions that begin in it are those of its subagents."""
        token = _inside.set((self, call, self._running.get(_key(call), call)))
        try:
            yield
        finally:
            # A generator may be closed in another context than it was begun in.
            with suppress(ValueError):
                _inside.reset(token)

    # ------------------------------------------------------------ on the gate's own loop

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            if self._opened.done():
                raise
            self._opened.set_exception(error)

    async def _serve(self) -> None:
        store, policy, observe = self._arguments
        self._closing = asyncio.Event()
        async with open_gate(store, policy=policy, observe=observe) as gate:
            self._loop = asyncio.get_running_loop()
            self._opened.set_result(gate)
            await self._closing.wait()

    def _ask(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        with self._lock:
            if self._loop is not None and self._thread.is_alive():
                return asyncio.run_coroutine_threadsafe(work, self._loop)
        work.close()
        raise RebunoError("the guard is closed, so no call can be judged and none may run")

    @property
    def _gate(self) -> Gate:
        return self._opened.result()

    async def _with_gate(self, work: Callable[[Gate], Coroutine[Any, Any, T]]) -> T:
        return await work(self._gate)

    async def _judged(self, call: ToolCall) -> Verdict:
        session, agent, outer = self._place(call.session, call.agent, call.run)
        known = replace(call, session=session, agent=agent)
        await self._begin(session, agent, outer)
        for number in itertools.count(2):
            verdict = await self._judged_as(known)
            if not put_off(verdict):
                break
            known = replace(known, id=f"{call.id}#{number}")
        if isinstance(verdict, Allow):
            self._running[_key(call)] = known
        return verdict

    async def _judged_as(self, call: ToolCall) -> Verdict:
        gate, place = self._gate, (call.session, call.id)
        verdict = await gate.judge(
            *place, call.tool, call.args, call.agent, safe=call.safe, definition=call.definition, call=call.raw
        )
        if isinstance(verdict, Ask) and self.wait > 0:
            return await gate.wait(*place, call.agent, verdict, seconds=self.wait)
        return verdict

    async def _settled(self, call: ToolCall, result: Any, error: Ended) -> None:
        known = self._running.pop(_key(call), call)
        gate, place = self._gate, (known.session, known.id, known.agent)
        if isinstance(error, str | dict):
            await gate.settle(*place, error=error)
        elif error is None:
            await gate.settle(*place, result=jsonable(result))
        elif leaves_unknown(error):
            await gate.settle(*place, unknown=True)
        else:
            await gate.settle(*place, error=error_of(error))

    async def _said(self, session: str, agent: str, words: str, run: str) -> None:
        if not words.strip():
            return
        session, agent, outer = self._place(session, agent, run)
        if outer is not None:
            await self._begin(session, agent, outer, request=words)
            return
        await self._gate.say(session, agent, words)
        await self._begin(session, agent, None)

    async def _ended(self, session: str, agent: str) -> None:
        self._begun.discard((session, agent))
        await self._gate.end(session, agent)

    async def _released(self, session: str, agent: str) -> None:
        if any((call.session, call.agent) == (session, agent) for call in self._running.values()):
            return
        # Another process may start calls meanwhile, and be cut off.
        self._begun.discard((session, agent))
        await self._gate.let_go(session, agent)

    async def _pending(self, session: str, agent: str) -> list[Approval]:
        operator = self._gate.operator
        found = []
        for question in await operator.approvals(status="pending"):
            execution = await operator.execution(question.execution_id)
            if (execution.idempotency_key, execution.agent_id) == (session, agent):
                found.append(question)
        return found

    async def _answered(self, approval_id: str, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while (await self._gate.operator.approval(approval_id)).status == "pending":
            left = until - time.monotonic()
            if left <= 0:
                return False
            await asyncio.sleep(min(LOOK_SECONDS, left))
        return True

    async def _was_asked(self, allowed: Allow) -> bool:
        # A grant may cover more steps than the one that was asked about.
        return (await self._gate.operator.approval(allowed.approval_id)).step_id == allowed.step_id

    def _place(self, session: str, agent: str, run: str) -> tuple[str, str, ToolCall | None]:
        """The session and the agent under which a run is recorded, and the call that began it, if it is a subagent's:
        its session is found by that of the outer agent, so it has its name, and it is never the outer one itself."""
        guard, made, known = _inside.get() or (None, None, None)
        if guard is not self or made is None or known is None:
            return session, agent, None
        if (made.session, made.run) == (session, run):
            return known.session, known.agent, None
        own = session not in (made.session, known.session)
        return session if own else f"{known.session}/{known.id}", known.agent, known

    async def _begin(self, session: str, agent: str, outer: ToolCall | None, *, request: str | None = None) -> None:
        # INVARIANT: once a process, before its first call starts: what runs then was cut off in an earlier one.
        async with self._locks.setdefault((session, agent), asyncio.Lock()):
            if (session, agent) in self._begun:
                return
            parent, call_id = (outer.session, outer.id) if outer is not None else ("", "")
            await self._gate.start(session, agent, request=request, parent=parent, parent_call=call_id, resumed=True)
            self._begun.add((session, agent))

    def _withdraw(self, call: ToolCall, done: Future[Verdict]) -> None:
        if not done.cancelled() and done.exception() is None and isinstance(done.result(), Allow):
            # Where the guard is closed, the next process finds the call cut off.
            with suppress(RebunoError):
                self._ask(self._settled(call, UNSET, CANCELLED))


async def _awaited(answer: "Future[T]") -> T:
    # INVARIANT: what was begun goes on where the caller is cancelled, or a step would be left between two states.
    return await asyncio.shield(asyncio.wrap_future(answer))


def _key(call: ToolCall) -> tuple[str, str, str, str]:
    return call.session, call.agent, call.run, call.id
