"""A refused call reaches the provider's client as an error that it does not try again, and is read from it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import anthropic
import openai
import pytest

import rebuno
from rebuno.errors import (
    Blocked,
    LeaseSuperseded,
    PolicyError,
    RateLimited,
    RebunoError,
    StoreError,
    Terminated,
    ToolError,
    ValidationError,
)
from rebuno.policy import compile_text
from rebuno.sdk import refusals
from tests.llm.provider import Manner, provider
from tests.llm.support import HELLO, Clients, clients, twice
from tests.sdk.support import Crash

DENY = 'bundle tests\ndefault allow\nrule no_gpt { deny llm "gpt-*", "claude-*" because "can\'t \\"use\\" it}" }\n'
ASK = 'bundle tests\ndefault allow\nrule ask { require approval for llm "*" because "it costs" }\n'
LIMIT = 'bundle tests\ndefault allow\nrule few { allow llm "*" limit 1 per 1h }\n'
REASON = 'can\'t "use" it}'


async def chat(c: Clients) -> Any:
    return (await c.openai.chat.completions.create(model="gpt-5", messages=HELLO)).id


async def chat_stream(c: Clients) -> Any:
    return await c.openai.chat.completions.create(model="gpt-5", messages=HELLO, stream=True)


async def message(c: Clients) -> Any:
    return (await c.anthropic.messages.create(model="claude-5", max_tokens=9, messages=HELLO)).id


CALLS = [chat, chat_stream, message]


@pytest.mark.parametrize("call", CALLS)
def test_a_denied_call_is_not_sent(call: Callable[[Clients], Awaitable[Any]]) -> None:
    """The client gives up at once, and its error tells what the rule says."""

    async def read(c: Clients) -> Any:
        try:
            return await call(c)
        except (openai.PermissionDeniedError, anthropic.PermissionDeniedError) as error:
            try:
                rebuno.raise_for_refusal(error)
            except PolicyError as denied:
                return [error.response.json(), denied.reason, denied.rule_id]

    with provider() as stub:
        played = twice(read, stub, DENY)
    marked = {"error": {"type": "rebuno_refusal", "message": f"rebuno_refusal: denied reason={REASON}"}}
    assert played.first == played.second == [marked, REASON, "no_gpt"]
    assert ([step.status for step in played.steps], stub.requests) == (["denied"], [])


@pytest.mark.parametrize("call", CALLS)
def test_a_handler_that_a_denial_ends_fails_for_the_rule_s_reason(call: Callable[[Clients], Awaitable[Any]]) -> None:
    """Not for the error that the provider's client made of it."""

    async def handler() -> None:
        async with clients(stub) as c:
            await call(c)

    async def play() -> rebuno.Execution:
        async with rebuno.open(":memory:", policy=compile_text(DENY)) as kernel:
            return await kernel.run(handler)

    with provider() as stub:
        ended = asyncio.run(play())
    assert (ended.status, ended.failure_reason) == ("failed", f"policy_denied: {REASON}")


@pytest.mark.parametrize("swallows", [False, True], ids=["raised", "swallowed"])
@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_a_person_must_allow_blocks(call: Callable[[Clients], Awaitable[Any]], swallows: bool) -> None:
    """Whatever the handler makes of the error, the execution waits, and goes on after the answer."""

    async def handler() -> Any:
        async with clients(stub) as c:
            try:
                return str(await call(c))[:4]
            except (openai.ConflictError, anthropic.ConflictError) as error:
                told.append(error.response.json()["error"]["message"])
                if not swallows:
                    raise
                return "swallowed"

    async def play() -> rebuno.Execution:
        async with rebuno.open(":memory:", policy=compile_text(ASK)) as kernel:
            blocked = await kernel.run(handler, id="run")
            (question,) = blocked.approvals
            assert (blocked.status, question.kind) == ("blocked", "llm_call")
            await kernel.operator.grant(question.id, decided_by="ana")
            return await kernel.run(handler, id="run")

    told: list[str] = []
    with provider() as stub:
        ended = asyncio.run(play())
    assert (ended.status, told, len(stub.requests)) == ("completed", ["rebuno_refusal: blocked"], 1)


def test_a_call_over_the_limit_is_told_so_once() -> None:
    """429 without the client's own patience, and nothing recorded."""

    async def call(c: Clients) -> Any:
        first = await chat(c)
        try:
            await chat(c)
        except openai.RateLimitError as error:
            try:
                rebuno.raise_for_refusal(error)
            except RateLimited as limited:
                return [first, error.response.headers["x-should-retry"], limited.reason]

    with provider() as stub:
        played = twice(call, stub, LIMIT)
    assert played.first == ["chat-1", "false", "rate_limit_exceeded"]
    assert (len(stub.requests), [step.status for step in played.steps]) == (1, ["succeeded"])


def test_a_call_that_may_not_be_made_twice_is_not_made_again_after_a_crash() -> None:
    """With `at_most_once` the handler is told that nobody knows how the call ended."""

    async def play() -> rebuno.Execution:
        async def handler() -> Any:
            if not calls:
                calls.append(asyncio.create_task(chat(c)))
                await asyncio.to_thread(stub.wait_for, 1)
                raise Crash
            try:
                await chat(c)
            except openai.ConflictError as error:
                try:
                    rebuno.raise_for_refusal(error)
                except ToolError as failed:
                    return failed.reason

        async with (
            clients(stub, idempotency="at_most_once") as c,
            rebuno.open(":memory:", policy=rebuno.PERMISSIVE) as kernel,
        ):
            with pytest.raises(Crash):
                await kernel.run(handler, id="run")
            manner.go.set()
            return await kernel.run(handler, id="run")

    calls: list[asyncio.Task[Any]] = []
    manner = Manner(hold=0)
    with provider() as stub:
        stub.manners.append(manner)
        ended = asyncio.run(play())
    assert (ended.output, len(stub.requests)) == ("indeterminate", 1)


class FrameworkError(Exception):
    """What a framework makes of another error: its text, and no more."""


REFUSALS: list[tuple[RebunoError, int, str]] = [
    (PolicyError("no mail"), 403, "denied reason=no mail"),
    (RateLimited("rate_limit_exceeded"), 429, "rate_limited reason=rate_limit_exceeded"),
    (Blocked("step", "approval"), 409, "blocked"),
    (Blocked(), 409, "execution_blocked"),
    (Terminated(), 409, "execution_terminal"),
    (LeaseSuperseded(), 409, "lease_superseded"),
    (ToolError({"reason": "indeterminate", "message": "x"}), 409, "failed reason=indeterminate"),
    (ToolError({"type": "NotJSON", "message": "the result is long"}), 409, "failed reason=the result is long"),
    (ValidationError("no JSON"), 400, "invalid reason=no JSON"),
    (StoreError("the disk is full"), 409, "error reason=the disk is full"),
]
_NAMES = [message for _, _, message in REFUSALS]


@pytest.mark.parametrize(("refusal", "status", "text"), REFUSALS, ids=_NAMES)
def test_a_refusal_says_what_it_is(refusal: RebunoError, status: int, text: str) -> None:
    """One status for each kind of refusal, and one form of text for all."""
    marked = {"error": {"type": "rebuno_refusal", "message": f"rebuno_refusal: {text}"}}
    assert refusals.body(refusal) == (status, marked)


@pytest.mark.parametrize(("refusal", "status", "text"), REFUSALS, ids=_NAMES)
def test_a_refusal_is_read_from_a_text(refusal: RebunoError, status: int, text: str) -> None:
    """Frameworks that keep nothing of an error but its text keep enough."""
    error = FrameworkError(f"Error code: {status} - {refusals.body(refusal)[1]}")
    with pytest.raises(RebunoError) as raised:
        rebuno.raise_for_refusal(error)
    again = raised.value
    assert isinstance(refusal, type(again))
    assert getattr(again, "reason", None) == getattr(refusal, "reason", None)
    assert raised.value.__cause__ is error


def caused(by: Exception) -> Exception:
    """An error with a cause."""
    error = FrameworkError("the model failed")
    error.__cause__ = by
    return error


def in_context(of: Exception) -> Exception:
    """An error raised while another was handled."""
    error = FrameworkError("the model failed")
    error.__context__ = of
    return error


@pytest.mark.parametrize(
    "wrapped",
    [
        caused,
        in_context,
        lambda error: ExceptionGroup("tasks", [ValueError("other"), caused(error)]),
        lambda error: caused(caused(caused(error))),
    ],
    ids=["a cause", "a context", "a group", "a chain"],
)
def test_a_refusal_is_found_behind_other_errors(wrapped: Callable[[Exception], Exception]) -> None:
    """However a framework wraps the client's error."""
    with pytest.raises(PolicyError, match="no mail"):
        rebuno.raise_for_refusal(wrapped(FrameworkError("rebuno_refusal: denied reason=no mail")))


def test_other_errors_are_no_refusals() -> None:
    """An error of the provider's own passes, and so does a chain that bites its own tail."""
    looped = ValueError("x")
    looped.__cause__ = looped
    for error in (ValueError("rebuno_refusal"), looped, caused(OSError())):
        rebuno.raise_for_refusal(error)


def test_the_text_of_a_refusal_does_not_end_an_attempt() -> None:
    """What a provider or a model writes is believed by nobody but a handler that asks."""
    assert refusals.of(FrameworkError("rebuno_refusal: lease_superseded")) is None
