"""This runtime, and the bare drivers below it, on the workloads of `steps.py`.

Run as a program it is one of them for as long as its standard input is open, as `peers_steps.py` is one of the peers.
"""

import argparse
import asyncio
import resource
import sqlite3
import statistics
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any, Final, Literal
from uuid import uuid4

import psycopg

import rebuno
from benchmarks.sqlite_syncs import Counter
from benchmarks.steps_worker import ARGS, Runtime, serve
from rebuno.policy import compile_text

RULES: Final = 100
# What a slow disk takes to sync, in seconds.
SLOW: Final = 0.002
_TEXT: Final = "x" * 300


def bundle() -> str:
    """A bundle of a hundred rules, the last of which allows what the workloads do."""
    others = "".join(
        f'rule other_{n} {{\n  deny tool "other-{n}-*"\n  when args.n > {n}\n}}\n' for n in range(RULES - 1)
    )
    return f'bundle bench\ndefault deny\n{others}rule tools {{\n  allow tool "bench-*"\n  when args.n >= 0\n}}\n'


class _CrashError(BaseException):
    """Ends an attempt as the death of its process would."""


@rebuno.tool("bench-safe")
async def safe(n: int, path: str, note: str) -> int:
    return n


@rebuno.tool("bench-once", idempotency="at_most_once")
async def once(n: int, path: str, note: str) -> int:
    return n


async def same(n: int, path: str, note: str) -> int:
    return n


async def local(n: int, path: str, note: str) -> int:
    return int(await rebuno.step("bench-local", same, {"n": n, "path": path, "note": note}))


WORKLOADS: Final[dict[str, Callable[..., Coroutine[Any, Any, Any]]]] = {
    "tool_safe": safe,
    "tool_at_most_once": once,
    "strict": safe,
    "local_safe": local,
}


@asynccontextmanager
async def kernel(url: str, counter: Counter | None = None) -> AsyncIterator[Runtime]:
    """The whole kernel: identity, a policy of a hundred rules, chained events. The intent of each step is on the disk
    before its body, but for local ones that may run again. It is opened once, as the peers are."""
    policy = compile_text(bundle())
    kernels: dict[str, rebuno.Kernel] = {}

    async def steps(executions: int, each: int, workload: str = "tool_safe") -> dict[str, float]:
        call = WORKLOADS[workload]

        async def agent() -> int:
            for n in range(each):
                await call(n, **ARGS)
            return each

        durability: Literal["group", "strict"] = "strict" if workload == "strict" else "group"
        if durability not in kernels:
            kernels[durability] = await stack.enter_async_context(
                rebuno.open(url, policy=policy, durability=durability)
            )
        opened = kernels[durability]
        if counter is not None:
            counter.reset()
        began = time.perf_counter()
        ended = await asyncio.gather(*(opened.run(agent, id=f"run-{uuid4()}") for _ in range(executions)))
        seconds = time.perf_counter() - began
        syncs = counter.reset() if counter is not None else 0
        if wrong := [execution for execution in ended if execution.status != "completed"]:
            raise SystemExit(f"a measured run ended as {wrong[0].status}: {wrong[0].failure_reason}")
        return {"seconds": seconds, "syncs": syncs}

    async def replay(each: int, times: int) -> dict[str, float]:
        at = [0.0] * (each + 1)

        async def agent() -> None:
            for n in range(each):
                at[n] = time.perf_counter()
                await safe(n, **ARGS)
            at[each] = time.perf_counter()
            raise _CrashError

        async def attempt() -> float:
            async with rebuno.open(url, policy=policy) as opened:
                began = time.perf_counter()
                with suppress(_CrashError):
                    await opened.run(agent, id=name)
                return at[each] - began

        name = f"replay-{uuid4()}"
        await attempt()
        edge = min(100, each // 2)
        first, last = at[edge] - at[0], at[each] - at[each - edge]
        seconds = [await attempt() for _ in range(times)]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return {"seconds": statistics.median(seconds), "last_to_first": last / first, "peak_mib": peak}

    async with AsyncExitStack() as stack:
        yield Runtime(steps, replay)


@asynccontextmanager
async def sqlite_floor(path: str, counter: Counter | None = None) -> AsyncIterator[Runtime]:
    """Two synced commits a step of a row each, on one connection of the standard library's driver."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=wal")
    connection.execute("PRAGMA synchronous=full")
    connection.execute("CREATE TABLE IF NOT EXISTS floor (n INTEGER PRIMARY KEY, text TEXT)")

    async def steps(executions: int, each: int, workload: str = "") -> dict[str, float]:
        began = time.perf_counter()
        for _ in range(2 * executions * each):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO floor (text) VALUES (?)", (_TEXT,))
            connection.execute("COMMIT")
        return {"seconds": time.perf_counter() - began}

    yield Runtime(steps)
    connection.close()


@asynccontextmanager
async def postgres_floor(url: str, counter: Counter | None = None) -> AsyncIterator[Runtime]:
    """Two synced commits a step of a row each, on a connection of its own for each execution."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute("CREATE TABLE IF NOT EXISTS floor (n bigserial PRIMARY KEY, text text)")

    async def one(connection: psycopg.AsyncConnection[Any], each: int) -> None:
        for _ in range(2 * each):
            await connection.execute("INSERT INTO floor (text) VALUES (%s)", (_TEXT,), prepare=True)

    async def steps(executions: int, each: int, workload: str = "") -> dict[str, float]:
        connections = [await psycopg.AsyncConnection.connect(url, autocommit=True) for _ in range(executions)]
        began = time.perf_counter()
        await asyncio.gather(*(one(connection, each) for connection in connections))
        seconds = time.perf_counter() - began
        for connection in connections:
            await connection.close()
        return {"seconds": seconds}

    yield Runtime(steps)


RUNTIMES: Final = {"kernel": kernel, "sqlite-floor": sqlite_floor, "postgres-floor": postgres_floor}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("runtime", choices=RUNTIMES)
    parser.add_argument("target", help="a path or a database URL")
    parser.add_argument("--count", action="store_true", help="count the syncs of SQLite files")
    parser.add_argument("--slow", action="store_true", help=f"let each of them take {SLOW * 1e3:.0f} ms")
    options = parser.parse_args()
    counter = None
    if options.count or options.slow:
        counter = Counter((lambda: time.sleep(SLOW)) if options.slow else None, default=True)
    asyncio.run(serve(RUNTIMES[options.runtime](options.target, counter)))


if __name__ == "__main__":
    main()
