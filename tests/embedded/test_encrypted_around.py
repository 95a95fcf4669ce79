"""What else reads and removes what is encrypted: the console, audits, backtests, sweeps, and one who writes into the
store behind its back."""

import asyncio
import json
import time
from pathlib import Path

import pytest

import rebuno
from rebuno.audit.check import check as check_audit
from rebuno.audit.stream import AuditStream
from rebuno.errors import SealBroken, SealErased, SealKeyMissing, StoreError
from rebuno.journal.opening import open_store
from rebuno.journal.overview import RunFilter
from rebuno.policy import compile_text
from rebuno.sealing import KeyRing, files
from tests.cli.support import rebuno as rebuno_command
from tests.embedded.support import in_loop
from tests.embedded.test_encrypted import ASKS, SECRET, act, finished, handler, ran


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


async def _run_sql(where: str, text: str) -> None:
    """Changes the store behind its back; `{s}` is the schema."""
    if where.startswith("postgresql"):
        import psycopg

        with psycopg.connect(where, autocommit=True) as connection:
            connection.execute(text.format(s="rebuno.").encode())
    else:
        import apsw

        store = apsw.Connection(where)
        store.execute(text.format(s=""))
        store.close()


@in_loop
async def test_clear_text_is_no_message_and_no_changed_call(where: str, ring: KeyRing) -> None:
    """What approvers read and what a granted step runs with: a writer of the store cannot make it up."""
    async with rebuno.open(where, policy=compile_text(ASKS), encrypt=True, key_ring=ring) as kernel:
        waits = await kernel.run(handler, {"topic": SECRET}, id="run")
        await kernel.operator.grant(waits.approvals[0].id, decided_by="ana")
    made_up = "UPDATE {s}approvals SET message = 'harmless', edited = '{{\"text\":\"made up\"}}', edited_by = 'ana'"
    await _run_sql(where, made_up)
    async with rebuno.open(where, policy=compile_text(ASKS), key_ring=ring) as kernel:
        (question,) = await kernel.operator.approvals(execution_id=waits.id)
        assert question.message == "(broken)"
        with pytest.raises(SealBroken, match="edited"):
            await kernel.run(handler, {"topic": SECRET}, id="run")
    assert ran == []


@in_loop
async def test_a_sweep_removes_nothing_whose_key_is_still_in_the_files(where: str, ring: KeyRing) -> None:
    """Else nobody would know any more that the files have to be written anew."""
    first = await finished(where, ring)
    store = await open_store(where, key_ring=ring)
    key = await store.data_key(first.id)
    assert key is not None
    assert key.wrapped is not None
    assert await store.erase([first.id], "ana") == 1
    await store.close()
    async with rebuno.operate(where, key_ring=ring) as operator:
        assert (await operator.sweep(retention=0.0)).removed == 1
    if not where.startswith("postgresql"):
        for file in Path(where).parent.glob("store.db*"):
            assert not file.is_file() or key.wrapped[:12] not in file.read_bytes()


@in_loop
async def test_a_role_that_may_not_rewrite_the_keys_does_not_say_that_it_did(postgres: str, ring: KeyRing) -> None:
    """PostgreSQL warns and skips the table; the erasure is no success, and the owner completes it."""
    import psycopg

    first = await finished(postgres, ring)
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS rebuno_no_owner")
        connection.execute("CREATE ROLE rebuno_no_owner")
        try:
            connection.execute("GRANT USAGE ON SCHEMA rebuno TO rebuno_no_owner")
            connection.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA rebuno TO rebuno_no_owner")
            connection.execute("GRANT ALL ON ALL SEQUENCES IN SCHEMA rebuno TO rebuno_no_owner")
            other = postgres + ("&" if "?" in postgres else "?") + "options=-c%20role%3Drebuno_no_owner"
            async with rebuno.operate(other, key_ring=ring) as operator:
                with pytest.raises(StoreError, match="as the owner"):
                    await operator.erase("run", by="ana")
            async with rebuno.operate(postgres, key_ring=ring) as operator:
                await operator.sweep()
            store = await open_store(postgres)
            assert (await store.data_key(first.id)).purged_at > 0  # type: ignore[union-attr]
            await store.close()
        finally:
            connection.execute("DROP OWNED BY rebuno_no_owner")
            connection.execute("DROP ROLE rebuno_no_owner")


@in_loop
async def test_the_console_reads_what_is_encrypted(where: str, ring: KeyRing) -> None:
    """Lines of runs, steps, events and answers are opened as rows are."""

    async def raises(topic: str) -> None:
        await act(topic)
        raise ValueError("long " * 99 + SECRET)

    async with rebuno.open(where, policy=compile_text(ASKS), encrypt=True, key_ring=ring) as kernel:
        waits = await kernel.run(raises, {"topic": SECRET}, id="run")
        await kernel.operator.grant(waits.approvals[0].id, decided_by="ana", rationale=f"because {SECRET}")
        assert (await kernel.run(raises, {"topic": SECRET}, id="run")).status == "failed"
    for given in (ring, None):
        store = await open_store(where, key_ring=given)
        told = repr(
            [
                await store.run_lines(RunFilter()),
                await store.step_lines(waits.id),
                [event.payload for event in await store.attempt_events(waits.id)],
                await store.answers_before("b", "ask"),
            ]
        )
        await store.close()
        assert "s1." not in told
        assert (SECRET in told, "long long" in told) == ((given is not None,) * 2)


@in_loop
async def test_no_placeholder_is_judged_by_another_policy(where: str, ring: KeyRing) -> None:
    """A backtest without the key, or of what was erased, would tell of calls that nobody made."""
    await finished(where, ring)
    async with rebuno.operate(where) as operator:
        with pytest.raises(SealKeyMissing):
            await operator.judged("run")
    async with rebuno.operate(where, key_ring=ring) as operator:
        assert len(await operator.judged("run")) == 2
        await operator.erase("run", by="ana")
        with pytest.raises(SealErased):
            await operator.judged("run")


@in_loop
async def test_a_backtest_leaves_out_what_was_erased(where: str, ring: KeyRing, tmp_path: Path) -> None:
    """Of all executions; one that is named is an error."""
    await finished(where, ring)
    await finished(where, ring, id="other")
    async with rebuno.operate(where, key_ring=ring) as operator:
        await operator.erase("run", by="ana")
    bundle = tmp_path / "b.rbp"
    bundle.write_text("bundle b\ndefault allow\n")
    env = {"REBUNO_KEY_RING": str(tmp_path / "ring")}
    command = ("policy", "test", str(bundle), "--db", where)
    whole = await asyncio.to_thread(rebuno_command, *command, "--since", "1d", env=env)
    assert "of 1 execution:" in whole.out
    assert "1 erased execution is left out" in whole.err
    named = await asyncio.to_thread(rebuno_command, *command, "--execution", "run", env=env)
    assert "erased" in named.err
    assert named.code != 0


@in_loop
async def test_an_audit_of_what_is_encrypted_verifies_and_stays_encrypted(where: str, ring: KeyRing) -> None:
    """With the ring and without it, the lines are what is stored."""
    await finished(where, ring)
    for given in (ring, None):
        store = await open_store(where, key_ring=given)
        lines = [json.dumps(line) async for line in AuditStream(store).lines(since=0.0)]
        await store.close()
        assert SECRET not in repr(lines)
        assert (await asyncio.to_thread(check_audit, lines, None)).fault == ""
