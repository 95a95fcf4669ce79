"""Bodies, queries and paths that are refused, each with its status and code, and nothing done."""

import asyncio
from typing import Any

import pytest

from rebuno.model import identity
from rebuno.server import connections
from tests.server.support import BEARER, Running, agent, play

EXECUTIONS = "/v0/executions"
UNKNOWN = b"01920000-0000-7000-8000-000000000000"
AGENT = b'{"agent_id":"agent","input":%b}'

BODIES: list[tuple[str, bytes, int]] = [
    ("no body", b"", 400),
    ("no JSON", b"{agent_id: agent}", 400),
    ("a list", b"[]", 400),
    ("a null", b"null", 400),
    ("no UTF-8", b'{"agent_id":"\xff"}', 400),
    ("an unknown field", b'{"agent_id":"agent","agent":"agent"}', 400),
    ("a repeated key", b'{"agent_id":"agent","agent_id":"agent"}', 400),
    ("a repeated key inside", AGENT % b'{"a":1,"a":1}', 400),
    ("a number for text", b'{"agent_id":1}', 400),
    ("not a number", AGENT % b"NaN", 400),
    ("an infinity", AGENT % b"-Infinity", 400),
    ("a number that overflows", AGENT % b"1e999", 400),
    ("half a character", AGENT % b'"\\ud800"', 400),
    ("too deep by one, its own level counted", AGENT % (b"[" * 128 + b"]" * 128), 400),
    ("very deep", AGENT % (b"[" * 100_000 + b"]" * 100_000), 400),
    ("text after the end", b'{"agent_id":"agent"}{}', 400),
    ("an agent that there is not", b'{"agent_id":"nobody"}', 404),
    ("a blank session", b'{"agent_id":"agent","session":" "}', 400),
    ("a session that is too long", b'{"agent_id":"agent","session":"%b"}' % (b"s" * 257), 400),
    ("a key with NUL", b'{"agent_id":"agent","idempotency_key":"\\u0000"}', 400),
    ("half a parent step", b'{"agent_id":"agent","spawned_by":{"execution_id":"%b"}}' % UNKNOWN, 400),
    ("a parent that there is not", b'{"agent_id":"agent","parent_execution_id":"%b"}' % UNKNOWN, 404),
    ("a parent whose id is no UUID", b'{"agent_id":"agent","parent_execution_id":"x"}', 400),
    ("a parent step whose id is no UUID", b'{"agent_id":"agent","spawned_by":{"execution_id":"x","step_id":"y"}}', 400),
]

FINE: list[tuple[str, bytes]] = [
    ("what may be left out may be null", b'{"agent_id":"agent","session":null,"input":null,"spawned_by":null}'),
    ("128 levels with its own", AGENT % (b"[" * 127 + b"]" * 127)),
    ("a whole character of two halves", AGENT % b'"\\ud83d\\ude00"'),
    ("the longest session, in bytes", b'{"agent_id":"agent","session":"%b"}' % ("é" * 128).encode()),
    ("blanks around it", b' {"agent_id":"agent"}\n'),
]


def test_a_malformed_body_is_refused() -> None:
    """With a reason, and without an execution."""

    async def scenario(server: Running) -> None:
        async with agent(server):
            for reason, body, status in BODIES:
                answer = await server.http.post(EXECUTIONS, content=body)
                code = {400: "validation_error", 404: "not_found"}[status]
                assert (answer.status_code, answer.json()["code"]) == (status, code), (reason, answer.text)
            assert (await server.get(EXECUTIONS))["executions"] == []
            for reason, body in FINE:
                assert (await server.http.post(EXECUTIONS, content=body)).status_code == 201, reason

    play(scenario)


SUBMITTED: dict[str, Any] = {"kind": "tool_call", "target": "t", "args": {}, "idempotency": "safe_to_retry"}

SUBMISSIONS: list[tuple[str, dict[str, Any], int]] = [
    ("an unknown kind", {"kind": "tool"}, 400),
    ("an unknown promise", {"idempotency": "never"}, 400),
    ("no target", {"target": ""}, 400),
    ("a submission below 1", {"submission": 0}, 400),
    ("a submission that is no number", {"submission": "1"}, 400),
    ("an unknown field", {"arguments": {}}, 400),
    ("resources that are none", {"resources": "r"}, 400),
    ("a parent step that does not run", {"parent_step_id": "f" * 64}, 400),
    ("what the published client sends", {"resources": []}, 200),
]


def test_a_malformed_submission_is_refused() -> None:
    """Nothing is recorded of it."""

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            begun = await server.post(EXECUTIONS, {"agent_id": "agent"}, status=201)
            await one.take()
            path = f"{EXECUTIONS}/{begun['id']}/steps"
            for reason, change, status in SUBMISSIONS:
                before = len(await server.get(path))
                answer = await one.send("POST", path, {**SUBMITTED, **change})
                assert answer.status_code == status, (reason, answer.text)
                assert len(await server.get(path)) == before + (status == 200), reason
            for missing in ("kind", "target"):
                body = {name: value for name, value in SUBMITTED.items() if name != missing}
                assert (await one.send("POST", path, body)).status_code == 400, missing

    play(scenario)


NOBODY = UNKNOWN.decode()

QUERIES: list[tuple[str, str, int]] = [
    ("no status of ours", f"{EXECUTIONS}?status=done", 400),
    ("no number", f"{EXECUTIONS}?limit=many", 400),
    ("a cursor that nobody gave", f"{EXECUTIONS}?cursor=abc", 400),
    ("twice", f"{EXECUTIONS}?limit=1&limit=2", 400),
    ("NUL", f"{EXECUTIONS}?session=%00", 400),
    ("no UTF-8", f"{EXECUTIONS}?session=%ff", 400),
    ("an empty value is none", f"{EXECUTIONS}?status=&session=", 200),
    ("unknown fields are not looked at", f"{EXECUTIONS}?x=1", 200),
    ("an unknown state of a question", "/v0/approvals?status=open", 400),
    ("every question", "/v0/approvals?status=all", 200),
    ("no route", "/v0/nothing", 404),
    ("no route, with a slash", f"{EXECUTIONS}/", 404),
    ("no execution", f"{EXECUTIONS}/{NOBODY}", 404),
    ("NUL in a path", f"{EXECUTIONS}/%00", 400),
    ("NUL in an agent's path", "/v0/agents/%00", 404),
    ("no UTF-8 in a path", f"{EXECUTIONS}/%ff", 400),
    ("no agent", "/v0/agents/nothing", 404),
    ("no question", f"/v0/approvals/{NOBODY}", 404),
    ("no execution's events", f"{EXECUTIONS}/{NOBODY}/events", 404),
    ("no execution's steps", f"{EXECUTIONS}/{NOBODY}/steps", 404),
    ("no execution's stream", f"{EXECUTIONS}/{NOBODY}/stream", 404),
    ("no execution's past", f"{EXECUTIONS}/{NOBODY}/previous", 404),
    ("no execution's forks", f"{EXECUTIONS}/{NOBODY}/fork-points", 404),
    *(
        (f"an id that is no UUID: {id}{more}", f"{path}/{id}{more}", 400)
        for id in ("nothing", f"{{{NOBODY}}}", NOBODY.replace("-", ""), NOBODY[:-1], f"urn:uuid:{NOBODY}", "%20")
        for path, more in ((EXECUTIONS, ""), (EXECUTIONS, "/events"), ("/v0/approvals", ""))
    ),
]


def test_a_malformed_query_or_path_is_refused() -> None:
    """Each with its status, as JSON, and never by sending the caller elsewhere."""

    async def scenario(server: Running) -> None:
        for reason, path, status in QUERIES:
            answer = await server.http.get(path)
            assert answer.status_code == status, (reason, answer.text)
            if status != 200:
                code = {400: "validation_error", 404: "not_found"}[status]
                assert answer.json()["code"] == code, reason
        wrong = await server.http.put(EXECUTIONS)
        assert (wrong.status_code, wrong.json()["code"]) == (405, "validation_error")

    play(scenario)


def test_a_body_has_a_size() -> None:
    """10 MiB are taken, and not a byte more, whether it is announced or not."""

    async def scenario(server: Running) -> None:
        async with agent(server):
            frame = len(AGENT % b'""')
            for size, status in ((identity.MAX_BYTES, 201), (identity.MAX_BYTES + 1, 413)):
                body = AGENT % (b'"%b"' % (b"x" * (size - frame)))
                answer = await server.http.post(EXECUTIONS, content=body)
                assert answer.status_code == status
            assert answer.json()["code"] == "validation_error"

            async def pieces() -> Any:
                for _ in range(11):
                    yield b" " * 1024 * 1024

            unannounced = await server.http.post(EXECUTIONS, content=pieces())
            assert unannounced.status_code == 413

    play(scenario)


def test_a_body_has_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that stops in the middle of one is told so."""
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.3)

    async def scenario(server: Running) -> None:
        host, port = server.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        head = f"POST {EXECUTIONS} HTTP/1.1\r\nHost: a\r\nAuthorization: {BEARER['Authorization']}\r\n"
        writer.write(f"{head}Content-Length: 100\r\n\r\n{{".encode())
        assert (await reader.readline()).startswith(b"HTTP/1.1 408")
        writer.close()

    play(scenario)


def test_an_answer_without_a_body_has_none() -> None:
    """A 204 says nothing, of no type."""

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            begun = await server.post(EXECUTIONS, {"agent_id": "agent"}, status=201)
            await one.take()
            answer = await one.send("POST", f"{EXECUTIONS}/{begun['id']}/heartbeat")
            assert (answer.status_code, answer.content) == (204, b"")
            assert "content-type" not in answer.headers
            extra = await one.send("POST", f"{EXECUTIONS}/{begun['id']}/heartbeat", {"x": 1})
            assert extra.status_code == 400

    play(scenario)
