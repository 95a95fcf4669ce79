"""Encrypted stores, embedded, on both stores: what is stored, who may go on, and what erasure leaves."""

import asyncio
import json
import logging
import sys
import time
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

import rebuno
from rebuno.errors import ConflictError, KeyRingError, SealBroken, SealErased, SealKeyMissing, StoreError
from rebuno.journal.opening import open_store
from rebuno.kernel import Recording, read_recording, recording_lines
from rebuno.policy import compile_text
from rebuno.sealing import KeyRing, files
from rebuno.testing import assert_replays
from tests.embedded.support import in_loop

ASKS = 'bundle b\ndefault allow\nrule ask { require approval for tool "act" }\n'
SECRET = "s3cret-pw"
ran: list[str] = []


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store of each kind."""
    ran.clear()
    url: str = str(tmp_path / "store.db") if request.param == "sqlite" else request.getfixturevalue("postgres")
    return url


@pytest.fixture
def ring(tmp_path: Path) -> KeyRing:
    """A key ring."""
    return files.create(tmp_path / "ring", now=time.time())


@rebuno.tool("act", idempotency="at_most_once")
async def act(text: str) -> str:
    """May not run twice."""
    ran.append(text)
    return text * 2


async def handler(topic: str) -> dict[str, Any]:
    """One step, then a tool."""
    found = await rebuno.step("look", lambda q: {"found": q}, {"q": topic})
    return {"acted": await act(topic), "found": found}


async def finished(where: str, ring: KeyRing, *, encrypt: bool = True, id: str = "run") -> rebuno.Execution:
    """A run that has completed."""
    async with rebuno.open(where, policy=rebuno.PERMISSIVE, encrypt=encrypt, key_ring=ring) as kernel:
        return await kernel.run(handler, {"topic": SECRET}, id=id)


async def dumped(where: str) -> str:
    """The rows of an execution as the store holds them."""
    store = await open_store(where)
    try:
        inner = getattr(store, "inner", store)
        (row,) = await inner.named("run")
        rows = [row, *await inner.steps(row.id), *await inner.events(row.id), *await inner.approvals(), row]
        return repr([*rows, *await inner.turns(row.id)])
    finally:
        await store.close()


@in_loop
async def test_a_run_is_stored_encrypted_and_replays(where: str, ring: KeyRing) -> None:
    """No payload stands there in the clear; the same line again returns what was recorded."""
    first = await finished(where, ring)
    assert first.output == {"acted": SECRET * 2, "found": {"found": SECRET}}
    assert SECRET not in await dumped(where)
    assert (await finished(where, ring)).output == first.output
    assert ran == [SECRET]
    async with rebuno.operate(where, key_ring=ring) as operator:
        created, *_ = await operator.events(first.id)
        assert created.payload["seal_key"] == ring.current
        assert [step.args for step in await operator.steps(first.id)] == [{"q": SECRET}, {"text": SECRET}]
        assert (await operator.verify("run")).fault == ""


@in_loop
async def test_a_run_goes_on_after_a_question(where: str, ring: KeyRing) -> None:
    """Resumed, its steps replay; votes and reasons are encrypted, and the tool runs once."""
    async with rebuno.open(where, policy=compile_text(ASKS), encrypt=True, key_ring=ring) as kernel:
        waits = await kernel.run(handler, {"topic": SECRET}, id="run")
        assert waits.status == "blocked"
        await kernel.operator.say("run", f"say {SECRET}", by="ana")
        await kernel.operator.grant(waits.approvals[0].id, decided_by="ana", rationale=f"because {SECRET}")
    async with rebuno.open(where, policy=compile_text(ASKS), key_ring=ring) as kernel:
        assert (await kernel.run(handler, {"topic": SECRET}, id="run")).status == "completed"
        assert ran == [SECRET]
        (question,) = await kernel.operator.approvals(execution_id=waits.id)
        assert question.rationale == f"because {SECRET}"
        assert (await kernel.operator.verify("run")).fault == ""
    assert SECRET not in await dumped(where)


@in_loop
async def test_two_votes_of_a_quorum_are_counted(where: str, ring: KeyRing) -> None:
    """The store compares the votes that it holds, which are ciphertext, with those that are written."""
    text = ASKS.replace('tool "act" }', 'tool "act"\n  approvers "ana", "bob" quorum 2 }')
    async with rebuno.open(where, policy=compile_text(text), encrypt=True, key_ring=ring) as kernel:
        waits = await kernel.run(handler, {"topic": SECRET}, id="run")
        for name in ("ana", "bob"):
            await kernel.operator.grant(waits.approvals[0].id, decided_by=name, rationale=f"{name} {SECRET}")
        assert (await kernel.run(handler, {"topic": SECRET}, id="run")).status == "completed"
        assert (await kernel.operator.verify("run")).fault == ""


@pytest.mark.parametrize("other", ["no ring", "another ring"])
@in_loop
async def test_without_its_key_nothing_goes_on(where: str, ring: KeyRing, tmp_path: Path, other: str) -> None:
    """Not run, resumed, retried or forked: `SealKeyMissing`, with the id; it is listed, verified and cancelled."""
    async with rebuno.open(where, policy=compile_text(ASKS), encrypt=True, key_ring=ring) as kernel:
        waits = await kernel.run(handler, {"topic": SECRET}, id="run")
        await kernel.operator.cancel((await kernel.run(handler, {"topic": SECRET}, id="ended")).id)
    given = None if other == "no ring" else files.create(tmp_path / "other", now=0.0)
    async with rebuno.open(where, policy=compile_text(ASKS), key_ring=given) as kernel:
        for work in (
            lambda: kernel.run(handler, {"topic": SECRET}, id="run"),
            lambda: kernel.run(handler, {"topic": "another"}, id="run"),
            lambda: kernel.operator.fork("run"),
            lambda: kernel.operator.retry("ended"),
            lambda: kernel.operator.record("run", sealed=False),
        ):
            with pytest.raises(SealKeyMissing) as missing:
                await work()
            assert missing.value.key_id == ring.current
        assert (await kernel.operator.execution("run")).input == {"sealed": ring.current}
        assert [step.args for step in await kernel.operator.steps(waits.id)] == [{"sealed": ring.current}] * 2
        checked = await kernel.operator.verify("run")
        assert (checked.fault, checked.seal, checked.erased) == ("", ring.current, 0)
        with pytest.raises(SealKeyMissing):
            await kernel.operator.grant(waits.approvals[0].id, decided_by="ana", rationale="seen nothing of it")
        await kernel.operator.cancel("run", reason="client_cancelled")
        assert (await kernel.operator.verify("run")).fault == ""
    async with rebuno.operate(where, key_ring=ring) as operator:
        assert (await operator.execution("run")).input == {"topic": SECRET}
        assert (await operator.verify("run")).fault == ""
    assert ran == []


@in_loop
async def test_a_new_key_serves_new_executions_only(where: str, ring: KeyRing, tmp_path: Path) -> None:
    """Older ones go on under theirs, and so do their forks."""
    first = await finished(where, ring)
    rotated = files.rotate(tmp_path / "ring", now=time.time())
    await finished(where, rotated, id="later")
    async with rebuno.open(where, policy=rebuno.PERMISSIVE, encrypt=True, key_ring=rotated) as kernel:
        fork = await kernel.operator.fork(first.id)
        assert (await kernel.run(handler, {"topic": SECRET}, id=fork.id)).output == first.output
        assert sorted(await kernel.operator.seal_keys()) == [(ring.current, 2, 0), (rotated.current, 1, 0)]
    assert ran == [SECRET, SECRET]


@in_loop
async def test_forks_of_what_is_encrypted_are_encrypted(where: str, ring: KeyRing) -> None:
    """Also where the kernel does not encrypt by itself."""
    first = await finished(where, ring)
    async with rebuno.open(where, policy=rebuno.PERMISSIVE, key_ring=ring) as kernel:
        fork = await kernel.operator.fork(first.id)
        assert (await kernel.operator.events(fork.id))[0].payload["seal_key"] == ring.current
        assert (await kernel.operator.verify(fork.id)).fault == ""
        plain = await kernel.run(handler, {"topic": SECRET}, id="plain")
        assert "seal_key" not in (await kernel.operator.events(plain.id))[0].payload


@in_loop
async def test_erased_nothing_can_be_read_and_the_log_verifies(where: str, ring: KeyRing) -> None:
    """Nor is it run again, under whatever name; a second erasure is no change."""
    first = await finished(where, ring)
    async with rebuno.open(where, policy=rebuno.PERMISSIVE, encrypt=True, key_ring=ring) as kernel:
        head = (await kernel.operator.verify("run")).head_hash
        done = await kernel.operator.erase("run", by="ana")
        assert (done.erased, done.copies) == ([first.id], [])
        assert (await kernel.operator.erase("run", by="bob")).erased_before == [first.id]
        shown = await kernel.operator.execution("run")
        assert (shown.input, shown.output) == ({"erased": True}, {"erased": True})
        checked = await kernel.operator.verify("run")
        assert (checked.fault, checked.head_hash) == ("", head)
        # The input, the output, the arguments and results of two steps, and what the events seal.
        assert checked.erased >= 6
        for work in (
            lambda: kernel.run(handler, {"topic": SECRET}, id="run"),
            lambda: kernel.operator.fork("run"),
            lambda: kernel.operator.record("run", sealed=False),
        ):
            with pytest.raises(SealErased):
                await work()
        store = await open_store(where, key_ring=ring)
        key = await store.data_key(first.id)
        await store.close()
        assert key is not None
        assert (key.wrapped, key.erased_by) == (None, "ana")
        assert key.purged_at > 0
    assert ran == [SECRET]


@in_loop
async def test_another_process_notices_an_erasure(where: str, ring: KeyRing) -> None:
    """A kernel that has read it, and holds its key, shows nothing of it from a second on."""
    first = await finished(where, ring)
    reader = await open_store(where, key_ring=ring)
    try:
        assert SECRET in (await reader.execution(first.id)).input
        async with rebuno.operate(where, key_ring=ring) as operator:
            await operator.erase(first.id, by="ana")
        until = time.monotonic() + 10
        while SECRET in (await reader.execution(first.id)).input:
            assert time.monotonic() < until, "it is shown for ever"
        assert (await reader.execution(first.id)).input == '{"erased":true}'
        assert SECRET not in repr(await reader.steps(first.id))
    finally:
        await reader.close()


_CUT_OFF = """
import asyncio, sys
from rebuno.journal.opening import open_store

async def main():
    store = await open_store(sys.argv[1])
    print(await store.erase([sys.argv[2]], "ana"), flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


@in_loop
async def test_an_erasure_that_was_killed_is_completed_by_the_next_sweep(where: str, ring: KeyRing) -> None:
    """The key is destroyed and may still stand in the files: then no byte of them holds it."""
    first = await finished(where, ring)
    store = await open_store(where)
    before = await store.data_key(first.id)
    await store.close()
    command = (sys.executable, "-c", _CUT_OFF, where, first.id)
    cut = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert cut.stdout is not None
    assert (await cut.stdout.readline()).strip() == b"1"
    cut.kill()
    await cut.wait()
    async with rebuno.operate(where, key_ring=ring) as operator:
        assert (await operator.execution(first.id)).input == {"erased": True}
        await operator.sweep()
        assert (await operator.verify(first.id)).fault == ""
    store = await open_store(where)
    after = await store.data_key(first.id)
    await store.close()
    assert before is not None
    assert after is not None
    assert before.wrapped is not None
    assert (after.wrapped, after.purged_at > 0) == (None, True)
    if not where.startswith("postgresql"):
        for file in Path(where).parent.glob("store.db*"):
            assert not file.is_file() or before.wrapped[:12] not in file.read_bytes()


@in_loop
async def test_what_runs_is_not_erased_unless_it_is_cancelled(where: str, ring: KeyRing) -> None:
    """And what is not encrypted cannot be."""
    async with rebuno.open(where, policy=compile_text(ASKS), encrypt=True, key_ring=ring) as kernel:
        waits = await kernel.run(handler, {"topic": SECRET}, id="run")
        with pytest.raises(ConflictError, match="has not ended"):
            await kernel.operator.erase("run", by="ana")
        assert (await kernel.operator.execution("run")).input == {"topic": SECRET}
        assert (await kernel.operator.erase("run", by="ana", end=True)).erased == [waits.id]
        assert (await kernel.operator.execution("run")).status == "cancelled"
    plain = await finished(where, ring, encrypt=False, id="plain")
    async with rebuno.operate(where) as operator:
        assert (await operator.erase("plain", by="ana")).not_sealed == [plain.id]


@in_loop
async def test_an_erasure_names_what_holds_copies(where: str, ring: KeyRing) -> None:
    """Forks have data keys of their own."""
    first = await finished(where, ring)
    async with rebuno.open(where, policy=rebuno.PERMISSIVE, encrypt=True, key_ring=ring) as kernel:
        fork = await kernel.operator.fork(first.id)
        second = await kernel.operator.fork(fork.id)
        assert set((await kernel.operator.erase(first.id, by="ana")).copies) == {fork.id, second.id}
        assert (await kernel.operator.execution(fork.id)).input == {"topic": SECRET}


@in_loop
async def test_changed_ciphertext_is_found_and_never_used(where: str, ring: KeyRing) -> None:
    """In a row: `SealBroken`, and `verify` says which, with the key and without it."""
    first = await finished(where, ring)
    await _changed(where, first.id)
    for given in (ring, None):
        async with rebuno.operate(where, key_ring=given) as operator:
            assert (await operator.verify("run")).fault
    async with rebuno.open(where, policy=rebuno.PERMISSIVE, key_ring=ring) as kernel:
        for work in (
            lambda: kernel.operator.steps(first.id),
            lambda: kernel.operator.fork("run"),
            lambda: kernel.operator.record("run", sealed=False),
        ):
            with pytest.raises(StoreError):
                await work()
        with pytest.raises(SealBroken, match=r"step:.*:result"):
            await kernel.operator.steps(first.id)
    assert ran == [SECRET]


async def _changed(where: str, execution_id: str) -> None:
    """Puts the result of one step in the place of another's."""
    text = "UPDATE {t} SET result = (SELECT result FROM {t} WHERE execution_id = '{e}' AND target = 'act') "
    text += "WHERE execution_id = '{e}' AND target = 'look'"
    if where.startswith("postgresql"):
        import psycopg

        with psycopg.connect(where, autocommit=True) as connection:
            connection.execute(text.format(t="rebuno.steps", e=execution_id).encode())
    else:
        import apsw

        store = apsw.Connection(where)
        store.execute(text.format(t="steps", e=execution_id))
        store.close()


@in_loop
async def test_clear_text_in_the_place_of_ciphertext_is_no_input(where: str, ring: KeyRing) -> None:
    """A writer of the store cannot make up what was recorded."""
    first = await finished(where, ring)
    text = "UPDATE {t} SET result = '{{\"found\":\"made up\"}}' WHERE execution_id = '{e}' AND target = 'look'"
    if where.startswith("postgresql"):
        import psycopg

        with psycopg.connect(where, autocommit=True) as connection:
            connection.execute(text.format(t="rebuno.steps", e=first.id).encode())
    else:
        import apsw

        store = apsw.Connection(where)
        store.execute(text.format(t="steps", e=first.id))
        store.close()
    async with rebuno.operate(where, key_ring=ring) as operator:
        with pytest.raises(SealBroken, match="is not sealed"):
            await operator.steps(first.id)


@in_loop
async def test_an_export_keeps_ciphertext_and_goes_on_with_its_key(where: str, ring: KeyRing, tmp_path: Path) -> None:
    """Imported without the key it is read, verified and neither resumed nor forked; with it, it is as it was."""
    async with rebuno.open(where, policy=compile_text(ASKS), encrypt=True, key_ring=ring) as kernel:
        await kernel.run(handler, {"topic": SECRET}, id="run")
        lines = [line.encode() for line in recording_lines(await kernel.operator.record("run"))]
    assert SECRET.encode() not in b"".join(lines)
    target = tmp_path / "imported.db"
    async with rebuno.open(target, policy=compile_text(ASKS)) as kernel:
        await kernel.operator.restore(read_recording(lines))
    async with rebuno.open(target, policy=compile_text(ASKS)) as kernel:
        assert (await kernel.operator.verify("run")).fault == ""
        assert (await kernel.operator.execution("run")).input == {"sealed": ring.current}
        assert (await kernel.operator.story("run")).steps
        with pytest.raises(SealKeyMissing):
            await kernel.run(handler, {"topic": SECRET}, id="run")
    async with rebuno.open(target, policy=compile_text(ASKS), key_ring=ring) as kernel:
        waits = await kernel.run(handler, {"topic": SECRET}, id="run")
        for question in waits.approvals:
            await kernel.operator.grant(question.id, decided_by="ana", rationale=SECRET)
        assert (await kernel.run(handler, {"topic": SECRET}, id="run")).status == "completed"
        assert (await kernel.operator.verify("run")).fault == ""
    assert ran == [SECRET]


@in_loop
async def test_a_damaged_export_is_refused(where: str, ring: KeyRing) -> None:
    """Its data key belongs to it, and its hashes cover the ciphertext."""
    await finished(where, ring)
    async with rebuno.operate(where, key_ring=ring) as operator:
        lines = list(recording_lines(await operator.record("run")))
    for change in (
        lambda data: data.get("step", {}).update(args='"s1.AAAA"'),
        lambda data: data.get("data_key", {}).update(key_id="other") if "data_key" in data else None,
        lambda data: data.clear() if "data_key" in data else None,
    ):
        made = _rewritten(lines, change)
        with pytest.raises(rebuno.StoreCorrupt):
            read_recording(BytesIO(made))


def _rewritten(lines: list[str], change: Any) -> bytes:
    """The file with a change, and the end that fits to it."""
    from hashlib import sha256

    kept = []
    for line in lines[:-1]:
        data = json.loads(line)
        change(data)
        if data:
            kept.append(json.dumps(data, separators=(",", ":"), sort_keys=True) + "\n")
    hashed = sha256("".join(kept).encode()).hexdigest()
    return ("".join(kept) + json.dumps({"end": {"lines": len(kept), "sha256": hashed}}) + "\n").encode()


def test_a_recording_replays_with_its_key(where: str, ring: KeyRing) -> None:
    """And without it says which key is missing."""

    async def recordings() -> tuple[Recording, Recording]:
        await finished(where, ring)
        async with rebuno.operate(where, key_ring=ring) as operator:
            return await operator.record("run"), await operator.record("run", sealed=False)

    sealed, opened = asyncio.run(recordings())
    assert_replays(opened, handler)
    with pytest.raises(SealKeyMissing):
        assert_replays(sealed, handler)


@in_loop
async def test_logs_tell_kinds_only(where: str, ring: KeyRing, caplog: pytest.LogCaptureFixture) -> None:
    """A handler's and a body's exception may say anything."""

    async def fails(topic: str) -> None:
        def body() -> None:
            raise RuntimeError(f"in a body: {topic}")

        with suppress(rebuno.ToolError):
            await rebuno.step("body", body)
        raise ValueError(f"no: {topic}")

    with caplog.at_level(logging.DEBUG):
        async with rebuno.open(where, policy=rebuno.PERMISSIVE, encrypt=True, key_ring=ring) as kernel:
            ended = await kernel.run(fails, {"topic": SECRET}, id="run")
    assert SECRET in (ended.failure_reason or "")
    assert SECRET not in caplog.text
    assert "ValueError" in caplog.text
    assert "RuntimeError" in caplog.text


@in_loop
async def test_encryption_needs_a_ring(where: str) -> None:
    """Before anything is written."""
    with pytest.raises(KeyRingError, match="needs a key ring"):
        async with rebuno.open(where, policy=rebuno.PERMISSIVE, encrypt=True):
            pass


@in_loop
async def test_a_plain_input_that_looks_sealed_stays_plain(where: str, ring: KeyRing) -> None:
    """Which execution is sealed stands in its row, not in the look of a text."""

    async def echo(text: str) -> str:
        return str(await rebuno.step("echo", lambda text: text, {"text": text}))

    for encrypt in (False, True):
        async with rebuno.open(where, policy=rebuno.PERMISSIVE, encrypt=encrypt, key_ring=ring) as kernel:
            for text in ("s1.AAAA", '"s1.AAAA"', "cancelled"):
                ended = await kernel.run(echo, {"text": text}, id=f"{encrypt} {text}")
                assert ended.output == text
                assert (await kernel.operator.verify(ended.id)).fault == ""


@in_loop
async def test_long_arguments_stay_one_sealed_text(where: str, ring: KeyRing) -> None:
    """What is sealed has nothing in common with other calls: it is stored whole, and comes back to the byte."""
    texts = [f"{n}: " + SECRET * 2000 for n in (1, 2)]

    async def long() -> list[Any]:
        return [await rebuno.step("say", lambda q: len(q), {"q": text}) for text in texts]

    async with rebuno.open(where, policy=rebuno.PERMISSIVE, encrypt=True, key_ring=ring) as kernel:
        assert (await kernel.run(long, id="run")).output == [len(text) for text in texts]
        assert (await kernel.operator.verify("run")).fault == ""
    stored = await dumped(where)
    assert SECRET not in stored
    assert "/pieces" not in stored
    store = await open_store(where, key_ring=ring)
    (row,) = await store.named("run")
    assert [json.loads(step.args) for step in await store.steps(row.id)] == [{"q": text} for text in texts]
    await store.close()
