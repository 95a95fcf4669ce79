"""Who may say what the user wrote, and what a key that is bound to agents reaches."""

from typing import Any

import httpx2
import pytest

from rebuno.errors import ConflictError, ForbiddenError, ValidationError
from rebuno.sdk.client import Client
from tests.server.support import TOKEN, Running, agent, fits, play

EXECUTION = "/v0/executions"
PAYER = """bundle payer
default deny
known asked = input.request or turns
rule pay { allow tool "pay" when args.to in asked }
rule look { allow tool "look" }
rule ask { require approval for tool "send" because "ask" }
"""
ALL = ["executions:read", "executions:write", "approvals:read", "approvals:write", "agents:read", "api_keys:manage"]


async def with_key(server: Running, *agents: str) -> httpx2.AsyncClient:
    """A client with a key of its own, bound to these agents."""
    made = await server.post("/v0/api-keys", {"name": "bound", "scopes": ALL, "agents": [*agents]}, status=201)
    fits("NewApiKey", made)
    assert made["agents"] == [*agents]
    assert not any(scope.startswith("agent:") for scope in made["scopes"])
    headers = {"Authorization": f"Bearer {made['token']}"}
    return httpx2.AsyncClient(base_url=server.url, headers=headers, verify=False)


async def begun(server: Running, agent_id: str = "payer", **more: Any) -> str:
    """An execution that a client began."""
    body = {"agent_id": agent_id, "input": {"request": "Pay the bill"}, **more}
    return str((await server.post(EXECUTION, body, status=201))["id"])


def test_a_client_says_what_the_user_wrote() -> None:
    """The agent is judged by it from then on; `GET` shows it, a list does not."""

    async def scenario(server: Running) -> None:
        async with agent(server, "payer", PAYER) as one, Client(server.url, TOKEN) as client:
            run = await begun(server)
            await one.take()
            assert (await one.submit(run, "pay", {"to": "DE75"}))["decision"] == "denied"
            await client.say(run, "To DE75, please")
            assert (await one.submit(run, "pay", {"to": "DE75"}))["decision"] == "proceed"
            shown = await server.get(f"{EXECUTION}/{run}")
            fits("Execution", shown)
            (turn,) = shown["turns"]
            assert (turn["number"], turn["text"], turn["by"]) == (1, "To DE75, please", "bootstrap")
            read = await client.get(run)
            assert read.turns is not None
            assert [one.text for one in read.turns] == ["To DE75, please"]
            listed = (await server.get(EXECUTION))["executions"]
            assert "turns" not in listed[0]
            said = [
                event for event in await server.get(f"{EXECUTION}/{run}/events") if event["type"] == "execution.said"
            ]
            assert set(said[0]["payload"]) == {"execution_id", "number", "hash", "by"}
            for text in ("", "x" * 65_537):
                with pytest.raises(ValidationError):
                    await client.say(run, text)
            await client.cancel(run)
            with pytest.raises(ConflictError):
                await client.say(run, "too late")

    play(scenario)


@pytest.mark.parametrize("body", [{}, {"text": 5}, {"text": None}, {"text": "x", "by": "me"}, []])
def test_a_malformed_turn_is_refused(body: Any) -> None:
    """400, and nothing is written."""

    async def scenario(server: Running) -> None:
        async with agent(server, "payer", PAYER):
            run = await begun(server)
            assert (await server.post(f"{EXECUTION}/{run}/turns", body, status=400))["code"] == "validation_error"
            assert (await server.get(f"{EXECUTION}/{run}"))["turns"] == []

    play(scenario)


def test_an_agent_never_says_it() -> None:
    """Neither by its signature nor by a key that is bound to it."""

    async def scenario(server: Running) -> None:
        async with agent(server, "payer", PAYER) as one:
            run = await begun(server)
            await one.take()
            await one.said("POST", f"{EXECUTION}/{run}/turns", {"text": "Pay XX99"}, status=401)
            async with await with_key(server, "payer") as key:
                answer = await key.post(f"{EXECUTION}/{run}/turns", json={"text": "Pay XX99"})
                assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
                with pytest.raises(ForbiddenError):
                    async with Client(server.url, key.headers["Authorization"].removeprefix("Bearer ")) as client:
                        await client.say(run, "Pay XX99")
            assert (await server.get(f"{EXECUTION}/{run}"))["turns"] == []

    play(scenario)


def test_what_a_bound_key_begins_has_no_user() -> None:
    """Every value of its input is perhaps known; that of a client is known."""

    async def scenario(server: Running) -> None:
        async with agent(server, "payer", PAYER) as one:
            asked = {"agent_id": "payer", "input": {"request": "Pay DE75"}}
            async with await with_key(server, "payer") as key:
                made = (await key.post(EXECUTION, json=asked)).json()
            await one.take()
            assert (await one.submit(made["id"], "pay", {"to": "DE75"}))["decision"] == "denied"
            run = await begun(server, input={"request": "Pay DE75"})
            await one.take()
            assert (await one.submit(run, "pay", {"to": "DE75"}))["decision"] == "proceed"

    play(scenario)


def test_a_bound_key_reaches_its_agents_only() -> None:
    """Executions and questions of its agents; everything else is refused."""

    async def scenario(server: Running) -> None:
        async with agent(server, "payer", PAYER) as one, agent(server, "other") as two:
            mine, others = await begun(server), await begun(server, "other")
            await one.take()
            await two.take()
            step = await two.submit(others)
            asked = await one.submit(mine, "send")
            async with await with_key(server, "payer") as key:
                for path in ("", "/events", "/steps", "/previous", "/fork-points"):
                    assert (await key.get(f"{EXECUTION}/{mine}{path}")).status_code == 200, path
                    assert (await key.get(f"{EXECUTION}/{others}{path}")).status_code == 403, path
                assert [row["id"] for row in (await key.get(EXECUTION)).json()["executions"]] == [mine]
                for method, path, body in (
                    ("GET", f"{EXECUTION}?agent_id=other", None),
                    ("POST", EXECUTION, {"agent_id": "other"}),
                    ("POST", EXECUTION, {"agent_id": "payer", "parent_execution_id": others}),
                    ("POST", EXECUTION, {"agent_id": "payer", "spawned_by": _step(others, step["step_id"])}),
                    ("POST", f"{EXECUTION}/{others}/cancel", {}),
                    ("POST", f"{EXECUTION}/{others}/fork", {"at_seq": 1}),
                    ("GET", "/v0/approvals", None),
                    ("GET", f"/v0/approvals?execution_id={others}", None),
                    ("GET", "/v0/agents", None),
                    ("GET", "/v0/agents/other", None),
                    ("GET", "/v0/api-keys", None),
                    ("POST", "/v0/api-keys", {"name": "k", "scopes": ["executions:read"]}),
                ):
                    answer = await key.request(method, path, json=body)
                    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), (method, path)
                assert len((await key.get(f"/v0/approvals?execution_id={mine}")).json()) == 1
                assert (await key.get(f"/v0/approvals/{asked['approval_id']}")).status_code == 200
            async with await with_key(server, "other") as key:
                assert (await key.post(f"/v0/approvals/{asked['approval_id']}/grant", json={})).status_code == 403
                child = {"agent_id": "payer", "input": {}, "spawned_by": _step(others, step["step_id"])}
                assert (await key.post(EXECUTION, json=child)).status_code == 201

    play(scenario)


def test_a_bound_key_gets_no_execution_of_another_agent_by_its_idempotency_key() -> None:
    """Though a subagent may be another agent's, and may have a key of its own."""

    async def scenario(server: Running) -> None:
        async with agent(server, "payer", PAYER), agent(server, "other") as two:
            await begun(server, idempotency_key="order-1")
            others = await begun(server, "other")
            await two.take()
            step = await two.submit(others)
            asked = {"agent_id": "payer", "input": {"request": "Pay the bill"}, "idempotency_key": "order-1"}
            async with await with_key(server, "other") as key:
                asked["spawned_by"] = _step(others, step["step_id"])
                answer = await key.post(EXECUTION, json=asked)
                assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
                asked["idempotency_key"] = "order-2"
                child = (await key.post(EXECUTION, json=asked)).json()
                # Asked for again, it is the same one.
                assert (await key.post(EXECUTION, json=asked)).json()["id"] == child["id"]

    play(scenario)


def _step(execution_id: str, step_id: str) -> dict[str, str]:
    return {"execution_id": execution_id, "step_id": step_id}
