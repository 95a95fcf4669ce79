"""The heavy bodies of `heavy.py`: a server in this process, which is asked by another one."""

import asyncio
import json
import multiprocessing
import tempfile
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from benchmarks.server_client import connected
from rebuno.server.config import Config
from rebuno.server.run import run

TOKEN: Final = "a-token-for-operators"
POLICY: Final = """bundle heavy
default allow
rule said { deny tool "*" when any host of args.text == "evil.example" or args.text == input }
"""
# JSON values of almost the ten million bytes and the 100,000 values that a body may have.
BODIES: Final = {
    "9 MB of <": '"' + "<" * 9_000_000 + '"',
    "as many < as fit": '"' + "<" * 1_700_000 + '"',
    "escaped <": '"' + "\\u003c" * 1_500_000 + '"',
    "NUL": '"' + "\\u0000" * 1_500_000 + '"',
    "emoji": '"' + "\\ud83d\\ude00" * 750_000 + '"',
    "emoji in many texts": "[" + ",".join(['"' + "\\ud83d\\ude00" * 8 + '"'] * 90_000) + "]",
    "letters": '"' + "é" * 4_500_000 + '"',
    "backslashes": '"' + "\\\\" * 4_500_000 + '"',
    "line feeds": '"' + "\\n" * 4_500_000 + '"',
    "backspaces": '"' + "\\b" * 1_500_000 + '"',
    "a lone surrogate": '"' + "a" * 9_000_000 + '\\ud800"',
    "nesting": "[" + ",".join(["[" * 126 + "]" * 126] * 780) + "]",
    "nesting beside texts": "[" + ",".join(['["",' * 125 + "0" + "]" * 125] * 390) + "]",
    "brackets in texts": "[" * 128 + '"' + "[" * 9_000_000 + '"' + "]" * 128,
    "lists": "[" + "[]," * 99_000 + "[]]",
    "objects": "[" + '{"a":{"b":0}},' * 33_000 + "0]",
    "integers": "[" + ",".join(["7" * 4_300] * 2_090) + "]",
    "reals": "[" + "0.1234567890123456," * 99_000 + "0]",
    "long reals": "[" + ",".join(["0." + "7" * 4_290] * 2_090) + "]",
    "texts": "[" + ",".join(['"' + "a" * 85 + '"'] * 99_000) + "]",
    "keys": "{" + ",".join(f'"{at:06}{"k" * 80}":0' for at in range(99_000)) + "}",
    "long keys": "{" + ",".join(f'"{at:03}{"k" * 89_000}":0' for at in range(100)) + "}",
    "one long key": '{"' + "k" * 9_000_000 + '":0}',
    "one long key of <": '{"' + "<" * 1_700_000 + '":0}',
    "spaces": " " * 9_000_000 + "0",
    "no JSON": '"' + "a" * 9_000_000,
    "quotes": '"' + '\\"' * 4_500_000 + '"',
}


# What a body is: an execution's input, on which a first step is decided, a step's arguments, its result, or what an
# execution gives.
WAYS: Final = ("input", "submit", "result", "output")


@asynccontextmanager
async def serving() -> AsyncIterator[str]:
    """The URL of a server over a store of its own."""
    started: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    with tempfile.TemporaryDirectory() as folder:
        config = Config(str(Path(folder) / "served.db"), port=0, bearer_token=TOKEN)
        running = asyncio.create_task(run(config, started.set_result))
        either: set[asyncio.Future[Any]] = {running, started}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()
        try:
            yield started.result()
        finally:
            running.cancel()
            await asyncio.wait([running])


@asynccontextmanager
async def client(url: str) -> AsyncIterator[Callable[[str, str], "asyncio.Future[str]"]]:
    """Another process: called with a way and the name of a body, it sends it, and says what was answered."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:

        def ask(way: str, name: str) -> "asyncio.Future[str]":
            return asyncio.get_running_loop().run_in_executor(pool, _send, url, way, name)

        await ask("begin", "")
        yield ask


def _send(url: str, way: str, name: str) -> str:
    return asyncio.run(_sent(url, way, BODIES.get(name, "null").encode()))


async def _sent(url: str, way: str, value: bytes) -> str:
    async with connected(url, TOKEN, POLICY) as bench:
        try:
            (agent,) = await bench.agents(1, value if way == "input" else b"null")
            args = value if way == "submit" else b"null"
            said = b'{"kind":"tool_call","target":"t","args":{"text":%b},"submission":1}' % args
            answer = json.loads(await agent.send("/steps", said))
            if way == "result":
                path = f"/steps/{answer['step_id']}/complete"
                answer = json.loads(await agent.send(path, b'{"result":%b}' % value))
            elif way == "output":
                await agent.send("/complete", b'{"output":%b}' % value)
                return "taken"
            return str(answer.get("decision", "taken"))
        except RuntimeError as refused:
            return str(refused)[:80]
