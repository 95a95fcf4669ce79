"""The routes of resources: what they take, and what they say."""

from typing import Any

from tests.server.support import Agent, Running, agent, fits, play

EXECUTIONS = "/v0/executions"


async def begun(server: Running, a: Agent) -> str:
    """The path of a new execution that the agent has been told of."""
    await server.post(EXECUTIONS, {"agent_id": "agent"}, status=201)
    return f"{EXECUTIONS}/{await a.take()}"


def register(**more: Any) -> dict[str, Any]:
    """The body of a registration."""
    return {"key": "box", "driver_id": "test", **more}


def test_a_resource_through_its_life() -> None:
    """What there is none of is left out, and nothing is null that the published SDK takes for a text."""

    async def scenario(server: Running) -> None:
        async with agent(server) as a:
            path = await begun(server, a)
            configured = {"configuration": {"b": 1.0, "a": "é"}}
            view = await a.said("POST", f"{path}/resources", register(every_steps=1, **configured))
            fits("ResourceOut", view)
            assert view == {
                "key": "box",
                "driver_id": "test",
                "configuration": {"a": "é", "b": 1.0},
                "coverage_reuse": False,
                "every_steps": 1,
                "on_completion": True,
                "registered_seq": view["registered_seq"],
                "generation": 0,
                "count": 0,
                "covered": False,
            }
            await a.said("POST", f"{path}/resources/box/binding", {"binding": {"at": "here"}}, status=204)
            capture = {"key": "box", "generation": 0, "checkpoint_ref": "r0"}
            await a.said("POST", f"{path}/resources/checkpoints", {"captures": [capture]}, status=204)
            decision = await a.submit(path.rpartition("/")[2], resources=["box"])
            fits("DecisionOut", decision)
            assert decision["resources"] == [{"key": "box", "generation": 1, "due": True}]
            done = {"result": 1, "captures": [{**capture, "generation": 1}], "capture_failures": None}
            step = decision["step_id"]
            assert (await a.said("POST", f"{path}/steps/{step}/complete", done))["decision"] == "recorded"
            view = await a.said("POST", f"{path}/resources", register(every_steps=9, **configured))
            assert (view["binding"], view["generation"], view["count"], view["covered"]) == ({"at": "here"}, 1, 1, True)
            points = await server.get(f"{path}/fork-points")
            fits("ForkPoints", points)
            assert [one["checkpoint_ref"] for one in points["checkpoints"]] == ["r0", "r0"]
            assert ["invalidated_seq" in one for one in points["checkpoints"]] == [True, False]
            fork = await server.post(f"{path}/fork", {"at_seq": points["latest_seq"]}, status=201)
            assert fork["restoration"]["box"]["covered"] is True
            assert (await server.get(f"{EXECUTIONS}/{fork['id']}"))["restoration"] is None
            a.dispatch = {}
            other = await a.take()
            view = await a.said("POST", f"{EXECUTIONS}/{other}/resources", register(**configured))
            fits("ResourceOut", view)
            assert view["checkpoint_ref"] == "r0"
            assert "binding" not in view

    play(scenario)


def test_what_is_refused() -> None:
    """Each with its status and code; nothing of it is recorded."""

    async def scenario(server: Running) -> None:
        async with agent(server) as a:
            path = await begun(server, a)
            for body in (
                {},
                register(key=""),
                register(key="a/b"),
                register(key="x" * 129),
                register(driver_id=""),
                register(every_steps=-1),
                register(every_steps=1.5),
                register(coverage_reuse="yes"),
                register(more=1),
            ):
                assert (await a.said("POST", f"{path}/resources", body, status=400))["code"] == "validation_error"
            for key in ("box", "no%20key", "%00"):
                refused = await a.said("POST", f"{path}/resources/{key}/binding", {"binding": 1}, status=404)
                assert refused["code"] == "not_found"
            await a.said("POST", f"{path}/resources", register())
            for body in ({}, {"binding": None}, {"bound": 1}):
                await a.said("POST", f"{path}/resources/box/binding", body, status=400)
            await a.said("POST", f"{path}/resources/box/binding", {"binding": [1]}, status=204)
            await a.said("POST", f"{path}/resources/box/binding", {"binding": [1]}, status=204)
            assert (await a.said("POST", f"{path}/resources/box/binding", {"binding": [2]}, status=409))[
                "code"
            ] == "conflict"
            assert (await a.said("POST", f"{path}/resources", register(driver_id="x"), status=409))[
                "code"
            ] == "conflict"
            capture = {"key": "box", "generation": 0, "checkpoint_ref": "r"}
            for body in (
                {"captures": [1]},
                {"captures": [{**capture, "generation": "0"}]},
                {"captures": [{"key": "box"}]},
            ):
                await a.said("POST", f"{path}/resources/checkpoints", body, status=400)
            many = [capture] * 1001
            await a.said("POST", f"{path}/resources/checkpoints", {"captures": many}, status=400)
            for body in ({}, {"captures": None, "capture_failures": None}, {"captures": []}):
                await a.said("POST", f"{path}/resources/checkpoints", body, status=204)
            assert (await server.get(f"{path}/fork-points"))["checkpoints"] == []
            step = {"kind": "tool_call", "target": "look", "args": {}, "resources": ["box", "none"]}
            assert "`none`" in (await a.said("POST", f"{path}/steps", step, status=400))["message"]

    play(scenario)


def test_the_routes_are_fenced() -> None:
    """Without the headers of a delivery 400, under another one and after the end 409; for an operator's token 401."""

    async def scenario(server: Running) -> None:
        async with agent(server) as a:
            path = await begun(server, a)
            bodies = {
                "resources": register(),
                "resources/box/binding": {"binding": 1},
                "resources/checkpoints": {"captures": []},
            }
            dispatch = a.dispatch
            for route, body in bodies.items():
                a.dispatch = {}
                assert (await a.said("POST", f"{path}/{route}", body, status=400))["code"] == "validation_error"
                a.dispatch = {**dispatch, "Rebuno-Dispatch-Attempt": "7"}
                assert (await a.said("POST", f"{path}/{route}", body, status=409))["code"] == "lease_superseded"
                assert (await server.post(f"{path}/{route}", body, status=401))["code"] == "unauthorized"
            a.dispatch = dispatch
            await a.said("POST", f"{path}/complete", {"output": None}, status=204)
            for route, body in bodies.items():
                assert (await a.said("POST", f"{path}/{route}", body, status=409))["code"] == "execution_terminal"

    play(scenario)


def test_a_resource_may_be_named_like_the_route_of_checkpoints() -> None:
    """Its binding has a path of its own."""

    async def scenario(server: Running) -> None:
        async with agent(server) as a:
            path = await begun(server, a)
            await a.said("POST", f"{path}/resources", register(key="checkpoints"))
            await a.said("POST", f"{path}/resources/checkpoints/binding", {"binding": 1}, status=204)
            assert (await a.said("POST", f"{path}/resources", register(key="checkpoints")))["binding"] == 1

    play(scenario)
