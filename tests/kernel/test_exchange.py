"""One execution as a file: what comes out of it, and what is refused."""

import asyncio
import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import uuid_utils

import rebuno
from rebuno.errors import ConflictError, StoreCorrupt
from rebuno.journal.records import ExecutionRow
from rebuno.journal.sqlite.store import SQLiteStore
from rebuno.kernel.core import events
from rebuno.kernel.history import archive
from rebuno.kernel.history.archive import Recording, lines, read, record, restore
from rebuno.kernel.history.verify import check
from rebuno.model.clock import FixedClock
from rebuno.model.execution import ExecutionStatus
from rebuno.policy import compile_text
from tests.kernel.support import Opener

POLICY = compile_text('bundle tests\ndefault allow\nrule ask { require approval for tool "pay" message "é?" }\n')


@rebuno.tool("exchange.read")
async def look(n: int) -> dict[str, Any]:
    return {"read": n, "text": '"\u00e9\u0001\U0001f600&'}


@rebuno.tool("pay", idempotency="at_most_once")
async def pay() -> str:
    return "paid"


async def agent(input: Any) -> str:
    """Nested steps, a failure, and a step that a person is asked about."""
    await rebuno.step("outer", lambda: look(1))
    try:
        await rebuno.step("fails", lambda: 1 / 0)
    except rebuno.ToolError:
        return str(await pay())
    return "unreached"


async def _recorded(path: Path, *, ended: bool) -> Recording:
    async with rebuno.open(path, policy=POLICY) as kernel:
        run = await kernel.run(agent, {"q": "\u00e9"}, id="order")
        if ended:
            await kernel.operator.grant(run.approvals[0].id, decided_by="ana")
            run = await kernel.run(agent, {"q": "\u00e9"}, id="order")
        return await kernel.operator.record("order")


def _file(recording: Recording) -> list[bytes]:
    return [line.encode("ascii") for line in lines(recording)]


@pytest.mark.parametrize("ended", [True, False])
def test_what_is_imported_is_what_was_exported(tmp_path: Path, ended: bool) -> None:
    """Every row, number, time and hash; and the log is sound there. Where it goes on, the log says that it was
    imported."""

    async def through() -> None:
        recording = await _recorded(tmp_path / "one.db", ended=ended)
        again = read(_file(recording))
        assert again == recording
        async with rebuno.operate(tmp_path / "two.db", create=True) as operator:
            await operator.restore(again)
            head = recording.execution.head_hash.hex() if ended else ""
            assert (await operator.verify("order", head=head)).fault == ""
            there = await operator.record("order")
        assert there.events[: len(recording.events)] == recording.events
        assert [event.type for event in there.events[len(recording.events) :]] == (
            [] if ended else ["execution.imported"]
        )
        assert there.steps == recording.steps
        assert there.approvals == recording.approvals
        assert there.bundles == recording.bundles
        assert there.execution.created_at == recording.execution.created_at

    asyncio.run(through())


@pytest.mark.parametrize("ended", [True, False])
def test_every_store_takes_what_another_gave(tmp_path: Path, opener: Opener, ended: bool) -> None:
    """What a store gives out again is what it was given, its clock not asked."""

    async def through() -> None:
        recording = await _recorded(tmp_path / "one.db", ended=ended)
        async with opener(FixedClock()) as store:
            await restore(store, recording)
            found = await check(store, recording.execution.id)
            assert found.fault == ""
            with pytest.raises(ConflictError, match="has the execution"):
                await restore(store, recording)
            there = await record(store, recording.execution.id)
        row, head = there.execution, recording.execution.head_seq
        if ended:
            assert there == replace(recording, execution=replace(recording.execution, updated_at=row.updated_at))
            return
        more = there.events[head:]
        kept = replace(
            recording.execution,
            updated_at=row.updated_at,
            head_seq=head + 1,
            head_hash=row.head_hash,
            fork_seq=head,
        )
        assert (there.events[:head], row) == (recording.events, kept)
        assert [(event.type, event.payload) for event in more] == [
            ("execution.imported", {"at_seq": head, "head_hash": recording.execution.head_hash.hex()})
        ]
        assert (there.steps, there.approvals) == (recording.steps, recording.approvals)

    asyncio.run(through())


def test_an_execution_that_waits_goes_on_elsewhere(tmp_path: Path) -> None:
    """No process holds it there, even if one held it here; bodies that ran do not run again."""

    async def through() -> None:
        recording = await _recorded(tmp_path / "one.db", ended=False)
        async with rebuno.operate(tmp_path / "two.db", create=True) as operator:
            taken = await operator.restore(read(_file(recording)))
            assert (taken.holder, taken.status) == (None, "blocked")
            await operator.grant(recording.approvals[0].id, decided_by="ana")
        async with rebuno.open(tmp_path / "two.db", policy=POLICY) as kernel:
            run = await kernel.run(agent, {"q": "\u00e9"}, id="order")
            assert (run.status, run.output, run.replayed) == ("completed", "paid", 2)
            assert (await kernel.operator.verify("order")).fault == ""

    asyncio.run(through())


def test_a_running_execution_is_exported_without_its_holder(tmp_path: Path) -> None:
    """The process that runs it here cannot run it there."""

    async def through() -> None:
        async with rebuno.open(tmp_path / "one.db", policy=POLICY) as kernel:

            async def running() -> None:
                await rebuno.step("first", lambda: 1)
                await asyncio.sleep(0.01)  # the record of the step may wait 2 ms
                found.append(await kernel.operator.record("here"))

            found: list[Recording] = []
            await kernel.run(running, id="here")
        assert (found[0].execution.holder, found[0].execution.lease_until) == (None, 0.0)
        assert read(_file(found[0])) == found[0]

    asyncio.run(through())


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    """Neither the same execution, nor another one of the agent under the same id."""

    async def through() -> None:
        one = await _recorded(tmp_path / "one.db", ended=True)
        await _recorded(tmp_path / "two.db", ended=True)
        for path, why in (("one.db", "has the execution"), ("two.db", "with the id `order`")):
            async with rebuno.operate(tmp_path / path) as operator:
                with pytest.raises(ConflictError, match=why):
                    await operator.restore(one)

    asyncio.run(through())


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """The lines of a file."""
    return _file(asyncio.run(_recorded(tmp_path_factory.mktemp("exchange") / "one.db", ended=True)))


def _sealed(changed: list[bytes]) -> list[bytes]:
    """The same lines with an end that fits: anyone who changes a file on purpose can write that too."""
    *rest, _ = changed
    end = {"end": {"lines": len(rest), "sha256": sha256(b"".join(rest)).hexdigest()}}
    return [*rest, json.dumps(end, separators=(",", ":")).encode() + b"\n"]


def _line(file: list[bytes], sort: bytes, number: int = 0) -> int:
    return [n for n, line in enumerate(file) if line.startswith(b'{"' + sort)][number]


def _with(file: list[bytes], sort: bytes, old: bytes, new: bytes) -> list[bytes]:
    found = next(n for n, line in enumerate(file) if line.startswith(b'{"' + sort) and old in line)
    return [*file[:found], file[found].replace(old, new), *file[found + 1 :]]


@pytest.mark.parametrize(
    ("sort", "old", "new", "why"),
    [
        # What the log's hashes cover.
        (b"event", b"step.failed", b"step.denied", "does not fit its hash"),
        (b"step", b'{\\"n\\":1}', b'{\\"n\\":2}', "the args are not those"),
        (b"step", b'\\"read\\":1', b'\\"read\\":2', "the outcome is not the one"),
        (b"step", b'"decided_seq":4', b'"decided_seq":5', "other events"),
        (b"execution", b'\\"paid\\"', b'\\"free\\"', "the output is not"),
        (b"execution", b'"completed"', b'"running"', "completed by its log"),
        (b"approval", b'"granted"', b'"denied"', "granted by its events"),
        # What is no row.
        (b"step", b'"succeeded"', b'"done"', "`Step.status` is"),
        (b"step", b'"decided_seq":', b'"decided":', "lacks `decided_at`|unknown field `decided`"),
        (b"step", b'"decided_seq":', b'"x":', "unknown field `x`"),
        (b"step", b'"occurrence":0', b'"occurrence":"0"', "`Step.occurrence` is"),
        (b"step", b'"occurrence":0', b'"occurrence":9999999999999999999', "`Step.occurrence` is"),
        (b"step", b'"occurrence":0', b'"occurrence":true', "`Step.occurrence` is"),
        (b"step", b'{\\"n\\":1}', b'{\\"n\\":1', "not JSON"),
        (b"event", b'"hash":"', b'"hash":"zz', "`Event.hash` is"),
        (
            b"execution",
            b'"execution":{',
            b'"execution":{"holder":{"owner":"a","host":"b","pid":1},',
            "`Execution.holder` is",
        ),
        (b"execution", b'"execution":{', b'"execution":{"lease_until":1e12,', "runs the execution"),
        (b"execution", b'"history":1', b'"history":2', "upgrade rebuno"),
        (b"execution", b'"history":1', b'"history":true', "begins with its version"),
        (b"bundle", b'"sources":', b'"files":', "a bundle is a digest"),
        (b"event", b'{"event"', b'{"even"', "`even` is unknown"),
        (b"event", b"{", b"[", "not JSON"),
    ],
)
def test_a_changed_file_is_refused(file: list[bytes], sort: bytes, old: bytes, new: bytes, why: str) -> None:
    """Without a fitting end by that alone; with one, by what the log says."""
    changed = _with(file, sort, old, new)
    with pytest.raises(StoreCorrupt):
        read(changed)
    with pytest.raises(StoreCorrupt, match=why):
        read(_sealed(changed))


def test_lines_must_all_be_there(file: list[bytes]) -> None:
    """A file that was cut off, or lost a line, or got one more."""
    assert read(_sealed(file)) == read(file)
    for number in range(len(file)):
        with pytest.raises(StoreCorrupt):
            read(file[:number])
        with pytest.raises(StoreCorrupt):
            read([*file[:number], *file[number + 1 :]])
    with pytest.raises(StoreCorrupt, match="after the end"):
        read([*file, file[1]])
    for sort, why in ((b"step", "the step .* is missing"), (b"approval", "the approval .* is missing")):
        number = _line(file, sort)
        with pytest.raises(StoreCorrupt, match=why):
            read(_sealed([*file[:number], *file[number + 1 :]]))


@pytest.mark.parametrize("garbage", [b"", b"\n", b"\xff\n", b"{}\n", b"[]\n", b'{"end":{}}\n', b"SQLite format 3\x00"])
def test_other_files_are_refused(garbage: bytes) -> None:
    """In one sentence."""
    with pytest.raises(StoreCorrupt, match="no history that can be read"):
        read(garbage.splitlines(keepends=True))


@pytest.mark.parametrize(("bound", "most"), [("LONGEST_LINE", 300), ("LARGEST_FILE", 2000)])
def test_what_is_too_large_is_refused(
    file: list[bytes], monkeypatch: pytest.MonkeyPatch, bound: str, most: int
) -> None:
    """Before it is parsed."""
    monkeypatch.setattr(archive, bound, most)
    with pytest.raises(StoreCorrupt, match=f"more than .*{most:,}"):
        read(file)


@pytest.mark.parametrize(
    ("key", "session", "why"),
    [
        ("order", "", "with the id `order`"),
        (None, "chat", "the session `chat` of the agent `agent` is in use"),
        ("order", "chat", "with the id `order`"),
    ],
)
def test_what_stands_in_the_way_of_a_file_is_named(key: str | None, session: str, why: str) -> None:
    """The id of the same agent's, or its session in which another one has not ended."""

    async def made(store: SQLiteStore) -> ExecutionRow:
        execution = ExecutionRow(
            str(uuid_utils.uuid7()), "agent", key, ExecutionStatus.BLOCKED, "1", "", session=session, served=True
        )
        assert await store.create(execution, [events.created(execution), events.execution("blocked")])
        return await store.execution(execution.id)

    async def through() -> None:
        one, other = [await SQLiteStore.open(":memory:", clock=FixedClock()) for _ in range(2)]
        try:
            await made(other)
            with pytest.raises(ConflictError, match=why):
                await restore(other, await record(one, (await made(one)).id))
        finally:
            await one.close()
            await other.close()

    asyncio.run(through())
