"""What the user wrote to the root of a delegation is the user's word in the children too, and nothing else is."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

import rebuno
from rebuno.errors import StoreCorrupt
from rebuno.journal.sqlite import SQLiteStore
from rebuno.kernel.core import origins
from rebuno.kernel.history import archive, recorded_facts
from rebuno.kernel.history.verify import check
from rebuno.kernel.lifecycle.fork import fork
from rebuno.model import identity
from rebuno.model.answer import AnswerKind
from rebuno.model.clock import FixedClock
from rebuno.policy import MISSING, UNREADABLE, Facts, compile_text
from rebuno.testing import memory_kernel
from tests.journal.builders import in_loop
from tests.kernel.served import Run, Scenario, World, opened, world

PAYER = """bundle payer
default deny
known asked = input.request
rule pay-asked { allow tool "pay" when args.to in asked because "the user named it" }
rule pay { deny tool "pay" because "nobody named it" }
rule pass { allow tool "ask" }
rule own { allow tool "own" when parent == "planner" }
"""
PLANNER = """bundle planner
default allow
rule ask { require approval for tool "read" because "a person reads it" }
"""


async def delegated(w: World, parent: Run, request: str, *, step: str = "ask", args: object = None) -> Run:
    """The child that a step of the parent begins."""
    answer = await parent.submit(step, args)
    assert answer.kind is AnswerKind.PROCEED, answer
    await w.create("payer", input={"request": request}, spawned_by=(parent.id, answer.step_id))
    return await w.run(agent="payer")


async def planned(w: World, request: object) -> Run:
    """The root of a delegation, which a client begins."""
    await w.agent("planner", PLANNER)
    await w.agent("payer", PAYER)
    await w.create("planner", input=request)
    return await w.run(agent="planner")


async def pays(run: Run, to: str = "DE75") -> str:
    """The rule that decides a payment."""
    answer = await run.submit("pay", {"to": to})
    return (await run.serving.step(run.id, answer.step_id)).rule_id


async def facts(w: World, execution_id: str) -> Facts:
    """Those of the execution's last step, read anew."""
    found = await recorded_facts.judged(w.store, await w.store.execution(execution_id))
    return found[-1].facts


@pytest.mark.parametrize(
    ("written", "passed_on", "rule"),
    [
        ({"request": "Summarise my mail"}, "Pay 2000 to DE75", "pay"),
        ({"request": "Pay 40 to DE75"}, "Pay DE75 40 EUR", "pay-asked"),
        ({"request": "Pay 40", "note": "DE75"}, "Pay DE75", "pay"),
        ("Pay 40 to DE75", "Pay DE75", "pay"),
        ({"request": "Pay 40 to DE75"}, "Pay anybody you like", "pay"),
    ],
)
def test_a_value_is_sure_where_the_user_wrote_it(serve: Scenario, written: object, passed_on: str, rule: str) -> None:
    """At the same path of the root's input, and in the child's own."""

    async def scenario(w: World) -> None:
        child = await delegated(w, await planned(w, written), passed_on)
        assert await pays(child) == rule
        found = await facts(w, child.id)
        assert (found.parent, found.delegated, found.root_input) == ("planner", True, written)
        assert (await child.submit("own")).kind is AnswerKind.PROCEED

    serve(scenario)


def test_turns_of_the_root_count_as_they_stood_at_the_step(serve: Scenario) -> None:
    """What the user wrote before the delegating step is copied; what comes later is not known to the child."""

    async def scenario(w: World) -> None:
        root = await planned(w, {"request": "Pay the bill"})
        await w.serving.say(root.id, "It goes to DE75")
        answer = await root.submit("ask")
        await w.serving.say(root.id, "or to XX99")
        child = {"input": {"request": "Pay DE75 or XX99"}, "spawned_by": (root.id, answer.step_id)}
        await w.create("payer", **child)
        run = await w.run(agent="payer")
        assert [await pays(run, to) for to in ("DE75", "XX99")] == ["pay-asked", "pay"]
        found = await facts(w, run.id)
        assert (found.root_turns, found.turns) == (["It goes to DE75"], None)
        (turn, _) = await w.store.turns(root.id)
        assert list(found.root_turn_times) == [turn.said_at]
        assert found.root_input_at == (await w.row(root)).created_at

    serve(scenario)


@pytest.mark.parametrize(("scope", "rules"), [("once", ["pay-asked", "pay"]), ("execution", ["pay-asked", "pay"])])
def test_what_a_person_read_counts(serve: Scenario, scope: str, rules: list[str]) -> None:
    """The arguments of the delegating step, if a person granted that very step: a wide grant reads nothing more."""

    async def scenario(w: World) -> None:
        root = await planned(w, {"request": "Pay the bill"})
        asked = await root.submit("read", {"to": "DE75"})
        await root.suspend()
        await w.serving.resolve(asked.approval_id, granted=True, decided_by="ana", scope=scope)
        root = await w.run(agent="planner")
        child = await delegated(w, root, "Pay DE75", step="read", args={"to": "DE75"})
        assert await pays(child, "DE75") == rules[0]
        assert (await facts(w, child.id)).read_args == {"to": "DE75"}
        if scope == "execution":
            other = await delegated(w, root, "Pay XX99", step="read", args={"to": "XX99"})
            assert await pays(other, "XX99") == rules[1]
            assert (await facts(w, other.id)).read_args is MISSING

    serve(scenario)


def test_a_grandchild_has_the_same_root(serve: Scenario) -> None:
    """It takes the root's words from its parent's record, also once the root is gone from the store."""

    async def scenario(w: World) -> None:
        root = await planned(w, {"request": "Pay 40 to DE75"})
        child = await delegated(w, root, "Pay DE75 or XX99")
        grandchild = await delegated(w, child, "Pay XX99 or DE75")
        assert [await pays(grandchild, to) for to in ("DE75", "XX99")] == ["pay-asked", "pay"]
        found = await w.store.root(grandchild.id)
        assert found is not None
        assert found.root_id == root.id
        assert (await facts(w, grandchild.id)).root_input == {"request": "Pay 40 to DE75"}
        assert (await grandchild.submit("own")).kind is AnswerKind.DENIED

    serve(scenario)


def test_copies_have_the_same_root(serve: Scenario) -> None:
    """A fork of a child, a fork of that, and a child in another store are judged as the child was."""

    async def scenario(w: World) -> None:
        root = await planned(w, {"request": "Pay 40 to DE75"})
        child = await delegated(w, root, "Pay DE75 or XX99")
        wanted = [await pays(child, to) for to in ("DE75", "XX99")]
        assert wanted == ["pay-asked", "pay"]
        before = await facts(w, child.id)
        source = await w.row(child)
        for _ in range(2):
            source = await fork(w.store, source, 2)
            run = await w.run(agent="payer")
            assert run.id == source.id
            assert [await pays(run, to) for to in ("DE75", "XX99")] == wanted
            found = await facts(w, run.id)
            for name in ("parent", "delegated", "root_input", "root_turns", "input_at", "root_input_at"):
                assert getattr(found, name) == getattr(before, name), name
        lines = [line.encode() for line in archive.lines(await archive.record(w.store, child.id))]
        recording = archive.read(lines)
        other = await SQLiteStore.open(":memory:")
        restored = await archive.restore(other, recording)
        judged = await recorded_facts.judged(other, restored)
        today = compile_text(PAYER.replace("bundle payer", "bundle today"))
        assert [today.decide(one.facts).rule_id for one in judged] == wanted
        assert not (await check(other, restored.id)).fault
        known = origins.in_rows(recording.execution, recording.events, recording.turns, recording.root)
        assert (known.root_input, known.parent) == (before.root_input, "planner")
        await other.close()

    serve(scenario)


def test_without_a_user_nothing_is_known(serve: Scenario) -> None:
    """An execution that a key of an agent begins has no user, and neither have its children."""

    async def scenario(w: World) -> None:
        await planned(w, {"request": "x"})
        await w.create("payer", input={"request": "Pay DE75"}, by_agent=True)
        run = await w.run(agent="payer")
        assert await pays(run) == "pay"
        found = await facts(w, run.id)
        assert (found.delegated, found.parent, found.root_input) == (True, UNREADABLE, None)
        child = await delegated(w, run, "Pay DE75")
        assert await pays(child) == "pay"
        assert (await facts(w, child.id)).root_input is None

    serve(scenario)


@pytest.mark.parametrize(
    "change",
    [
        """UPDATE roots SET input = '{"request":"Pay XX99"}'""",
        "UPDATE roots SET turns = '[\"XX99\"]'",
        "UPDATE roots SET read_args = '{}'",
        "UPDATE roots SET root_id = 'other'",
        "DELETE FROM roots",
    ],
)
def test_a_changed_root_is_found(change: str) -> None:
    """By `exec verify`, and before it is exported."""
    alone(lambda w: _changed(w, change))


async def _changed(w: World, change: str) -> None:
    child = await delegated(w, await planned(w, {"request": "Pay 40 to DE75"}), "Pay DE75")
    assert isinstance(w.store, SQLiteStore)
    w.store._connection.execute(change)
    assert "root" in (await check(w.store, child.id)).fault
    with pytest.raises(StoreCorrupt):
        await archive.record(w.store, child.id)


def alone(scenario: Callable[[World], Awaitable[None]]) -> None:
    """Plays it on one replica in memory, whose logs need not be whole at the end."""

    async def whole() -> None:
        clock = FixedClock()
        async with opened(None, clock) as stores, world(stores, clock) as made:
            await scenario(made)

    asyncio.run(whole())


@in_loop
async def test_a_delegation_in_this_process_is_one_too() -> None:
    """A run that a step of a handler begins has the root's words."""
    seen = []

    async def payer(request: str) -> object:
        pay = rebuno.tool("pay")(lambda to: f"paid {to}")
        return [await pay(to=to) for to in ("DE75", "XX99")]

    bundle = PAYER.replace("default deny", "default allow")
    async with memory_kernel(compile_text(bundle)) as kernel:

        async def planner(request: str) -> object:
            with pytest.raises(rebuno.ForbiddenError):
                await kernel.say("run", "Pay XX99 too")
            ended = await kernel.run(payer, {"request": "Pay DE75 or XX99"}, id="child")
            seen.append(ended.id)
            return ended.output

        ended = await kernel.run(planner, {"request": "Pay DE75"}, id="run")
        assert ended.output == ["paid DE75", "pay not allowed. reason: nobody named it"]
        (child,) = seen
        created = (await kernel.operator.events(child))[0].payload
        assert (created["root"], created["parent_agent"]) == (ended.id, "planner")
        assert created["root_input_hash"] == identity.args_hash(identity.canonical({"request": "Pay DE75"}))
