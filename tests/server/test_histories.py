"""Whole histories over HTTP: tried again, verified, taken to another server, and removed."""

import asyncio
from pathlib import Path
from typing import Any

import apsw
import httpx2
import pytest

from rebuno.server.auth import KeyScope
from tests.server.support import Agent, Running, agent, fits, play, running

UNKNOWN = "01920000-0000-7000-8000-00000000dead"


async def begun(server: Running, held: Agent) -> str:
    """An execution whose first step has succeeded."""
    execution = await server.post("/v0/executions", {"agent_id": held.id, "input": {"n": 1}}, status=201)
    assert await held.take() == execution["id"]
    step = await held.submit(execution["id"], "look", {"n": 1})
    await held.said("POST", f"/v0/executions/{execution['id']}/steps/{step['step_id']}/complete", {"result": "seen"})
    return str(execution["id"])


async def ended(server: Running, held: Agent, how: str, body: Any) -> str:
    """One that has ended."""
    made = await begun(server, held)
    await held.said("POST", f"/v0/executions/{made}/{how}", body, status=204)
    return made


async def key(server: Running, *scopes: KeyScope, agents: list[str] | None = None) -> dict[str, str]:
    """The headers of a key with these scopes."""
    body = {"name": "k", "scopes": [*scopes]} | ({"agents": agents} if agents else {})
    return {"Authorization": f"Bearer {(await server.post('/v0/api-keys', body, status=201))['token']}"}


def test_a_failed_execution_is_tried_again() -> None:
    """Its agent is told of a new one, which replays what was settled; what has not failed is refused."""

    async def scenario(server: Running) -> None:
        async with agent(server) as held:
            failed = await ended(server, held, "fail", {"error": "no luck"})
            made = await server.post(f"/v0/executions/{failed}/retry", {"deadline_seconds": 3600}, status=201)
            fits("Execution", made)
            assert made["forked_from"] == failed
            assert made["deadline_at"] is not None
            assert await held.take() == made["id"]
            answer = await held.submit(made["id"], "look", {"n": 1})
            assert (answer["decision"], answer["result"]) == ("replay", "seen")
            await held.said("POST", f"/v0/executions/{made['id']}/complete", {"output": "done"}, status=204)
            assert (await server.get(f"/v0/executions/{made['id']}"))["status"] == "completed"
            refused = await server.post(f"/v0/executions/{made['id']}/retry", {}, status=409)
            assert refused["code"] == "conflict"
            assert (await server.post(f"/v0/executions/{UNKNOWN}/retry", status=404))["code"] == "not_found"

    play(scenario)


def test_who_tries_again_may_not_choose_the_policy() -> None:
    """To keep that of the start asks for `policies:write`, and then it is pinned."""

    async def scenario(server: Running) -> None:
        async with agent(server) as held:
            failed = await ended(server, held, "fail", {"error": "no luck"})
            path, body = f"/v0/executions/{failed}/retry", {"keep_policy": True}
            writes = await key(server, KeyScope.EXECUTIONS_WRITE)
            assert (await server.plain.post(path, json=body, headers=writes)).status_code == 403
            await server.post("/v0/policies/agent", {"bundle": "bundle c\ndefault deny\n"}, status=204)
            made = (await server.plain.post(path, headers=writes)).json()
            assert await held.take() == made["id"]
            assert (await held.submit(made["id"], "look", {"n": 2}))["decision"] == "denied"
            kept = await server.post(path, body, status=201)
            assert await held.take() == kept["id"]
            assert (await held.submit(kept["id"], "look", {"n": 2}))["decision"] == "proceed"

    play(scenario)


def test_a_log_is_verified(tmp_path: Path) -> None:
    """A sound one is, with its newest hash; one that was changed is told apart, and is not exported."""

    async def whole() -> None:
        db = str(tmp_path / "s.db")
        async with running(db) as server, agent(server) as held:
            made = await ended(server, held, "complete", {"output": 1})
            path = f"/v0/executions/{made}/verify"
            sound = await server.get(path)
            fits("CheckedHistory", sound)
            row = await server.get(f"/v0/executions/{made}")
            assert (sound["valid"], sound["fault"], sound["head_hash"]) == (True, "", row["head_hash"])
            assert (await server.get(path, params={"head": sound["head_hash"]}))["valid"]
            other = await server.get(path, params={"head": "0" * 64})
            assert not other["valid"]
            assert "head" in other["fault"]
            assert (await server.http.get(path, params={"head": "x"})).status_code == 400
            connection = apsw.Connection(db)
            connection.execute("UPDATE events SET occurred_at = '2020-01-01T00:00:00.000000Z' WHERE event_seq = 2")
            connection.close()
            changed = await server.get(path)
            fits("CheckedHistory", changed)
            assert not changed["valid"]
            assert "event 2" in changed["fault"]
            refused = await server.http.get(f"/v0/executions/{made}/export")
            assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
            assert "damaged" in refused.json()["message"]

    asyncio.run(whole())


@pytest.mark.parametrize("over", [True, False], ids=["ended", "running"])
def test_a_history_goes_on_on_another_server(over: bool) -> None:
    """With the same log; one that had not ended is delivered to its agent there, and replays."""

    async def whole() -> None:
        async with running() as first, running() as second, agent(first) as held, agent(second) as other:
            made = await begun(first, held)
            if over:
                await held.said("POST", f"/v0/executions/{made}/complete", {"output": 1}, status=204)
            answer = await first.http.get(f"/v0/executions/{made}/export")
            assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson")
            head = (await first.get(f"/v0/executions/{made}"))["head_hash"]
            taken = await second.post("/v0/executions/import", {"history": answer.text}, status=201)
            fits("Execution", taken)
            assert taken["id"] == made
            assert (await second.get(f"/v0/executions/{made}/verify"))["valid"]
            again = await second.post("/v0/executions/import", {"history": answer.text}, status=409)
            assert "already" in again["message"]
            if over:
                assert taken["head_hash"] == head
                return
            assert await other.take() == made
            assert (await other.submit(made, "look", {"n": 1}))["result"] == "seen"

    asyncio.run(whole())


@pytest.mark.parametrize("damage", ["", "{}\n", "cut off", "changed"])
def test_a_damaged_history_is_refused(damage: str) -> None:
    """With what is wrong, and nothing of it is kept."""

    async def scenario(server: Running) -> None:
        async with agent(server) as held:
            made = await ended(server, held, "complete", {"output": 1})
            text = (await server.http.get(f"/v0/executions/{made}/export")).text
            await server.post("/v0/sweep", {"older_than_seconds": 0})
            bad = {"cut off": text[: len(text) // 2], "changed": text.replace("seen", "sean")}.get(damage, damage)
            refused = await server.post("/v0/executions/import", {"history": bad}, status=400)
            assert refused["code"] == "validation_error"
            assert "history" in refused["message"]

    play(scenario)


def test_what_is_old_is_removed() -> None:
    """Where an age is given; what has not ended stays."""

    async def scenario(server: Running) -> None:
        async with agent(server) as held:
            old, live = await ended(server, held, "complete", {"output": 1}), await begun(server, held)
            none = await server.post("/v0/sweep")
            fits("SweptStore", none)
            assert none["removed"] == 0
            assert (await server.post("/v0/sweep", {"older_than_seconds": 3600}))["removed"] == 0
            assert (await server.post("/v0/sweep", {"older_than_seconds": 0}))["removed"] == 1
            assert (await server.http.get(f"/v0/executions/{old}")).status_code == 404
            assert (await server.get(f"/v0/executions/{live}"))["status"] == "running"
            assert (await server.post("/v0/sweep", {"older_than_seconds": -1}, status=400))["code"]

    play(scenario)


def test_a_bound_key_reaches_its_agents_histories_only() -> None:
    """It verifies and tries again what is its agent's; it imports and removes nothing."""

    async def scenario(server: Running) -> None:
        async with agent(server) as held, agent(server, "other") as other:
            own = await ended(server, held, "fail", {"error": "x"})
            foreign = await ended(server, other, "fail", {"error": "x"})
            bound = await key(server, *KeyScope, agents=["agent"])

            async def status(method: str, path: str, body: Any = None) -> int:
                answer: httpx2.Response = await server.plain.request(method, path, json=body or {}, headers=bound)
                return answer.status_code

            for execution, wanted in ((own, (200, 200, 201)), (foreign, (403, 403, 403))):
                path = f"/v0/executions/{execution}"
                assert await status("GET", f"{path}/verify") == wanted[0]
                assert await status("GET", f"{path}/export") == wanted[1]
                assert await status("POST", f"{path}/retry") == wanted[2]
            assert await status("POST", "/v0/executions/import", {"history": ""}) == 403
            assert await status("POST", "/v0/sweep", {"older_than_seconds": 0}) == 403

    play(scenario)
