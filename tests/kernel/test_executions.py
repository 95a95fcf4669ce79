"""Who may run an execution: begun, taken over, lost, ended."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from rebuno.errors import (
    ConflictError,
    LeaseSuperseded,
    NotFoundError,
    RebunoError,
    Terminated,
    ValidationError,
)
from rebuno.journal.chain import verify
from rebuno.journal.records import Execution
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.kernel import Kernel
from rebuno.kernel.lifecycle import execution
from rebuno.kernel.operator import Operator
from rebuno.model import identity
from rebuno.model.answer import Answer, AnswerKind, Submission
from tests.kernel.support import KEY, Bench, bench, policy


def run(scenario: Callable[[Bench], Awaitable[None]]) -> None:
    """Plays a scenario on a bench of its own."""

    async def whole() -> None:
        async with bench() as b:
            await scenario(b)

    asyncio.run(whole())


@pytest.mark.parametrize("known", [False, True])
def test_of_many_that_begin_at_once_one_runs(known: bool) -> None:
    """A new execution or one that nobody holds: one attempt, and a conflict that names the holder for the rest."""

    async def scenario(b: Bench) -> None:
        if known:
            await b.begin(policy("allow"))
            await execution.abandon(b.attempt)
        kernel = Kernel(b.store, policy("allow"))
        begun = await asyncio.gather(
            *(kernel.begin(agent_id="agent", input="{}", key=KEY) for _ in range(8)), return_exceptions=True
        )
        assert [isinstance(one, Attempt) for one in begun].count(True) == 1
        conflicts = [one for one in begun if isinstance(one, ConflictError)]
        assert [one.holder for one in conflicts] == [str(b.store.holder)] * 7

    run(scenario)


def test_of_a_new_execution_nothing_is_read() -> None:
    """What has just been added is known; only whether its id is another's has to be looked up."""

    async def scenario(b: Bench) -> None:
        asked: list[str] = []
        for name in ("find", "execution", "steps", "successes", "approvals"):
            noted_read(b, name, asked)
        await b.begin(policy("allow"))
        assert (await b.submit()).kind is AnswerKind.PROCEED
        assert asked == ["find"]

    run(scenario)


def noted_read(b: Bench, name: str, asked: list[str]) -> None:
    """Notes when the store is asked for something."""
    read = getattr(b.store, name)

    async def noted(*args: object, **named: object) -> object:
        asked.append(name)
        return await read(*args, **named)

    setattr(b.store, name, noted)


def test_an_attempt_that_let_go_writes_nothing_more() -> None:
    """Its late submissions and outcomes are refused, also after another attempt has begun."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("allow"))
        late, answer = b.attempt, await b.submit()
        await b.begin(policy("allow"))
        before = await b.events()
        calls: list[Callable[[], Awaitable[object]]] = [
            lambda: b.kernel.submit(late, Submission("tool_call", "act", "{}", "safe_to_retry")),
            lambda: b.kernel.succeed(late, answer.step_id, "1", 1),
            lambda: execution.finish(late, output="null"),
            lambda: execution.suspend(late),
        ]
        for call in calls:
            with pytest.raises(Terminated, match="the handler has ended"):
                await call()
        assert await b.events() == before

    run(scenario)


def test_an_attempt_that_was_replaced_is_told_so() -> None:
    """A holder that only seemed dead learns it at its next write, and nothing of that is kept."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("allow"))
        replaced = b.attempt
        kernel = Kernel(b.store, policy("allow"))
        kernel._let_go.add((replaced.execution.id, 1))
        taken = await kernel.begin(agent_id="agent", input="{}", key=KEY)
        assert isinstance(taken, Attempt)
        before = await b.events()
        for _ in range(2):
            with pytest.raises(LeaseSuperseded):
                await b.submit()
        with pytest.raises(LeaseSuperseded):
            await execution.finish(replaced, output="null")
        assert await b.events() == before
        assert (await execution.finish(taken, output="1")).output == "1"

    run(scenario)


def test_an_ended_execution_is_given_back() -> None:
    """No attempt, no event; another input is a conflict all the same."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("allow"))
        await execution.finish(b.attempt, failure_reason="agent_error: no")
        before = await b.events()
        begun = await b.begin(policy("deny"))
        assert isinstance(begun, Execution)
        assert (begun.status, begun.failure_reason) == ("failed", "agent_error: no")
        with pytest.raises(ConflictError, match="another input"):
            await b.kernel.begin(agent_id="agent", input="[]", key=KEY)
        other = await b.kernel.begin(agent_id="another", input="[]", key=KEY)
        assert isinstance(other, Attempt), "an id is the agent's own"
        assert await b.events() == before

    run(scenario)


def test_an_execution_s_id_resumes_it_and_no_other_agent_s() -> None:
    """What was begun without an id of the caller's is found under its own."""

    async def scenario(b: Bench) -> None:
        kernel = Kernel(b.store, policy("allow"))
        begun = await kernel.begin(agent_id="agent", input="{}")
        assert isinstance(begun, Attempt)
        await kernel.abandon(begun)
        again = await kernel.begin(agent_id="agent", input="{}", key=begun.execution.id)
        assert isinstance(again, Attempt)
        assert (again.execution.id, again.lease.attempt) == (begun.execution.id, 2)
        other = await kernel.begin(agent_id="another", input="{}", key=begun.execution.id)
        assert isinstance(other, Attempt)
        assert other.execution.id != begun.execution.id

    run(scenario)


# ---------------------------------------------------------------- submissions

MALFORMED: list[tuple[str, Submission, str]] = [
    ("an unknown kind", Submission("shell", "act", "{}", "safe_to_retry"), "kinds are tool_call, llm_call, local"),
    ("an unknown promise", Submission("local", "act", "{}", "twice"), "idempotencies safe_to_retry, at_most_once"),
    ("no target", Submission("local", "", "{}", "safe_to_retry"), "the target of a step is empty"),
    ("a name of 11 MB", Submission("local", "x" * 11_000_000, "{}", "safe_to_retry"), "is longer than 65,536 bytes"),
    ("half a character", Submission("local", "\udcff", "{}", "safe_to_retry"), "is not valid Unicode"),
    ("a parent that is none", Submission("local", "act", "{}", "safe_to_retry", "x"), "from the body of another one"),
]


@pytest.mark.parametrize(("submission", "says"), [m[1:] for m in MALFORMED], ids=[m[0] for m in MALFORMED])
def test_a_malformed_submission_is_neither_recorded_nor_counted(submission: Submission, says: str) -> None:
    """`ValidationError`, and the next good one is the first of its kind."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("allow"))
        before = await b.events()
        with pytest.raises(ValidationError, match=says):
            await b.kernel.submit(b.attempt, submission)
        assert await b.events() == before
        answer = await b.submit(kind="local", idempotency="at_most_once")
        assert (await b.store.step(answer.step_id)).occurrence == 0

    run(scenario)


def test_the_start_of_a_local_step_travels_with_its_outcome() -> None:
    """One change for both where the body is quick; before anything that is judged, and by itself after a moment."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("allow"))
        quick = await b.submit(kind="local")
        await b.succeed(quick)
        slow = await b.submit(kind="local")
        await b.submit()
        steps = await b.store.steps(b.attempt.execution.id)
        assert [(step.step_id == slow.step_id, step.status) for step in steps] == [
            (False, "succeeded"),
            (True, "executing"),
            (False, "executing"),
        ]
        assert [step.decided_seq for step in steps] == sorted(step.decided_seq for step in steps)
        alone = await b.submit(kind="local")
        await asyncio.sleep(0.05)
        assert (await b.store.step(alone.step_id)).status == "executing"

    run(scenario)


def test_a_step_s_id_is_the_hash_of_where_and_what_it_is() -> None:
    """The execution or the parent step, kind, target, arguments and occurrence; parallel calls count as they come."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("allow"))

        def expected(scope: str, occurrence: int) -> str:
            return identity.step_id(scope, "tool_call", "act", identity.args_hash('{"n":1}'), occurrence)

        top: list[Answer] = await asyncio.gather(*(b.submit(args={"n": 1}) for _ in range(3)))
        assert [a.step_id for a in top] == [expected(b.attempt.execution.id, n) for n in range(3)]
        inner = [await b.submit(args={"n": 1}, parent=top[1].step_id) for _ in range(2)]
        assert [a.step_id for a in inner] == [expected(top[1].step_id, n) for n in range(2)]

    run(scenario)


def test_an_outcome_belongs_to_a_body_that_runs() -> None:
    """One that was not started here, or is settled, is refused."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("ask"))
        done = await b.submit(kind="local")
        await b.succeed(done)
        waiting = await b.submit()
        for answer in (waiting, done, Answer(AnswerKind.PROCEED, "nothing")):
            with pytest.raises(NotFoundError, match="is not running in this attempt"):
                await b.succeed(answer)

    run(scenario)


def test_what_others_write_is_judged_before_the_next_step() -> None:
    """Answers that arrive while steps are submitted side by side: each is seen, and the log stays whole."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("ask"))
        questions = [await b.submit(args={"q": n}) for n in range(4)]
        operator = Operator(b.store)

        async def one(n: int) -> Answer:
            for _ in range(n):
                await asyncio.sleep(0)
            return await b.submit(args={"n": n})

        answers = await asyncio.gather(
            *(one(n) for n in range(12)), *(operator.grant(q.approval_id, decided_by="ana") for q in questions)
        )
        assert {a.kind for a in answers if isinstance(a, Answer)} == {AnswerKind.BLOCKED}
        steps = await operator.steps(b.attempt.execution.id)
        assert [s.status.value for s in steps].count("allowed") == 4
        assert verify(await operator.events(b.attempt.execution.id)).fault == ""

    run(scenario)


def test_an_operator_finds_an_execution_by_what_names_it() -> None:
    """Its id, the beginning of it, or the caller's own id; what names none or several is an error."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("allow"))
        mine = b.attempt.execution.id
        other = await b.kernel.begin(agent_id="another", input="{}", key=KEY)
        assert isinstance(other, Attempt)
        operator = Operator(b.store)
        assert (await operator.execution(mine)).id == mine
        assert (await operator.execution(other.execution.id[:-1])).id == other.execution.id
        for ref, kind in (
            (KEY, ConflictError),
            (mine[:4], ConflictError),
            (mine[:3], NotFoundError),
            ("%", NotFoundError),
        ):
            with pytest.raises(RebunoError) as caught:
                await operator.execution(ref)
            assert type(caught.value) is kind

    run(scenario)
