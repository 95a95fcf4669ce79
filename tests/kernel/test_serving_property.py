"""Random handlers on two replicas: every request goes to either, some twice at once, and the handler's process dies
anywhere. What is promised holds all the same."""

import asyncio
import random
from collections import Counter
from itertools import count
from pathlib import Path

import pytest

from rebuno.errors import ConflictError
from rebuno.journal.records import DispatchState
from rebuno.journal.served import ServedStore
from rebuno.journal.sqlite import SQLiteStore
from rebuno.model.answer import Answer, AnswerKind
from rebuno.model.clock import FixedClock
from rebuno.model.execution import ExecutionStatus
from tests.kernel.served import LEASE, Run, World, sound, world

POLICY = 'bundle asks\ndefault allow\nrule pay { require approval for tool "pay" because "money" }\n'
KINDS = (
    ("look", "safe_to_retry"),  # may run again
    ("look", "safe_to_retry"),
    ("send", "at_most_once"),  # must not
    ("pay", "at_most_once"),  # and a person is asked
)
MOST_DEATHS = 3

# What one branch of a handler does: targets, idempotencies, arguments.
Branch = list[tuple[str, str, int]]


class DeathError(Exception):
    """The process of the handler is gone."""


class Play:
    """One execution of one random handler."""

    def __init__(self, w: World, rng: random.Random) -> None:
        self.w = w
        self.rng = rng
        self.branches: list[Branch] = [
            [(*self.kind(), rng.randrange(2)) for _ in range(rng.randint(1, 4))] for _ in range(rng.randint(1, 3))
        ]
        self.deaths = 0
        # How often each body ran, and the steps whose outcomes were recorded.
        self.ran: Counter[str] = Counter()
        self.recorded: set[str] = set()

    def kind(self) -> tuple[str, str]:
        return self.rng.choice(KINDS)

    def any(self, run: Run) -> Run:
        return run.on(self.rng.choice(self.w.replicas))

    def die(self) -> None:
        if self.deaths < MOST_DEATHS and self.rng.random() < 0.08:
            self.deaths += 1
            raise DeathError

    async def branch(self, run: Run, steps: Branch, numbers: "count[int]") -> bool:
        """Whether it came to its end."""
        for target, idempotency, n in steps:
            answer = await self.ask(run, target, idempotency, n, next(numbers))
            if answer.kind in (AnswerKind.BLOCKED, AnswerKind.EXECUTION_BLOCKED):
                return False
            if answer.kind is AnswerKind.PROCEED:
                self.die()
                assert answer.step_id not in self.recorded, "what was recorded runs again"
                self.ran[answer.step_id] += 1
                if idempotency == "at_most_once":
                    assert self.ran[answer.step_id] == 1, "an at_most_once body ran twice"
                self.die()
                await self.any(run).done(answer, target)
                self.recorded.add(answer.step_id)
            self.die()
        return True

    async def ask(self, run: Run, target: str, idempotency: str, n: int, number: int) -> Answer:
        """One submission, sometimes sent twice: then both get the same answer."""
        times = self.rng.choice((1, 1, 2))
        answers = await asyncio.gather(
            *(self.any(run).submit(target, {"n": n}, idempotency=idempotency, number=number) for _ in range(times))
        )
        assert len({(answer.kind, answer.step_id) for answer in answers}) == 1, answers
        return answers[0]

    async def attempt(self, run: Run) -> bool:
        """Runs the handler; whether it completed."""
        numbers = count(1)
        tasks = [asyncio.create_task(self.branch(run, steps, numbers)) for steps in self.branches]
        try:
            ends = await asyncio.gather(*tasks)
        except DeathError:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self.w.clock.advance(LEASE + 1)
            return False
        if not all(ends):
            return False
        await self.any(run).complete()
        return True

    async def answer_questions(self, run: Run) -> None:
        for asked in await self.w.serving.approvals(execution_id=run.id):
            await self.rng.choice(self.w.replicas).resolve(asked.id, granted=True, decided_by="ana")

    async def rest(self, run: Run) -> None:
        """What was lost twice waits longer each time."""
        dispatch = await self.w.store.dispatch(run.id)
        if dispatch is not None and dispatch.state is DispatchState.QUEUED:
            self.w.clock.advance(max(0.0, dispatch.due_at - self.w.clock.now()))

    async def play(self) -> Run:
        run = await self.w.begin()
        while not await self.attempt(run):
            following = asyncio.create_task(self.w.run())
            # A dead handler's last request may still be answered, and ask.
            while not following.done():
                await self.answer_questions(run)
                await self.rest(run)
                await asyncio.wait({following}, timeout=0.02)
            run = await following
        return run


@pytest.mark.parametrize("seed", range(30))
def test_a_random_handler_on_two_replicas(tmp_path: Path, seed: int) -> None:
    """It completes; no outcome is lost or given twice; each of its submissions is one step, however often it was
    sent."""

    async def whole() -> None:
        clock = FixedClock()
        stores: list[ServedStore] = [await SQLiteStore.open(tmp_path / "s.db", clock=clock) for _ in range(2)]
        async with world(stores, clock) as w:
            await w.agent(policy=POLICY)
            play = Play(w, random.Random(seed))
            run = await play.play()
            assert await w.status(run) is ExecutionStatus.COMPLETED
            wanted = Counter((target, n) for steps in play.branches for target, _, n in steps)
            steps = await w.store.steps(run.id)
            assert Counter((step.target, int(step.args[5:-1])) for step in steps) == wanted
            assert all(step.status.terminal for step in steps)
            succeeded = {step.step_id for step in steps if step.status.value == "succeeded"}
            assert play.recorded <= succeeded
            assert set(play.ran) >= succeeded
            with pytest.raises(ConflictError):
                await w.serving.cancel(run.id)
            await sound(w.store)
        for store in stores:
            await store.close()

    asyncio.run(whole())
