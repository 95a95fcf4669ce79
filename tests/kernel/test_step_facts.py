"""What policies see of earlier steps: the same in a run that lives, in one that is read anew, and in a copy."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import rebuno
from rebuno.errors import StoreCorrupt
from rebuno.journal.sqlite import SQLiteStore
from rebuno.kernel import Background, facts_of_rows, read_recording, recording_lines
from rebuno.model.definition import define, read
from rebuno.policy import ALL_STEP_FACTS, Evidence, Facts, Policy, compile_text, permissive_policy

BUNDLE = """
bundle facts
default deny
rule read { require approval for tool "read_*" }
rule doubt { require approval for tool "doubt" when args.n > 5 }
rule back { deny tool "none" when count(tool "*") >= 1000 }
rule all { allow any step }
"""


@rebuno.tool("look")
async def look(n: int) -> int:
    """Looks."""
    return n


@rebuno.tool("breaks")
async def breaks() -> None:
    raise ValueError("in the middle")


@rebuno.tool("declines")
async def declines() -> None:
    raise rebuno.NothingDone("no such charge")


@rebuno.tool("read_mail")
async def read_mail() -> str:
    return "hello"


@rebuno.tool("doubt")
async def doubt(n: Any) -> str:
    return "done"


async def _tries(call: Callable[[], Awaitable[Any]]) -> None:
    with suppress(rebuno.ToolError):
        await call()


async def handler() -> str:
    await look(1)
    await _tries(breaks)
    await _tries(declines)
    await read_mail()
    await look(2)
    return "done"


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Facts]:
    """The facts of every decision; every policy asks for all of them."""
    found: list[Facts] = []
    layer: Any = type(permissive_policy())
    decide = layer.decide

    def spied(self: Any, facts: Facts) -> Any:
        found.append(facts)
        return decide(self, facts)

    monkeypatch.setattr(layer, "decide", spied)
    monkeypatch.setattr("rebuno.policy.matcher.dependencies.step_facts_needed", lambda policy: ALL_STEP_FACTS)
    return found


def told(evidence: Evidence) -> tuple[Any, ...]:
    """What a rule can tell apart, without numbers and times."""
    return (
        evidence.kind,
        evidence.target,
        evidence.status,
        evidence.approved,
        evidence.result,
        evidence.error,
        evidence.nothing_done,
        evidence.definition and evidence.definition["name"],
        evidence.let_in,
    )


def order(history: list[Evidence]) -> list[tuple[int, int]]:
    """The rank of each outcome and of its step's submission among all numbers."""
    numbers = sorted({n for one in history for n in (one.seq, one.submitted)})
    return [(numbers.index(one.seq), numbers.index(one.submitted)) for one in history]


async def _granted(path: Path, policy: Policy) -> str:
    async with rebuno.open(path, policy=policy) as kernel:
        run = await kernel.run(handler, id="x")
        assert run.status == "blocked"
        [asked] = run.approvals
        await kernel.operator.grant(asked.id, decided_by="ann")
        run = await kernel.run(handler, id="x")
        assert run.status == "completed"
        return run.id


@pytest.mark.parametrize("target", ["read_mail", "look"])
def test_a_living_run_sees_what_one_that_is_read_anew_sees(tmp_path: Path, seen: list[Facts], target: str) -> None:
    """Who let a step in, how it failed, its tool, and the order of submissions and outcomes: in the first attempt, and
    in one that went on after a person's answer."""
    execution_id = asyncio.run(_granted(tmp_path / "a.db", compile_text(BUNDLE)))
    # The first decision on the mail is of the first attempt, the last one on a look of the second.
    among = seen if target == "read_mail" else seen[::-1]
    live = next(facts for facts in among if facts.target == target)
    assert live.history is not None
    # What came after that decision stands in the same history.
    after = {"read_mail": ("read_mail", None), "look": ("look", {"n": 2})}[target]
    past = [one for one in live.history.evidence if (one.target, one.args if after[1] else None) != after]
    assert [(one.target, one.error, one.nothing_done) for one in past if one.status == "failed"] == [
        ("breaks", {"type": "ValueError", "message": "in the middle"}, False),
        ("declines", {"type": "NothingDone", "message": "no such charge"}, True),
    ]
    who = {one.target: one.let_in for one in past if not one.approved}
    wanted = dict.fromkeys(("look", "breaks", "declines"), "allowed")
    assert who == (wanted if target == "read_mail" else {**wanted, "read_mail": "approved"})

    async def anew() -> list[Facts]:
        async with rebuno.operate(tmp_path / "a.db") as operator:
            return [one.facts for one in await operator.judged(execution_id)]

    again = next(facts for facts in reversed(asyncio.run(anew())) if facts.target == target)
    assert again.history is not None
    assert again.as_of is not None
    read_anew = [one for one in again.history.evidence if one.seq < again.as_of]
    assert [told(one) for one in read_anew] == [told(one) for one in past]
    assert order(read_anew) == order(past)
    assert again.definition == live.definition
    assert again.definition is not None
    assert again.definition["server"] == ""
    for one, other in zip(read_anew, past, strict=True):
        if not one.approved:
            assert one.at is not None
            assert other.at is not None
            assert abs(one.at - other.at) < 1
            assert (one.ended_at is None) == (other.ended_at is None)


def test_a_copy_and_a_file_hold_the_same_facts(tmp_path: Path, seen: list[Facts]) -> None:
    """A fork, and an export that is read and brought into another store."""
    policy = compile_text(BUNDLE)
    execution_id = asyncio.run(_granted(tmp_path / "a.db", policy))

    async def compare() -> None:
        async with rebuno.operate(tmp_path / "a.db") as operator:
            whole = await operator.judged(execution_id)
            fork = await operator.fork(execution_id, at_seq=(await operator.execution(execution_id)).head_seq)
            forked = await operator.judged(fork.id)
            recording = await operator.record(execution_id)
            assert (await operator.verify(execution_id)).fault == ""
        lines = [line.encode() for line in recording_lines(recording)]
        back = read_recording(lines)
        assert sorted(back.definitions) == sorted(recording.definitions)
        assert len(back.definitions) == 4
        of_file = facts_of_rows(back.execution, back.steps, back.approvals, Background(), back.events)
        async with rebuno.operate(tmp_path / "b.db", create=True) as operator:
            await operator.restore(back)
            imported = await operator.judged(execution_id)
        histories = [steps[-1].facts.history for steps in (whole, forked, imported, of_file)]
        first, *others = [[told(one) for one in history.evidence] for history in histories if history is not None]
        assert others == [first, first, first]
        times = [[one.at for one in history.evidence] for history in histories if history is not None]
        assert times[1:] == [times[0]] * 3

    asyncio.run(compare())


def test_a_file_that_tells_such_a_fact_in_a_row_is_refused(tmp_path: Path) -> None:
    """Only events say it; a changed event or definition is found."""
    policy = compile_text(BUNDLE)
    execution_id = asyncio.run(_granted(tmp_path / "a.db", policy))

    async def lines() -> list[bytes]:
        async with rebuno.operate(tmp_path / "a.db") as operator:
            return [line.encode() for line in recording_lines(await operator.record(execution_id))]

    given = asyncio.run(lines())
    forged = (
        (b'"error":"{\\"message\\":\\"in the middle', b'"nothing_done":true,"error":"{\\"message\\":\\"in the middle'),
        (b'"nothing_done":true,', b""),
        (b'"name":"declines"', b'"name":"refund"'),
        (b"Looks.", b"Deletes."),
    )
    for old, new in forged:
        changed = [line.replace(old, new) for line in given]
        assert changed != given, old
        with pytest.raises(StoreCorrupt):
            read_recording(changed)


def test_the_log_names_the_test_that_was_maybe(tmp_path: Path) -> None:
    """Of a rule that fired on doubt, and of no other."""

    async def doubts() -> str:
        await look(1)
        await doubt("9")
        return ""

    async def run() -> list[Any]:
        async with rebuno.open(tmp_path / "a.db", policy=compile_text(BUNDLE)) as kernel:
            run = await kernel.run(doubts)
            story = await kernel.operator.story(run.id)
            assert [step.doubt for step in story.steps] == ["", "args.n > 5"]
            assert [step.nothing_done for step in story.steps] == [False, False]
            return await kernel.operator.events(run.id)

    events = asyncio.run(run())
    assert [event.payload["doubt"] for event in events if "doubt" in event.payload] == ["args.n > 5"]


def test_a_step_that_nothing_let_in_is_neither(tmp_path: Path, seen: list[Facts]) -> None:
    """Where all is permitted, no rule allowed it and no person read it."""

    async def judged(execution_id: str) -> list[Any]:
        async with rebuno.operate(tmp_path / "a.db") as operator:
            return await operator.judged(execution_id)

    async def with_lambda() -> str:
        async with rebuno.open(tmp_path / "a.db", policy=rebuno.PERMISSIVE) as kernel:

            async def only() -> int:
                return int(await look(1))

            return (await kernel.run(only)).id

    [step] = asyncio.run(judged(asyncio.run(with_lambda())))
    assert {one.let_in for one in step.facts.history.evidence} == {""}


def test_a_grant_for_more_than_one_step_read_none_of_the_others(tmp_path: Path, seen: list[Facts]) -> None:
    """The step that was asked about is approved, the one that the grant covers is granted."""

    async def reads() -> str:
        await read_mail()
        await read_mail()
        return ""

    async def run() -> list[Any]:
        async with rebuno.open(tmp_path / "a.db", policy=compile_text(BUNDLE)) as kernel:
            run = await kernel.run(reads, id="x")
            await kernel.operator.grant(run.approvals[0].id, decided_by="ann", scope="execution")
            run = await kernel.run(reads, id="x")
            assert run.status == "completed"
            return await kernel.operator.judged(run.id)

    history = asyncio.run(run())[-1].facts.history
    starts = [one for one in history.evidence if one.status == "executing"]
    assert [one.let_in for one in starts] == ["approved", "granted"]


def test_events_are_read_where_a_policy_asks_for_them_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A history that no rule asks more about costs no more."""
    asked: list[int] = []
    events_at = SQLiteStore.events_at

    async def counted(self: SQLiteStore, execution_id: str, numbers: Any) -> Any:
        asked.append(len(numbers))
        return await events_at(self, execution_id, numbers)

    monkeypatch.setattr(SQLiteStore, "events_at", counted)
    asyncio.run(_granted(tmp_path / "a.db", compile_text(BUNDLE)))
    assert asked == []


def test_a_definition_on_the_wire_is_what_its_digest_says() -> None:
    """With the description the digest is recomputed; without it, it is taken as told."""
    whole = define("bank", "pay", description="Pays.", input_schema={"type": "object"})
    sent = {"server": "bank", "name": "pay", "description": "Pays.", "input_schema": {"type": "object"}}
    assert read(sent | {"digest": whole.digest}).text == whole.text
    assert read(sent).digest == whole.digest
    assert read({"server": "bank", "name": "pay"}).facts == {"server": "bank", "name": "pay"}
    for wrong in (
        *(sent | {"digest": "00"}, {"server": "bank"}, sent | {"annotations": {}}, "bank", sent | {"name": 1}),
        *({"name": "pay", "digest": digest} for digest in ("00", "A" * 64, "\0" * 64, "0" * 65)),
        {"name": "pay", "description": "x" * 262_144},
        # Both stand in the event of every step.
        *({"name": "pay", "server": "x" * 65_537}, {"name": "ä" * 32_769}),
    ):
        with pytest.raises(rebuno.ValidationError):
            read(wrong)
