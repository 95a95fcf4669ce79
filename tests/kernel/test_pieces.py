"""Conversations in pieces, through all that is done with a history."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

import rebuno
from rebuno.errors import StoreCorrupt
from rebuno.kernel.history.archive import lines, read
from rebuno.model.identity import canonical
from rebuno.policy import compile_text
from tests.sdk.support import Crash

POLICY = compile_text('bundle tests\ndefault deny\nrule ask { allow llm "*" }\nrule all { allow tool "*" }\n')
CALLS = 8
ran: list[int] = []


def asked(turns: int) -> dict[str, Any]:
    """The arguments of a call: so many turns of two kilobytes."""
    return {"messages": [{"role": "user", "content": f"{n}: " + f"<é> {n} " * 300} for n in range(10 + turns)]}


@rebuno.tool("model")
async def model(messages: list[Any]) -> int:
    ran.append(len(messages))
    if len(messages) == deadly:
        raise Crash
    return len(messages)


deadly = 0


async def handler() -> list[int]:
    """A conversation."""
    return [await model(**asked(n)) for n in range(CALLS)]


async def run(path: Path, *, killed_at: int = 0) -> rebuno.Execution | None:
    """Runs the handler, or resumes it; killed in the body of a call."""
    global deadly
    deadly = killed_at and 10 + killed_at
    ran.clear()
    async with rebuno.open(path, policy=POLICY) as kernel:
        try:
            return await kernel.run(handler, id="talk", agent="agent")
        except Crash:
            return None


def sizes(path: Path) -> list[Any]:
    """How many characters of arguments and of pieces a store has."""
    sums = [("args", "steps"), ("text", "pieces")]
    with closing(apsw.Connection(str(path))) as file:
        return [file.execute(f"SELECT total(length({column})) FROM {table}").fetchall()[0][0] for column, table in sums]


def test_a_killed_conversation_goes_on_in_another_process(tmp_path: Path) -> None:
    """It replays what is recorded, and adds to the pieces that are there."""

    async def body() -> None:
        path = tmp_path / "agent.db"
        assert await run(path, killed_at=4) is None
        ended = await run(path)
        assert ended is not None
        assert ended.output == [10 + n for n in range(CALLS)]
        assert ran == [10 + n for n in range(4, CALLS)]

    asyncio.run(body())
    args, pieces = sizes(tmp_path / "agent.db")
    longest = len(canonical(asked(CALLS - 1)))
    assert args < 1000
    assert 0 < pieces < 1.3 * longest


def test_a_history_leaves_and_enters_as_it_was(tmp_path: Path) -> None:
    """What is exported has whole arguments; imported, they are in pieces again. A fork has its own, and its source can
    be removed."""

    async def body() -> None:
        path = tmp_path / "agent.db"
        done = await run(path)
        assert done is not None
        async with rebuno.operate(path) as operator:
            recording = await operator.record("talk")
            head = (await operator.verify("talk")).head_hash
            forked = await operator.fork("talk", at_seq=recording.execution.head_seq - 1)
        file = [line.encode() for line in lines(recording)]
        assert all("/pieces" not in line.decode() for line in file)
        assert read(file).steps == recording.steps
        async with rebuno.operate(tmp_path / "other.db", create=True) as operator:
            await operator.restore(read(file))
            assert (await operator.verify("talk", head=head)).fault == ""
            assert (await operator.record("talk")).steps == recording.steps
        async with rebuno.open(path, policy=POLICY) as kernel:
            again = await kernel.run(handler, id=forked.id, agent="agent")
        assert (again.output, len(ran)) == (done.output, CALLS)
        async with rebuno.operate(path) as operator:
            swept = await operator.sweep(retention=0.0)
            assert swept.removed == 2

    asyncio.run(body())
    assert sizes(tmp_path / "other.db")[0] < 1000
    assert sizes(tmp_path / "agent.db") == [0, 0]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("UPDATE pieces SET text = replace(text, '5: ', '7: ')", "the args are not"),
        ("UPDATE pieces SET text = replace(text, 'user', 'uses') WHERE number = 4", "the args are not"),
        ("DELETE FROM pieces WHERE number = 4", "piece 4 of the arguments of step"),
        ("UPDATE pieces SET number = 1000 WHERE number = 4", "piece 4 of the arguments of step"),
        ("UPDATE steps SET args = replace(args, ':1-', ':2-')", "piece"),
    ],
)
def test_a_changed_piece_is_found(tmp_path: Path, change: str, found: str) -> None:
    """By `verify`: others do not fit to the hash of the arguments, and where one is not there the store says so."""

    async def body() -> str:
        path = tmp_path / "agent.db"
        await run(path)
        with closing(apsw.Connection(str(path))) as file:
            file.execute(change)
            assert file.changes() > 0
        async with rebuno.operate(path) as operator:
            try:
                return (await operator.verify("talk")).fault
            except StoreCorrupt as damage:
                return str(damage)

    assert found in asyncio.run(body())
