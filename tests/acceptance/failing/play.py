"""Kills the primary of a database under load, again and again, and counts what became of the executions."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import rebuno
from rebuno.errors import StoreError
from tests.acceptance.replicating.killer import free_ports
from tests.acceptance.upgrading.count import Tally, look_at_places, look_through
from tests.acceptance.upgrading.earlier import this
from tests.acceptance.upgrading.service import Service, service
from tests.postgres.pair import DATABASE, Pair
from tests.postgres.pooler import Pooler

# The ways in which kernels reach the primary: replicas, or a kernel in this process, by several hosts; replicas through
# a pooler in a mode that holds.
WAYS: Final = ("direct", "embedded", "session")
# Modes of a pooler in which a store is refused.
REFUSED: Final = ("transaction", "statement")


async def play(way: str, folder: Path, executions: int, kills: int) -> Tally:
    """All executions to their ends, with so many kills spread over them."""
    tally = Tally(executions)
    first, second = free_ports(2)
    with Pair((first, second)) as pair:
        async with AsyncExitStack() as stack:
            pooler: Pooler | None = None
            url = pair.url(DATABASE)
            if way != "direct":
                (port,) = free_ports(1)
                pooler = _pooler(way, port, pair)
                url = stack.enter_context(pooler).url

            async def kill(running: Service) -> None:
                for _ in range(kills):
                    await running.wait(executions // (kills + 1))
                    await asyncio.to_thread(pair.fail_over)
                    tally.did["kills"] += 1
                    if pooler is not None:
                        pooler.point(pair.primary.port)
                    await asyncio.to_thread(pair.protect)

            async with service(url, folder, tally, this()) as running:
                await running.load(kill)
        url = pair.primary.url(DATABASE)
        async with rebuno.operate(url) as operator:
            await look_through(operator, (folder / "ledger").read_text(encoding="utf-8").splitlines(), tally)
        look_at_places(url, tally)
    return tally


async def refusals() -> dict[str, str]:
    """What is said in each of the modes in which a store is refused; empty where it was not."""
    said = dict.fromkeys(REFUSED, "")
    first, second = free_ports(2)
    with Pair((first, second)) as pair:
        for mode in REFUSED:
            (port,) = free_ports(1)
            with _pooler(mode, port, pair) as pooler:
                try:
                    async with rebuno.operate(pooler.url) as operator:
                        await operator.executions(limit=1)
                except StoreError as error:
                    said[mode] = str(error)
    return said


def _pooler(mode: str, port: int, pair: Pair) -> Pooler:
    return Pooler(port, mode, database=DATABASE, password=pair.primary.password, server_port=pair.primary.port)
