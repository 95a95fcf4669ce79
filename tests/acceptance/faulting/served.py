"""Executions that a server delivers to an agent: proxies stand before the server and before its PostgreSQL."""

import asyncio
import random
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, suppress
from functools import partial
from itertools import count as counting
from pathlib import Path
from typing import Final

import httpx2

import rebuno
from tests.acceptance.faulting.agent import BUNDLE, LEDGER, NAME, TIMEOUT
from tests.acceptance.faulting.checks import Count, look_through
from tests.acceptance.faulting.proxy import Chance, FaultProxy, before_postgres, behind
from tests.acceptance.replicating.killer import SECRET, TOKEN, Program, again, answer, free_ports

# So many executions are alive at once.
ABREAST: Final = 16
LEASE: Final = 30.0
# How long one execution may take in all, a lease that runs out included, and a server that is told to stop, in seconds.
BOUND: Final = 180.0
STOP: Final = 60.0
# Of an execution there are some hundred pieces to PostgreSQL, and twenty requests to the server.
STORE_RATE: Final = 0.015
SERVER_RATE: Final = 0.08
ENDED: Final = ("completed", "failed", "cancelled")


def repeatable(request: bytes) -> bool:
    """Whether a request bears what makes a second one the same: those of agents do, and executions with a key."""
    head = request.lower()
    return head.startswith(b"get ") or b"rebuno-agent-id:" in head or b'"idempotency_key"' in head


async def play(url: str, folder: Path, executions: int, faults: int, dice: random.Random, loop: str) -> Count:
    """So many executions and faults at least, by a server on this loop; and what is left of them."""
    count, ledger = Count(), folder / f"{loop}.ledger"
    ledger.touch()
    port, agent_port = free_ports(2)
    async with AsyncExitStack() as stack:
        store: FaultProxy | None = None
        if url.startswith("postgresql"):
            chance = Chance(dice.getrandbits(32), STORE_RATE, 2 * faults, longest=0.3, for_ever=0.01)
            store = stack.enter_context(before_postgres(url, chance=chance, ease=4))
        db = url if store is None else behind(url, store)
        environment = {"REBUNO_DB_URL": db, "REBUNO_BEARER_TOKEN": TOKEN}
        arguments: tuple[str, ...] = ("rebuno_cli.main", "server", "--log-level", "error", "--port", str(port))
        if loop != "uvloop":
            arguments = ("tests.acceptance.faulting.server", loop, str(port))
        server = Program(port, arguments, environment)
        stack.push_async_callback(server.kill)
        await server.start()
        # A fault that is drawn need not fall: the line may close before it does.
        chance = Chance(dice.getrandbits(32), SERVER_RATE, 2 * faults, longest=0.3, for_ever=0.01)
        front = stack.enter_context(FaultProxy(port, chance=chance, repeats=repeatable))
        direct = await stack.enter_async_context(rebuno.Client(f"http://127.0.0.1:{port}", TOKEN))
        webhook = f"http://127.0.0.1:{agent_port}/webhook"
        await direct.put_agent(NAME, webhook_url=webhook, secret=SECRET, lease_timeout_seconds=LEASE)
        await direct.set_policy(NAME, BUNDLE)
        address = f"http://127.0.0.1:{front.port}"
        known = {"REBUNO_URL": address, "REBUNO_AGENT_SECRET": SECRET, LEDGER: str(ledger)}
        agent = Program(agent_port, ("tests.acceptance.faulting.agent", str(agent_port)), known)
        stack.push_async_callback(agent.kill)
        await agent.start()
        client = await stack.enter_async_context(rebuno.Client(address, TOKEN, timeout=TIMEOUT))
        proxies = [proxy for proxy in (store, front) if proxy is not None]

        def enough() -> bool:
            count.faults = sum((proxy.hits for proxy in proxies), start=type(count.faults)())
            count.executions = len(count.acknowledged)
            return count.enough(executions, faults)

        for proxy in proxies:
            proxy.let(True)
        person = asyncio.create_task(answer(client))
        try:
            numbers = (10 * n for n in counting(1))
            await asyncio.gather(*(_worker(client, numbers, enough, count) for _ in range(ABREAST)))
            for proxy in proxies:
                proxy.let(False)
            enough()
            await _end(direct, count)
        finally:
            person.cancel()
            await asyncio.wait({person})
        if not await server.stop(STOP):
            count.breaks("hung", "the server did not end when it was told to")
    count.executions = 0
    async with rebuno.operate(url) as operator:
        await look_through(operator, ledger.read_text(encoding="utf-8").splitlines(), count)
    return count


async def _worker(client: rebuno.Client, numbers: Iterator[int], enough: Callable[[], bool], count: Count) -> None:
    while not enough():
        n = next(numbers)
        count.asked.add(n)
        try:
            async with asyncio.timeout(BOUND):
                await _one(client, n, count)
        except TimeoutError:
            count.breaks("hung", f"the execution {n} did not end in {BOUND:g} s")
        except rebuno.RebunoError as error:
            count.breaks("failed_by_us", f"the execution {n}: {type(error).__name__}: {error}")


async def _one(client: rebuno.Client, n: int, count: Count) -> None:
    """An execution to its end. One in two is begun without a key, and then asked for once: what becomes of a request
    whose answer is lost is looked at in the end. One in five is forked, once as well."""
    begun = partial(client.create, NAME, {"n": n})
    if n % 20:
        await _followed(client, (await again(partial(begun, idempotency_key=f"order-{n}"))).id, count)
        return
    with suppress(rebuno.NetworkError, rebuno.APIError):
        id = (await begun()).id
        await _followed(client, id, count)
        if n % 40 == 0:
            seq = await again(partial(client.latest_seq, id))
            await _followed(client, (await client.fork(id, at_seq=seq)).id, count)


async def _followed(client: rebuno.Client, id: str, count: Count) -> None:
    count.acknowledged[id] = ("begun", None)
    while True:
        found = await again(partial(client.get, id))
        if found.status in ENDED:
            break
        await asyncio.sleep(0.1)
    count.acknowledged[id] = (found.status.value, found.output)


async def _end(direct: rebuno.Client, count: Count) -> None:
    """Once no answer is lost any more, the server is ready, and all executions end that were begun by somebody who was
    not told."""

    async def ready() -> bool:
        return (await http.get(f"{direct.base_url}/v0/ready")).status_code == 200

    async def over() -> bool:
        pages = [await direct.list_executions(status=status, limit=1) for status in ("pending", "running", "blocked")]
        return not any(page.executions for page in pages)

    try:
        async with asyncio.timeout(BOUND), httpx2.AsyncClient() as http:
            for happens in (ready, over):
                while True:
                    if await happens():
                        break
                    await asyncio.sleep(0.2)
    except (TimeoutError, httpx2.TimeoutException):
        count.breaks("hung", "the server was not ready, or executions did not end")
