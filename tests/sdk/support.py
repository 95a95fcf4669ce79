"""Handlers on a kernel in memory, interrupted and resumed within one process."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import rebuno
from rebuno.policy import compile_text

OPEN = "bundle tests\ndefault allow\n"


class Crash(BaseException):
    """Raised where a process would die: it says nothing about a step or an execution."""


def play(scenario: Callable[[rebuno.Kernel], Coroutine[Any, Any, None]], bundle: str = OPEN) -> None:
    """Plays a scenario on a kernel of its own."""

    async def whole() -> None:
        async with rebuno.open(":memory:", policy=compile_text(bundle)) as kernel:
            await scenario(kernel)

    asyncio.run(whole())


def outcome(handler: Callable[..., Any], input: object = None, bundle: str = OPEN) -> rebuno.Execution:
    """How an uninterrupted run ends."""
    ended: list[rebuno.Execution] = []

    async def scenario(kernel: rebuno.Kernel) -> None:
        ended.append(await kernel.run(handler, input, agent="agent"))

    play(scenario, bundle)
    return ended[0]


def seen_twice(call: Callable[[], Awaitable[Any]], bundle: str = OPEN) -> tuple[Any, Any]:
    """What a handler sees of `call`, a value or an exception, on its first run and on the replay."""
    seen: list[Any] = []

    async def handler() -> None:
        try:
            seen.append(await call())
        except (rebuno.RebunoError, TypeError) as error:
            seen.append(error)
        if len(seen) == 1:
            raise Crash

    async def scenario(kernel: rebuno.Kernel) -> None:
        try:
            await kernel.run(handler, id="run")
        except Crash:
            await kernel.run(handler, id="run")

    play(scenario, bundle)
    return seen[0], seen[1]
