"""Bundles that are tried beside the policy: what they say is recorded, and decides nothing."""

import json
import logging
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import rebuno
from rebuno.errors import PolicyError
from rebuno.policy import compile_text
from tests.cli.support import rebuno as command
from tests.embedded.support import in_loop, journal

OLD = (
    "bundle old\ndefault deny\n"
    'rule pay { allow tool "pay" when args.amount <= 10 }\n'
    'rule ask { require approval for tool "ask" }\n'
)
NEW = (
    "bundle new\ndefault allow\n"
    'known seen = result of tool "pay" at amount\n'
    'rule limited { allow tool "free" limit 1 per execution }\n'
    'rule again { deny tool "pay" when args.amount in seen because "paid already" }\n'
    'rule big { deny tool "pay" when not args.amount <= 5 }\n'
)


@rebuno.tool
async def pay(amount: Any) -> dict[str, Any]:
    return {"amount": amount}


@rebuno.tool
async def ask() -> None:
    pass


async def handler() -> str:
    for amount in (1, 6, 1, "7", 11):
        with suppress(PolicyError):
            await pay(amount=amount)
    await ask()
    return "done"


async def play(folder: Path, shadow: list[str | Path], text: str = OLD) -> rebuno.Execution:
    """One run of the handler."""
    async with rebuno.open(folder / "a.db", policy=compile_text(text), shadow=shadow) as kernel:
        return await kernel.run(handler, id="run", agent="agent")


def written(folder: Path, text: str = NEW, name: str = "new.rbp") -> Path:
    """A bundle in a file."""
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def first_events(events: list[Any]) -> dict[str, Any]:
    """Of each step, what stands in its first event."""
    found: dict[str, Any] = {}
    for event in events:
        payload = json.loads(str(event.payload)) if not isinstance(event.payload, dict) else event.payload
        if "step_id" in payload:
            found.setdefault(payload["step_id"], payload)
    return found


@in_loop
async def _recorded(tmp_path: Path) -> None:
    ran = await play(tmp_path, [written(tmp_path)])
    steps, events = await journal(tmp_path / "a.db")
    digest = compile_text(NEW).digest
    shadows = [one["shadow"] for one in first_events(events).values()]
    said = [[(one["rule_id"], one["verdict"], one.get("doubt")) for one in shadow] for shadow in shadows]
    assert said == [
        [("default", "allow", None)],
        [("big", "deny", None)],
        [("again", "deny", None)],
        [("big", "deny", "not (args.amount <= 5)")],
        [("big", "deny", None)],
        [("default", "allow", None)],
    ]
    assert {one["digest"] for shadow in shadows for one in shadow} == {digest}
    assert [step.rule_id for step in steps] == ["pay", "pay", "pay", "default", "default", "ask"]
    assert ran.status == "blocked"
    async with rebuno.operate(tmp_path / "a.db") as operator:
        assert (await operator.verify("run")).fault == ""


def test_what_a_shadow_says_stands_in_the_first_event(tmp_path: Path) -> None:
    """Verdict, rule, doubt and digest; its `known` sets see the history, also where the policy itself needs none."""
    _recorded(tmp_path)


def test_a_shadow_changes_nothing(tmp_path: Path) -> None:
    """The same steps with the same decisions, ids and digest as without it."""

    @in_loop
    async def both() -> None:
        found = []
        for name, shadow in (("with", [written(tmp_path)]), ("without", [])):
            folder = tmp_path / name
            folder.mkdir()
            await play(folder, [*shadow])
            steps, events = await journal(folder / "a.db")
            found.append([(step.rule_id, step.decision, step.status, step.digest) for step in steps])
            assert any('"shadow"' in json.dumps(event.payload, default=str) for event in events) is bool(shadow)
        assert found[0] == found[1]

    both()


def test_a_replay_records_nothing_anew(tmp_path: Path) -> None:
    """A shadow sees each step once: when it is new."""

    @in_loop
    async def twice() -> None:
        await play(tmp_path, [])
        await play(tmp_path, [written(tmp_path)])
        _, events = await journal(tmp_path / "a.db")
        assert not any("shadow" in payload for payload in first_events(events).values())

    twice()


def test_a_shadow_that_does_not_compile_stops_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is reported, and left out; the others are tried."""
    bad = written(tmp_path, "bundle bad\ndefault maybe\n", "bad.rbp")

    @in_loop
    async def once() -> None:
        with caplog.at_level(logging.ERROR):
            await play(tmp_path, [bad, tmp_path / "missing.rbp", written(tmp_path)])
        _, events = await journal(tmp_path / "a.db")
        assert all(len(one["shadow"]) == 1 for one in first_events(events).values())

    once()
    assert [record.getMessage().split("`")[1] for record in caplog.records] == [str(bad), str(tmp_path / "missing.rbp")]


def test_one_path_is_no_list(tmp_path: Path) -> None:
    """A text would be taken for a list of letters."""

    @in_loop
    async def once() -> None:
        with pytest.raises(TypeError, match="list of paths"):
            await play(tmp_path, "new.rbp")  # type: ignore[arg-type]

    once()


def test_a_limit_is_told_and_not_asked(tmp_path: Path) -> None:
    """A shadow takes no place of a limit."""
    limited = written(tmp_path, 'bundle new\ndefault deny\nrule pay { allow tool "pay" limit 1 per execution }\n')

    @in_loop
    async def once() -> None:
        await play(tmp_path, [limited])
        _, events = await journal(tmp_path / "a.db")
        paid = [one["shadow"][0] for one in first_events(events).values() if one["target"] == "pay"]
        assert [(one["verdict"], one["limited"]) for one in paid] == [("allow", True)] * 5

    once()


def test_a_long_text_is_judged_beside_the_loop(tmp_path: Path) -> None:
    """Where the decision is made in another thread, the shadow's is made there as well."""
    new = written(
        tmp_path, 'bundle new\ndefault allow\nrule x { deny tool "pay" when any program of args.amount == "rm" }\n'
    )

    async def long() -> str:
        await pay(amount="echo " + "x" * 5000 + "; rm a")
        return "done"

    @in_loop
    async def once() -> None:
        policy = compile_text("bundle old\ndefault allow\n")
        async with rebuno.open(tmp_path / "a.db", policy=policy, shadow=[new]) as kernel:
            await kernel.run(long, id="run", agent="agent")
        _, events = await journal(tmp_path / "a.db")
        [first] = first_events(events).values()
        assert [one["rule_id"] for one in first["shadow"]] == ["x"]

    once()


def test_the_command_lists_by_rule_what_is_wider_first(tmp_path: Path) -> None:
    """How often, on doubt, with samples; exit code 1 where something is wider."""
    new = written(tmp_path)

    @in_loop
    async def once() -> None:
        await play(tmp_path, [new])

    once()
    ran = command("policy", "shadow", "new.rbp", "--db", "a.db", within=tmp_path)
    lines = [line for line in ran.out.splitlines() if not line.startswith(" ")]
    assert ran.code == 1
    assert lines == [
        "WIDER rule default would have let through more: 1 (require approval -> allow)",
        "rule again would have stopped: 1 (allow -> deny)",
        "rule big would have stopped: 1 (allow -> deny)",
        "rule big as it was: 2, 1 on doubt",
        "rule default as it was: 1",
        "tried at 6 steps of 1 execution, 1 wider",
    ]
    data = json.loads(command("policy", "shadow", "new.rbp", "--db", "a.db", "--json", within=tmp_path).out)
    assert (data["steps"], data["wider"], data["other_versions"]) == (6, 1, 0)
    assert [group["effect"] for group in data["rules"]] == ["wider", "stopped", "stopped", "same", "same"]
    written(tmp_path, NEW + "# changed\n")
    ran = command("policy", "shadow", "new.rbp", "--db", "a.db", within=tmp_path)
    assert (ran.code, ran.out) == (
        0,
        "tried at 0 steps of 1 execution, 0 wider, 6 more with another version of the bundle\n",
    )
