"""The real clients of providers: every call is judged and recorded, and a resumed execution makes none again."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest

import rebuno
from rebuno.model import identity
from tests.llm.provider import INPUT_TOKENS, OUTPUT_TOKENS, Manner, provider
from tests.llm.support import HELLO, KEY, Clients, clients, once, twice


async def chat(c: Clients) -> Any:
    return (await c.openai.chat.completions.create(model="gpt-5", messages=HELLO)).to_dict()


async def chat_stream(c: Clients) -> Any:
    stream = await c.openai.chat.completions.create(
        model="gpt-5", messages=HELLO, stream=True, stream_options={"include_usage": True}
    )
    return [chunk.to_dict() async for chunk in stream]


async def responses(c: Clients) -> Any:
    return (await c.openai.responses.create(model="gpt-5", input="hello")).to_dict()


async def responses_stream(c: Clients) -> Any:
    stream = await c.openai.responses.create(model="gpt-5", input="hello", stream=True)
    return [event.to_dict() async for event in stream]


async def messages(c: Clients) -> Any:
    return (await c.anthropic.messages.create(model="claude-5", max_tokens=9, messages=HELLO)).to_dict()


async def messages_stream(c: Clients) -> Any:
    async with c.anthropic.messages.stream(model="claude-5", max_tokens=9, messages=HELLO) as stream:
        return [event.to_dict() async for event in stream]


CALLS = [chat, chat_stream, responses, responses_stream, messages, messages_stream]
Call = Callable[[Clients], Awaitable[Any]]


@pytest.mark.parametrize("compressed", [False, True], ids=["as it is", "gzip"])
@pytest.mark.parametrize("call", CALLS)
def test_a_recorded_call_is_not_made_again(call: Call, compressed: bool) -> None:
    """The provider's client reads the same from the journal as from the provider."""
    with provider() as stub:
        stub.manners.append(Manner(gzip=compressed))
        played = twice(call, stub)
    assert played.first == played.second != []
    assert not isinstance(played.first, Exception)
    assert len(stub.requests) == 1
    (step,) = played.steps
    assert (step.kind, step.target, step.status) == ("llm_call", stub.requests[0].body["model"], "succeeded")
    assert step.args == stub.requests[0].body


@pytest.mark.parametrize("call", CALLS)
def test_what_a_call_used_stands_in_its_event(call: Call) -> None:
    """Budgets and bills are reckoned from the journal."""
    with provider() as stub:
        played = twice(call, stub)
    (event,) = [event for event in played.events if event.type == "step.succeeded"]
    assert event.payload["usage"] == {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS}


def test_secrets_are_not_recorded() -> None:
    """Neither what authorises a request nor what a response sets stands in the journal."""

    async def call(c: Clients) -> object:
        answer = await c.plain.post("/v1/chat/completions?key=hidden", json={"model": "m", "messages": []})
        return sorted(answer.headers)

    with provider() as stub:
        played = twice(call, stub)
    assert stub.requests[0].headers["authorization"] == KEY
    told = json.dumps([[step.args, step.result, step.target] for step in played.steps])
    assert [word for word in (KEY, "hidden", "session=secret") if word in told] == []
    assert played.first == played.second == ["content-length", "content-type", "x-request-id"]


def test_an_identical_call_is_another_step() -> None:
    """A model that is asked twice answers twice, and each answer is replayed in its place."""

    async def call(c: Clients) -> Any:
        return [(await chat(c))["id"] for _ in range(3)]

    with provider() as stub:
        played = twice(call, stub)
    assert played.first == played.second == ["chat-1", "chat-2", "chat-3"]
    assert [step.occurrence for step in played.steps] == [0, 1, 2]


def test_calls_side_by_side_get_their_own_answers_again() -> None:
    """Which of them the provider answers first decides nothing."""

    async def call(c: Clients) -> Any:
        async def ask(number: int) -> str:
            asked: list[Any] = [{"role": "user", "content": str(number)}]
            return (await c.openai.chat.completions.create(model="gpt-5", messages=asked)).id

        return await asyncio.gather(*(ask(number) for number in range(8)))

    with provider() as stub:
        slow = Manner(hold=0)
        stub.manners.append(slow)

        def release() -> None:
            stub.wait_for(8)
            slow.go.set()

        released = threading.Thread(target=release)
        released.start()
        played = twice(call, stub)
        released.join()
    assert played.first == played.second
    assert sorted(played.first) == [f"chat-{number}" for number in range(1, 9)]
    assert len(stub.requests) == 8


def test_a_call_in_a_tool_belongs_to_the_tool() -> None:
    """A model call inside a tool's body has the tool's step as its parent."""
    with provider() as stub:

        @rebuno.tool("asks a model")
        async def ask() -> Any:
            async with clients(stub) as c:
                return (await chat(c))["id"]

        played = once(lambda: ask())
    tool, call = sorted(played.steps, key=lambda step: step.kind, reverse=True)
    assert (played.first, call.parent_step_id) == ("chat-1", tool.step_id)


@pytest.mark.parametrize(
    ("path", "body", "target"),
    [
        ("/v1/chat/completions", {"model": "gpt-5", "messages": []}, "gpt-5"),
        ("/v1beta/models/gemini-3:generateContent", {"contents": []}, "gemini-3"),
        ("/model/anthropic.claude-v2:1/invoke", {"prompt": ""}, "anthropic.claude-v2:1"),
        ("/openai/deployments/mine/completions", {"prompt": ""}, "mine"),
        ("/v1/threads", {"model": ""}, "/v1/threads"),
        ("/v1/threads", {"model": 5}, "/v1/threads"),
    ],
    ids=["the body's model", "a model and a verb", "a model with a version", "a deployment", "none", "no text"],
)
def test_the_target_is_the_model(path: str, body: dict[str, Any], target: str) -> None:
    """Policies see which model is called, wherever the provider wants it named."""

    async def call(c: Clients) -> int:
        return (await c.plain.post(path, json=body)).status_code

    with provider() as stub:
        (step,) = twice(call, stub).steps
    assert step.target == target


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("GET", {}),
        ("POST", {"files": {"file": b"sound"}, "data": {"model": "whisper"}}),
        ("POST", {"data": {"a": "b"}}),
        ("POST", {"headers": {"content-type": "application/json"}}),
    ],
    ids=["a question", "a file", "a form", "nothing"],
)
def test_other_requests_are_sent_as_they_are(method: str, options: dict[str, Any]) -> None:
    """What is no model call is no step, and works outside an execution too."""

    async def call(c: Clients) -> int:
        return (await c.plain.request(method, "/v1/files", **options)).status_code

    with provider() as stub:
        stub.manners.extend([Manner(body=b"{}"), Manner(body=b"{}")])
        played = twice(call, stub)
    assert (played.first, played.second, played.steps) == (200, 200, [])


@pytest.mark.parametrize(
    ("body", "kind", "why"),
    [
        (b'{"model": "a", "model": "b"}', "application/json", "the key `model` is repeated"),
        (b'{"model": NaN}', "text/plain", "`NaN` is not JSON"),
        (b"[1]", "application/json", "the body of a model call is a JSON object"),
        (b'{"a":' * 200, "", "nested more than 128 levels"),
    ],
    ids=["two models", "no number", "a list", "too deep"],
)
def test_a_body_that_cannot_be_judged_is_not_sent(body: bytes, kind: str, why: str) -> None:
    """What the policy cannot read does not go past it."""

    async def call(c: Clients) -> Any:
        answer = await c.plain.post("/v1/messages", content=body, headers={"content-type": kind})
        return [answer.status_code, answer.json()["error"]["message"]]

    with provider() as stub:
        played = twice(call, stub)
    status, message = played.first
    assert (status, played.steps, stub.requests) == (400, [], [])
    assert message.startswith("rebuno_refusal: invalid reason=")
    assert why in message


def test_a_body_that_is_no_text_is_replayed_to_the_byte() -> None:
    """Speech is not UTF-8."""
    sound = bytes(range(256))

    async def call(c: Clients) -> Any:
        answer = await c.plain.post("/v1/audio/speech", json={"model": "tts"})
        return [answer.headers["content-type"], list(answer.content)]

    with provider() as stub:
        stub.manners.append(Manner(body=sound, headers=(("Content-Type", "audio/wav"),)))
        played = twice(call, stub)
    assert played.first == played.second == ["audio/wav", list(sound)]


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (200, b'"' + b"x" * identity.MAX_BYTES + b'"', "too_large"),
        (500, b"<" * (identity.MAX_BYTES // 5), "too_large"),
        (200, b'"' + b"<" * (identity.MAX_BYTES // 5) + b'"', "`result` takes 12,583,"),
    ],
    ids=["too long", "an error, too long as JSON", "too long as JSON"],
)
def test_a_response_that_no_step_can_hold_is_a_failure(status: int, body: bytes, why: str) -> None:
    """At most 10 MiB are recorded; the call is not repeated for it."""

    async def call(c: Clients) -> Any:
        answer = await c.plain.post("/v1/messages", json={"model": "m"})
        return [answer.status_code, answer.json()["error"]["message"]]

    with provider() as stub:
        stub.manners.append(Manner(status=status, body=body))
        played = twice(call, stub)
    assert played.first == played.second
    code, message = played.first
    assert (code, message.startswith(f"rebuno_refusal: failed reason={why}")) == (409, True), message
    assert len(stub.requests) == 1


def test_a_call_outside_an_execution_is_refused() -> None:
    """Nothing records it, so nothing may make it."""

    async def play() -> None:
        with provider() as stub:
            async with clients(stub) as c:
                await c.plain.post("/v1/messages", json={"model": "m"})

    with pytest.raises(RuntimeError, match="a model call was called outside an execution"):
        asyncio.run(play())


@pytest.mark.parametrize("where", ["transport", "mounts", "proxy"])
def test_no_option_of_the_client_leads_around_the_kernel(where: str) -> None:
    """A proxy or a mounted transport carries what the kernel lets through, and nothing else."""
    with provider() as stub:
        ways: dict[str, dict[str, Any]] = {
            "transport": {"transport": httpx2.AsyncHTTPTransport()},
            "mounts": {"mounts": {"http://": httpx2.AsyncHTTPTransport(), "https://": None}},
            "proxy": {"proxy": stub.url},
        }
        stub.manners.append(Manner(body=b"{}"))

        async def call(c: Clients) -> int:
            return (await c.plain.post("/v1/messages", json={"model": "m"})).status_code

        played = twice(call, stub, **ways[where])
    assert (played.first, len(played.steps), len(stub.requests)) == (200, 1, 1)


def test_an_unknown_idempotency_is_refused_at_once() -> None:
    """A misspelt promise is not found out by a crash."""
    with pytest.raises(ValueError, match="unknown idempotency `once`"):
        rebuno.http_client(idempotency="once")
