"""Random agents whose runs are forked, retried and brought to other stores, embedded and served, and what must hold."""

import json
from collections.abc import Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from hypothesis import strategies as st

from rebuno.errors import ConflictError
from rebuno.journal.records import ApprovalRow, EventRow, ExecutionRow, StepRow
from rebuno.journal.store import Store
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.loading import load
from rebuno.kernel.history.archive import lines, read, record, restore
from rebuno.kernel.history.verify import check
from rebuno.kernel.kernel import Kernel
from rebuno.kernel.lifecycle import execution, votes
from rebuno.kernel.lifecycle.fork import fork, retry_point
from rebuno.model import identity
from rebuno.model.answer import Answer, AnswerKind, Submission
from rebuno.model.clock import FixedClock
from rebuno.policy import Policy, compile_text
from tests.kernel.served import World
from tests.kernel.support import Opener

_MOST_ATTEMPTS: Final = 8
_BUDGET: Final = 20


@dataclass(frozen=True)
class Call:
    """One effect of a handler. A `stubborn` handler fails where the effect is refused or its body fails."""

    target: str
    n: int
    once: bool
    fails: bool
    stubborn: bool

    @property
    def submission(self) -> Submission:
        """What the kernel is asked."""
        kind = "llm_call" if self.target == "model" else "tool_call"
        idempotency = "at_most_once" if self.once else "safe_to_retry"
        return Submission(kind, self.target, identity.canonical({"n": self.n}), idempotency)

    @property
    def result(self) -> Any:
        """What its body gives; a model call uses ten tokens."""
        usage = json.dumps({"usage": {"prompt_tokens": 6, "completion_tokens": 4}})
        return {"status": 200, "headers": {}, "body": usage} if self.target == "model" else self.n


@dataclass(frozen=True)
class Rules:
    """A bundle: so many steps of `act` by a limit of this scope, and whether it denies `other` and asks about `pay`."""

    number: int
    scope: str
    denies: bool
    asks: bool

    @property
    def text(self) -> str:
        """In the language."""
        deny = 'rule no { deny tool "other" because "closed" }\n' if self.denies else ""
        ask = 'rule asks { require approval for tool "pay" }\n' if self.asks else ""
        return (
            f'bundle b\ndefault allow\nrule act {{ allow tool "act" limit {self.number} {self.scope} }}\n'
            f'rule model {{ allow llm "*" budget {_BUDGET} tokens per execution }}\n{deny}{ask}'
        )


@dataclass(frozen=True)
class Derivation:
    """What is made of the newest execution: `how`, at which part of its log, and the rules that hold from then on."""

    how: str
    part: float
    keeps: bool
    denies: bool
    asks: bool
    number: int


SCOPES: Final = ("per execution", "per 1h for each agent", "per 1h for all agents together")
calls: st.SearchStrategy[Call] = st.builds(
    Call,
    target=st.sampled_from(["act", "act", "act", "pay", "other", "model"]),
    n=st.integers(0, 2),
    once=st.booleans(),
    fails=st.sampled_from([False, False, False, True]),
    stubborn=st.booleans(),
)
programs = st.lists(calls, min_size=1, max_size=7)
derivations = st.lists(
    st.builds(
        Derivation,
        how=st.sampled_from(["end", "fork", "retry", "import"]),
        part=st.floats(0, 1),
        keeps=st.sampled_from([False, False, True]),
        denies=st.booleans(),
        asks=st.booleans(),
        number=st.integers(1, 3),
    ),
    min_size=1,
    max_size=4,
)


class Driver(Protocol):
    """A kernel, driven submission by submission, on the store that it is on now."""

    @property
    def store(self) -> Store: ...
    @property
    def clock(self) -> FixedClock: ...
    @property
    def world(self) -> World | None:
        """Where it is served; None where it is embedded."""
        ...

    async def create(self, rules: Rules, *, pin: bool) -> str: ...
    async def begin(self, id: str, rules: Rules) -> bool:
        """Whether a handler may run."""
        ...

    async def submit(self, call: Call) -> Answer: ...
    async def done(self, answer: Answer, call: Call) -> None: ...
    async def finish(self, reason: str) -> None: ...
    async def suspend(self) -> None: ...
    async def fork(self, source: ExecutionRow, at_seq: int, *, keeps: bool) -> str: ...
    async def leave(self, id: str) -> None:
        """Takes the execution to another store."""
        ...


def error(call: Call) -> str:
    """What a failing body is recorded with."""
    return identity.canonical({"type": "OSError", "message": "no"})


class Embedded:
    """A kernel in this process."""

    world: World | None = None

    def __init__(self, stack: AsyncExitStack, opener: Opener, store: Store, clock: FixedClock) -> None:
        self.store, self.clock = store, clock
        self._stack, self._opener = stack, opener
        self._kernel: Kernel
        self._attempt: Attempt

    async def create(self, rules: Rules, *, pin: bool) -> str:
        begun = await Kernel(self.store, compile_text(rules.text)).begin(agent_id="agent", input="1", pin=pin)
        assert isinstance(begun, Attempt)
        await execution.abandon(begun)
        return begun.execution.id

    async def begin(self, id: str, rules: Rules) -> bool:
        self._kernel = Kernel(self.store, compile_text(rules.text))
        begun = await self._kernel.begin(agent_id="agent", input="1", key=id)
        if isinstance(begun, Attempt):
            self._attempt = begun
            return True
        return False

    async def submit(self, call: Call) -> Answer:
        return await self._kernel.submit(self._attempt, call.submission, wait=False)

    async def done(self, answer: Answer, call: Call) -> None:
        if call.fails:
            await self._kernel.fail(self._attempt, answer.step_id, error(call))
        else:
            await self._kernel.succeed(self._attempt, answer.step_id, identity.canonical(call.result), call.result)

    async def finish(self, reason: str) -> None:
        await execution.finish(self._attempt, output=None if reason else '"over"', failure_reason=reason)

    async def suspend(self) -> None:
        if await execution.suspend(self._attempt) is None:
            await execution.abandon(self._attempt)

    async def fork(self, source: ExecutionRow, at_seq: int, *, keeps: bool) -> str:
        return (await fork(self.store, source, at_seq, pinned=keeps)).id

    async def leave(self, id: str) -> None:
        recording = read([line.encode() for line in lines(await record(self.store, id))])
        self.store = await self._stack.enter_async_context(self._opener(self.clock))
        await restore(self.store, recording)


class Served:
    """A kernel that delivers to an agent."""

    def __init__(self, w: World) -> None:
        self.w, self.clock = w, w.clock
        self.store: Store = w.store
        self.world: World | None = w
        self._runs: dict[str, Any] = {}
        self._rules: Rules | None = None
        self._id = ""

    async def create(self, rules: Rules, *, pin: bool) -> str:
        await self.w.agent(policy=rules.text)
        self._rules = rules
        return (await self.w.create()).id

    async def begin(self, id: str, rules: Rules) -> bool:
        if rules != self._rules:
            await self.w.serving.set_policy("agent", rules.text)
            self._rules = rules
        row = await self.store.execution(id)
        if row.status != "running":
            return False
        while id not in self._runs:
            run = await self.w.run()
            self._runs[run.id] = run
        self._id = id
        return True

    @property
    def _run(self) -> Any:
        return self._runs[self._id]

    async def submit(self, call: Call) -> Answer:
        said = call.submission
        args = identity.parse(said.args)
        answer: Answer = await self._run.submit(said.target, args, kind=said.kind, idempotency=said.idempotency)
        return answer

    async def done(self, answer: Answer, call: Call) -> None:
        if call.fails:
            await self.w.serving.fail_step("agent", self._id, self._run.dispatch, answer.step_id, error(call))
        else:
            await self._run.done(answer, call.result)

    async def finish(self, reason: str) -> None:
        run = self._runs.pop(self._id)
        if reason:
            await self.w.serving.fail("agent", self._id, run.dispatch, reason)
        else:
            await run.complete("over")

    async def suspend(self) -> None:
        run = self._runs.pop(self._id)
        if not await run.suspend():
            self._runs[self._id] = run

    async def fork(self, source: ExecutionRow, at_seq: int, *, keeps: bool) -> str:
        return (await self.w.serving.fork(source.id, at_seq=at_seq, keep_policy=keeps)).id

    async def leave(self, id: str) -> None:
        raise NotImplementedError("a world has one store")


@asynccontextmanager
async def embedded(opener: Opener) -> Any:
    """A kernel over an empty store."""
    clock = FixedClock()
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(opener(clock))
        yield Embedded(stack, opener, store, clock)


@dataclass
class Life:
    """What one execution's runs came to: the answers of its last one, and the steps whose bodies ran."""

    said: list[AnswerKind] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)


async def live(driver: Driver, id: str, program: list[Call], rules: Rules, grants: "Callable[[], bool]") -> Life:
    """Runs an execution to its end, or until it is given up."""
    life = Life()
    for _ in range(_MOST_ATTEMPTS):
        for asked in await driver.store.approvals(execution_id=id, status="pending"):
            scope = "execution" if grants() else "once"
            with suppress(ConflictError):
                await _answer(driver, asked, granted=grants(), scope=scope)
        if not await driver.begin(id, rules):
            if (await driver.store.execution(id)).status.terminal:
                break
            continue
        life.said.clear()
        if await _handle(driver, program, life):
            break
    return life


async def _answer(driver: Driver, asked: ApprovalRow, *, granted: bool, scope: str) -> None:
    # What the kernel itself asks about is granted for one step alone.
    scope = "once" if asked.rule_id.startswith("__") or asked.cause != "policy" or not granted else scope
    if driver.world is not None:
        await driver.world.serving.resolve(asked.id, granted=granted, decided_by="ana", scope=scope)
    else:
        await votes.resolve(driver.store, asked.id, granted=granted, decided_by="ana", rationale="", scope=scope)


async def _handle(driver: Driver, program: list[Call], life: Life) -> bool:
    """One attempt; whether it ended the execution."""
    for call in program:
        answer = await driver.submit(call)
        life.said.append(answer.kind)
        driver.clock.advance(0.01)
        reason = ""
        match answer.kind:
            case AnswerKind.PROCEED:
                life.ran.append(answer.step_id)
                await driver.done(answer, call)
                reason = f"tool_error: {call.target}: no" if call.fails else ""
            case AnswerKind.REPLAY:
                reason = f"tool_error: {call.target}: no" if answer.error is not None else ""
            case AnswerKind.DENIED:
                reason = f"policy_denied: {answer.reason}"
            case AnswerKind.RATE_LIMITED:
                reason = answer.reason
            case _:
                await driver.suspend()
                return False
        if reason and call.stubborn:
            await driver.finish(reason)
            return True
    await driver.finish("")
    return True


# ---------------------------------------------------------------- what must hold


@dataclass(frozen=True)
class Record:
    """An execution as it is written down; `own` are the events of its own runs, after what it took over."""

    row: ExecutionRow
    events: list[EventRow]
    own: list[EventRow]
    steps: dict[str, StepRow]
    copied: frozenset[str]

    @classmethod
    async def of(cls, store: Store, id: str) -> "Record":
        row = await store.execution(id)
        steps, _ = await load(store, id)
        events = await store.events(id, limit=10_000)
        taken = [n for n, event in enumerate(events) if event.type == "execution.imported"]
        if not taken and row.forked_from:
            taken = [n for n, event in enumerate(events) if event.type == "execution.started"][:1] or [len(events)]
        own = events[taken[-1] :] if taken else events
        before = frozenset(str(event.payload["step_id"]) for event in events[: len(events) - len(own)] if _step(event))
        return cls(row, events, own, steps, before)


def _step(event: EventRow) -> bool:
    return event.type.startswith("step.") and event.type != "step.rate_limited"


async def hold(store: Store, id: str, today: Rules, kept: Policy | None) -> None:
    """Of an execution that has lived under `today`, or was pinned: its log is whole, and its own steps are those that
    its rules let it do."""
    assert (await check(store, id)).fault == ""
    it = await Record.of(store, id)
    rules = kept or compile_text(today.text)
    counted = sum(bool(event.payload.get("limits")) for event in it.events if event not in it.own)
    tokens = sum(
        (step.input_tokens or 0) + (step.output_tokens or 0) for step in it.steps.values() if _before(it, step)
    )
    for event in it.own:
        if not _step(event):
            continue
        step = it.steps[str(event.payload["step_id"])]
        fresh = "args_hash" in event.payload
        if fresh and step.digest:
            assert step.digest == rules.digest, "it was judged by other rules"
        if event.payload.get("limits"):
            assert counted < limit_of(rules), f"{event.payload} is one too many"
            counted += 1
        derived = it.row.forked_from or it.row.fork_seq
        if event.type == "step.executing" and derived and step.idempotency == "at_most_once":
            answered = await store.approval(step.approval_id)
            assert answered.requested_seq >= it.own[0].event_seq, "an effect ran that nobody was asked about here"
        if event.type == "step.executing" and step.kind == "llm_call" and fresh:
            assert tokens < _BUDGET, "the budget was used up"
        if event.type == "step.succeeded" and step.input_tokens is not None:
            tokens += step.input_tokens + (step.output_tokens or 0)


def _before(it: Record, step: StepRow) -> bool:
    return step.input_tokens is not None and 0 < step.outcome_seq < it.own[0].event_seq


def limit_of(rules: Policy) -> int:
    """The number of the limit in a bundle of these tests."""
    text = rules.sources[0].text
    return int(text.split(" limit ")[1].split()[0])


async def derived(driver: Driver, id: str, how: Derivation) -> tuple[str, bool] | None:
    """The execution that is made of this one, and whether it keeps the policy; None where that cannot be."""
    row = await driver.store.execution(id)
    match how.how:
        case "import":
            if driver.world is not None:
                return None
            await driver.leave(id)
            return id, False
        case "retry":
            try:
                at = await retry_point(driver.store, row)
            except ConflictError:
                return None
        case "end":
            at = row.head_seq
        case _:
            at = max(1, round(how.part * row.head_seq))
    return await driver.fork(row, at, keeps=how.keeps), how.keeps
