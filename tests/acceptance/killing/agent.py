"""The process that is killed: it runs several executions side by side on one store, or resumes them."""

import asyncio
import logging
import os
import random
import ssl
import time
from collections.abc import Awaitable
from typing import Any, Final

import httpx2

import rebuno
from rebuno.policy import compile_text
from tests.acceptance.killing import program
from tests.acceptance.killing.orders import Fate, Moment, Notes, Order
from tests.acceptance.killing.program import ABREAST, ASK, CHOOSE, INSIDE, LAST, MODEL, OUTER, ROW, SLOW, WAYS, Way

AGENT: Final = "killed"
# What a store that cannot be used ends a process with.
UNUSABLE: Final = 3
POLICY: Final = compile_text("""bundle kill
default deny because "not a tool of this agent"
rule ask { require approval for tool "once-ask" because "a person must agree" }
rule tools { allow tool "safe-*", "once-*", "outer" }
rule model { allow llm "stub" }
""")
# The provider is on loopback, and reading certificates takes longer than a run.
_TLS: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class Run:
    """One execution's handler, with its own tools."""

    def __init__(self, name: str, order: Order, fate: Fate) -> None:
        self._name = name
        self._fate = fate
        self._notes = Notes(order.folder / f"{name}.notes")
        options: dict[str, Any] = {
            "base_url": order.provider,
            # Not recorded, and no part of a step: whose request it is.
            "headers": {"x-process": str(os.getpid())},
            "timeout": 60.0,
            "verify": _TLS,
        }
        self._clients = {
            False: rebuno.http_client(**options),
            True: rebuno.http_client(idempotency="at_most_once", **options),
        }
        self._tools = {
            way: rebuno.tool(way.value, idempotency="at_most_once" if way.once else "safe_to_retry")(body)
            for way, body in {
                Way.TOOL: self._effect,
                Way.ONCE_TOOL: self._effect,
                Way.SLOW: self._slow,
                Way.ASK: self._effect,
                Way.OUTER: self._outer,
            }.items()
        }

    async def handler(self, start: int) -> dict[str, int]:
        """Follows the program; what it returns stands on the outcome of every step."""
        self._fate.meet(Moment.BEGIN)
        acc = start
        for i in ROW:
            acc = await self._tried(i, acc)
        acc = sum(await asyncio.gather(*(self._tried(i, acc) for i in ABREAST))) % program.PRIME
        acc = await self._tried(OUTER, acc)
        acc = sum(await asyncio.gather(self._tried(SLOW, acc), self._tried(ASK, acc))) % program.PRIME
        for i in LAST:
            acc = await self._tried(i, acc)
        return {"acc": acc, "chosen": await self._tried(CHOOSE, acc)}

    async def close(self) -> None:
        """Closes the connections to the provider."""
        for client in self._clients.values():
            await client.aclose()

    async def _tried(self, i: int, acc: int) -> int:
        try:
            value = int(await self._done(i, acc))
        except rebuno.ToolError as error:
            if error.reason != "indeterminate":
                raise
            value = program.lost(acc, i)
        self._fate.meet(Moment.BETWEEN)
        return value

    def _done(self, i: int, acc: int) -> Awaitable[Any]:
        way = WAYS[i]
        args = {"i": i, "acc": acc}
        match way:
            case Way.CHOOSE:
                return rebuno.step(way, self._choose, args)
            case Way.LOCAL | Way.ONCE_LOCAL:
                return rebuno.step(way, self._local, args, idempotency="at_most_once" if way.once else "safe_to_retry")
            case Way.CALL | Way.ONCE_CALL | Way.STREAM:
                return self._heard(way, i, acc)
            case _:
                call: Awaitable[Any] = self._tools[way](**args)
                return call

    # ------------------------------------------------------------ bodies

    async def _effect(self, i: int, acc: int, longest: float = 0.003) -> int:
        self._started(i)
        await asyncio.sleep(random.random() * longest)
        return self._ended(i, program.grown(acc, i))

    async def _slow(self, i: int, acc: int) -> int:
        return await self._effect(i, acc, longest=0.06)

    async def _outer(self, i: int, acc: int) -> int:
        self._started(i)
        for inner in INSIDE:
            acc = await self._tried(inner, acc)
        return self._ended(i, acc)

    def _local(self, i: int, acc: int) -> int:
        self._started(i)
        time.sleep(random.random() * 0.002)
        return self._ended(i, program.grown(acc, i))

    def _choose(self, i: int, acc: int) -> int:
        self._started(i)
        return self._ended(i, random.randrange(program.PRIME))

    def _started(self, i: int) -> None:
        self._fate.meet(Moment.INTENT)
        self._notes.write(i, "start")
        self._fate.meet(Moment.BODY)

    def _ended(self, i: int, value: int) -> int:
        self._notes.write(i, "end")
        self._fate.meet(Moment.OUTCOME)
        return value

    async def _heard(self, way: Way, i: int, acc: int) -> int:
        asked: dict[str, Any] = {
            "model": MODEL,
            "messages": [{"role": "user", "content": program.said(self._name, i, acc)}],
        }
        if way is Way.STREAM:
            asked["stream"] = True
        body = ""
        try:
            async with self._clients[way.once].stream("POST", "/v1/chat/completions", json=asked) as response:
                if response.is_error:
                    await response.aread()
                    response.raise_for_status()
                async for text in response.aiter_text():
                    body += text
                    if way is Way.STREAM:
                        self._fate.meet(Moment.STREAM)
        except httpx2.HTTPStatusError as error:
            rebuno.raise_for_refusal(error)
            raise
        return program.heard(acc, i, body)


async def _whole(kernel: Any, run: Run, name: str, start: int) -> None:
    """Runs an execution to its end; while it waits for a person, so does this."""
    status = ""
    while status not in ("completed", "failed", "cancelled"):
        if status != "blocked":
            status = (await kernel.run(run.handler, {"start": start}, id=name, agent=AGENT)).status
        else:
            await asyncio.sleep(0.005)
            status = (await kernel.operator.execution(name)).status


async def _live(order: Order) -> None:
    fate = Fate(order)
    async with rebuno.open(order.url, policy=POLICY) as kernel:
        runs = {name: Run(name, order, fate) for name, _ in order.runs}
        ends = await asyncio.gather(
            *(_whole(kernel, runs[name], name, start) for name, start in order.runs), return_exceptions=True
        )
        fate.meet(Moment.END)
        for run in runs.values():
            await run.close()
        # What went wrong otherwise is told before a store that could not be used.
        for error in sorted((e for e in ends if e is not None), key=lambda e: isinstance(e, rebuno.StoreError)):
            raise error


def live(order: Order) -> None:
    """The life of one process. It ends with 0, with `UNUSABLE` after a typed error of the store, or with a traceback on
    standard error."""
    error = os.open(order.folder / "stderr", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.dup2(error, 2)
    # What the library logs is no traceback.
    logging.basicConfig(filename=order.folder / "log")
    try:
        asyncio.run(_live(order))
    except rebuno.StoreError as unusable:
        with (order.folder / "errors").open("a") as file:
            file.write(f"{type(unusable).__name__}: {unusable}\n")
        raise SystemExit(UNUSABLE) from None
