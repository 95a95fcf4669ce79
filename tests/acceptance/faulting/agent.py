"""The agent whose answers are lost: tools of both idempotencies side by side, a local step, and a question. The same
handler runs in a kernel of this process and for a server."""

import asyncio
import json
import os
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import rebuno

NAME: Final = "work"
LEDGER: Final = "CHAOS_LEDGER"
# How long the kernel may take to answer, in seconds: a stall must cost less than the lease.
TIMEOUT: Final = 8.0
ONCE: Final = ("book", "pay")
BUNDLE: Final = """
bundle chaos
default deny because "not a tool of this agent"

rule pay {
  require approval for tool "pay"
}

rule work {
  allow tool "look", "book" or local "note"
}
"""


def _file(line: str) -> None:
    # One write a line, which no other process cuts in two.
    with Path(os.environ[LEDGER]).open("a", encoding="utf-8") as file:
        file.write(line)


# Where bodies note that they begin and end, in the order in which they do.
noted: Callable[[str], None] = _file


async def _body(target: str, value: int, seconds: float) -> list[Any]:
    """What every body gives: its value, and the name of this very run of it."""
    run = uuid.uuid4().hex
    for at in ("start", "end"):
        noted(json.dumps([rebuno.execution().id, target, value, run, at]) + "\n")
        if at == "start":
            await asyncio.sleep(seconds)
    return [value, run]


@rebuno.tool
async def look(n: int) -> list[Any]:
    return await _body("look", n, 0.01)


@rebuno.tool(idempotency="at_most_once")
async def book(n: int) -> list[Any]:
    return await _body("book", n, 0.01)


@rebuno.tool(idempotency="at_most_once")
async def pay(n: int) -> list[Any]:
    return await _body("pay", n, 0.0)


async def note(n: int) -> list[Any]:
    return await _body("note", n, 0.0)


def wanted(n: int) -> list[int]:
    """What the steps of an execution must have given, in the order of its output."""
    return [n, n + 1, n + 2, n + 3, n + 4, *([n + 5] if asks(n) else []), n + 6]


def asks(n: int) -> bool:
    """Whether a person is asked in this execution."""
    return n % 4 == 0


async def work(n: int) -> list[int | None]:
    """Six or seven effects. Where nobody knows how an `at_most_once` step ended, it counts for nothing."""
    seen = await asyncio.gather(look(n=n), look(n=n + 1))
    values = [value for value, _ in seen]
    values.append(await _tried(book(n=n + 2)))
    values.append((await rebuno.step("note", note, {"n": n + 3}))[0])
    values.append(await _tried(book(n=n + 4)))
    if asks(n):
        values.append(await _tried(pay(n=n + 5)))
    values.append((await look(n=n + 6))[0])
    return values


async def _tried(call: Any) -> int | None:
    try:
        value: int = (await call)[0]
    except rebuno.ToolError as error:
        if error.error.get("reason") != "indeterminate":
            raise
        return None
    return value


def main() -> None:
    rebuno.Agent(NAME, kernel_timeout=TIMEOUT).run(work, host="127.0.0.1", port=int(sys.argv[1]))


if __name__ == "__main__":
    main()
