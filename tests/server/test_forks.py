"""Forks over HTTP: under whose rules they run, what they keep of a session, and when they end."""

import asyncio
from typing import Any

import pytest

from tests.server.support import Running, agent, play, until

DENIES = 'bundle strict\ndefault allow\nrule no { deny tool "look" because "not any more" }\n'
ALLOWS = "bundle open\ndefault allow\n"
EXECUTIONS = "/v0/executions"


async def key(server: Running, *scopes: str) -> dict[str, str]:
    """The header of a new key."""
    made = await server.post("/v0/api-keys", {"name": "-".join(scopes), "scopes": list(scopes)}, status=201)
    return {"Authorization": f"Bearer {made['token']}"}


async def forked(server: Running, id: str, headers: dict[str, str], status: int = 201, **more: Any) -> Any:
    """What a fork at the first event is answered."""
    body = {"at_seq": 1, **more}
    answer = await server.plain.post(f"{EXECUTIONS}/{id}/fork", json=body, headers=headers)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_nobody_runs_under_rules_that_they_may_not_choose() -> None:
    """A fork of a fork, of any depth, is judged by the agent's bundle unless its own maker may set policies; and a key
    that may not is told so, whatever the source was."""

    async def scenario(server: Running) -> None:
        plain = await key(server, "executions:write", "executions:read")
        may = await key(server, "executions:write", "executions:read", "policies:write")
        async with agent(server, bundle=DENIES) as a:
            made = await server.post(EXECUTIONS, {"agent_id": "agent"}, status=201)
            assert (await a.submit(await a.take()))["decision"] == "denied"
            await forked(server, made["id"], plain, 403, policy_bundle=ALLOWS)
            source = made["id"]
            own = await forked(server, source, may, policy_bundle=ALLOWS)
            assert (await a.submit(await a.take()))["decision"] == "proceed"
            again = await forked(server, own["id"], plain)
            assert await a.take() == again["id"]
            assert (await a.submit(again["id"]))["decision"] == "denied"
            await forked(server, made["id"], plain, 403, keep_policy=True)
            await forked(server, own["id"], plain, 403, keep_policy=True)
            kept = await forked(server, own["id"], may, keep_policy=True)
            assert await a.take() == kept["id"]
            assert (await a.submit(kept["id"]))["decision"] == "proceed"
            await forked(server, kept["id"], plain, 403, keep_policy=True)
            last = await forked(server, kept["id"], plain)
            assert await a.take() == last["id"]
            assert (await a.submit(last["id"]))["decision"] == "denied"
            await forked(server, kept["id"], may, 400, keep_policy=True, policy_bundle=ALLOWS)

    play(scenario)


@pytest.mark.parametrize("session", ["", "of-its-own"])
def test_a_fork_has_what_its_source_had_of_a_session(session: str) -> None:
    """previous() gives what it gave, for whom it runs stays, and the session is told; the fork takes no turn in it, so
    that the next execution of the session goes on from what completed there."""

    async def scenario(server: Running) -> None:
        chat = {"agent_id": "agent", "session": "march", "on_behalf_of": "ana"}
        async with agent(server) as a:
            await server.post(EXECUTIONS, chat, status=201)
            first = await a.take()
            await a.said("POST", f"{EXECUTIONS}/{first}/complete", {"output": "out", "state": {"n": 1}}, status=204)
            await server.post(EXECUTIONS, chat, status=201)
            second = await a.take()
            assert await a.said("GET", f"{EXECUTIONS}/{second}/previous") == {"state": {"n": 1}}
            made = await server.post(
                f"{EXECUTIONS}/{second}/fork", {"at_seq": 1, **({"session": session} if session else {})}, status=201
            )
            of_fork = await server.post(f"{EXECUTIONS}/{made['id']}/fork", {"at_seq": 1}, status=201)
            for one in (made, of_fork):
                assert (one["status"], one["on_behalf_of"], one["parent_execution_id"]) == ("running", "ana", first)
                assert one["session"] == (session or "march")
                assert (await server.get(f"{EXECUTIONS}/{one['id']}"))["session"] == (session or "march")
                id = await a.take()
                assert await a.said("GET", f"{EXECUTIONS}/{id}/previous") == {"state": {"n": 1}}
                await a.said("POST", f"{EXECUTIONS}/{id}/complete", {"output": "a fork's"}, status=204)
            await server.post(f"{EXECUTIONS}/{second}/cancel", status=204)
            await server.post(EXECUTIONS, chat, status=201)
            third = await a.take()
            assert await a.said("GET", f"{EXECUTIONS}/{third}/previous") == {"state": {"n": 1}}

    play(scenario)


def test_a_subagents_fork_is_nobodys_child_and_its_input_still_a_subagents() -> None:
    """It says whose subagent its source was; no step waits for it, and the parent's end does not end it."""

    async def scenario(server: Running) -> None:
        async with agent(server) as a:
            await server.post(EXECUTIONS, {"agent_id": "agent"}, status=201)
            parent = await a.take()
            step = await a.submit(parent)
            spawned = {"execution_id": parent, "step_id": step["step_id"]}
            child = await server.post(EXECUTIONS, {"agent_id": "agent", "spawned_by": spawned}, status=201)
            of_child = await server.post(f"{EXECUTIONS}/{child['id']}/fork", {"at_seq": 1}, status=201)
            assert of_child["spawned_by"] == {"execution_id": parent, "step_id": ""}
            await server.post(f"{EXECUTIONS}/{parent}/cancel", status=204)

            async def ended() -> bool:
                return bool((await server.get(f"{EXECUTIONS}/{child['id']}"))["status"] == "cancelled")

            await until(ended)
            # The sweep that ends what a dead replica left behind goes by every 50 ms.
            await server.server.serving.sweep()
            assert (await server.get(f"{EXECUTIONS}/{of_child['id']}"))["status"] == "running"

    play(scenario)


def test_a_fork_ends_at_the_deadline_that_was_asked_for() -> None:
    """In seconds from now; without one it has none."""

    async def scenario(server: Running) -> None:
        async with agent(server):
            made = await server.post(EXECUTIONS, {"agent_id": "agent"}, status=201)
            without = await server.post(f"{EXECUTIONS}/{made['id']}/fork", {"at_seq": 1}, status=201)
            assert without["deadline_at"] is None
            for wrong in (0, -1, 1e30, "5", True):
                asked = {"at_seq": 1, "deadline_seconds": wrong}
                assert (await server.http.post(f"{EXECUTIONS}/{made['id']}/fork", json=asked)).status_code == 400
            body = {"at_seq": 1, "deadline_seconds": 0.2}
            timed = await server.post(f"{EXECUTIONS}/{made['id']}/fork", body, status=201)
            assert timed["deadline_at"]

            async def over() -> bool:
                row = await server.get(f"{EXECUTIONS}/{timed['id']}")
                return bool((row["status"], row["failure_reason"]) == ("cancelled", "deadline_exceeded"))

            await until(over)
            assert (await server.get(f"{EXECUTIONS}/{without['id']}"))["status"] == "running"

    play(scenario)


def test_limits_hold_for_forks_of_served_executions() -> None:
    """A place that the source has is taken in the fork, in one execution and over all."""
    bundle = 'bundle few\ndefault allow\nrule few { allow tool "look" limit 1 per execution }\n'

    async def scenario(server: Running) -> None:
        async with agent(server, bundle=bundle) as a:
            await server.post(EXECUTIONS, {"agent_id": "agent"}, status=201)
            id = await a.take()
            said = await a.submit(id)
            await a.said("POST", f"{EXECUTIONS}/{id}/steps/{said['step_id']}/complete", {"result": 1})
            assert (await a.submit(id, args={"n": 2}))["decision"] == "rate_limited"
            head = (await server.get(f"{EXECUTIONS}/{id}/fork-points"))["latest_seq"]
            await server.post(f"{EXECUTIONS}/{id}/fork", {"at_seq": head}, status=201)
            fork = await a.take()
            assert (await a.submit(fork))["decision"] == "replay"
            assert (await a.submit(fork, args={"n": 2}))["decision"] == "rate_limited"

    play(scenario)


def test_the_client_asks_for_all_of_it() -> None:
    """What the command and programs send."""
    from rebuno.errors import ForbiddenError
    from rebuno.sdk.client import Client

    async def scenario(server: Running) -> None:
        token = (await key(server, "executions:write", "executions:read"))["Authorization"].removeprefix("Bearer ")
        async with agent(server):
            made = await server.post(EXECUTIONS, {"agent_id": "agent"}, status=201)
            async with Client(server.url, api_key=token) as client:
                timed = await client.fork(made["id"], at_seq=1, deadline_seconds=60)
                assert timed.deadline_at is not None
                with pytest.raises(ForbiddenError):
                    await client.fork(made["id"], at_seq=1, keep_policy=True)

    play(scenario)


def test_forks_are_made_while_the_session_is_busy() -> None:
    """The source still runs in it, and so does the fork."""

    async def scenario(server: Running) -> None:
        async with agent(server) as a:
            made = await server.post(EXECUTIONS, {"agent_id": "agent", "session": "s"}, status=201)
            await a.take()
            forks = await asyncio.gather(
                *(server.post(f"{EXECUTIONS}/{made['id']}/fork", {"at_seq": 1}, status=201) for _ in range(3))
            )
            assert [one["status"] for one in forks] == ["running"] * 3

    play(scenario)
