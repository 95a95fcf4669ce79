"""`rebuno audit`: what the logs hold leaves the store, and nobody can change it there unnoticed."""

import json
from pathlib import Path

import pytest

import rebuno as library
from rebuno.audit.check import check
from rebuno.audit.stream import AuditStream
from rebuno.gate import open_gate
from rebuno.journal.opening import open_store
from rebuno.journal.records import ExecutionRow
from rebuno.policy import compile_text
from tests.cli.support import Ran, rebuno
from tests.embedded.support import in_loop

BUNDLE = 'bundle audited\ndefault deny\nrule note { allow tool "note" }\n'


@library.tool("note")
async def note(n: int) -> int:
    return n


@library.tool("other")
async def other() -> None:
    """Denied."""


async def agent(n: int) -> None:
    for k in range(n):
        await note(k)
    await other()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a store of two executions, and a key."""
    (tmp_path / "b.rbp").write_text(BUNDLE)
    for n in (1, 3):
        library.run_sync(agent, {"n": n}, path=tmp_path / "agent.db", policy=tmp_path / "b.rbp", id=f"run {n}")
    made = ask(tmp_path, "keygen", "audit.key", "--json")
    assert made.code == 0
    assert set(json.loads(made.out)) == {"private", "public", "key"}
    return tmp_path


def ask(folder: Path, *argv: str) -> Ran:
    ran = rebuno("audit", *argv, within=folder)
    assert "Traceback" not in ran.err
    return ran


def lines(folder: Path, *more: str) -> list[str]:
    ran = ask(folder, "tail", "--db", "agent.db", *more)
    assert (ran.code, ran.err) == (0, "")
    return ran.out.splitlines()


def checked(folder: Path, content: list[str], *more: str) -> Ran:
    (folder / "lines").write_text("\n".join(content))
    return ask(folder, "verify", "lines", *more)


def test_signed_lines_are_sound(folder: Path) -> None:
    """Each event stands there once, and each execution has a head."""
    found = lines(folder, "--key", "audit.key")
    kinds = [json.loads(line)["kind"] for line in found]
    assert (kinds.count("head"), kinds[-1]) == (2, "head")
    assert len({(one["execution"], one["seq"]) for one in map(json.loads, found)}) == kinds.count("event")
    ran = checked(folder, found, "--key", "audit.key.pub")
    assert (ran.code, "sound, signed" in ran.out) == (0, True)
    heads = [json.loads(line) for line in found if '"head"' in line]
    for head in heads:
        kept = rebuno("exec", "verify", head["execution"], "--head", head["hash"], "--db", "agent.db", within=folder)
        assert kept.code == 0
    assert lines(folder, "--since", "1h", "--key", "audit.key")[0] == found[0]
    assert lines(folder, "--since", "0s") == []


@in_loop
async def test_what_retention_takes_meanwhile_does_not_end_the_stream(tmp_path: Path) -> None:
    """An execution that goes between the list and its events is passed over."""
    policy = compile_text(BUNDLE)
    async with open_gate(tmp_path / "a.db", policy=policy) as gate:
        await gate.judge("s", "1", "note", {}, "host")
        store = await open_store(tmp_path / "a.db", create=False)
        stream = AuditStream(store)
        found = [json.dumps(line) async for line in stream.lines(since=0)]
        await gate.settle("s", "1", "host", result=1)
        await gate.end("s", "host")
        listed = stream._changed

        async def taken(since: float) -> list[ExecutionRow]:
            rows = await listed(since)
            assert len(rows) == 1
            assert (await gate.operator.sweep(retention=0.0)).removed == 1
            return rows

        stream._changed = taken  # type: ignore[method-assign]
        more = [line async for line in stream.lines(since=0)]
        await store.close()
    assert (check(found, None).fault, more) == ("", [])


def test_without_a_key_hashes_are_checked(folder: Path) -> None:
    """And a stream that is not signed does not pass for one that is."""
    found = lines(folder)
    assert checked(folder, found).code == 0
    ran = checked(folder, found, "--key", "audit.key.pub", "--json")
    assert ran.code == 1
    assert "is not signed" in json.loads(ran.out)["fault"]


def swapped(found: list[str]) -> list[str]:
    return [found[1], found[0], *found[2:]]


def changed(found: list[str]) -> list[str]:
    return (
        [found[0].replace("audited", "another"), *found[1:]]
        if "audited" in found[0]
        else [found[0].replace("claude", "x").replace('"agent_id": "agent"', '"agent_id": "agenT"'), *found[1:]]
    )


def without_a_head(found: list[str]) -> list[str]:
    at = next(n for n, line in enumerate(found) if '"kind": "head"' in line)
    first = json.loads(found[at])["execution"]
    return [line for line in found if first not in line]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (swapped, "event"),
        (changed, "does not fit its hash"),
        (without_a_head, "left out or changed"),
        (lambda found: found[:2] + found[3:], "is missing"),
        (lambda found: found[:-1], "stand after the last head"),
        (lambda found: [*found, found[-1]], "left out or changed"),
        (lambda found: [*found, "{}"], "neither an event nor a head"),
        (lambda found: [*found, "no JSON"], "no line of an audit stream"),
        (lambda found: [*found, "[]"], "no line of an audit stream"),
        (lambda found: [line.replace('"agent": "agent"', '"agent": "boss"') for line in found], "signature"),
    ],
)
def test_what_was_changed_is_noticed(folder: Path, change: object, said: str) -> None:
    """Whether a line was changed, left out, put elsewhere or added."""
    assert callable(change)
    ran = checked(folder, change(lines(folder, "--key", "audit.key")), "--key", "audit.key.pub")
    assert (ran.code, said in ran.out) == (1, True), ran.out


def test_keys_that_cannot_be_used(folder: Path) -> None:
    """Each is refused by name."""
    assert (folder / "audit.key").stat().st_mode & 0o777 == 0o600
    ran = ask(folder, "keygen", "audit.key")
    assert (ran.code, "exists" in ran.err) == (3, True)
    (folder / "text").write_text("no key")
    (folder / "text").chmod(0o600)
    for key, why in (("missing", "cannot be read"), ("text", "no private key"), ("audit.key.pub", "others may read")):
        ran = ask(folder, "tail", "--db", "agent.db", "--key", key)
        assert (ran.code, why in ran.err) == (3, True), ran.err
    (folder / "audit.key").chmod(0o640)
    ran = ask(folder, "tail", "--db", "agent.db", "--key", "audit.key")
    assert (ran.code, "chmod 600" in ran.err) == (3, True)
    found = lines(folder)
    other = ask(folder, "keygen", "other.key")
    assert other.code == 0
    signed = lines(folder, "--key", "other.key")
    ran = checked(folder, signed, "--key", "audit.key.pub")
    assert (ran.code, "and not by this one" in ran.out) == (1, True)
    assert checked(folder, found, "--key", "text").code == 3


@pytest.mark.parametrize("left_out", [1, 2])
def test_events_left_out_in_front_are_noticed(folder: Path, left_out: int) -> None:
    """A head says where the events before it begin, also those of a stream that begins in the middle of a log."""
    ran = checked(folder, lines(folder, "--key", "audit.key")[left_out:], "--key", "audit.key.pub")
    assert (ran.code, "were left out" in ran.out) == (1, True)


def test_a_file_without_heads_is_not_sound(folder: Path) -> None:
    """Nothing is signed there, so nothing is said to be."""
    ran = checked(folder, [], "--key", "audit.key.pub")
    assert (ran.code, "no head" in ran.out, "sound" in ran.out) == (1, True, False)


@pytest.mark.parametrize("more", [{"approved_by": "alice"}, {"seq": "1"}, {"seq": True}])
def test_an_event_has_its_fields_and_no_others(folder: Path, more: dict[str, object]) -> None:
    """What no hash covers could be added by anybody."""
    first, *rest = lines(folder, "--key", "audit.key")
    ran = checked(folder, [json.dumps({**json.loads(first), **more}), *rest], "--key", "audit.key.pub")
    assert (ran.code, "other fields" in ran.out) == (1, True)


def test_a_stream_that_was_begun_anew_in_the_same_file_is_sound(folder: Path) -> None:
    """As after a restart of the service that appends to the file; the second telling must come as far as the first, and
    tell the same."""
    found = lines(folder, "--key", "audit.key")
    again = checked(folder, found + found, "--key", "audit.key.pub")
    assert (again.code, "sound, signed" in again.out) == (0, True), again.out
    shorter = lines(folder, "--key", "audit.key")
    del shorter[next(i for i, line in enumerate(shorter) if '"head"' in line) + 1 :]
    shorter = [line for line in shorter if '"head"' not in line][:-1]
    assert checked(folder, found + shorter, "--key", "audit.key.pub").code == 1
