"""What one body may cost a server: it is bounded before it is read, and a long one is read beside the event loop."""

import threading
from typing import Any

import pytest

from rebuno.model import identity
from rebuno.model.bounds import Bounds
from rebuno.server import routes
from tests.server.support import BEARER, Running, agent, play

AGENT = {"id": "agent", "webhook_url": "http://127.0.0.1:9/", "secret": "a-secret-of-16-letters"}
JSON = {**BEARER, "content-type": "application/json"}


@pytest.mark.parametrize(
    "input",
    [
        "9" * 2_500_000,
        "-" + "9" * 4_301,
        "1." + "9" * 4_301,
        "[" + "{}," * 2_990_000 + "{}]",
        "[" + "[]," * 60_000 + "[]]",
        "[" + "0," * 100_000 + "0]",
        "{" + ",".join(f'"{at}":0' for at in range(100_001)) + "}",
        "[" + '"a",' * 100_000 + '"a"]',
    ],
    ids=lambda text: f"{text[:6]}-{len(text)}",
)
def test_a_body_that_holds_too_much_is_refused(input: str) -> None:
    """400 and a word on what is too much; the server goes on."""

    async def scenario(server: Running) -> None:
        body = '{"agent_id":"agent","input":' + input + "}"
        answer = await server.http.post("/v0/executions", content=body, headers=JSON)
        assert answer.status_code == 400, answer.text
        assert "validation_error" in answer.text
        assert "more than" in answer.text
        assert (await server.http.get("/v0/health")).status_code == 200

    play(scenario)


def test_the_bounds_are_the_server_s() -> None:
    """A server may take more or less."""

    async def scenario(server: Running) -> None:
        body = '{"agent_id":"agent","input":[' + "0," * 150 + "0]}"
        assert (await server.http.post("/v0/executions", content=body, headers=JSON)).status_code == 400

    play(scenario, bounds=Bounds(values=100))


def test_a_long_body_is_read_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its values and the canonical text of its fields are made in another thread, and nothing of them twice."""
    threads: list[tuple[str, str]] = []
    parse, canonical = identity.parse, identity.canonical

    def parsing(text: Any, *args: Any, **named: Any) -> Any:
        if len(text) > routes.LONG_BODY:
            threads.append(("parse", threading.current_thread().name.rpartition("_")[0]))
        return parse(text, *args, **named)

    def writing(value: Any, *args: Any, **named: Any) -> str:
        if isinstance(value, list):
            threads.append(("canonical", threading.current_thread().name.rpartition("_")[0]))
        return canonical(value, *args, **named)

    async def scenario(server: Running) -> None:
        await server.post("/v0/agents", AGENT, status=201)
        monkeypatch.setattr(identity, "parse", parsing)
        monkeypatch.setattr(identity, "canonical", writing)
        input = ["b" * 1_000] * 100
        made = await server.post("/v0/executions", {"agent_id": "agent", "input": input}, status=201)
        monkeypatch.undo()
        assert made["input"] == input

    play(scenario)
    assert threads[:2] == [("parse", "rebuno-heavy"), ("canonical", "rebuno-heavy")]


def test_what_a_large_body_holds_is_never_read_on_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an input that an attempt begins with, as arguments, as a result and as an output."""
    threads: list[tuple[str, bool]] = []

    def watch(name: str) -> None:
        work = getattr(identity, name)

        def working(value: Any, *args: Any, **named: Any) -> Any:
            found = work(value, *args, **named)
            text = found if name == "canonical" else value
            if len(text) > identity.LARGE:
                steps = named.get("in_steps", name != "canonical")
                threads.append((threading.current_thread().name.rpartition("_")[0], steps))
            return found

        monkeypatch.setattr(identity, name, working)

    async def scenario(server: Running) -> None:
        long = "b" * (identity.LARGE + 1)
        rules = 'bundle b\ndefault allow\nrule r { deny tool "t" when args.a == "c" or input == "d" }\n'
        async with agent(server, bundle=rules) as one:
            for name in ("parse", "reread", "canonical"):
                watch(name)
            await server.post("/v0/executions", {"agent_id": "agent", "input": long}, status=201)
            execution = await one.take()
            said = await one.submit(execution, "t", {"a": long}, submission=1)
            assert said["decision"] == "proceed"
            path = f"/v0/executions/{execution}"
            await one.said("POST", f"{path}/steps/{said['step_id']}/complete", {"result": long})
            await one.said("POST", f"{path}/complete", {"output": long}, status=204)

    play(scenario)
    assert len(threads) >= 8
    assert set(threads) == {("rebuno-long", True)}
