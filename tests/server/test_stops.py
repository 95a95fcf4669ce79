"""Agents and tools are stopped over HTTP, on every replica."""

import pytest

from rebuno.errors import ForbiddenError, NotFoundError, ValidationError
from rebuno.kernel.core import stops
from rebuno.sdk.client import Client
from tests.server.support import TOKEN, Running, agent, fits, play

BUNDLE = 'bundle b\ndefault deny\nrule look { allow tool "look" }\n'


def test_a_stopped_agent_starts_nothing_until_that_is_lifted(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is delivered again while it waits, and then the step runs once."""
    monkeypatch.setattr(stops, "FRESH", 0.0)
    monkeypatch.setattr(stops, "LOOK", 0.0)

    async def scenario(server: Running) -> None:
        async with agent(server, bundle=BUNDLE) as one, Client(server.url, TOKEN) as client:
            made = await client.stop(agent_id="agent", reason="look")
            shown = (await server.get("/v0/stops"))[0]
            fits("Stop", shown)
            assert (shown["agent_id"], shown["reason"], shown["created_by"]) == ("agent", "look", "bootstrap")
            run = str((await server.post("/v0/executions", {"agent_id": "agent"}, status=201))["id"])
            await one.take()
            answer = await one.submit(run, "look", {})
            assert answer["decision"] == "blocked"
            assert "approval_id" not in answer
            assert await client.list_steps(run) == []
            lifted = await client.lift(made.id)
            assert lifted.lifted_by == "bootstrap"
            await one.take()
            assert (await one.submit(run, "look", {}))["decision"] == "proceed"
            assert await client.list_stops() == []
            assert [stop.id for stop in await client.list_stops(lifted=True)] == [made.id]

    play(scenario)


def test_who_may_stop_what() -> None:
    """A key that is bound to agents stops and lifts only those; a malformed request stops nothing."""

    async def scenario(server: Running) -> None:
        async with Client(server.url, TOKEN) as client:
            everything = await client.stop(everything=True)
            scopes = ["policies:write", "executions:read"]
            bound = await client.create_key("bound", scopes, agents=["mine"])
            reader = await client.create_key("reader", ["executions:read"])
            async with Client(server.url, bound.token) as one, Client(server.url, reader.token) as other:
                for refused in (one, other):
                    with pytest.raises(ForbiddenError):
                        await refused.stop(agent_id="mine")
                    with pytest.raises(ForbiddenError):
                        await refused.lift(everything.id)
                assert [stop.id for stop in await other.list_stops()] == [everything.id]
            for body in ({}, {"agent_id": "a", "tool": "b"}, {"all": False}, {"tool": ""}, {"agent_id": 7}):
                answer = await server.http.post("/v0/stops", json=body)
                assert (answer.status_code, answer.json()["code"]) == (400, "validation_error"), body
            with pytest.raises(ValidationError):
                await client.stop(everything=True, reason="x" * 1001)
            with pytest.raises(NotFoundError):
                await client.lift("no such stop")

    play(scenario)
