"""What goes wrong at the provider is recorded as it happened, so that a resumed handler takes the same way."""

import asyncio
import time
from typing import Any

import httpx2
import openai
import pytest

from tests.llm.provider import Manner, provider
from tests.llm.support import HELLO, Clients, twice

MESSAGE: dict[str, Any] = {"model": "claude-5", "max_tokens": 9, "messages": HELLO}


async def chat(c: Clients) -> str:
    return (await c.openai.chat.completions.create(model="gpt-5", messages=HELLO)).id


async def status(c: Clients) -> Any:
    """What the provider's client raises, and what it shows of the response."""
    try:
        await c.openai.with_options(max_retries=0).chat.completions.create(model="gpt-5", messages=HELLO)
    except openai.APIStatusError as error:
        return [type(error).__name__, error.status_code, error.response.headers.get("x-request-id"), str(error)]
    return None


@pytest.mark.parametrize("code", [400, 401, 404, 409, 429, 500, 503, 529])
def test_an_error_of_the_provider_is_a_recorded_failure(code: int) -> None:
    """It is raised again when it is replayed, and the provider is not asked again."""
    with provider() as stub:
        stub.manners.append(Manner(status=code))
        played = twice(status, stub)
    assert played.first == played.second
    assert played.first[1:3] == [code, "req-1"]
    (step,) = played.steps
    error = step.error
    assert (step.status, error["message"]) == ("failed", f"the provider answered {code}")
    assert error["response"]["status"] == code
    assert len(stub.requests) == 1


@pytest.mark.parametrize("who", ["openai", "anthropic"])
@pytest.mark.parametrize("code", [408, 409, 429, 500, 529])
def test_what_a_client_tries_again_is_another_step(who: str, code: int) -> None:
    """A replay goes through the same errors to the same answer, without waiting between them."""

    async def call(c: Clients) -> str:
        if who == "openai":
            return (await c.openai.chat.completions.create(model="gpt-5", messages=HELLO)).id
        return (await c.anthropic.messages.create(model="claude-5", max_tokens=9, messages=HELLO)).id

    took: list[float] = []

    async def timed(c: Clients) -> str:
        start = time.monotonic()
        answer = await call(c)
        took.append(time.monotonic() - start)
        return answer

    with provider() as stub:
        stub.manners.extend([Manner(status=code, headers=(("retry-after", "0.4"),)), Manner()])
        played = twice(timed, stub)
    assert played.first == played.second
    assert [step.status for step in played.steps] == ["failed", "succeeded"]
    assert len(stub.requests) == 2
    assert took[0] >= 0.4 > took[1]


def test_a_provider_that_says_not_to_try_again_says_so_on_a_replay() -> None:
    """An SDK that gave up at once does so again."""

    async def call(c: Clients) -> int:
        try:
            await c.openai.chat.completions.create(model="gpt-5", messages=HELLO)
        except openai.APIStatusError as error:
            return error.status_code
        return 0

    with provider() as stub:
        stub.manners.append(Manner(status=500, headers=(("x-should-retry", "false"),)))
        played = twice(call, stub)
    assert (played.first, played.second, len(played.steps), len(stub.requests)) == (500, 500, 1, 1)


@pytest.mark.parametrize(
    ("manner", "raised", "recorded"),
    [
        (Manner(cut=5), "RemoteProtocolError", "RemoteProtocolError"),
        (Manner(cut=5, framed=False), "RemoteProtocolError", "RemoteProtocolError"),
        (Manner(headers=(("content-encoding", "gzip"),), body=b"no gzip"), "DecodingError", "DecodingError"),
    ],
    ids=["a body that breaks off", "a body that the connection ends", "a body that cannot be read"],
)
def test_a_broken_response_breaks_again(manner: Manner, raised: str, recorded: str) -> None:
    """The exception has the same type on both runs."""

    async def call(c: Clients) -> str:
        try:
            await c.plain.post("/v1/messages", json=MESSAGE)
        except Exception as error:
            return type(error).__name__
        return ""

    with provider() as stub:
        stub.manners.append(manner)
        played = twice(call, stub)
    assert played.first == played.second == raised
    assert played.steps[0].error["type"] == recorded
    assert len(stub.requests) == 1


@pytest.mark.parametrize("idempotency", ["safe_to_retry", "at_most_once"])
def test_a_provider_that_cannot_be_reached_is_a_recorded_failure(idempotency: str) -> None:
    """The client's own error for it comes back on the replay. It has done nothing, also for an `at_most_once` call."""

    async def call(c: Clients) -> Any:
        try:
            await c.openai.with_options(max_retries=0).chat.completions.create(model="gpt-5", messages=HELLO)
        except openai.APIConnectionError as error:
            return [type(error).__name__, type(error.__cause__).__name__]

    with provider() as stub:
        pass
    played = twice(call, stub, idempotency=idempotency)
    assert played.first == played.second == ["APIConnectionError", "ConnectError"]
    assert played.steps[0].error["type"] == "ConnectError"


def test_a_call_that_took_too_long_takes_too_long_again() -> None:
    """A time set around a call ends it in both runs, whatever the provider would have said since."""
    manner = Manner(hold=0)

    async def call(c: Clients) -> str:
        try:
            return await asyncio.wait_for(chat(c), 0.2)
        except TimeoutError:
            return "too long"

    with provider() as stub:
        stub.manners.append(manner)
        played = twice(call, stub)
        manner.go.set()
    assert (played.first, played.second, len(stub.requests)) == ("too long", "too long", 1)
    assert played.steps[0].error["reason"] == "cancelled"


@pytest.mark.parametrize(
    ("manner", "outcome"),
    [
        (Manner(hold=0), "rebuno_refusal: failed reason=indeterminate"),
        (Manner(cut=5), "rebuno_refusal: failed reason=indeterminate"),
        (Manner(status=500, headers=(("x-should-retry", "false"),)), "answered 500 as told"),
    ],
    ids=["no answer", "half an answer", "an error"],
)
def test_a_call_that_may_not_be_made_twice_is_not_tried_again_without_an_answer(manner: Manner, outcome: str) -> None:
    """With `at_most_once` a client is kept from asking a provider again that may have done what it was asked for."""

    async def call(c: Clients) -> Any:
        try:
            return await chat(c)
        except openai.APIStatusError as error:
            return error.response.json()["error"]["message"]

    with provider() as stub:
        stub.manners.append(manner)
        played = twice(call, stub, idempotency="at_most_once", timeout=httpx2.Timeout(5, read=0.1))
        manner.go.set()
    assert played.first == played.second == outcome
    assert len(stub.requests) == 1
