"""The agent of the executions: tools of both idempotencies, in a row and side by side, a local step, and a question."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import rebuno
from tests.acceptance.replicating.job import LEDGER, NAME


def begun(target: str, n: int, part: int) -> None:
    """Notes that a body has begun; one write a line, which no other process cuts in two."""
    line = json.dumps([rebuno.execution().id, target, n, part]) + "\n"
    with Path(os.environ[LEDGER]).open("a", encoding="utf-8") as file:
        file.write(line)


@rebuno.tool
async def look(n: int, part: int) -> int:
    begun("look", n, part)
    await asyncio.sleep(0.1)
    return n + part


@rebuno.tool(idempotency="at_most_once")
async def book(n: int, part: int) -> int:
    begun("book", n, part)
    await asyncio.sleep(0.1)
    return n * part


@rebuno.tool(idempotency="at_most_once")
async def pay(n: int, part: int) -> int:
    begun("pay", n, part)
    return n - part


async def work(n: int) -> dict[str, Any]:
    """Six effects, the fifth of which a person must agree to."""
    seen = await asyncio.gather(look(n, 0), look(n, 1))
    booked = [await book(n, 1)]
    noted = await rebuno.step("note", lambda: 4)
    paid = await pay(n, 3)
    booked.append(await book(n, 2))
    return {"seen": seen, "booked": booked, "paid": paid, "noted": noted}


def main() -> None:
    rebuno.Agent(NAME).run(work, host="127.0.0.1", port=int(sys.argv[1]))


if __name__ == "__main__":
    main()
