"""The client against a real server, and against what is none."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

import rebuno
from rebuno.sdk import context
from tests.sdk.served import Served, play, served
from tests.sdk.wire import serving
from tests.server.support import SECRET, TOKEN

DICE = 'bundle dice\ndefault deny because "no dice"\n\nrule roll {\n  allow tool "roll"\n}\n'


async def echo(input: Any) -> Any:
    return input


async def executions(kernel: Served) -> None:
    client = kernel.client
    async with kernel.agent("echo", echo):
        first = await client.create("echo", "", idempotency_key="k", on_behalf_of="ana")
        again = await client.create("echo", "", idempotency_key="k")
        assert first.id == again.id
        assert first.on_behalf_of == "ana"
        with pytest.raises(rebuno.ConflictError):
            await client.create("echo", 1, idempotency_key="k")
        assert (await kernel.ended(first.id)).output == ""
        big = await client.create("echo", {"n": 10**30, "r": 1.0, "t": "\u0000<&>"})
        ended = await kernel.ended(big.id)
        assert json.dumps(ended.output) == json.dumps({"n": 10**30, "r": 1.0, "t": "\u0000<&>"})
        page = await client.list_executions(agent_id="echo", limit=1)
        assert [one.id for one in page.executions] == [big.id]
        rest = await client.list_executions(agent_id="echo", cursor=page.next_cursor or "", limit=1)
        assert ([one.id for one in rest.executions], rest.next_cursor) == ([first.id], None)
        log = await client.events(first.id)
        assert [event.event_seq for event in log] == list(range(1, await client.latest_seq(first.id) + 1))
        assert [event.event_seq for event in await client.events(first.id, after_seq=2, limit=1)] == [3]
        assert log[-1].hash == (await client.get(first.id)).head_hash
        forked = await client.fork(first.id, at_seq=1, session="new")
        assert (forked.forked_from, forked.fork_seq, forked.session) == (first.id, 1, "new")
        assert (await kernel.ended(forked.id)).status == "completed"
        with pytest.raises((rebuno.ConflictError, rebuno.Terminated)):
            await client.cancel(first.id)


async def agents_policies_and_keys(kernel: Served) -> None:
    client = kernel.client
    made = await client.put_agent("dice", webhook_url="http://127.0.0.1:9/x", secret=SECRET, lease_timeout_seconds=30)
    assert (made.id, made.lease_timeout_seconds, made.policy_bundle) == ("dice", 30, None)
    with pytest.raises(rebuno.BundleError) as found:
        await client.set_policy("dice", "bundle dice\nrule r { alow tool x }\n")
    assert found.value.diagnostics[0].span.line == 2
    await client.set_policy("dice", DICE)
    assert (await client.get_agent("dice")).policy_bundle == DICE
    assert [agent.id for agent in await client.list_agents()] == ["dice"]
    cases = [{"name": "a roll", "target": "roll", "expect": "deny"}]
    tested = await client.test_policy("dice", cases=cases)
    assert (tested.failed, tested.results[0].decision, tested.results[0].passed) == (1, "allow", False)
    live = await client.create("dice")
    with pytest.raises(rebuno.ConflictError):
        await client.delete_agent("dice")
    await client.delete_agent("dice", force=True)
    assert (await client.get(live.id)).status == "cancelled"
    with pytest.raises(rebuno.NotFoundError):
        await client.get_agent("dice")
    key = await client.create_key("ci", ["executions:read"])
    async with rebuno.Client(kernel.url, key.token) as reader:
        assert (await reader.get(live.id)).id == live.id
        with pytest.raises(rebuno.ForbiddenError):
            await reader.cancel(live.id)
        turned = await client.rotate_key(key.id)
        await client.revoke_key(key.id)
    assert turned.token != key.token
    assert [(one.id, one.revoked_at is not None) for one in await client.list_keys()] == [(key.id, True)]
    with pytest.raises(rebuno.ConflictError):
        await client.rotate_key(key.id)


@rebuno.tool("client_ask")
async def ask() -> int:
    return 1


async def approvals(kernel: Served) -> None:
    client = kernel.client
    bundle = 'bundle a\ndefault allow\nrule r { require approval for tool "client_ask" approvers "ana" }\n'
    async with kernel.agent("asker", lambda: ask(), bundle=bundle):
        made = await client.create("asker")
        waits = await kernel.ended(made.id)
        [waiting] = waits.blocked_on
        question = await client.get_approval(waiting.id)
        assert (question.status, question.approvers, question.timeout_at) == ("pending", ["ana"], None)
        with pytest.raises(rebuno.ForbiddenError):
            await client.grant_approval(question.id, decided_by="eva")
        await client.grant_approval(question.id, decided_by="ana", rationale="fine", scope="execution")
        with pytest.raises(rebuno.ConflictError):
            await client.deny_approval(question.id, decided_by="ana")
        granted = await client.get_approval(question.id)
        assert (granted.status, granted.decided_by, granted.scope, granted.votes[0].decision) == (
            "granted",
            "ana",
            "execution",
            "grant",
        )
        assert await client.list_approvals() == []
        assert [one.id for one in await client.list_approvals(status="all", execution_id=made.id)] == [question.id]
        assert (await kernel.ended(made.id)).output == 1
        [step] = await client.list_steps(made.id, status="terminal")
        assert (await client.get_step(made.id, step.step_id)).result == 1


async def a_stream(kernel: Served) -> None:
    listening, heard = asyncio.Event(), asyncio.Event()

    async def talk() -> str:
        await listening.wait()
        served_kernel = context.required("talk").served
        assert served_kernel is not None
        while not heard.is_set():
            served_kernel.publish(rebuno.execution().step_id, "é" * 3000)
            await asyncio.sleep(0.05)
        return "said"

    async with kernel.agent("talker", lambda: rebuno.step("talk", talk)):
        made = await kernel.client.create("talker")
        listening.set()
        async with asyncio.timeout(10):
            async for delta in kernel.client.stream(made.id):
                assert set(delta.data) == {"é"}
                assert len(delta.data.encode()) <= 7000
                heard.set()
                break
        assert (await kernel.ended(made.id)).output == "said"


@pytest.mark.parametrize("scenario", [executions, agents_policies_and_keys, approvals, a_stream])
def test_the_client_speaks_every_route(scenario: Callable[[Served], Coroutine[Any, Any, None]]) -> None:
    """What it sends a real server takes, and what that answers it reads."""
    play(scenario)


URLS: list[tuple[str, str, str]] = [
    ("credentials, which would stand in every message", "http://ann:secret@127.0.0.1:9", "holds credentials"),
    ("no scheme", "127.0.0.1:8080", "no URL of a kernel"),
    ("another scheme", "ftp://127.0.0.1", "no URL of a kernel"),
    ("no host", "http://", "no URL of a kernel"),
    ("half an address", "http://[::1", "no URL of a kernel"),
    ("a port beyond all", "http://127.0.0.1:99999", "no URL of a kernel"),
    ("the port that is none", "http://127.0.0.1:0", "no URL of a kernel"),
    ("a blank", "http://a b", "no URL of a kernel"),
    ("a query", "http://127.0.0.1/?a=1", "leave out"),
]


@pytest.mark.parametrize(("url", "said"), [row[1:] for row in URLS], ids=[row[0] for row in URLS])
def test_a_url_that_leads_to_no_kernel_is_refused_at_once(url: str, said: str) -> None:
    """It is told what is wrong with it, and never what is secret in it."""
    for make in (lambda: rebuno.Client(url), lambda: rebuno.Agent("a", secret="s", base_url=url)):
        with pytest.raises(rebuno.ValidationError, match=said) as refused:
            make()
        assert "secret" not in str(refused.value)


@pytest.mark.parametrize("key", ["secret\n", "secret é", "se cret"])
def test_a_key_that_is_none_is_refused_and_not_told(key: str) -> None:
    """What no header can carry is refused before it stands in the message of a sender."""
    with pytest.raises(rebuno.ValidationError, match="REBUNO_API_KEY") as refused:
        rebuno.Client("http://127.0.0.1:9", key)
    assert key not in str(refused.value)


STRANGERS: list[tuple[str, int, bytes, type[Exception], str]] = [
    ("a page of a proxy", 502, b"<h1>bad gateway</h1>", rebuno.APIError, "answered 502: <h1>bad gateway"),
    ("another service", 200, b"hello", rebuno.NetworkError, "look at the URL"),
    ("another service's JSON", 200, b'{"status": "fine"}', rebuno.NetworkError, "no Execution of a kernel"),
    ("a redirect", 302, b"", rebuno.APIError, "answered 302"),
    ("a login page", 401, b"who are you", rebuno.UnauthorizedError, "who are you"),
    ("a limit of a proxy", 429, b'{"code": "rate_limited", "message": "slow"}', rebuno.RateLimited, "slow"),
    ("an ended execution", 409, b'{"code": "execution_terminal", "message": "over"}', rebuno.Terminated, "over"),
    ("a code of tomorrow", 418, b'{"code": "teapot", "message": "no tea"}', rebuno.APIError, "no tea"),
]


@pytest.mark.parametrize(
    ("status", "body", "kind", "said"), [row[1:] for row in STRANGERS], ids=[row[0] for row in STRANGERS]
)
def test_what_is_no_kernel_is_told_as_an_error_of_ours(
    status: int, body: bytes, kind: type[Exception], said: str
) -> None:
    """Whatever answers, callers see the errors that the client names."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": status, "headers": [(b"location", b"http://else/")]})
        await send({"type": "http.response.body", "body": body})

    async def whole() -> None:
        async with serving(app) as url, rebuno.Client(url) as client:
            with pytest.raises(kind, match=said):
                await client.get("x")

    asyncio.run(whole())


def test_a_kernel_that_is_away_is_named() -> None:
    """And a missing URL is told before anything is sent."""

    async def whole() -> None:
        async with rebuno.Client("http://127.0.0.1:9/") as client:
            with pytest.raises(rebuno.NetworkError, match=r"`http://127\.0\.0\.1:9` cannot be reached"):
                await client.get("x")

    asyncio.run(whole())


def test_the_client_reads_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The URL and the key, and says where the first is missing."""
    monkeypatch.delenv("REBUNO_URL", raising=False)
    with pytest.raises(ValueError, match="REBUNO_URL"):
        rebuno.Client()

    async def whole() -> None:
        async with served() as kernel:
            monkeypatch.setenv("REBUNO_URL", kernel.url)
            monkeypatch.setenv("REBUNO_API_KEY", TOKEN)
            async with rebuno.Client() as client:
                assert await client.list_agents() == []
            async with rebuno.Client(api_key="another") as stranger:
                with pytest.raises(rebuno.UnauthorizedError):
                    await stranger.list_agents()

    asyncio.run(whole())


def test_ids_cannot_leave_their_place_in_the_path() -> None:
    """What a caller passes is one part of the path, whatever stands in it."""
    paths = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        paths.append(scope["raw_path"])
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def whole() -> None:
        async with serving(app) as url, rebuno.Client(url) as client:
            with pytest.raises(rebuno.NotFoundError):
                await client.get("../agents?x=1#y")

    asyncio.run(whole())
    assert paths == [b"/v0/executions/..%2Fagents%3Fx%3D1%23y"]
