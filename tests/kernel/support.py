"""A kernel on a store in memory, driven submission by submission, as every transport drives it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from rebuno.journal.records import ApprovalRow, ExecutionRow
from rebuno.journal.served import ServedStore
from rebuno.journal.sqlite import SQLiteStore
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.kernel import Kernel
from rebuno.kernel.lifecycle import execution, votes
from rebuno.model import identity
from rebuno.model.answer import Answer, Submission
from rebuno.model.clock import FixedClock
from rebuno.policy import Policy, compile_text

KEY = "run-1"


def policy(verdict: str, *, also: str = "") -> Policy:
    """A bundle in which one rule says `verdict` (in the language's words) about the tool `act`."""
    head = {"allow": "allow", "ask": "require approval for", "deny": "deny"}[verdict]
    text = f'bundle {verdict}\ndefault deny\nrule {verdict}-act {{ {head} tool "act" because "{verdict} it" }}\n{also}'
    return compile_text(text)


class Bench:
    """One execution on one store, under whatever policy comes next."""

    def __init__(self, store: ServedStore, clock: FixedClock) -> None:
        self.store = store
        self.clock = clock
        self.kernel: Kernel
        self.attempt: Attempt

    async def begin(self, under: Policy, key: str = KEY) -> Attempt | ExecutionRow:
        """The next attempt of the execution, under this policy; the one before, if it still runs, has died."""
        if hasattr(self, "attempt") and not self.attempt.ended:
            await execution.abandon(self.attempt)
        self.kernel = Kernel(self.store, under)
        begun = await self.kernel.begin(agent_id="agent", input="{}", key=key)
        if isinstance(begun, Attempt):
            self.attempt = begun
        return begun

    async def submit(
        self,
        *,
        target: str = "act",
        args: object = None,
        kind: str = "tool_call",
        idempotency: str = "safe_to_retry",
        parent: str = "",
        edits: bool = False,
    ) -> Answer:
        """One submission of the attempt that runs."""
        text = identity.canonical({} if args is None else args)
        submission = Submission(kind, target, text, idempotency, parent, edits=edits)
        return await self.kernel.submit(self.attempt, submission)

    async def succeed(self, answer: Answer, value: object = "done") -> None:
        """The body of the step gave a result."""
        await self.kernel.succeed(self.attempt, answer.step_id, identity.canonical(value), value)

    async def fail(self, answer: Answer) -> None:
        """The body of the step raised."""
        error = identity.canonical({"type": "OSError", "message": "no"})
        await self.kernel.fail(self.attempt, answer.step_id, error)

    async def answer(
        self,
        approval_id: str,
        *,
        granted: bool,
        rationale: str = "",
        by: str = "ana",
        scope: str = "once",
        edit: dict[str, Any] | None = None,
    ) -> ApprovalRow:
        """A person answers."""
        return await votes.resolve(
            self.store, approval_id, granted=granted, decided_by=by, rationale=rationale, scope=scope, edit=edit
        )

    async def suspend(self) -> ExecutionRow | None:
        """The attempt ends because it is blocked."""
        return await execution.suspend(self.attempt)

    async def events(self) -> list[str]:
        """The types of all events so far."""
        return [event.type for event in await self.store.events(self.attempt.execution.id)]


# Opens an empty store that keeps the time of this clock.
Opener = Callable[[FixedClock], AbstractAsyncContextManager[ServedStore]]


@asynccontextmanager
async def in_memory(clock: FixedClock) -> AsyncIterator[ServedStore]:
    """A SQLite store without a file."""
    store = await SQLiteStore.open(":memory:", clock=clock)
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def bench(opener: Opener = in_memory) -> AsyncIterator[Bench]:
    """An empty store and a clock that stands still."""
    clock = FixedClock()
    async with opener(clock) as store:
        yield Bench(store, clock)


# Plays a scenario on a bench of its own.
Play = Callable[[Callable[[Bench], Awaitable[None]]], None]


def player(opener: Opener) -> Play:
    """Plays scenarios on stores of one kind."""

    def play(scenario: Callable[[Bench], Awaitable[None]]) -> None:
        async def whole() -> None:
            async with bench(opener) as b:
                await scenario(b)

        asyncio.run(whole())

    return play
