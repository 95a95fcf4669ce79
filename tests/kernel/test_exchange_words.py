"""A file whose turns, root or definitions were changed by somebody who rewrote all the hashes."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from rebuno.errors import StoreCorrupt
from rebuno.journal.chain import START, event_hash
from rebuno.journal.records import EventRow
from rebuno.journal.sqlite import SQLiteStore
from rebuno.journal.words import TurnRow
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.history import definitions
from rebuno.kernel.history.archive import Recording, lines, read, record, restore
from rebuno.kernel.kernel import Kernel
from rebuno.kernel.lifecycle.say import say
from rebuno.model import identity
from rebuno.model.definition import define, digest_of
from rebuno.policy import compile_text
from tests.journal.builders import in_loop

POLICY = compile_text("bundle tests\nknown asked = input.request or turns\ndefault allow\n")
INPUT = identity.canonical({"request": "Pay the bill"})


async def _recorded() -> tuple[Recording, Recording]:
    """An execution with two turns, and its child."""
    store = await SQLiteStore.open(":memory:")
    kernel = Kernel(store, POLICY)
    root = await kernel.begin(agent_id="planner", input=INPUT, key="root")
    assert isinstance(root, Attempt)
    await say(store, root.execution.id, "one")
    await say(store, root.execution.id, "two")
    child = await kernel.begin(agent_id="payer", input=INPUT, key="child", parent=root.execution.id)
    assert isinstance(child, Attempt)
    await kernel.abandon(child)
    await kernel.abandon(root)
    found = await record(store, root.execution.id), await record(store, child.execution.id)
    await store.close()
    return found


def _said(recording: Recording, seq: int, **payload: Any) -> Recording:
    """The same with other words in one event, and with hashes that fit."""
    events: list[EventRow] = []
    previous = START
    for event in recording.events:
        said = event.payload | (payload if event.event_seq == seq else {})
        previous = event_hash(previous, event.execution_id, event.event_seq, event.type, said, event.occurred_at)
        events.append(replace(event, payload=said, hash=previous))
    return replace(recording, events=tuple(events), execution=replace(recording.execution, head_hash=previous))


def _again(recording: Recording) -> Recording:
    return read([line.encode() for line in lines(recording)])


def _numbered(recording: Recording, first: int, second: int) -> Recording:
    one, two = recording.turns
    changed = _said(_said(recording, one.event_seq, number=first), two.event_seq, number=second)
    turns: dict[int, TurnRow] = {first: replace(one, number=first), second: replace(two, number=second)}
    return replace(changed, turns=tuple(turns[number] for number in sorted(turns)))


def test_turns_are_numbered_in_their_order() -> None:
    """Neither with a gap, which the next turn would fall into, nor against their order, nor one in another's place."""
    root, _ = asyncio.run(_recorded())
    assert _again(_numbered(root, 1, 2)) == root
    for first, second in ((1, 3), (2, 1), (0, 1), (2, 3), (1, 1), (-1, 0)):
        with pytest.raises(StoreCorrupt, match="says another number"):
            _again(_numbered(root, first, second))


@in_loop
async def test_what_is_said_next_has_the_next_number_whatever_is_missing() -> None:
    """A damaged row is found by `exec verify`; nobody waits for ever because of it."""
    store = await SQLiteStore.open(":memory:")
    kernel = Kernel(store, POLICY)
    attempt = await kernel.begin(agent_id="planner", input=INPUT, key="root")
    assert isinstance(attempt, Attempt)
    await say(store, attempt.execution.id, "one")
    await say(store, attempt.execution.id, "two")
    store._connection.execute("DELETE FROM turns WHERE number = 1")
    async with asyncio.timeout(10):
        assert (await say(store, attempt.execution.id, "three")).number == 3
    await store.close()


@pytest.mark.parametrize("turns", ["5", '"DE75"', '{"a":1}', "[5,6]", '[["x"],"y"]', '["one"]', "[]"])
def test_the_turns_of_a_root_are_texts(turns: str) -> None:
    """Each with its time."""
    _, child = asyncio.run(_recorded())
    assert child.root is not None
    assert _again(child) == child
    changed = _said(child, 1, root_turns_hash=identity.args_hash(turns))
    with pytest.raises(StoreCorrupt, match="no texts with a time each"):
        _again(replace(changed, root=replace(child.root, turns=turns)))


@pytest.mark.parametrize("times", [[], "ab", ["2026-05-01T00:00:00Z"], None])
def test_the_turns_of_a_root_have_a_time_each(times: Any) -> None:
    """As many as there are turns."""
    _, child = asyncio.run(_recorded())
    with pytest.raises(StoreCorrupt, match="no texts with a time each"):
        _again(_said(child, 1, root_turn_times=times))


@pytest.mark.parametrize(
    "text",
    [
        "5",
        "no json",
        '{"a":1}',
        '{"description":"","input_schema":null,"name":2,"output_schema":null,"server":""}',
        '{"description":null,"input_schema":null,"name":"n","output_schema":null,"server":""}',
        '{"description":"","input_schema":null,"name":"","output_schema":null,"server":""}',
        '{"description":"","input_schema":null,"more":1,"name":"n","output_schema":null,"server":""}',
    ],
)
def test_a_definition_describes_a_tool(text: str) -> None:
    """All executions of a store share them: one that is none would stand in everybody's list."""
    root, _ = asyncio.run(_recorded())
    with pytest.raises(StoreCorrupt):
        _again(replace(root, definitions=((digest_of(text), text),)))


@in_loop
async def test_a_definition_in_a_file_is_listed_where_it_is_imported() -> None:
    """As the server told it."""
    root, _ = await _recorded()
    told = define("bank", "pay", description="Pays.")
    store = await SQLiteStore.open(":memory:")
    await restore(store, _again(replace(root, definitions=((told.digest, told.text),))))
    assert [(tool.server, tool.name) for tool in await definitions.tools(store)] == [("bank", "pay")]
    await store.save_definition("00", "5")
    with pytest.raises(StoreCorrupt):
        await definitions.tools(store)
    await store.close()
