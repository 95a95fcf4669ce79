"""Who may call which route: each one with every credential that it must refuse."""

import time
from typing import Any

import httpx2

from rebuno.sdk import signing
from rebuno.server.app import ENDPOINTS
from rebuno.server.auth import KeyScope
from rebuno.server.routes import Endpoint, Who
from tests.server.support import SECRET, Agent, Running, agent, inbox, play, until

UNKNOWN = "01920000-0000-7000-8000-00000000dead"


def _path(endpoint: Endpoint) -> str:
    return endpoint.path.replace("{id}", UNKNOWN).replace("{step_id}", "f" * 64)


async def _refusals(server: Running, headers: dict[str, str], status: int, only: frozenset[Who]) -> None:
    code = {401: "unauthorized", 403: "forbidden"}[status]
    for endpoint in ENDPOINTS:
        if endpoint.who in only:
            answer = await server.plain.request(endpoint.method, _path(endpoint), headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (status, code), endpoint.path


OPERATORS = frozenset({Who.OPERATOR, Who.EITHER})
NOT_OPEN = frozenset({Who.OPERATOR, Who.EITHER, Who.AGENT})


def test_every_route_but_the_open_ones_asks_who_calls() -> None:
    """Without credentials, with those of nobody, and with a key that was revoked."""

    async def scenario(server: Running) -> None:
        key = await server.post("/v0/api-keys", {"name": "k", "scopes": [s.value for s in KeyScope]}, status=201)
        await server.http.delete(f"/v0/api-keys/{key['id']}")
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Bearer {key['token']}"}):
            await _refusals(server, headers, 401, NOT_OPEN)
        for endpoint in ENDPOINTS:
            if endpoint.who is Who.ANYONE:
                assert (await server.plain.request(endpoint.method, endpoint.path)).status_code == 200

    play(scenario)


def test_every_route_asks_for_its_own_scopes() -> None:
    """A key with all scopes but one of a route's is refused there; one with no other than these is not."""

    async def scenario(server: Running) -> None:
        async def status(endpoint: Endpoint, scopes: frozenset[KeyScope]) -> int:
            token = tokens.get(scopes)
            if token is None:
                body = {"name": "k", "scopes": sorted(scopes)}
                token = tokens[scopes] = (await server.post("/v0/api-keys", body, status=201))["token"]
            headers = {"Authorization": f"Bearer {token}"}
            return (await server.plain.request(endpoint.method, _path(endpoint), headers=headers)).status_code

        tokens: dict[frozenset[KeyScope], str] = {}
        for endpoint in ENDPOINTS:
            if endpoint.who in OPERATORS:
                assert await status(endpoint, frozenset(endpoint.scopes)) not in (401, 403), endpoint.path
                for scope in endpoint.scopes:
                    assert await status(endpoint, frozenset(KeyScope) - {scope}) == 403, endpoint.path

    play(scenario)


def test_an_agents_routes_ask_for_its_signature() -> None:
    """The bootstrap token does not do, nor a signature with another secret."""

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            bearer = {"Authorization": server.http.headers["authorization"]}
            await _refusals(server, bearer, 401, frozenset({Who.AGENT}))
            one.secret = "another"
            for endpoint in ENDPOINTS:
                if endpoint.who in (Who.AGENT, Who.EITHER):
                    assert (await one.send(endpoint.method, _path(endpoint))).status_code == 401, endpoint.path

    play(scenario)


def test_an_agent_keeps_to_its_own_executions() -> None:
    """Another's are forbidden to it, whatever it wants with them, and so is another's metadata."""

    async def scenario(server: Running) -> None:
        async with agent(server) as owner, agent(server, "other") as other:
            begun = await server.post("/v0/executions", {"agent_id": "agent"}, status=201)
            await owner.take()
            step = (await owner.submit(begun["id"]))["step_id"]
            other.dispatch = owner.dispatch
            bodies: dict[str, Any] = {
                "submit": {"kind": "tool_call", "target": "t", "args": {}, "idempotency": "safe_to_retry"},
                "complete_step": {"result": 1},
                "fail_step": {"error": {"message": "m"}},
                "publish": {"seq": 0, "data": "d"},
                "complete": {"output": 1},
                "fail": {"error": "e"},
                "register_resource": {"key": "k", "driver_id": "d"},
                "bind_resource": {"binding": "b"},
                "publish_checkpoints": {},
                "set_metadata": {"description": "d", "input_schema": None, "output_schema": None},
            }
            for endpoint in ENDPOINTS:
                if endpoint.who in (Who.AGENT, Who.EITHER):
                    id = "agent" if endpoint.path.startswith("/v0/agents") else begun["id"]
                    path = endpoint.path.replace("{id}", id).replace("{step_id}", step).replace("{key}", "k")
                    body = bodies.get(endpoint.handle.__name__, b"")
                    answer = await other.send(endpoint.method, path, body)
                    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), endpoint.path

    play(scenario)


def test_a_foreign_step_is_not_found() -> None:
    """A step of another execution is none of this one, even for its own agent."""

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            first = await server.post("/v0/executions", {"agent_id": "agent"}, status=201)
            await one.take()
            step = (await one.submit(first["id"]))["step_id"]
            second = await server.post("/v0/executions", {"agent_id": "agent"}, status=201)
            await one.take()
            path = f"/v0/executions/{second['id']}/steps/{step}"
            await one.said("GET", path, status=404)
            await one.said("POST", f"{path}/complete", {"result": 1}, status=404)

    play(scenario)


def test_dispatch_headers_are_asked_for() -> None:
    """Missing or malformed they are the caller's mistake, another execution's are a lost lease."""

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            first = await server.post("/v0/executions", {"agent_id": "agent"}, status=201)
            await one.take()
            held = one.dispatch
            second = await server.post("/v0/executions", {"agent_id": "agent"}, status=201)
            await one.take()
            path = f"/v0/executions/{second['id']}/heartbeat"
            await one.said("POST", path, status=204)
            await one.said("POST", f"/v0/executions/{UNKNOWN}/heartbeat", status=404)
            one.dispatch = held
            assert (await one.said("POST", path, status=409))["code"] == "lease_superseded"
            await one.said("POST", f"/v0/executions/{first['id']}/heartbeat", status=204)
            one.dispatch = {}
            assert (await one.said("POST", path, status=400))["code"] == "validation_error"

    play(scenario)


def test_a_signature_covers_the_path_as_it_was_sent() -> None:
    """Escapes and the query count as the bytes that they are."""

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            begun = await server.post("/v0/executions", {"agent_id": "agent"}, status=201)
            await one.take()
            escaped = begun["id"].replace("-", "%2D")
            for path in (f"/v0/executions/{escaped}", f"/v0/executions/{begun['id']}?a=b%20c&d=%C3%A9"):
                assert (await _raw(server, one, path, path)).status_code == 200
            plain = f"/v0/executions/{begun['id']}"
            assert (await _raw(server, one, f"/v0/executions/{escaped}", plain)).status_code == 401

    play(scenario)


async def _raw(server: Running, one: Agent, sent: str, signed: str) -> httpx2.Response:
    stamp = str(int(time.time()))
    headers = {
        "Rebuno-Agent-Id": one.id,
        "Rebuno-Timestamp": stamp,
        "Rebuno-Signature": signing.request(SECRET, "GET", signed, stamp, b""),
    }
    return await server.plain.get(httpx2.URL(f"{server.url}{sent}"), headers=headers)


def test_a_header_that_comes_twice_is_refused_on_every_route() -> None:
    """Also where no token is asked for, and where both say the same."""

    async def scenario(server: Running) -> None:
        token = server.http.headers["authorization"]
        for endpoint in ENDPOINTS:
            for name, values in (("Authorization", (token, token)), ("Rebuno-Agent-Id", ("agent", "other"))):
                twice = [(name, value) for value in values]
                answer = await server.plain.request(endpoint.method, _path(endpoint), headers=twice)
                assert (answer.status_code, answer.json()["code"]) == (400, "validation_error"), endpoint.path

    play(scenario)


def test_a_kernel_for_trying_things_out_lets_everybody_in() -> None:
    """Who sends no token may do everything; one that is sent has to be known."""

    async def scenario(server: Running) -> None:
        async with inbox() as box:
            body = {"id": "agent", "webhook_url": box.url, "secret": SECRET}
            assert (await server.plain.post("/v0/agents", json=body)).status_code == 201
            begun = await server.plain.post("/v0/executions", json={"agent_id": "agent"})
            assert (begun.status_code, begun.json()["created_by"]) == (201, "anyone")
            wrong = {"Authorization": "Bearer wrong"}
            assert (await server.plain.get("/v0/agents", headers=wrong)).status_code == 401
            assert (await server.plain.post(f"/v0/executions/{begun.json()['id']}/heartbeat")).status_code == 401

    play(scenario, open_to_all=True, permissive=True)


def test_no_secret_is_ever_told() -> None:
    """Neither in an answer nor in an error: tokens once, when they are made, and agents' secrets never."""

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            key = await server.post("/v0/api-keys", {"name": "k", "scopes": ["agents:read"]}, status=201)
            texts = [
                (await server.http.get(path)).text
                for path in ("/v0/agents", "/v0/agents/agent", "/v0/api-keys", "/metrics", "/openapi.json")
            ]
            again = {"id": "agent", "webhook_url": one.inbox.url, "secret": SECRET}
            texts.append((await server.http.post("/v0/agents", json=again)).text)
            texts.append((await server.http.post("/v0/agents", json={**again, "secret": 1, "x": SECRET})).text)
            texts.append((await server.http.post("/v0/api-keys", json={"name": key["token"], "x": 1})).text)
            for text in texts:
                assert SECRET not in text
                assert key["token"] not in text
            assert len({key["token"], (await server.post(f"/v0/api-keys/{key['id']}/rotate"))["token"]}) == 2

    play(scenario)


def test_a_rotated_token_is_the_only_one() -> None:
    """The old one is refused soon after; a revoked key has no new one."""

    async def scenario(server: Running) -> None:
        key = await server.post("/v0/api-keys", {"name": "k", "scopes": ["agents:read"]}, status=201)
        new = await server.post(f"/v0/api-keys/{key['id']}/rotate")

        async def refused(token: str) -> bool:
            answer = await server.plain.get("/v0/agents", headers={"Authorization": f"Bearer {token}"})
            return answer.status_code == 401

        await until(lambda: refused(key["token"]))
        assert not await refused(new["token"])
        assert (await server.http.delete(f"/v0/api-keys/{key['id']}")).status_code == 204
        assert (await server.post(f"/v0/api-keys/{key['id']}/rotate", status=409))["code"] == "conflict"
        await server.post(f"/v0/api-keys/{UNKNOWN}/rotate", status=404)

    play(scenario)
