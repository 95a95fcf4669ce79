"""Handlers that call a provider, run and then resumed on one kernel, and what that left in the journal."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx2
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

import rebuno
from rebuno.policy import compile_text
from rebuno.types import Event, Step
from tests.llm.provider import Provider
from tests.sdk.support import OPEN, Crash

T = TypeVar("T")
# Reading them takes longer than a test.
CERTIFICATES = ssl.create_default_context()
KEY = "sk-very-secret"
HELLO: list[Any] = [{"role": "user", "content": "hello"}]


@dataclass(frozen=True, slots=True)
class Clients:
    """The clients of one provider, all on the kernel's client. `plain` is that client itself."""

    openai: AsyncOpenAI
    anthropic: AsyncAnthropic
    plain: httpx2.AsyncClient


@asynccontextmanager
async def clients(provider: Provider, **options: Any) -> AsyncIterator[Clients]:
    """Clients as a program makes them, closed at the end."""
    options = {"verify": CERTIFICATES} | options
    openai = AsyncOpenAI(base_url=f"{provider.url}/v1", api_key=KEY, http_client=rebuno.http_client(**options))
    anthropic = AsyncAnthropic(base_url=provider.url, api_key=KEY, http_client=rebuno.http_client(**options))
    plain = rebuno.http_client(base_url=provider.url, headers={"authorization": KEY}, **options)
    async with openai, anthropic, plain:
        yield Clients(openai, anthropic, plain)


@dataclass(frozen=True, slots=True)
class Played:
    """What a handler saw of a call on its first run and on its second, values or exceptions, how the second ended, and
    the journal at the end."""

    first: Any
    second: Any
    ended: rebuno.Execution
    steps: list[Step]
    events: list[Event]


def twice(call: Callable[[Clients], Awaitable[Any]], provider: Provider, bundle: str = OPEN, **options: Any) -> Played:
    """Runs a call in a handler, lets the process die after it, and resumes."""
    seen: list[Any] = []

    async def handler() -> None:
        try:
            async with clients(provider, **options) as c:
                seen.append(await call(c))
        except Exception as error:
            seen.append(error)
        if len(seen) == 1:
            raise Crash

    async def play() -> Played:
        async with rebuno.open(":memory:", policy=compile_text(bundle)) as kernel:
            try:
                ended = await kernel.run(handler, id="run")
            except Crash:
                ended = await kernel.run(handler, id="run")
            steps, events = await kernel.operator.steps(ended.id), await kernel.operator.events(ended.id)
            return Played(seen[0], seen[-1], ended, steps, events)

    return asyncio.run(play())


def once(handler: Callable[[], Awaitable[T]], bundle: str = OPEN) -> Played:
    """One run of a handler; `first` and `second` are its output."""

    async def play() -> Played:
        async with rebuno.open(":memory:", policy=compile_text(bundle)) as kernel:
            ended = await kernel.run(handler, id="run")
            steps, events = await kernel.operator.steps(ended.id), await kernel.operator.events(ended.id)
            return Played(ended.output, ended.output, ended, steps, events)

    return asyncio.run(play())
