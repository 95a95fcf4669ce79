"""Executions in kernels of this process, on a PostgreSQL behind a proxy that loses answers."""

import asyncio
import random
from collections.abc import Callable
from itertools import count as counting
from typing import Final

import rebuno
from rebuno.policy import compile_text
from tests.acceptance.faulting import agent
from tests.acceptance.faulting.checks import Count, look_through
from tests.acceptance.faulting.proxy import Chance, before_postgres, behind

# So many executions are alive at once.
ABREAST: Final = 16
# How long one execution, and closing, may take in all, in seconds: much longer than a store waits for a server.
BOUND: Final = 90.0
# A piece is a request: of an execution there are some thirty.
RATE: Final = 0.06


async def play(url: str, executions: int, faults: int, dice: random.Random) -> Count:
    """So many executions and faults at least, on the loop that this runs in; and what is left of them."""
    count, ledger = Count(), list[str]()
    agent.noted = ledger.append
    chance = Chance(dice.getrandbits(32), RATE, faults + 40, longest=0.3, for_ever=0.01)
    numbers = (10 * n for n in counting(1))
    with before_postgres(url, chance=chance, ease=4) as proxy:

        def enough() -> bool:
            count.faults = proxy.hits.copy()
            count.executions = len(count.acknowledged)
            return count.enough(executions, faults)

        try:
            async with asyncio.timeout(BOUND) as patience:
                async with rebuno.open(behind(url, proxy), policy=compile_text(agent.BUNDLE)) as kernel:
                    patience.reschedule(None)
                    proxy.let(True)
                    await asyncio.gather(*(_worker(kernel, numbers.__next__, enough, count) for _ in range(ABREAST)))
                    patience.reschedule(asyncio.get_running_loop().time() + BOUND)
        except TimeoutError:
            count.breaks("hung", "the kernel did not close")
        proxy.let(False)
        count.faults = proxy.hits.copy()
    count.executions = 0
    async with rebuno.operate(url) as operator:
        await look_through(operator, ledger, count)
    return count


async def _worker(kernel: rebuno.Kernel, number: Callable[[], int], enough: Callable[[], bool], count: Count) -> None:
    while not enough():
        n = number()
        count.asked.add(n)
        try:
            async with asyncio.timeout(BOUND):
                await _one(kernel, n, count)
        except TimeoutError:
            count.breaks("hung", f"the execution {n} did not end in {BOUND:g} s")
        except rebuno.RebunoError as error:
            count.breaks("failed_by_us", f"the execution {n}: {type(error).__name__}: {error}")


async def _one(kernel: rebuno.Kernel, n: int, count: Count) -> None:
    """An execution to its end, half of them without an id of their own; one in five is forked, and the fork is run."""
    id = f"order-{n}" if n % 20 else None
    ended = await kernel.run(agent.work, {"n": n}, id=id)
    while ended.status == "blocked":
        for question in ended.approvals:
            await kernel.operator.grant(question.id, decided_by="ana")
        ended = await kernel.run(agent.work, None, id=ended.id)
    count.acknowledged[ended.id] = (ended.status.value, ended.output)
    if n % 50 == 0:
        forked = await kernel.operator.fork(ended.id)
        again = await kernel.run(agent.work, None, id=forked.id)
        count.acknowledged[again.id] = (again.status.value, again.output)
