"""Calls of tools: judged, recorded, replayed, asked about, and never repeated where nobody knows how they ended."""

import logging
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import MCPError

from rebuno.gate import open_gate
from rebuno.mcp_proxy.redaction import RedactingFormatter, Redaction
from rebuno.types import Step
from tests.mcp.support import FRONTS, LONG, OPEN, play, said, scene

fronts = pytest.mark.parametrize("front", FRONTS.values(), ids=FRONTS)

ASKING = """bundle tests
default deny because "no rule allows it"

rule asked {
  require approval for tool "one.once"
  message "may it run once?"
}

rule all {
  allow tool "one.*"
}
"""
SOME = """bundle tests
default deny because "no rule allows it"

rule small {
  allow tool "one.add"
  when args.a < 10
}

rule never {
  deny tool "one.big"
  because "too much"
}

rule rest {
  allow tool "one.big", "one.log"
}
"""


LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.read()
"""


async def recorded(folder: Path) -> list[Step]:
    """The steps of the one session in the store."""
    async with open_gate(folder / "tests.db", policy=folder / "tests.rbp") as gate:
        (execution,) = await gate.operator.executions()
        return await gate.operator.steps(execution.id)


def meta(id: str) -> Any:
    """What Claude Code sends beside a call."""
    return {"claudecode/toolUseId": id}


@fronts
def test_a_denied_call_does_not_reach_the_server(tmp_path: Path, front: str) -> None:
    """The model is told the reason, the journal has the step under the server's name; a tool that the policy never
    allows is not in the list, and is refused all the same."""

    async def work() -> None:
        async with scene(tmp_path, front=front, bundle=SOME) as the:
            names = [tool.name for tool in (await the.client.list_tools()).tools]
            assert names == ["one__add", "one__log"]
            denied = await the.client.call_tool("one__add", {"a": 20})
            assert denied.is_error
            assert said(denied) == "one.add not allowed. reason: no rule allows it (rule default)"
            assert "too much" in said(await the.client.call_tool("one__big", {}))
            assert (await the.client.call_tool("one__add", {"a": 2})).structured_content == {"total": 3}
            assert [line["args"] for line in the.told() if "called" in line] == [{"a": 2}]
        steps = await recorded(tmp_path)
        assert [(step.target, step.status) for step in steps] == [
            ("one.add", "denied"),
            ("one.big", "denied"),
            ("one.add", "succeeded"),
        ]
        assert steps[2].result == {"total": 3}

    play(work())


@fronts
def test_the_same_call_id_is_answered_from_the_journal(tmp_path: Path, front: str) -> None:
    """Also by the next proxy of the same session; with other arguments it is refused."""

    async def work() -> None:
        for _ in range(2):
            async with scene(tmp_path, front=front) as the:
                for _ in range(2):
                    result = await the.client.call_tool("one__add", {"a": 1}, meta=meta("toolu_1"))
                    assert result.structured_content == {"total": 2}
                assert the.calls("add") == 1
                other = await the.client.call_tool("one__add", {"a": 2}, meta=meta("toolu_1"))
                assert other.is_error
                assert the.calls("add") == 1

    play(work())


def test_without_ids_a_call_is_found_by_content_and_occurrence(tmp_path: Path) -> None:
    """Two equal calls are two; the next proxy of the session answers both from the journal, and makes the third."""

    async def work() -> None:
        for time, calls in ((1, 2), (2, 3)):
            async with scene(tmp_path) as the:
                for _ in range(2 if time == 1 else 3):
                    assert (await the.client.call_tool("one__add", {"a": 1})).structured_content == {"total": 2}
                assert the.calls("add") == calls

    play(work())


@fronts
@pytest.mark.parametrize(
    ("answer", "runs", "text"),
    [
        (types.ElicitResult(action="accept", content={"allow": True}), 1, "once"),
        (types.ElicitResult(action="accept", content={"allow": False}), 0, "denied at the client"),
        (types.ElicitResult(action="decline"), 0, "denied at the client"),
        (types.ElicitResult(action="cancel"), 0, "rebuno approval grant "),
    ],
    ids=["allowed", "not-allowed", "declined", "cancelled"],
)
def test_a_question_is_put_to_the_person_at_the_client(
    tmp_path: Path, front: str, answer: types.ElicitResult, runs: int, text: str
) -> None:
    """Once, with the message of the rule; what they answer counts as what is answered on the command line."""
    asked: list[Any] = []

    async def elicit(context: Any, params: types.ElicitRequestFormParams) -> types.ElicitResult:
        asked.append(params)
        return answer

    async def work() -> None:
        async with scene(tmp_path, front=front, bundle=ASKING, client={"elicitation_callback": elicit}) as the:
            result = await the.client.call_tool("one__once", {})
            assert text in said(result)
            assert result.is_error is (runs == 0)
            assert the.calls("once") == runs

    play(work())
    (params,) = asked
    assert params.message.startswith("one.once needs your approval: may it run once? (")
    assert params.requested_schema["required"] == ["allow"]


async def approve(folder: Path, *, grant: bool = True) -> None:
    """Answers the question that waits, as `rebuno approval grant` does."""
    async with open_gate(folder / "tests.db", policy=folder / "tests.rbp") as gate:
        found: list[Any] = []
        with anyio.fail_after(LONG):
            while not found:
                found = await gate.operator.approvals(status="pending")
                await anyio.sleep(0.02)
        answer = gate.operator.grant if grant else gate.operator.deny
        await answer(found[0].id, decided_by="ana")


@fronts
def test_a_call_that_waits_names_the_question_and_runs_after_the_grant(tmp_path: Path, front: str) -> None:
    """Where the client announces no elicitation and nobody waits: the same call again, and it runs once."""

    async def work() -> None:
        async with scene(tmp_path, front=front, bundle=ASKING) as the:
            waiting = await the.client.call_tool("one__once", {}, meta=meta("a"))
            assert waiting.is_error
            assert "may it run once?" in said(waiting)
            assert f"--db {tmp_path / 'tests.db'}" in said(waiting)
            assert the.calls("once") == 0
            await approve(tmp_path)
            assert said(await the.client.call_tool("one__once", {}, meta=meta("b"))) == "once"
            assert the.calls("once") == 1

    play(work())


@fronts
@pytest.mark.parametrize("grant", [True, False])
def test_a_call_is_held_until_somebody_answers(tmp_path: Path, front: str, grant: bool) -> None:
    """With `wait`: the one call gets the answer itself. Who wants progress hears what it waits for."""
    heard: list[str | None] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    async def work() -> None:
        async with scene(tmp_path, front=front, bundle=ASKING, wait="1m") as the:
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: approve(tmp_path, grant=grant))
                result = await the.client.call_tool("one__once", {}, progress_callback=report)
            assert result.is_error is not grant
            assert the.calls("once") == int(grant)
            await the.until(lambda: bool(heard))
            assert (heard[0] or "").startswith("waits for the approval of a person: ")

    play(work())


@fronts
def test_a_server_that_dies_in_a_call_is_started_again_and_the_call_is_not_repeated(tmp_path: Path, front: str) -> None:
    """Its outcome is unknown, under the same id and to the next proxy; other calls go on."""

    async def work() -> None:
        async with scene(tmp_path, front=front) as the:
            for _ in range(2):
                result = await the.client.call_tool("one__die", {}, meta=meta("d"))
                assert result.is_error
                assert "the outcome of one.die is unknown" in said(result)
                assert "try again" not in said(result)
            assert (await the.client.call_tool("one__add", {"a": 1})).structured_content == {"total": 2}
            assert the.calls("die") == 1
            assert len({line["started"] for line in the.told() if "started" in line}) == 2
        async with scene(tmp_path, front=front) as the:
            result = await the.client.call_tool("one__die", {}, meta=meta("d"))
            assert "the outcome of one.die is unknown" in said(result)
            assert the.calls("die") == 1
        steps = {step.target: step for step in await recorded(tmp_path)}
        assert steps["one.die"].status == "failed"
        assert (steps["one.die"].error or {})["reason"] == "indeterminate"

    play(work())


@pytest.mark.parametrize(
    ("server", "again"),
    [
        ({}, 1),
        ({"trust_hints": True}, 2),
        ({"idempotency": {"add": "safe_to_retry"}}, 2),
        ({"trust_hints": True, "idempotency": {"add": "at_most_once"}}, 1),
    ],
    ids=["default", "hints", "told", "told-otherwise"],
)
def test_a_tool_is_at_most_once_unless_the_configuration_says_otherwise(
    tmp_path: Path, server: dict[str, Any], again: int
) -> None:
    """A hint of the server counts only where it is asked for: it decides whether a call that took too long may be made
    again."""

    async def work() -> None:
        given: dict[str, Any] = {"server_one": {"env": {"SLOW": "add"}, **server}, "bounds": {"seconds": 3.0}}
        async with scene(tmp_path, **given) as the:
            for number in range(2):
                assert "unknown" in said(await the.client.call_tool("one__add", {}, meta=meta(f"{number}"))) or number
            assert the.calls("add") == again

    play(work())


def test_results_are_bounded(tmp_path: Path) -> None:
    """What is larger is not passed on, and the model is told that the call ran."""

    async def work() -> None:
        async with scene(tmp_path, bounds={"result": 2000}) as the:
            result = await the.client.call_tool("one__big", {})
            assert result.is_error
            assert "one.big ran, but its result of 100" in said(result)
            assert len(said(result)) < 200
            assert not (await the.client.call_tool("one__log", {})).is_error

    play(work())


def test_calls_in_flight_are_bounded(tmp_path: Path) -> None:
    """One more is refused at once and does not run."""

    async def work() -> None:
        async with scene(tmp_path, bounds={"calls": 1}) as the, anyio.create_task_group() as group:
            group.start_soon(the.client.call_tool, "one__forever", {})
            await the.until(lambda: the.calls("forever") == 1)
            refused = await the.client.call_tool("one__add", {"a": 1})
            assert "1 calls of this session are running already" in said(refused)
            assert the.calls("add") == 0
            group.cancel_scope.cancel()

    play(work())


def test_the_time_of_a_call_is_bounded(tmp_path: Path) -> None:
    """The server hears that nobody waits; the outcome is unknown."""

    async def work() -> None:
        async with scene(tmp_path, bounds={"seconds": 3.0}) as the:
            assert "the outcome of one.forever is unknown" in said(await the.client.call_tool("one__forever", {}))
            await the.until(lambda: {"cancelled": "forever"} in the.told())

    play(work())


@fronts
def test_no_secret_of_a_server_leaves_the_proxy(tmp_path: Path, front: str, caplog: pytest.LogCaptureFixture) -> None:
    """Not in the result of a failed call, in an error of the protocol, in its data, in the log, or in the journal."""

    async def work() -> None:
        with caplog.at_level(logging.DEBUG, "rebuno"):
            async with scene(tmp_path, front=front, server_one={"env": {"SECRET": "${SECRET}"}}) as the:
                assert said(await the.client.call_tool("one__leak", {})) == "401 with [secret]"
                with pytest.raises(MCPError) as caught:
                    await the.client.call_tool("one__leak", {"raise": True})
                assert (caught.value.message, caught.value.data) == ("bad [secret]", {"t": "[secret]"})
                await the.until(lambda: "the token is [secret]" in caplog.text)
        for step in await recorded(tmp_path):
            assert "[secret]" in str(step.error)
            assert "hunter2" not in str(step)

    play(work())
    assert "hunter2" not in "".join(one.getMessage() for one in caplog.records if one.name.startswith("rebuno"))


def test_tracebacks_in_the_log_are_redacted() -> None:
    """Whatever library writes them."""
    try:
        raise ValueError("bad line: hunter2-hunter2")
    except ValueError as error:
        record = logging.LogRecord("other", logging.ERROR, "f", 1, "failed", None, (ValueError, error, None))
    shown = RedactingFormatter(Redaction(["hunter2-hunter2"])).format(record)
    assert "ValueError: bad line: [secret]" in shown


def test_two_servers_may_have_a_tool_of_the_same_name(tmp_path: Path) -> None:
    """Each keeps its own, and a call reaches the one that it names."""

    async def work() -> None:
        bundle = OPEN.replace('"one.*", "two.*"', '"two.add"')
        async with scene(tmp_path, servers=("one", "two"), bundle=bundle) as the:
            assert [tool.name for tool in (await the.client.list_tools()).tools] == ["two__add"]
            assert (await the.client.call_tool("two__add", {"a": 1})).structured_content == {"total": 2}
            assert (await the.client.call_tool("one__add", {"a": 1})).is_error
            assert (the.calls("add", "one"), the.calls("add", "two")) == (0, 1)

    play(work())


@fronts
def test_a_server_that_cannot_be_started_leaves_the_others_alone(tmp_path: Path, front: str) -> None:
    """Its tools are missing; a call of one says what is wrong, and is no step."""

    async def work() -> None:
        broken: dict[str, Any] = {"server_two": {"command": "/nowhere/server"}}
        async with scene(tmp_path, front=front, servers=("one", "two"), **broken) as the:
            assert "one__add" in [tool.name for tool in (await the.client.list_tools()).tools]
            result = await the.client.call_tool("two__add", {})
            assert "the MCP server `two` is not running" in said(result)
            assert not (await the.client.call_tool("one__add", {})).is_error
        assert [step.target for step in await recorded(tmp_path)] == ["one.add"]

    play(work())


@fronts
def test_a_store_that_is_locked_lets_nothing_through(tmp_path: Path, front: str) -> None:
    """The call does not run, and the model is told why; once the store is free again, it runs."""

    async def work() -> None:
        async with scene(tmp_path, front=front) as the:
            assert not (await the.client.call_tool("one__log", {})).is_error
            # Another process: this one's own locks are none to it.
            words = [sys.executable, "-c", LOCK, str(tmp_path / "tests.db")]
            lock = await anyio.open_process(words)
            assert lock.stdout is not None
            assert lock.stdin is not None
            assert (await lock.stdout.receive()).strip() == b"locked"
            refused = await the.client.call_tool("one__add", {"a": 1})
            assert "one.add did not run: it could not be judged" in said(refused)
            assert the.calls("add") == 0
            await lock.stdin.aclose()
            await lock.wait()
            await lock.aclose()
            assert not (await the.client.call_tool("one__add", {"a": 1})).is_error
            assert the.calls("add") == 1

    play(work())


@pytest.mark.parametrize("name", ["add", "three__add", "one__nothing", "one__"])
def test_what_is_no_tool_is_an_error_of_the_protocol(tmp_path: Path, name: str) -> None:
    """And no step."""

    async def work() -> None:
        async with scene(tmp_path) as the:
            with pytest.raises(MCPError) as caught:
                await the.client.call_tool(name, {})
            assert caught.value.code == types.INVALID_PARAMS

    play(work())
