"""Calls that contradict what is recorded, or come too late, each with its status and code."""

from typing import Any

from tests.server.support import Agent, Running, agent, play

EXECUTIONS = "/v0/executions"
ASKING = 'bundle b\ndefault allow\nrule pay {\n  require approval for tool "pay"\n  because "money"\n}\n'


async def _begun(server: Running, one: Agent, **more: Any) -> str:
    """An execution that the agent was told of."""
    begun = await server.post(EXECUTIONS, {"agent_id": one.id, **more}, status=201)
    assert await one.take() == begun["id"]
    return str(begun["id"])


async def _refused(server: Running, body: dict[str, Any], status: int) -> str:
    return str((await server.post(EXECUTIONS, {"agent_id": "agent", **body}, status=status))["code"])


def test_a_key_begins_one_execution() -> None:
    """Again it is the first, whatever became of it; with another input it is a conflict; agents do not share one."""

    async def scenario(server: Running) -> None:
        async with agent(server) as one, agent(server, "other"):
            first = await _begun(server, one, idempotency_key="k", input={"a": 1, "b": 2})
            again = await server.post(
                EXECUTIONS, {"agent_id": "agent", "idempotency_key": "k", "input": {"b": 2, "a": 1}}, status=201
            )
            assert (again["id"], again["idempotency_key"]) == (first, "k")
            assert await _refused(server, {"idempotency_key": "k", "input": 1}, 409) == "conflict"
            await one.said("POST", f"{EXECUTIONS}/{first}/complete", {"output": 1}, status=204)
            ended = await server.post(
                EXECUTIONS, {"agent_id": "agent", "idempotency_key": "k", "input": {"a": 1, "b": 2}}, status=201
            )
            assert (ended["id"], ended["status"]) == (first, "completed")
            other = await server.post(EXECUTIONS, {"agent_id": "other", "idempotency_key": "k"}, status=201)
            assert other["id"] != first

    play(scenario)


def test_an_execution_continues_a_completed_one() -> None:
    """Of the same agent, and in a session that is new."""

    async def scenario(server: Running) -> None:
        async with agent(server) as one, agent(server, "other") as other:
            foreign = await _begun(server, other)
            await other.said("POST", f"{EXECUTIONS}/{foreign}/complete", {"output": 1}, status=204)
            running = await _begun(server, one)
            done = await _begun(server, one, session="used")
            await one.said("POST", f"{EXECUTIONS}/{done}/complete", {"output": 1, "state": None}, status=204)
            assert await _refused(server, {"parent_execution_id": running}, 409) == "conflict"
            assert await _refused(server, {"parent_execution_id": foreign}, 409) == "conflict"
            body = {"parent_execution_id": done, "session": "used"}
            assert (await server.http.post(EXECUTIONS, json={"agent_id": "agent", **body})).status_code == 409
            next = await _begun(server, one, parent_execution_id=done, session="new")
            assert (await server.get(f"{EXECUTIONS}/{next}"))["parent_execution_id"] == done
            # A state of null was given, and is none the less one.
            assert await server.get(f"{EXECUTIONS}/{next}/previous") == {"state": None}

    play(scenario)


def test_a_subagent_belongs_to_a_step_that_executes() -> None:
    """Of this very execution; the same step and agent again give the same child, another agent is a conflict."""

    async def scenario(server: Running) -> None:
        async with agent(server) as one, agent(server, "child") as child:
            other = await _begun(server, one)
            foreign = (await one.submit(other))["step_id"]
            third = await _begun(server, one)
            step = (await one.submit(third))["step_id"]
            spawned = {"spawned_by": {"execution_id": third, "step_id": step}}
            wrong = {"spawned_by": {"execution_id": third, "step_id": foreign}}
            assert (await server.http.post(EXECUTIONS, json={"agent_id": "child", **wrong})).status_code == 400
            made = await _begun(server, child, **spawned)
            again = await server.post(EXECUTIONS, {"agent_id": "child", **spawned}, status=201)
            assert (again["id"], again["spawned_by"]) == (made, spawned["spawned_by"])
            assert await _refused(server, spawned, 409) == "conflict"
            await one.said("POST", f"{EXECUTIONS}/{third}/complete", {"output": 1}, status=204)
            assert (await server.get(f"{EXECUTIONS}/{made}"))["status"] == "cancelled"
            late = {"agent_id": "child", "spawned_by": {"execution_id": third, "step_id": step}}
            assert (await server.post(EXECUTIONS, late, status=201))["id"] == made

    play(scenario)


def test_what_comes_after_the_end_is_told_so() -> None:
    """Outcomes and submissions get an answer, ends and cancellations a conflict."""

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            id = await _begun(server, one)
            step = (await one.submit(id))["step_id"]
            await one.said("POST", f"{EXECUTIONS}/{id}/complete", {"output": 1}, status=204)
            assert await one.submit(id) == {"decision": "execution_terminal"}
            outcome = await one.said("POST", f"{EXECUTIONS}/{id}/steps/{step}/complete", {"result": 1})
            assert outcome == {"decision": "execution_terminal"}
            for path, body in (("complete", {"output": 1}), ("fail", {"error": "e"})):
                late = await one.said("POST", f"{EXECUTIONS}/{id}/{path}", body, status=409)
                assert late["code"] == "execution_terminal"
            assert (await server.get(f"{EXECUTIONS}/{id}/steps/{step}"))["status"] == "cancelled"

    play(scenario)


def test_a_blocked_execution_does_not_end() -> None:
    """Its agent can neither complete nor fail it, and a new step outside a body is not recorded."""

    async def scenario(server: Running) -> None:
        async with agent(server, bundle=ASKING) as one:
            id = await _begun(server, one)
            assert (await one.submit(id, "pay"))["decision"] == "blocked"
            assert await one.submit(id, "look") == {"decision": "execution_blocked"}
            for path, body in (("complete", {"output": 1}), ("fail", {"error": "e"})):
                assert (await one.said("POST", f"{EXECUTIONS}/{id}/{path}", body, status=409))["code"] == "conflict"
            assert [row["target"] for row in await server.get(f"{EXECUTIONS}/{id}/steps")] == ["pay"]

    play(scenario)


def test_a_numbered_submission_is_answered_once() -> None:
    """Sent again it gets the first answer, and nothing more is recorded; another number is another step."""

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            id = await _begun(server, one)
            first = await one.submit(id, submission=1)
            assert await one.submit(id, submission=1) == first
            second = await one.submit(id, submission=2)
            assert second["step_id"] != first["step_id"]
            assert len(await server.get(f"{EXECUTIONS}/{id}/steps")) == 2

    play(scenario)


def test_outcomes_belong_to_steps_that_execute() -> None:
    """A step that there is not is not found, one that was denied is a conflict."""

    async def scenario(server: Running) -> None:
        async with agent(server, bundle="bundle b\ndefault deny\n") as one:
            id = await _begun(server, one)
            step = (await one.submit(id))["step_id"]
            path = f"{EXECUTIONS}/{id}/steps"
            denied = await one.send("POST", f"{path}/{step}/complete", {"result": 1})
            assert (denied.status_code, denied.json()["code"]) == (409, "conflict")
            missing = await one.said("POST", f"{path}/{'0' * 64}/complete", {"result": 1}, status=404)
            assert missing["code"] == "not_found"
            for body in ({"result": 1, "error": {}}, {"output": 1}):
                await one.said("POST", f"{path}/{step}/complete", body, status=400)

    play(scenario)


def test_a_fork_under_another_bundle_needs_its_scope() -> None:
    """A caller who may not set policies may not bring one along; one that does not compile is refused."""

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            id = await _begun(server, one)
            body = {"name": "k", "scopes": ["executions:write"]}
            key = await server.post("/v0/api-keys", body, status=201)
            headers = {"Authorization": f"Bearer {key['token']}"}
            path = f"{EXECUTIONS}/{id}/fork"
            plain = await server.plain.post(path, json={"at_seq": 1}, headers=headers)
            assert (plain.status_code, plain.json()["created_by"]) == (201, "k")
            own = {"at_seq": 1, "policy_bundle": "bundle b\ndefault deny\n"}
            assert (await server.plain.post(path, json=own, headers=headers)).status_code == 403
            await server.post(path, own, status=201)
            broken = await server.post(path, {"at_seq": 1, "policy_bundle": "bundl"}, status=400)
            assert broken["details"]

    play(scenario)
