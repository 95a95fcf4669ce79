"""The stream of an execution's output."""

import asyncio
import json
from typing import Any

import httpx2
import pytest

from rebuno.errors import NotFoundError, StoreUnreachable
from rebuno.kernel import Serving
from rebuno.server import stream
from tests.server.support import Agent, Running, agent, play


async def _begun(server: Running, one: Agent) -> tuple[str, str]:
    """An execution with a step that executes: its path, and the step's."""
    begun = await server.post("/v0/executions", {"agent_id": "agent"}, status=201)
    await one.take()
    step = (await one.submit(begun["id"]))["step_id"]
    return f"/v0/executions/{begun['id']}", step


async def _next(lines: Any) -> str:
    """The next line that is not empty."""
    async with asyncio.timeout(10):
        async for line in lines:
            if line:
                return str(line)
    raise AssertionError("the stream ended")


async def _listening(answer: httpx2.Response) -> Any:
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["x-accel-buffering"] == "no"
    lines = answer.aiter_lines()
    assert await _next(lines) == ": listening"
    return lines


def test_output_is_told_while_it_is_made() -> None:
    """Each piece as it was published, to every listener; and a stream ends with its execution."""

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            path, step = await _begun(server, one)
            publish = f"{path}/steps/{step}/stream"
            await one.said("POST", publish, {"seq": 0, "data": "nobody listens"}, status=204)
            async with server.http.stream("GET", f"{path}/stream") as first:
                lines = await _listening(first)
                for seq, data in enumerate(["a\nb", "\0é😀", ""], 1):
                    await one.said("POST", publish, {"seq": seq, "data": data}, status=204)
                    told = json.loads((await _next(lines)).removeprefix("data: "))
                    assert told == {"step_id": step, "seq": seq, "data": data}
            await one.said("POST", f"{path}/complete", {"output": 1}, status=204)
            async with server.http.stream("GET", f"{path}/stream") as after:
                assert [line async for line in after.aiter_lines() if line] == [": the execution has ended"]

    play(scenario)


def test_a_silent_stream_is_kept_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is published a comment comes, and after the execution's end nothing more."""
    monkeypatch.setattr(stream, "KEEP_ALIVE", 0.1)

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            path, _ = await _begun(server, one)
            async with server.http.stream("GET", f"{path}/stream") as answer:
                lines = await _listening(answer)
                assert await _next(lines) == ": keep-alive"
                await server.post(f"{path}/cancel", status=204)
                async with asyncio.timeout(10):
                    rest = [line async for line in lines if line]
            assert set(rest) <= {": keep-alive"}

    play(scenario)


def test_a_stream_goes_on_while_the_store_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is told does not come out of the store; that an execution was removed ends its stream."""
    monkeypatch.setattr(stream, "KEEP_ALIVE", 0.05)
    errors: list[Exception] = [StoreUnreachable("away"), StoreUnreachable("away"), NotFoundError("removed")]

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            path, _ = await _begun(server, one)
            async with server.http.stream("GET", f"{path}/stream") as answer:
                lines = await _listening(answer)

                async def away(serving: Serving, execution_id: str) -> Any:
                    raise errors.pop(0)

                monkeypatch.setattr(Serving, "execution", away)
                async with asyncio.timeout(10):
                    assert len([line async for line in lines if line]) >= 3
            assert not errors
            monkeypatch.undo()

    play(scenario)


def test_a_listener_does_not_keep_a_server_from_its_end() -> None:
    """When the server shuts down its streams end at once."""

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            path, _ = await _begun(server, one)
            async with server.http.stream("GET", f"{path}/stream") as answer:
                lines = await _listening(answer)
                server.server.closing.set()
                async with asyncio.timeout(2):
                    assert [line async for line in lines if line] == []

    play(scenario)


PIECES: list[tuple[str, Any, int]] = [
    ("the longest", {"seq": 0, "data": "x" * 7000}, 204),
    ("too long", {"seq": 0, "data": "x" * 7001}, 400),
    ("too long in bytes", {"seq": 0, "data": "é" * 3501}, 400),
    ("a number below 0", {"seq": -1, "data": ""}, 400),
    ("no text", {"seq": 0, "data": 1}, 400),
]


def test_a_piece_has_a_size() -> None:
    """And a step that does not execute has no output."""

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            path, step = await _begun(server, one)
            for reason, body, status in PIECES:
                answer = await one.send("POST", f"{path}/steps/{step}/stream", body)
                assert answer.status_code == status, reason
            await one.said("POST", f"{path}/steps/{step}/complete", {"result": 1})
            late = await one.said("POST", f"{path}/steps/{step}/stream", {"seq": 1, "data": ""}, status=409)
            assert late["code"] == "conflict"

    play(scenario)
