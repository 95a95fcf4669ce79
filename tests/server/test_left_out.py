"""What clients of other languages leave out, and how they write ids: taken as the protocol says."""

from typing import Any

import pytest

from rebuno.model.definition import define
from tests.server.support import Agent, Running, agent, play

EXECUTIONS = "/v0/executions"


async def _executing(server: Running, one: Agent, args: Any = None) -> tuple[str, str]:
    """A step of a new execution whose body runs: the ids of both."""
    begun = await server.post(EXECUTIONS, {"agent_id": "agent"}, status=201)
    await one.take()
    decision = await one.submit(begun["id"], args=args)
    assert decision["decision"] == "proceed"
    return begun["id"], decision["step_id"]


@pytest.mark.parametrize("body", [{}, {"result": None}, {"captures": None}, b""], ids=["empty", "null", "more", "none"])
def test_a_result_that_is_left_out_is_null(body: Any) -> None:
    """A handler that returns nothing has nothing to send."""

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            id, step_id = await _executing(server, one)
            path = f"{EXECUTIONS}/{id}/steps/{step_id}"
            assert await one.said("POST", f"{path}/complete", body) == {"decision": "recorded"}
            found = await server.get(path)
            assert (found["status"], found["result"], found["error"]) == ("succeeded", None, None)

    play(scenario)


@pytest.mark.parametrize("body", [{}, {"error": None}, b""], ids=["empty", "null", "none"])
def test_an_error_that_is_left_out_is_a_failure_all_the_same(body: Any) -> None:
    """It is kept as the text of null, since a failure without an error would replay as a success."""

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            id, step_id = await _executing(server, one)
            path = f"{EXECUTIONS}/{id}/steps/{step_id}"
            assert await one.said("POST", f"{path}/fail", body) == {"decision": "recorded"}
            found = await server.get(path)
            assert (found["status"], found["result"], found["error"]) == ("failed", None, {"message": "null"})

    play(scenario)


@pytest.mark.parametrize("body", [{}, {"output": None}, b""], ids=["empty", "null", "none"])
def test_an_output_that_is_left_out_is_null(body: Any) -> None:
    """The execution ends, once."""

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            id, _ = await _executing(server, one)
            await one.said("POST", f"{EXECUTIONS}/{id}/complete", body, status=204)
            found = await server.get(f"{EXECUTIONS}/{id}")
            assert (found["status"], found["output"]) == ("completed", None)

    play(scenario)


@pytest.mark.parametrize("body", [{}, {"error": None}, {"error": ""}], ids=["empty", "null", "blank"])
def test_an_execution_may_fail_without_a_reason(body: Any) -> None:
    """It is the agent's error then."""

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            id, _ = await _executing(server, one)
            await one.said("POST", f"{EXECUTIONS}/{id}/fail", body, status=204)
            found = await server.get(f"{EXECUTIONS}/{id}")
            assert (found["status"], found["failure_reason"]) == ("failed", "agent_error")

    play(scenario)


@pytest.mark.parametrize("more", [{}, {"args": None, "idempotency": None}], ids=["left_out", "null"])
def test_a_step_without_arguments_has_null_and_is_safe_to_retry(more: dict[str, Any]) -> None:
    """Both ways of leaving them out are one step."""

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            begun = await server.post(EXECUTIONS, {"agent_id": "agent"}, status=201)
            await one.take()
            path = f"{EXECUTIONS}/{begun['id']}/steps"
            decision = await one.said("POST", path, {"kind": "tool_call", "target": "look", **more})
            found = await server.get(f"{path}/{decision['step_id']}")
            assert (found["args"], found["idempotency"]) == (None, "safe_to_retry")

    play(scenario)


def test_ids_in_capitals_are_found() -> None:
    """In paths, bodies, queries and headers, by clients and by agents."""

    async def scenario(server: Running) -> None:
        bundle = 'bundle b\nrule r {\n  require approval for tool "*"\n}\n'
        async with agent(server, bundle=bundle) as one:
            begun = await server.post(EXECUTIONS, {"agent_id": "agent"}, status=201)
            id, loud = begun["id"], begun["id"].upper()
            await one.take()
            one.dispatch["Rebuno-Dispatch-Id"] = one.dispatch["Rebuno-Dispatch-Id"].upper()
            asked = await one.submit(loud)
            assert (await server.get(f"{EXECUTIONS}/{loud}"))["id"] == id
            step = await server.get(f"{EXECUTIONS}/{loud}/steps/{asked['step_id'].upper()}")
            assert (step["execution_id"], step["step_id"]) == (id, asked["step_id"])
            assert (await one.said("GET", f"{EXECUTIONS}/{loud}"))["id"] == id
            listed = await server.get("/v0/approvals", params={"execution_id": loud})
            assert [found["id"] for found in listed] == [asked["approval_id"]]
            assert (await server.get(f"/v0/approvals/{asked['approval_id'].upper()}"))["execution_id"] == id
            await server.post(f"/v0/approvals/{asked['approval_id'].upper()}/grant", {}, status=204)
            assert (await server.get(EXECUTIONS, params={"cursor": loud}))["executions"] == []
            key = await server.post("/v0/api-keys", {"name": "k", "scopes": ["agents:read"]}, status=201)
            assert (await server.post(f"/v0/api-keys/{key['id'].upper()}/rotate"))["id"] == key["id"]

    play(scenario)


@pytest.mark.parametrize("limit", ["0", "-1", "-9999"])
def test_a_limit_of_nothing_is_the_usual_one(limit: str) -> None:
    """Of executions and of events."""

    async def scenario(server: Running) -> None:
        async with agent(server):
            made = [(await server.post(EXECUTIONS, {"agent_id": "agent"}, status=201))["id"] for _ in range(51)]
            page = await server.get(EXECUTIONS, params={"limit": limit})
            assert [found["id"] for found in page["executions"]] == made[:0:-1]
            assert page["next_cursor"] == made[1]
            assert await server.get(f"{EXECUTIONS}/{made[0]}/events", params={"limit": limit})

    play(scenario)


def test_what_a_tool_says_of_its_failure_stands_beside_the_error() -> None:
    """`nothing_done` is kept where it is true, and left out otherwise; within the error it is no more than a key."""

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            for body, kept in (
                ({"error": {"message": "no"}, "nothing_done": True}, True),
                ({"error": {"message": "no"}, "nothing_done": False}, None),
                ({"error": {"message": "no", "nothing_done": True}}, None),
            ):
                id, step_id = await _executing(server, one)
                path = f"{EXECUTIONS}/{id}/steps/{step_id}"
                assert await one.said("POST", f"{path}/fail", body) == {"decision": "recorded"}
                assert (await server.get(path)).get("nothing_done") is kept
                await one.said("POST", f"{EXECUTIONS}/{id}/complete", {}, status=204)

    play(scenario)


def test_a_step_brings_the_definition_of_its_tool() -> None:
    """It is shown with the step, and its description under its digest; a digest that is not its own is refused."""
    told = {"server": "bank", "name": "pay", "description": "Pays.", "input_schema": {"type": "object"}}
    whole = define("bank", "pay", description="Pays.", input_schema={"type": "object"})

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            begun = await server.post(EXECUTIONS, {"agent_id": "agent"}, status=201)
            await one.take()
            path = f"{EXECUTIONS}/{begun['id']}/steps"
            step = {"kind": "tool_call", "target": "pay", "args": {}}
            await one.said("POST", path, {**step, "definition": {**told, "digest": "00"}}, status=400)
            said = await one.said("POST", path, {**step, "definition": told})
            again = await one.said("POST", path, {**step, "definition": {"server": "bank", "name": "pay"}})
            shown = [(await server.get(f"{path}/{of['step_id']}"))["definition"] for of in (said, again)]
            assert shown == [whole.facts, {"server": "bank", "name": "pay"}]
            [tool] = await server.get("/v0/tools")
            assert tool == {**told, "digest": whole.digest, "output_schema": None}

    play(scenario)
