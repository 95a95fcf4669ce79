"""Executions in a kernel of this process, on a primary that is killed, again and again, under it."""

import asyncio
import os
from pathlib import Path

import rebuno
from rebuno.errors import StoreError
from rebuno.policy import compile_text
from tests.acceptance.replicating.agent import work
from tests.acceptance.replicating.job import LEDGER, NAME
from tests.acceptance.replicating.killer import free_ports
from tests.acceptance.upgrading.count import Tally, look_at_places, look_through
from tests.acceptance.upgrading.service import ABREAST, BUNDLE
from tests.postgres.pair import DATABASE, Pair


async def play(folder: Path, executions: int, kills: int) -> Tally:
    """All executions to their ends, with so many kills spread over them. A run that is stopped by its store begins
    again, as the program does whose kernel it is."""
    tally, ledger = Tally(executions), folder / "ledger"
    ledger.touch()
    os.environ[LEDGER] = str(ledger)
    ended, room = asyncio.Semaphore(0), asyncio.Semaphore(ABREAST)
    first, second = free_ports(2)
    with Pair((first, second)) as pair:
        async with rebuno.open(pair.url(DATABASE), policy=compile_text(BUNDLE)) as kernel:

            async def run(n: int) -> None:
                async with room:
                    await _run(kernel, n, tally)
                ended.release()

            async def kill() -> None:
                for _ in range(kills):
                    for _ in range(executions // (kills + 1)):
                        await ended.acquire()
                    await asyncio.to_thread(pair.fail_over)
                    tally.did["kills"] += 1
                    await asyncio.to_thread(pair.protect)

            await asyncio.gather(kill(), *(run(n) for n in range(executions)))
        url = pair.primary.url(DATABASE)
        async with rebuno.operate(url) as operator:
            await look_through(operator, ledger.read_text(encoding="utf-8").splitlines(), tally)
        look_at_places(url, tally)
    return tally


async def _run(kernel: rebuno.Kernel, n: int, tally: Tally) -> None:
    while True:
        try:
            done = await kernel.run(work, {"n": n}, id=f"order-{n}", agent=NAME)
            if done.status != "blocked":
                tally.ends(done.id, n, done.status.value, done.output, done.failure_reason)
                return
            for question in done.approvals:
                await kernel.operator.grant(question.id, decided_by="ana")
        except StoreError:
            # No server was the primary for longer than a store waits.
            tally.did["stopped"] += 1
