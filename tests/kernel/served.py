"""A served kernel in a test: replicas over one store, agents that are driven request by request, webhooks that are
caught."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field

from rebuno.errors import NetworkError
from rebuno.journal.postgres import PostgresStore
from rebuno.journal.records import Execution
from rebuno.journal.served import ServedStore
from rebuno.journal.sqlite import SQLiteStore
from rebuno.kernel.history.timeline import tell
from rebuno.kernel.history.verify import check
from rebuno.kernel.served.kernel import Dispatched, ReportAnswer, Send, Serving, Settings, Webhook
from rebuno.model import identity
from rebuno.model.answer import Answer, Submission
from rebuno.model.clock import FixedClock
from rebuno.model.execution import ExecutionStatus

PATIENCE = 10.0
SETTINGS = Settings(poll=0.02, sweep=3600.0, scatter=0.0)
LEASE = SETTINGS.lease


@dataclass
class Run:
    """An agent's handler in one delivery, as the kernel sees it through a replica."""

    serving: Serving
    webhook: Webhook
    agent: str = "agent"
    number: int = 0

    @property
    def id(self) -> str:
        return self.webhook.execution_id

    @property
    def dispatch(self) -> Dispatched:
        return Dispatched(self.webhook.dispatch_id, self.webhook.dispatch_attempt)

    def on(self, serving: Serving) -> "Run":
        """The same handler, asking another replica."""
        return Run(serving, self.webhook, self.agent)

    async def submit(
        self,
        target: str = "act",
        args: object = None,
        *,
        kind: str = "tool_call",
        idempotency: str = "safe_to_retry",
        parent: str = "",
        number: int = 0,
    ) -> Answer:
        text = identity.canonical({} if args is None else args)
        submission = Submission(kind, target, text, idempotency, parent)
        return await self.serving.submit(self.agent, self.id, self.dispatch, submission, number)

    async def done(self, answer: Answer, value: object = "done") -> ReportAnswer:
        text = identity.canonical(value)
        return await self.serving.complete_step(self.agent, self.id, self.dispatch, answer.step_id, text)

    async def act(self, target: str = "act", args: object = None, value: object = "done") -> Answer:
        """A step whose body runs and gives a value."""
        answer = await self.submit(target, args)
        assert answer.kind == "proceed", answer
        await self.done(answer, value)
        return answer

    async def complete(self, output: object = None, state: str | None = None) -> None:
        text = identity.canonical(output)
        await self.serving.complete(self.agent, self.id, self.dispatch, text, state)

    async def beat(self) -> None:
        await self.serving.heartbeat(self.agent, self.id, self.dispatch)

    async def suspend(self) -> bool:
        return await self.serving.suspend(self.agent, self.id, self.dispatch)


@dataclass
class World:
    """Replicas that share a store's data, each with a store of its own."""

    clock: FixedClock
    replicas: list[Serving]
    stores: list[ServedStore]
    posted: "asyncio.Queue[Webhook]" = field(default_factory=asyncio.Queue)
    # What agents answer to the next webhooks; then 200. 0: they are not reached.
    statuses: list[int] = field(default_factory=list)
    # How an agent answers in the place of all that, where it is more than a status.
    answers: Send | None = None

    @property
    def serving(self) -> Serving:
        return self.replicas[0]

    @property
    def store(self) -> ServedStore:
        return self.stores[0]

    async def send(self, webhook: Webhook) -> int:
        status = self.statuses.pop(0) if self.statuses else 200
        await self.posted.put(webhook)
        if self.answers is not None:
            return await self.answers(webhook)
        if not status:
            raise NetworkError("nobody listens")
        return status

    async def agent(self, name: str = "agent", policy: str = "") -> None:
        await self.serving.put_agent(name, webhook_url="http://agent.test/webhook", secret="s3cret")
        if policy:
            await self.serving.set_policy(name, policy)

    async def create(self, agent: str = "agent", input: object = None, **more: object) -> Execution:
        wanted: dict[str, object] = {"agent_id": agent, "input": identity.canonical(input), **more}
        create: Callable[..., Awaitable[Execution]] = self.serving.create
        return await create(**wanted)

    async def run(self, serving: Serving | None = None, agent: str = "agent") -> Run:
        """The next delivery, once it is known how it was taken."""
        async with asyncio.timeout(PATIENCE):
            run = Run(serving or self.serving, await self.posted.get(), agent)
        if self.answers is None:
            await eventually(lambda: self._answered(run))
        return run

    async def _answered(self, run: Run) -> bool:
        said = {"dispatch_id": run.dispatch.id, "dispatch_attempt": run.dispatch.attempt}
        return any(
            event.type in ("dispatch.acked", "dispatch.failed") and said.items() <= event.payload.items()
            for event in await self.store.events(run.id)
        )

    async def begin(self, agent: str = "agent", **more: object) -> Run:
        """A new execution, delivered."""
        await self.create(agent, **more)
        return await self.run(agent=agent)

    async def row(self, run: Run) -> Execution:
        return await self.store.execution(run.id)

    async def until(self, run: Run, *types: str) -> list[str]:
        """The types of the execution's events, once these are among them."""
        async with asyncio.timeout(PATIENCE):
            while True:
                events = [event.type for event in await self.store.events(run.id)]
                if set(types) <= set(events):
                    return events
                await asyncio.sleep(0.01)

    async def status(self, run: Run) -> ExecutionStatus:
        return (await self.row(run)).status

    async def quiet(self) -> None:
        """Time enough for every replica to look for work several times."""
        await asyncio.sleep(5 * SETTINGS.poll)
        assert self.posted.empty(), "something was delivered"


async def eventually(check: Callable[[], Awaitable[bool]]) -> None:
    """Returns once this is so."""
    async with asyncio.timeout(PATIENCE):
        while True:
            if await check():
                return
            await asyncio.sleep(0.01)


@asynccontextmanager
async def world(
    stores: "list[ServedStore]", clock: FixedClock, settings: Settings = SETTINGS, *, permissive: bool = True
) -> AsyncIterator[World]:
    """Replicas over these stores, which deliver what is due."""
    replicas = [Serving(store, permissive=permissive, settings=settings) for store in stores]
    made = World(clock, replicas, stores)
    async with AsyncExitStack() as stack:
        for replica in replicas:
            stack.push_async_callback(stopped, asyncio.create_task(replica.run(made.send)))
        yield made


@asynccontextmanager
async def opened(url: str | None, clock: FixedClock) -> AsyncIterator[list[ServedStore]]:
    """One store in memory, or two on one database."""
    async with AsyncExitStack() as stack:
        stores: list[ServedStore] = []
        for _ in range(1 if url is None else 2):
            store: ServedStore = await (
                SQLiteStore.open(":memory:", clock=clock) if url is None else PostgresStore.open(url, clock=clock)
            )
            stack.push_async_callback(store.close)
            stores.append(store)
        yield stores


# Plays a scenario on replicas of its own.
Scenario = Callable[[Callable[[World], Awaitable[None]]], None]


def player(url: str | None) -> Scenario:
    """Plays scenarios on one replica in memory, or on two that share a database."""

    def play(scenario: Callable[[World], Awaitable[None]]) -> None:
        async def whole() -> None:
            clock = FixedClock()
            async with opened(url, clock) as stores, world(stores, clock) as made:
                await scenario(made)
                await sound(made.store)

        asyncio.run(whole())

    return play


async def sound(store: ServedStore) -> None:
    """Every log is whole, its rows say the same, and its story can be told."""
    for execution in await store.executions(limit=1000):
        checked = await check(store, execution.id)
        assert not checked.fault, f"{execution.id}: {checked.fault}"
        await tell(store, execution.id)


async def stopped(task: "asyncio.Task[None]") -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
