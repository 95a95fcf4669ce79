"""What other processes do in the tests: `python -m tests.embedded.agents DEED PATH …`.

Bodies note that they ran, line by line, in a file beside the store.
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import rebuno
from rebuno.policy import Policy, compile_text
from tests.embedded.support import bundle

OPEN = compile_text("bundle tests\ndefault allow\n")


def die() -> None:
    """What no handler and no `finally` notices."""
    os.kill(os.getpid(), signal.SIGKILL)


def note(path: Path, text: str) -> None:
    """A line in the file of notes."""
    with path.with_suffix(".notes").open("a") as file:
        file.write(f"{text}\n")


def notes(path: Path) -> list[str]:
    """What bodies noted so far."""
    file = path.with_suffix(".notes")
    return file.read_text().split() if file.exists() else []


def dies_in_a_body(path: Path, kind: str, idempotency: str, moment: str, mortal: bool) -> Callable[[], Awaitable[Any]]:
    """A handler of two steps; its process dies at a moment of the second."""

    def act() -> str:
        if mortal and moment == "before the body":
            die()
        note(path, "act")
        if mortal:
            die()
        return "acted"

    tool = rebuno.tool(f"act-{idempotency}", idempotency=idempotency)(act)

    async def handler() -> list[object]:
        before = await rebuno.step("before", lambda: note(path, "before"))
        try:
            if kind == "tool":
                return [before, await tool()]
            return [before, await rebuno.step("act", act, idempotency=idempotency)]
        except rebuno.ToolError as error:
            return [before, error.reason]

    return handler


def busy(path: Path, kind: str, idempotency: str, mortal: bool) -> Callable[[], Awaitable[Any]]:
    """A handler that computes for a while after a step, and dies; the event loop does not run meanwhile."""

    def act() -> str:
        note(path, "act")
        return "acted"

    tool = rebuno.tool(f"busy-{idempotency}", idempotency=idempotency)(act)

    async def handler() -> object:
        value = await (tool() if kind == "tool" else rebuno.step("act", act, idempotency=idempotency))
        if mortal:
            # Of this thread's own time: on a busy machine the wall's would be somebody else's.
            until = time.thread_time() + 0.05
            while time.thread_time() < until:
                sum(range(100))
            die()
        return value

    return handler


def approved(path: Path, idempotency: str, mortal: bool) -> Callable[[], Awaitable[Any]]:
    """A handler of the one tool that a policy may ask about; its process dies in the body."""

    def act() -> str:
        note(path, "act")
        if mortal:
            die()
        return "acted"

    tool = rebuno.tool("act", idempotency=idempotency)(act)

    async def handler() -> object:
        try:
            return await tool()
        except rebuno.ToolError as error:
            return error.reason

    return handler


def poison(path: Path) -> Callable[[], Awaitable[Any]]:
    """A handler that kills its process each time, in a body that may run again."""

    def act() -> None:
        note(path, "act")
        die()

    async def handler() -> None:
        await rebuno.step("before", lambda: note(path, "before"))
        await rebuno.step("pay", lambda: note(path, "pay"), idempotency="at_most_once")
        await rebuno.step("act", act)

    return handler


def holds(path: Path) -> Callable[[], Awaitable[Any]]:
    """A handler whose body does not end."""

    async def act() -> None:
        sys.stdout.write("held\n")
        sys.stdout.flush()
        await asyncio.sleep(60)

    async def handler() -> None:
        await rebuno.step("act", act)

    return handler


async def grant(path: Path, approval_id: str) -> None:
    """Lets a step go ahead."""
    async with rebuno.operate(path) as operator:
        await operator.grant(approval_id, decided_by="ana")


async def run(path: Path, handler: Callable[[], Awaitable[Any]], policy: Policy = OPEN) -> None:
    """Runs the execution `run`."""
    async with rebuno.open(path, policy=policy) as kernel:
        await kernel.run(handler, id="run", agent="agent")


def main(deed: str, path: Path, *more: str) -> None:
    """Does one deed."""
    match deed:
        case "die":
            kind, idempotency, moment = more
            asyncio.run(run(path, dies_in_a_body(path, kind, idempotency, moment, mortal=True)))
        case "busy":
            kind, idempotency = more
            asyncio.run(run(path, busy(path, kind, idempotency, mortal=True)))
        case "approved":
            (idempotency,) = more
            asyncio.run(run(path, approved(path, idempotency, mortal=True), compile_text(bundle("ask"))))
        case "poison":
            asyncio.run(run(path, poison(path)))
        case "hold":
            asyncio.run(run(path, holds(path)))
        case "grant":
            asyncio.run(grant(path, *more))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
