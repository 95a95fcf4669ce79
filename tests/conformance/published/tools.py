"""The tools of the agents."""

import asyncio
import itertools
from pathlib import Path
from typing import Any

import rebuno
from tests.conformance.published.ledger import note


@rebuno.tool
def add(a: int, b: int) -> int:
    note("add")
    return a + b


@rebuno.tool("keep", idempotency="at_most_once")
async def keep(text: str) -> str:
    note("keep")
    return f"kept {text}"


@rebuno.tool
async def broken() -> str:
    note("broken")
    raise ValueError("no such file")


@rebuno.tool(idempotency="at_most_once")
async def pay(amount: int) -> str:
    note("pay")
    return f"paid {amount}"


@rebuno.tool(idempotency="at_most_once")
async def mail(to: str) -> str:
    note("mail")
    return f"sent to {to}"


@rebuno.tool
async def search(words: str) -> str:
    note("search")
    return f"about {words}"


@rebuno.tool
async def fetch(page: int) -> int:
    note("fetch")
    return page


@rebuno.tool
async def delegate(to: str, task: Any) -> Any:
    """The body is a subagent's whole run."""
    note(f"delegate {to}")
    return await rebuno.subagent(to, task)


async def until_there(path: str) -> str:
    """Returns once a file is there."""
    # Another process makes the file: there is nothing to wait on but the file system.
    for _ in itertools.count():
        if await asyncio.to_thread(Path(path).exists):
            break
        await asyncio.sleep(0.05)
    return "let go"


@rebuno.tool
async def linger(path: str) -> str:
    """Ends once a file is there."""
    note("linger")
    return await until_there(path)


@rebuno.tool(idempotency="at_most_once")
async def hold(path: str) -> str:
    """The same, and never twice."""
    note("hold")
    return await until_there(path)


async def _look_up(args: dict[str, Any]) -> str:
    note("lookup")
    return f"{args['word']}: a word"


lookup = rebuno.wrap_tool(
    "lookup",
    _look_up,
    description="Looks a word up",
    args_schema={"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
    to_result=str.upper,
)
