"""Sessions of clients, what waits in them, and which server something belongs to."""

import signal
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from rebuno.gate import open_gate
from rebuno.mcp_proxy.exchange import can_answer
from rebuno.mcp_proxy.upstream import pause_after
from rebuno.types import Execution, Step
from tests.mcp.processes import REBUNO, served
from tests.mcp.support import FRONTS, LONG, Scene, play, said, scene, written
from tests.mcp.test_calls import ASKING, approve

fronts = pytest.mark.parametrize("front", FRONTS.values(), ids=FRONTS)
ALLOW = types.ElicitResult(action="accept", content={"allow": True})


async def executions(folder: Path) -> list[tuple[Execution, list[Step]]]:
    """The executions in the store, oldest first, with their steps."""
    async with open_gate(folder / "tests.db", policy=folder / "tests.rbp") as gate:
        return [(one, await gate.operator.steps(one.id)) for one in reversed(await gate.operator.executions())]


@pytest.mark.parametrize(("front", "sessions"), [("legacy", 2), ("auto", 1)], ids=FRONTS)
def test_clients_of_a_port(tmp_path: Path, front: str, sessions: int) -> None:
    """A client with an `Mcp-Session-Id` is a session; those without one share the proxy's. All are completed at the
    end."""

    async def work() -> None:
        path = written(tmp_path)
        with (tmp_path / "proxy.log").open("a") as log:
            async with served(["mcp", "proxy", "--config", str(path)], log) as url:
                for _ in range(2):
                    async with Client(streamable_http_client(url), mode=front, cache=None) as client:
                        result = await client.call_tool("one__add", {"a": 1})
                        assert result.structured_content == {"total": 2}
                if front == "legacy":
                    # Each client has said that it goes: its server has gone with it, long before the proxy does.
                    the = Scene(tmp_path, None)  # type: ignore[arg-type]
                    servers = [line["started"] for line in the.told() if "started" in line]
                    assert len(servers) == 2
                    await the.until(lambda: not any(Path(f"/proc/{id}").exists() for id in servers))
        found = await executions(tmp_path)
        assert [(one.status, len(steps)) for one, steps in found] == [("completed", 2 // sessions)] * sessions

    play(work())


@fronts
def test_a_session_that_another_proxy_holds_is_refused(tmp_path: Path, front: str) -> None:
    """Its call does not reach a server."""

    async def work() -> None:
        async with scene(tmp_path, front=front) as first:
            assert not (await first.client.call_tool("one__add", {"a": 1})).is_error
            async with scene(tmp_path, front=front) as second:
                refused = await second.client.call_tool("one__add", {"a": 2})
                assert refused.is_error
                assert "one.add did not run: it could not be judged" in said(refused)
            assert first.calls("add") == 1

    play(work())


async def _asked(the: Scene) -> types.InputRequiredResult:
    request = types.CallToolRequest(params=types.CallToolRequestParams(name="one__once", arguments={}))
    result = await the.client.session.send_request(request, types.InputRequiredResult)
    assert result.request_state
    return result


async def _elicit(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
    return ALLOW


def _answer(asked: types.InputRequiredResult, name: str = "one__once") -> types.CallToolRequest:
    params = types.CallToolRequestParams(
        name=name,
        arguments={},
        request_state=asked.request_state,
        input_responses=dict.fromkeys(asked.input_requests or {}, ALLOW),
    )
    return types.CallToolRequest(params=params)


def test_an_answer_belongs_to_its_request(tmp_path: Path) -> None:
    """The state of a question lets nothing else run, and is good for one answer."""

    async def work() -> None:
        client = {"elicitation_callback": _elicit}
        async with scene(tmp_path, bundle=ASKING, client=client) as the:
            send = the.client.session.send_request
            for wrong in (_answer(await _asked(the), "one__add"), _answer(await _asked(the))):
                if wrong.params.name == "one__once":
                    wrong.params.request_state = "made-up"
                with pytest.raises(MCPError, match="requestState"):
                    await send(wrong, types.CallToolResult)
            assert the.calls("once") == 0
            asked = await _asked(the)
            assert said(await send(_answer(asked), types.CallToolResult)) == "once"
            with pytest.raises(MCPError, match="is not known"):
                await send(_answer(asked), types.CallToolResult)
            assert the.calls("once") == 1

    play(work())


@fronts
def test_a_question_at_the_client_may_be_answered_elsewhere(tmp_path: Path, front: str) -> None:
    """The call goes on with the first answer, from wherever it comes."""

    async def never(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        async with open_gate(tmp_path / "tests.db", policy=tmp_path / "tests.rbp") as gate:
            (found,) = await gate.operator.approvals(status="pending")
            await gate.operator.grant(found.id, decided_by="ana")
        if front == "legacy":
            await anyio.sleep_forever()
        return types.ElicitResult(action="cancel")

    async def work() -> None:
        async with scene(tmp_path, front=front, bundle=ASKING, client={"elicitation_callback": never}) as the:
            assert said(await the.client.call_tool("one__once", {})) == "once"
            assert the.calls("once") == 1
        ((_, (step,)),) = await executions(tmp_path)
        assert step.status == "succeeded"

    play(work())


@fronts
def test_a_question_for_others_stays_open(tmp_path: Path, front: str) -> None:
    """The person at the client is not among the approvers: their yes is none."""

    async def work() -> None:
        bundle = ASKING.replace(
            'message "may it run once?"', 'approvers "boss-of-nobody"\n  message "may it run once?"'
        )
        async with scene(tmp_path, front=front, bundle=bundle, client={"elicitation_callback": _elicit}) as the:
            result = await the.client.call_tool("one__once", {})
            assert "A person can grant it by boss-of-nobody" in said(result)
            assert the.calls("once") == 0

    play(work())


@fronts
def test_a_call_that_is_held_can_be_given_up(tmp_path: Path, front: str) -> None:
    """It does not run when it is granted later; the next one does."""

    async def work() -> None:
        async with scene(tmp_path, front=front, bundle=ASKING, wait="5m") as the:
            async with anyio.create_task_group() as group:
                group.start_soon(the.client.call_tool, "one__once", {})
                async with open_gate(tmp_path / "tests.db", policy=tmp_path / "tests.rbp") as gate:
                    with anyio.fail_after(LONG):
                        while not await gate.operator.approvals(status="pending"):  # noqa: ASYNC110
                            await anyio.sleep(0.02)
                group.cancel_scope.cancel()
            await approve(tmp_path)
            assert the.calls("once") == 0
            assert said(await the.client.call_tool("one__once", {})) == "once"
            assert the.calls("once") == 1

    play(work())


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_proxy_on_stdio_that_is_told_to_stop_ends(tmp_path: Path, sign: signal.Signals) -> None:
    """With a call on its way, whose outcome is then unknown."""
    import json

    path = written(tmp_path)
    info = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": info},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "one__forever", "arguments": {}}},
    ]

    async def work() -> None:
        the = Scene(tmp_path, None)  # type: ignore[arg-type]
        words = [REBUNO, "mcp", "proxy", "--config", str(path)]
        async with await anyio.open_process(words, stderr=None) as process:
            assert process.stdin is not None
            await process.stdin.send("".join(json.dumps(one) + "\n" for one in messages).encode())
            await the.until(lambda: the.calls("forever") == 1)
            process.send_signal(sign)
            with anyio.fail_after(LONG):
                assert await process.wait() == 0
        ((_, (step,)),) = await executions(tmp_path)
        assert (step.error or {})["reason"] == "indeterminate"

    play(work())


def test_tools_that_hosts_take_for_one_are_left_out(tmp_path: Path) -> None:
    """Both: nobody can tell which one is meant."""

    async def work() -> None:
        async with scene(tmp_path, server_one={"env": {"ALIKE": "1"}}) as the:
            names = [tool.name for tool in (await the.client.list_tools()).tools]
            assert "one__add" in names
            assert not [name for name in names if "with" in name.lower()]
            with pytest.raises(MCPError, match="has no tool"):
                await the.client.call_tool("one__with.dot", {})

    play(work())


def test_a_result_takes_no_resource_from_the_server_that_lists_it(tmp_path: Path) -> None:
    """A link names a resource of another server: it is read there."""

    async def work() -> None:
        servers: dict[str, Any] = {"server_two": {"env": {"RESOURCE": "two://secret"}}}
        async with scene(tmp_path, servers=("one", "two"), **servers) as the:
            await the.client.call_tool("one__link", {"uri": "two://secret"})
            await the.client.read_resource("two://secret")
            assert {"read": "two://secret"} in the.told("two")
            assert {"read": "two://secret"} not in the.told("one")
            # Both list this template: the first one in the configuration has it.
            await the.client.read_resource("test://item/1")
            assert {"read": "test://item/1"} in the.told("one")

    play(work())


def test_pauses_grow() -> None:
    """From a quarter of a second to a minute."""
    pauses = [pause_after(failures) for failures in range(12)]
    assert pauses[:4] == [0.25, 0.25, 0.5, 1.0]
    assert pauses == sorted(pauses)
    assert pause_after(10_000) == 60.0


FORM = types.ElicitRequest(params=types.ElicitRequestFormParams(message="m", requested_schema={}))
URL = types.ElicitRequest(params=types.ElicitRequestURLParams(message="m", url="https://a", elicitation_id="1"))
ROOTS = types.ListRootsRequest()


@pytest.mark.parametrize(
    ("announced", "answers"),
    [
        ({}, []),
        ({"elicitation": {}}, [FORM]),
        ({"elicitation": {"form": {}}}, [FORM]),
        ({"elicitation": {"url": {}}}, [URL]),
        ({"elicitation": {"form": {}, "url": {}}}, [FORM, URL]),
        ({"roots": {}}, [ROOTS]),
    ],
)
def test_a_client_is_asked_for_what_it_announces(announced: dict[str, Any], answers: list[Any]) -> None:
    """And for nothing else."""
    capabilities = types.ClientCapabilities.model_validate(announced)
    assert [one for one in (FORM, URL, ROOTS) if can_answer(capabilities, one)] == answers
    assert not can_answer(None, FORM)
