"""A fork replays what its source had settled, asks before it repeats an effect, and stands on its own."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import rebuno
from rebuno.journal.chain import verify
from rebuno.kernel.history.verify import check
from rebuno.kernel.lifecycle.cancel import cancel
from rebuno.kernel.lifecycle.fork import fork
from rebuno.kernel.lifecycle.sweep import sweep
from rebuno.model.answer import AnswerKind
from rebuno.model.decision import FORK_EFFECT
from rebuno.policy import compile_text
from rebuno.types import Step
from tests.embedded.support import answer, bundle, in_loop, run
from tests.kernel.support import Bench, Play, policy
from tests.rows import rows
from tests.sdk.support import Crash

OPEN = bundle("allow")
ran: list[str] = []


def noted(name: str) -> str:
    ran.append(name)
    return name


async def nested() -> str:
    """A step with steps of its own, one of which may be done once."""
    await rebuno.step("inner", noted, {"name": "inner"})
    await rebuno.step("inner-once", noted, {"name": "inner-once"}, idempotency="at_most_once")
    return noted("outer")


async def handler() -> list[object]:
    """Nested steps, parallel ones, a denied one, and effects that may be done once."""
    outer = await rebuno.step("outer", nested)
    pair = await asyncio.gather(*(rebuno.step("pair", noted, {"name": f"pair-{n}"}) for n in range(2)))
    once = await rebuno.step("once", noted, {"name": "once"}, idempotency="at_most_once")
    refused = await rebuno.tool("act")(lambda: noted("act"))()
    return [outer, *pair, once, refused]


async def to_the_end(path: Path, execution_id: str) -> tuple[rebuno.Execution, list[str]]:
    """Runs an execution, granting whatever it asks; how it ended, and the targets that were asked about."""
    asked: list[str] = []
    while True:
        async with rebuno.open(path, policy=compile_text(bundle("deny"))) as kernel:
            execution = await kernel.run(handler, id=execution_id, agent="agent")
        if not execution.approvals:
            return execution, asked
        for question in execution.approvals:
            assert question.rule_id == FORK_EFFECT
            asked.append(question.target)
            await answer(path, question.id, granted=True)


def outcome(step: Step) -> tuple[object, ...]:
    """What a step that was copied keeps."""
    return (
        step.target,
        step.args,
        step.occurrence,
        step.status,
        step.decision,
        step.digest,
        step.result,
        step.decided_at,
        step.started_at,
        step.completed_at,
    )


def test_a_fork_at_each_event_replays_what_was_settled_and_asks_before_effects(tmp_path: Path) -> None:
    """At every event: the same output as the source's, no settled body again, one approval for each `at_most_once`
    step that runs live, and a log that is whole."""
    asyncio.run(at_each_event(tmp_path / "store.db"))


async def at_each_event(path: Path) -> None:
    ran.clear()
    source = await run(path, bundle("deny"), handler)
    assert (source.status, len(ran)) == ("completed", 6)
    async with rebuno.operate(path) as operator:
        steps, events = await operator.steps(source.id), await operator.events(source.id)
        forks = [await operator.fork(source.id, at_seq=event.event_seq) for event in events]
    for event, forked in zip(events, forks, strict=True):
        settled = {s.step_id: s for s in steps if 0 < s.outcome_seq <= event.event_seq}
        async with rebuno.operate(path) as operator:
            copied = await operator.steps(forked.id)
            assert [outcome(step) for step in copied] == [outcome(step) for step in settled.values()]
            head = (await operator.events(forked.id))[1]
        assert (forked.forked_from, forked.fork_seq, forked.attempt, forked.status) == (
            source.id,
            event.event_seq,
            0,
            "running",
        )
        assert (head.type, head.payload["source_head_hash"]) == ("execution.forked", source.head_hash)

        ran.clear()
        ended, asked = await to_the_end(path, forked.id)
        assert ended.output == source.output
        live = [s for s in steps if s.step_id not in settled]
        # What runs inside a body that is replayed is not reached.
        reached = [s for s in live if not s.parent_step_id or s.parent_step_id not in settled]
        assert asked == [s.target for s in reached if s.idempotency == "at_most_once" and s.status == "succeeded"]
        names = [s.target for s in settled.values() if s.target != "act"]
        assert not {name for name in names if name in ran}
        async with rebuno.operate(path) as operator:
            log = await operator.events(forked.id)
            chain = verify(rows(log))
            assert (chain.fault, chain.seq) == ("", len(log))
            for step in await operator.steps(forked.id):
                assert log[step.decided_seq - 1].payload["step_id"] == step.step_id
                if step.outcome_seq:
                    assert log[step.outcome_seq - 1].payload["step_id"] == step.step_id


@in_loop
async def test_the_source_stays_as_it_is(tmp_path: Path) -> None:
    """A fork changes nothing in it, not even one of an execution that is still blocked."""
    path = tmp_path / "store.db"
    act = rebuno.tool("act")(lambda: "acted")
    blocked = await run(path, bundle("ask"), act)
    async with rebuno.operate(path) as operator:
        before = await operator.execution(blocked.id)
        forked = await operator.fork("run")
        assert await operator.execution(blocked.id) == before
        # The question was the source's; the fork asks its own.
        assert await operator.approvals(execution_id=forked.id) == []
    async with rebuno.open(path, policy=compile_text(bundle("ask"))) as kernel:
        assert len((await kernel.run(act, id=forked.id, agent="agent")).approvals) == 1


@in_loop
async def test_what_a_person_let_the_source_do_is_no_leave_for_the_fork(tmp_path: Path) -> None:
    """A grant for the whole execution is copied with its step, and covers no further step of the fork."""
    path = tmp_path / "store.db"
    act = rebuno.tool("act")(lambda n: n)

    async def acts() -> list[object]:
        return [await act(1), await act(2)]

    first = await run(path, bundle("ask"), acts)
    async with rebuno.operate(path) as operator:
        await operator.grant(first.approvals[0].id, decided_by="ana", scope="execution")
    source = await run(path, bundle("ask"), acts)
    assert source.output == [1, 2]
    async with rebuno.operate(path) as operator:
        one, _ = await operator.steps(source.id)
        forked = await operator.fork(source.id, at_seq=one.outcome_seq)
        (granted,) = await operator.approvals(execution_id=forked.id)
        assert (granted.status, granted.decided_by) == ("granted", "ana")
    async with rebuno.open(path, policy=compile_text(bundle("ask"))) as kernel:
        again = await kernel.run(acts, id=forked.id, agent="agent")
    assert (again.status, [asked.args for asked in again.approvals]) == ("blocked", [{"n": 2}])


def test_what_only_the_end_of_the_source_settled_is_done_anew(play: Play) -> None:
    """At its newest event a cancelled run has no result of what it had started, and no answer to what it had asked: the
    fork runs the one, and asks about the other and about an effect that may be done."""

    async def scenario(b: Bench) -> None:
        rules = policy("ask", also='rule rest { allow tool "*" }\n')
        await b.begin(rules)
        await b.succeed(await b.submit(target="done", idempotency="at_most_once"))
        await b.submit(target="safe")
        await b.submit(target="once", idempotency="at_most_once")
        await b.submit()
        source = await cancel(b.store, b.attempt.execution.id)
        b.attempt.ended = True
        forked = await fork(b.store, source, source.head_seq, key="fork")
        assert [step.target for step in await b.store.steps(forked.id)] == ["done"]
        assert await b.store.approvals(execution_id=forked.id) == []
        await b.begin(rules, key="fork")
        assert (await b.submit(target="done", idempotency="at_most_once")).kind is AnswerKind.REPLAY
        assert (await b.submit(target="safe")).kind is AnswerKind.PROCEED
        effect = await b.submit(target="once", idempotency="at_most_once")
        assert (effect.kind, effect.rule_id) == (AnswerKind.BLOCKED, FORK_EFFECT)
        asked = await b.submit()
        assert (asked.kind, asked.rule_id) == (AnswerKind.BLOCKED, "ask-act")
        assert (await check(b.store, forked.id)).fault == ""

    play(scenario)


@pytest.mark.parametrize("forks", [1, 2, 3])
@pytest.mark.parametrize("runs", [False, True])
def test_a_fork_of_a_fork_takes_over_what_is_in_a_body(play: Play, runs: bool, forks: int) -> None:
    """Also where the forks between have not come to that body: its step replays in the last one."""

    async def scenario(b: Bench) -> None:
        rules = compile_text("bundle open\ndefault allow\n")
        await b.begin(rules)
        outer = await b.submit(target="outer")
        middle = await b.submit(target="middle", parent=outer.step_id)
        await b.succeed(await b.submit(target="inner", parent=middle.step_id))
        source = await b.store.execution(b.attempt.execution.id)
        for key in map(str, range(forks)):
            source = await fork(b.store, source, source.head_seq, key=key)
            if runs or key == str(forks - 1):
                await b.begin(rules, key=key)
                outer = await b.submit(target="outer")
                middle = await b.submit(target="middle", parent=outer.step_id)
                assert (await b.submit(target="inner", parent=middle.step_id)).kind is AnswerKind.REPLAY
                source = await b.store.execution(source.id)
            assert (await check(b.store, source.id)).fault == ""

    play(scenario)


def test_a_fork_of_a_fork_whose_own_source_is_removed_does_anew_what_it_cannot_place(play: Play) -> None:
    """In which body a copied step stands was known there alone."""

    async def scenario(b: Bench) -> None:
        rules = compile_text("bundle open\ndefault allow\n")
        await b.begin(rules)
        await b.succeed(await b.submit(target="before"))
        outer = await b.submit(target="outer")
        await b.succeed(await b.submit(target="inner", parent=outer.step_id))
        source = await b.store.execution(b.attempt.execution.id)
        first = await fork(b.store, source, source.head_seq, key="first")
        await cancel(b.store, source.id)
        b.attempt.ended = True
        b.clock.advance(1)
        assert (await sweep(b.store, retention=0)).removed == 1
        second = await fork(b.store, first, first.head_seq, key="second")
        assert [step.target for step in await b.store.steps(second.id)] == ["before"]
        await b.begin(rules, key="second")
        outer = await b.submit(target="outer")
        assert (await b.submit(target="inner", parent=outer.step_id)).kind is AnswerKind.PROCEED
        assert (await check(b.store, second.id)).fault == ""

    play(scenario)


@pytest.mark.parametrize(
    ("at_seq", "key", "error", "words"),
    [
        (0, None, rebuno.ValidationError, "events 1 to"),
        (999, None, rebuno.ValidationError, "and no 999"),
        (1, "run", rebuno.ConflictError, "the id `run` already"),
    ],
)
@in_loop
async def test_a_fork_that_cannot_be(
    tmp_path: Path, at_seq: int, key: str | None, error: type[Exception], words: str
) -> None:
    """No such event, or the name is taken: an error, and no execution."""
    path = tmp_path / "store.db"
    await run(path, OPEN, rebuno.tool("act")(lambda: "acted"))
    async with rebuno.operate(path) as operator:
        with pytest.raises(error, match=words):
            await operator.fork("run", at_seq=at_seq, key=key)
        assert len(await operator.executions()) == 1


# ---------------------------------------------------------------- trying again


class Flaky:
    """A handler that does an effect, and then fails in one way until it is repaired."""

    def __init__(self, way: str) -> None:
        self.way = way
        self.ran: list[str] = []
        self.repaired = False

    def once(self, name: str) -> str:
        self.ran.append(name)
        if name == "fails" and not self.repaired:
            raise OSError("no")
        return name

    async def __call__(self, deadline: float | None = None) -> str:
        await rebuno.step("pay", self.once, {"name": "pay"}, idempotency="at_most_once")
        match self.way:
            case "a step fails":
                await rebuno.step("fails", self.once, {"name": "fails"})
            case "the handler fails":
                await rebuno.step("fine", self.once, {"name": "fine"})
                if not self.repaired:
                    raise ValueError("a mistake")
            case "a failure that was dealt with":
                try:
                    await rebuno.step("fails", self.once, {"name": "fails"})
                except rebuno.ToolError:
                    await rebuno.step("fine", self.once, {"name": "fine"})
                    if not self.repaired:
                        raise ValueError("a mistake") from None
        return "done"


@pytest.mark.parametrize(
    ("way", "again"),
    [
        ("a step fails", ["fails"]),  # it is tried again
        ("the handler fails", []),  # every step stands
        ("a failure that was dealt with", []),  # the failure was not what ended it
    ],
)
@in_loop
async def test_a_failed_run_is_tried_again_from_before_its_failure(tmp_path: Path, way: str, again: list[str]) -> None:
    """The effect that was done is not done again, and nobody is asked about it."""
    path, handler = tmp_path / "store.db", Flaky(way)
    failed = await run(path, OPEN, handler)
    assert failed.status == "failed"
    handler.repaired = True
    handler.ran.clear()
    async with rebuno.open(path, policy=compile_text(OPEN)) as kernel:
        assert (await kernel.run(handler, id="run", agent="agent")).status == "failed"
        forked = await kernel.operator.retry("run", key="run-again")
        ended = await kernel.run(handler, id="run-again", agent="agent")
    assert (ended.id, ended.status, ended.output) == (forked.id, "completed", "done")
    assert handler.ran == again


@in_loop
async def test_a_cancelled_run_is_tried_again_from_where_it_stood(tmp_path: Path) -> None:
    """What the cancellation did to its steps is not copied: the step that waited is asked about anew."""
    path = tmp_path / "store.db"

    async def acts() -> list[object]:
        return [await rebuno.step("before", lambda: 1), await rebuno.tool("act")(lambda: "acted")()]

    await run(path, bundle("ask"), acts)
    async with rebuno.operate(path) as operator:
        await operator.cancel("run")
        forked = await operator.retry("run")
        assert [step.target for step in await operator.steps(forked.id)] == ["before"]
    async with rebuno.open(path, policy=compile_text(bundle("ask"))) as kernel:
        blocked = await kernel.run(acts, id=forked.id, agent="agent")
        await kernel.operator.grant(blocked.approvals[0].id, decided_by="ana")
        assert (await kernel.run(acts, id=forked.id, agent="agent")).output == [1, "acted"]


@in_loop
async def test_an_effect_of_which_nobody_knows_is_settled_by_a_person_in_a_retry(tmp_path: Path) -> None:
    """A run that failed because a step was cut off: the retry asks before it does it again."""
    path = tmp_path / "store.db"
    stops = iter([True])
    done: list[int] = []

    def effect() -> str:
        done.append(1)
        if next(stops, False):
            raise Crash
        return "paid"

    async def pays() -> object:
        return await rebuno.step("pay", effect, idempotency="at_most_once")

    with pytest.raises(Crash):
        await run(path, OPEN, pays)
    assert (await run(path, OPEN, pays)).status == "failed"
    async with rebuno.open(path, policy=compile_text(OPEN)) as kernel:
        forked = await kernel.operator.retry("run")
        blocked = await kernel.run(pays, id=forked.id, agent="agent")
        assert [asked.rule_id for asked in blocked.approvals] == [FORK_EFFECT]
        assert (forked.forked_from or "?") in (blocked.approvals[0].message or "")
        await kernel.operator.grant(blocked.approvals[0].id, decided_by="ana")
        assert (await kernel.run(pays, id=forked.id, agent="agent")).output == "paid"
    assert len(done) == 2


@in_loop
async def test_only_what_failed_is_tried_again(tmp_path: Path) -> None:
    """A completed execution can be forked, and not retried."""
    path = tmp_path / "store.db"
    await run(path, OPEN, rebuno.tool("act")(lambda: "acted"))
    async with rebuno.operate(path) as operator:
        with pytest.raises(rebuno.ConflictError, match="only failed and cancelled"):
            await operator.retry("run")


@in_loop
async def test_a_fork_is_run_with_the_input_of_its_source(tmp_path: Path) -> None:
    """Its id alone is enough; another input is a conflict."""
    path = tmp_path / "store.db"

    async def echo(value: Any) -> Any:
        return value

    source = await run(path, OPEN, echo, {"value": [1]})
    async with rebuno.open(path, policy=compile_text(OPEN)) as kernel:
        forked = await kernel.operator.fork(source.id)
        with pytest.raises(rebuno.ConflictError, match="another input"):
            await kernel.run(echo, {"value": [2]}, id=forked.id, agent="agent")
        assert (await kernel.run(echo, id=forked.id, agent="agent")).output == source.output
