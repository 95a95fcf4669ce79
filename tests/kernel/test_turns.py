"""What the user writes into a run counts for the steps that are submitted after it, wherever they are judged again."""

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rebuno.errors import ConflictError, NotFoundError, StoreCorrupt, ValidationError
from rebuno.journal.sqlite import SQLiteStore
from rebuno.journal.store import Store
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.origins import in_rows
from rebuno.kernel.history import archive, recorded_facts
from rebuno.kernel.history.timeline import tell
from rebuno.kernel.history.verify import check
from rebuno.kernel.kernel import Kernel
from rebuno.kernel.lifecycle import execution as executions
from rebuno.kernel.lifecycle import say as saying
from rebuno.kernel.lifecycle.fork import fork, retry_point
from rebuno.kernel.lifecycle.say import say
from rebuno.model import identity
from rebuno.model.answer import Answer, AnswerKind, Submission
from rebuno.model.clock import FixedClock
from rebuno.policy import compile_text
from tests.journal.builders import in_loop
from tests.kernel.served import Scenario, World

BUNDLE = """bundle payer
default deny
known asked = input.request or turns
rule stop { deny any step when any turns[] contains "stop" because "the user called off" }
rule pay { allow tool "pay" when args.to in asked because "the user named it" }
rule look { allow tool "look" or local "look" }
rule ask { require approval for tool "send" because "ask" }
"""
POLICY = compile_text(BUNDLE)
# The same rules under another digest: nothing that was recorded stands by itself.
TODAY = compile_text(BUNDLE.replace("bundle payer", "bundle today"))
INPUT = identity.canonical({"request": "Pay the bill"})


def call(target: str = "pay", to: str = "DE75", *, kind: str = "tool_call", once: str = "safe_to_retry") -> Submission:
    return Submission(kind, target, identity.canonical({"to": to}), once, "")


async def begun(store: Store, key: str = "run", policy: object = POLICY) -> tuple[Kernel, Attempt]:
    kernel = Kernel(store, policy)  # type: ignore[arg-type]
    attempt = await kernel.begin(agent_id="payer", input=INPUT, key=key)
    assert isinstance(attempt, Attempt)
    return kernel, attempt


async def acts(kernel: Kernel, attempt: Attempt, submission: Submission) -> Answer:
    """A submission, whose body succeeds if it may run."""
    answer = await kernel.submit(attempt, submission)
    if answer.kind is AnswerKind.PROCEED:
        await kernel.succeed(attempt, answer.step_id, '"ok"', "ok")
    return answer


async def rules(store: Store, execution_id: str) -> list[tuple[str, str, list[str] | None]]:
    """Each step's rule as it was recorded, by today's bundle on the facts of then, and the turns of these facts."""
    found = await recorded_facts.judged(store, await store.execution(execution_id))
    return [(one.rule_id, TODAY.decide(one.facts).rule_id, one.facts.turns) for one in found]


def test_a_turn_counts_for_what_is_submitted_after_it(serve: Scenario) -> None:
    """By the order of the log, whichever replica hears it and whichever answers."""

    async def scenario(w: World) -> None:
        await w.agent("payer", BUNDLE)
        run = await w.begin("payer", input={"request": "Pay the bill"})
        replica = run.on(w.replicas[-1])
        assert (await replica.submit("pay", {"to": "DE75"})).kind is AnswerKind.DENIED
        await w.serving.say(run.id, "To DE75 please", by="key")
        # What was denied stays so: a turn takes nothing back, and gives nothing afterwards.
        again = await replica.submit("pay", {"to": "DE75"})
        assert (again.kind, again.rule_id) == (AnswerKind.PROCEED, "pay")
        await replica.done(again)
        await w.replicas[-1].say(run.id, "stop", by="key")
        assert (await run.submit("look", {"n": 1})).rule_id == "stop"
        assert [turn.text for turn in await w.serving.turns(run.id)] == ["To DE75 please", "stop"]
        said = [event for event in await w.store.events(run.id) if event.type == "execution.said"]
        wanted = identity.args_hash(identity.canonical("To DE75 please"))
        assert said[0].payload == {"number": 1, "hash": wanted, "by": "key"}
        assert [(a, b, c) for a, b, c in await rules(w.store, run.id)] == [
            ("default", "default", None),
            ("pay", "pay", ["To DE75 please"]),
            ("stop", "stop", ["To DE75 please", "stop"]),
        ]

    serve(scenario)


@pytest.mark.parametrize("kind", ["tool_call", "local"])
@in_loop
async def test_a_run_in_this_process_hears_it_at_once(kind: str) -> None:
    """Also where its local steps are kept back from the store for a moment."""
    store = await SQLiteStore.open(":memory:")
    kernel, attempt = await begun(store)
    await acts(kernel, attempt, call("look", "1", kind=kind))
    await say(store, attempt.execution.id, "stop")
    assert (await acts(kernel, attempt, call("look", "2", kind=kind))).rule_id == "stop"
    assert [turns for _, _, turns in await rules(store, attempt.execution.id)] == [None, ["stop"]]
    await store.close()


@in_loop
async def test_what_is_refused() -> None:
    """Text that says nothing or too much, an execution that is none, has ended or is another's child."""
    store = await SQLiteStore.open(":memory:")
    kernel, attempt = await begun(store)
    run = attempt.execution.id
    for text in ("", " \n", "\ud800", "x" * (saying.LONGEST_TURN + 1), "ä" * (saying.LONGEST_TURN // 2 + 1), 5):
        with pytest.raises(ValidationError):
            await say(store, run, text)  # type: ignore[arg-type]
    with pytest.raises(ValidationError):
        await say(store, run, "x", by="n" * 257)
    with pytest.raises(NotFoundError):
        await say(store, "nothing", "x")
    child = await kernel.begin(agent_id="payer", input=INPUT, parent=run)
    assert isinstance(child, Attempt)
    with pytest.raises(ConflictError, match="say it there"):
        await say(store, child.execution.id, "x")
    await executions.finish(attempt, output="1")
    with pytest.raises(ConflictError, match="has ended"):
        await say(store, run, "x")
    assert await store.turns(run) == []
    await store.close()


@in_loop
async def test_there_are_so_many_turns_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """By number, and by bytes together."""
    monkeypatch.setattr(saying, "MOST_TURNS", 3)
    store = await SQLiteStore.open(":memory:")
    _kernel, attempt = await begun(store)
    monkeypatch.setattr(saying, "LONGEST_TURNS", 10)
    await say(store, attempt.execution.id, "äääää")
    with pytest.raises(ConflictError, match="bytes"):
        await say(store, attempt.execution.id, "x")
    monkeypatch.setattr(saying, "LONGEST_TURNS", 100)
    await say(store, attempt.execution.id, "x")
    await say(store, attempt.execution.id, "y")
    with pytest.raises(ConflictError, match="3 turns"):
        await say(store, attempt.execution.id, "z")
    await store.close()


def test_turns_at_once_have_an_order(serve: Scenario) -> None:
    """Each has its own number, in the order of the log, while the agent goes on."""

    async def scenario(w: World) -> None:
        await w.agent("payer", BUNDLE)
        run = await w.begin("payer", input={"request": "Pay the bill"})
        says = [w.replicas[n % len(w.replicas)].say(run.id, f"t{n}") for n in range(8)]
        await asyncio.gather(*says, *(run.act("look", {"n": n}) for n in range(4)))
        turns = await w.store.turns(run.id)
        assert [turn.number for turn in turns] == list(range(1, 9))
        assert [turn.event_seq for turn in turns] == sorted(turn.event_seq for turn in turns)
        assert {turn.text for turn in turns} == {f"t{n}" for n in range(8)}

    serve(scenario)


# ---------------------------------------------------------------- the same verdict, wherever it is judged again

PLANS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.sampled_from(["to A1", "to B2", "and C3", "hello"])),
        st.tuples(st.just("pay"), st.sampled_from(["A1", "B2", "C3"])),
        st.tuples(st.just("note"), st.sampled_from(["x", "y"])),
        st.tuples(st.just("again"), st.just("")),
    ),
    min_size=1,
    max_size=10,
)


@given(PLANS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_step_is_judged_on_the_turns_before_it(plan: list[tuple[str, str]]) -> None:
    """Live, read anew, in a fork of any event, in another store, in a recording: the same turns, the same rule."""
    asyncio.run(_played(plan))


async def _played(plan: list[tuple[str, str]]) -> None:
    store, other = await SQLiteStore.open(":memory:"), await SQLiteStore.open(":memory:")
    kernel, attempt = await begun(store)
    told: list[str] = []
    wanted: dict[str, tuple[str, list[str] | None]] = {}
    for what, text in plan:
        if what == "say":
            await say(store, attempt.execution.id, text)
            told.append(text)
        elif what == "again":
            # Another process takes over, and comes to nothing that was recorded.
            await kernel.abandon(attempt)
            kernel, attempt = await begun(store)
        else:
            submission = call("pay", text) if what == "pay" else call("look", text, kind="local")
            answer = await acts(kernel, attempt, submission)
            known = any(text in one for one in told)
            rule = "look" if what == "note" else "pay" if known else "default"
            if answer.step_id not in wanted:
                wanted[answer.step_id] = rule, list(told) or None
            if answer.kind is not AnswerKind.REPLAY:
                assert answer.rule_id == wanted[answer.step_id][0]
    await kernel.abandon(attempt)
    run = attempt.execution.id
    assert not (await check(store, run)).fault
    await _agrees(store, run, list(wanted.values()))
    recording = archive.read([line.encode() for line in archive.lines(await archive.record(store, run))])
    known_facts = in_rows(recording.execution, recording.events, recording.turns, recording.root)
    found = recorded_facts.of_rows(recording.execution, recording.steps, recording.approvals, known_facts)
    assert [(TODAY.decide(one.facts).rule_id, one.facts.turns) for one in found] == list(wanted.values())
    await _agrees(other, (await archive.restore(other, recording)).id, list(wanted.values()))
    source = await store.execution(run)
    copy = await fork(store, source, source.head_seq)
    assert not (await check(store, copy.id)).fault
    await _agrees(store, copy.id, list(wanted.values()))
    part = await fork(store, source, max(1, source.head_seq // 2))
    assert not (await check(store, part.id)).fault
    for recorded, today, _ in await rules(store, part.id):
        assert recorded == today
    assert [turn.text for turn in await store.turns(part.id)] == [
        turn.text for turn in await store.turns(run) if turn.event_seq <= part.fork_seq
    ]
    await store.close()
    await other.close()


async def _agrees(store: Store, run: str, wanted: list[tuple[str, list[str] | None]]) -> None:
    assert [(today, turns) for _, today, turns in await rules(store, run)] == wanted
    assert [recorded for recorded, _, _ in await rules(store, run)] == [rule for rule, _ in wanted]


@in_loop
async def test_a_retry_has_all_that_was_said() -> None:
    """A fork has what was said by its event; a retry of a failed run has the user's last word as well."""
    store = await SQLiteStore.open(":memory:")
    kernel, attempt = await begun(store)
    await say(store, attempt.execution.id, "to A1")
    answer = await kernel.submit(attempt, call("pay", "A1"))
    await kernel.fail(attempt, answer.step_id, '{"message":"broken"}')
    await say(store, attempt.execution.id, "stop")
    await executions.finish(attempt, failure_reason="tool_error: broken")
    source = await store.execution(attempt.execution.id)
    point = await retry_point(store, source)
    assert [t.text for t in await store.turns((await fork(store, source, point)).id)] == ["to A1"]
    retried = await fork(store, source, point, heard=source.head_seq)
    assert [t.text for t in await store.turns(retried.id)] == ["to A1", "stop"]
    assert not (await check(store, retried.id)).fault
    kernel, again = await begun(store, retried.id)
    assert (await kernel.submit(again, call("pay", "A1"))).rule_id == "stop"
    # A fork is told more by its own user.
    await say(store, retried.id, "go on")
    assert [t.number for t in await store.turns(retried.id)] == [1, 2, 3]
    await store.close()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("UPDATE turns SET text = 'to A2'", "is not what was said"),
        ("UPDATE turns SET said_by = 'eve'", "is not what was said"),
        ("UPDATE turns SET said_at = 5.0", "another time"),
        ("UPDATE turns SET event_seq = 1", "another event"),
        ("DELETE FROM turns", "turn 1 of event 3 is missing"),
        ("INSERT INTO turns VALUES ('{run}', 2, 3, 1.0, 'eve', 'to A2')", "no event speaks of turn 2"),
    ],
)
@in_loop
async def test_a_changed_turn_is_found(change: str, fault: str) -> None:
    """By `exec verify`, and before it is exported."""
    store = await SQLiteStore.open(":memory:")
    _, attempt = await begun(store)
    await say(store, attempt.execution.id, "to A1", by="ana")
    store._connection.execute(change.format(run=attempt.execution.id))
    assert fault in (await check(store, attempt.execution.id)).fault
    with pytest.raises(StoreCorrupt):
        await archive.record(store, attempt.execution.id)
    await store.close()


@in_loop
async def test_the_story_tells_it() -> None:
    """Who wrote what, and after how many steps."""
    store = await SQLiteStore.open(":memory:", clock=FixedClock())
    kernel, attempt = await begun(store)
    await acts(kernel, attempt, call("look"))
    await say(store, attempt.execution.id, "to A1", by="ana")
    (turn,) = (await tell(store, attempt.execution.id)).turns
    assert (turn.number, turn.by, turn.steps, turn.text) == (1, "ana", 1, "to A1")
    await store.close()


@in_loop
async def test_no_turn_is_read_where_no_rule_asks() -> None:
    """A policy that does not name them costs what it did."""
    store = await SQLiteStore.open(":memory:")
    kernel, attempt = await begun(store, policy=compile_text("bundle b\ndefault allow\nknown k = input\n"))
    await say(store, attempt.execution.id, "to A1")
    await kernel.abandon(attempt)

    async def refused(execution_id: str) -> list[object]:
        raise AssertionError("somebody asks for turns")

    store.turns = refused  # type: ignore[method-assign,assignment]
    kernel, attempt = await begun(store, policy=compile_text("bundle b\ndefault allow\nknown k = input\n"))
    assert (await acts(kernel, attempt, call())).kind is AnswerKind.PROCEED
    await store.close()
