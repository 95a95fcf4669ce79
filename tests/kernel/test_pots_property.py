"""Random agents pay, ask, fail, crash, fork and are answered: no pot ever holds more than its rules allow, and no room
is refused for what never happened."""

import asyncio
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rebuno.errors import ConflictError, Stale
from rebuno.journal.sqlite import SQLiteStore
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.kernel import Kernel
from rebuno.kernel.lifecycle import execution, votes
from rebuno.kernel.lifecycle.fork import fork
from rebuno.model import identity
from rebuno.model.answer import AnswerKind, Submission
from rebuno.model.clock import FixedClock, from_rfc3339
from rebuno.policy import compile_text

# A fork counts its copies here; in the shared pot they keep their places.
RULES = """
default deny
limit shared = 10 of args.amount per 60s for all agents together
rule pay { allow tool "pay" limit shared }
rule ask { require approval for tool "ask" limit shared }
rule own { allow tool "own" limit 6 of args.amount per execution }
"""
NUMBER, OWN, WINDOW = Decimal(10), Decimal(6), 60


@dataclass(frozen=True)
class Move:
    """After so many seconds an execution does something: `pay`, `ask` or `own` (a new step of this amount), `again`
    (the last submission once more), `succeed`, `fail` or `decline` (its oldest body ends), `die` (and submit it again),
    `end`, `grant`, `deny`, `fork`."""

    after: float
    key: str
    what: str
    amount: str


WHATS = [
    *("pay", "pay", "pay", "ask", "ask", "own", "own", "again", "succeed", "fail", "decline", "decline"),
    *("die", "die", "end", "grant", "grant", "deny", "fork", "fork"),
]

moves = st.lists(
    st.builds(
        Move,
        st.sampled_from([0.0, 0.0, 1.0, 25.0]),
        st.sampled_from("12"),
        st.sampled_from(WHATS),
        st.sampled_from(["1", "2.5", "4", "6"]),
    ),
    min_size=20,
    max_size=60,
)


class World:
    """The store with its executions, and what the outside has seen: when which amount was started."""

    def __init__(self, store: SQLiteStore, clock: FixedClock) -> None:
        self.store = store
        self.clock = clock
        self.kernel = Kernel(store, compile_text(RULES))
        self.attempts: dict[str, Attempt] = {}
        self.bodies: dict[str, list[str]] = {}
        self.said: dict[str, Submission] = {}
        self.count = 0

    async def attempt(self, key: str) -> Attempt | None:
        if key not in self.attempts:
            begun = await self.kernel.begin(agent_id="agent", input="{}", key=key)
            if not isinstance(begun, Attempt):
                return None
            self.attempts[key], self.bodies[key] = begun, []
        return self.attempts[key]

    async def move(self, move: Move) -> None:
        self.clock.advance(move.after)
        match move.what:
            case "pay" | "ask" | "own":
                self.count += 1
                args = identity.canonical({"amount": float(move.amount), "n": self.count})
                self.said[move.key] = Submission("tool_call", move.what, args, "safe_to_retry")
                await self.submit(move.key)
            case "again":
                await self.submit(move.key)
            case "succeed" | "fail" | "decline":
                await self.settle(move.key, move.what)
            case "die":
                if (attempt := self.attempts.pop(move.key, None)) is not None:
                    await execution.abandon(attempt)
                    await self.submit(move.key)
            case "end":
                if (attempt := self.attempts.pop(move.key, None)) is not None:
                    await _end(attempt)
            case "grant" | "deny":
                await self.answer(granted=move.what == "grant")
            case _:
                await self.fork(move.key, move.amount)

    async def submit(self, key: str) -> None:
        attempt = await self.attempt(key)
        if attempt is None or key not in self.said:
            return
        answer = await self.kernel.submit(attempt, self.said[key], wait=False)
        if answer.kind is AnswerKind.PROCEED:
            self.bodies[key].append(answer.step_id)

    async def settle(self, key: str, how: str) -> None:
        if key not in self.attempts or not self.bodies[key]:
            return
        step_id, attempt = self.bodies[key].pop(0), self.attempts[key]
        if how == "succeed":
            await self.kernel.succeed(attempt, step_id, "1", 1)
        else:
            error = identity.canonical({"type": "ToolError", "message": "no"})
            await self.kernel.fail(attempt, step_id, error, nothing_done=how == "decline")

    async def answer(self, *, granted: bool) -> None:
        for question in (await self.store.approvals(status="pending"))[:1]:
            try:
                await votes.resolve(self.store, question.id, granted=granted, decided_by="ana")
            except ConflictError as error:
                assert "no room" in str(error)  # noqa: PT017

    async def fork(self, key: str, amount: str) -> None:
        found = await self.store.find("agent", key)
        if found is not None:
            self.count += 1
            copy = await fork(self.store, found, found.head_seq, key=f"fork {self.count}")
            begun = await self.kernel.begin(agent_id="agent", input="{}", key=copy.key)
            assert isinstance(begun, Attempt)
            args = identity.canonical({"amount": float(amount), "n": self.count})
            await self.kernel.submit(begun, Submission("tool_call", "own", args, "safe_to_retry"), wait=False)
            await execution.abandon(begun)

    async def check(self) -> None:
        """By the journal alone: what certainly or maybe happened, by when its amount was taken."""
        own: dict[str, Decimal] = {}
        shared: list[tuple[float, Decimal]] = []
        seen: set[str] = set()
        for row in await self.store.executions(limit=1000):
            starts: dict[str, int] = {}
            taken: dict[str, tuple[str, float]] = {}
            nothing: set[str] = set()
            for event in await self.store.events(row.id):
                step_id = str(event.payload.get("step_id", ""))
                starts[step_id] = starts.get(step_id, 0) + (event.type == "step.executing")
                if event.payload.get("limits"):
                    taken[step_id] = _place(event.payload["limits"][0], step_id), _seconds(event)
                if event.type == "step.allowed" and step_id in taken:
                    place, at = taken[step_id]
                    waited = _seconds(event) if await self._at_grant(row.id, step_id) else at
                    taken[step_id] = place, waited
                if event.type == "step.failed" and event.payload.get("nothing_done") and starts[step_id] == 1:
                    nothing.add(step_id)
            for step in await self.store.steps(row.id):
                if not starts.get(step.step_id) or step.step_id in nothing or step.step_id not in taken:
                    continue
                amount = Decimal(repr(identity.parse(step.args)["amount"]))
                place, at = taken[step.step_id]
                if step.target == "own":
                    own[row.id] = own.get(row.id, Decimal(0)) + amount
                elif place not in seen:
                    seen.add(place)
                    shared.append((at, amount))
        assert all(total <= OWN for total in own.values()), own
        for at, _ in shared:
            inside = sum((amount for other, amount in shared if at - WINDOW < other <= at), Decimal(0))
            assert inside <= NUMBER, shared
        await self._room()

    async def _at_grant(self, execution_id: str, step_id: str) -> bool:
        for event in await self.store.events(execution_id):
            if event.payload.get("step_id") == step_id and event.payload.get("limits"):
                return bool(event.payload["limits"][0].get("at_grant"))
        return False

    async def _room(self) -> None:
        """What the shared pot says that is left can be taken."""
        for pot in await self.store.pots():
            if pot.scope == "global" and (left := NUMBER - Decimal(pot.taken)) > 0:
                key = "probe"
                self.said[key] = Submission(
                    "tool_call", "pay", identity.canonical({"amount": float(left), "n": 0}), "safe_to_retry"
                )
                await self.submit(key)
                assert len(self.bodies[key]) == 1


async def _end(attempt: Attempt) -> None:
    while True:
        try:
            await execution.end(attempt, output="1")
        except Stale:
            await attempt.current()
        else:
            return


def _place(said: dict[str, Any], step_id: str) -> str:
    return str(said.get("step") or step_id)


def _seconds(event: Any) -> float:
    return from_rfc3339(event.occurred_at)


@settings(max_examples=80, deadline=None)
@given(moves)
def test_no_pot_holds_more_than_its_rules_allow(program: list[Move]) -> None:
    """And all that is left of it can be taken."""

    async def scenario() -> None:
        clock = FixedClock()
        store = await SQLiteStore.open(":memory:", clock=clock)
        try:
            world = World(store, clock)
            for move in program:
                await world.move(move)
            await world.check()
        finally:
            await store.close()

    asyncio.run(scenario())
