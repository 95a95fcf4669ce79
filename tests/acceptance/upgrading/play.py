"""Takes replicas and an agent from an earlier version to this one, one by one, while executions go on."""

import asyncio
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import httpx2

import rebuno
from tests.acceptance.upgrading.count import Tally, look_at_places, look_through
from tests.acceptance.upgrading.earlier import Version, this
from tests.acceptance.upgrading.service import Service, service

# How long a replica has to end when it is told to, and to serve once it listens, in seconds.
STOP: Final = 60.0
READY: Final = 60.0
# Into so many parts the executions are divided: one before each thing that is done, and one after the last.
PARTS: Final = 6


async def play(url: str, folder: Path, executions: int, earlier: Version) -> Tally:
    """All executions to their ends, and the upgrade meanwhile."""
    tally = Tally(executions)
    async with service(url, folder, tally, earlier) as running:
        await running.load(partial(_upgrade, earlier=earlier, part=max(1, executions // PARTS)))
    async with rebuno.operate(url) as operator:
        await look_through(operator, (folder / "ledger").read_text(encoding="utf-8").splitlines(), tally)
    look_at_places(url, tally)
    return tally


async def _upgrade(running: Service, earlier: Version, part: int) -> None:
    """One replica is told to stop, the other is killed twice: once it comes back as it was, on a store that the new
    version has brought up to date. The agent comes last."""
    tally = running.tally
    await running.wait(part)
    if not await running.replicas[0].stop(STOP):
        tally.said.append(f"a replica of {earlier.name} did not end well")
    await _replaced(running, 0)
    await running.wait(part)
    await running.replicas[1].kill()
    await running.wait(part)
    try:
        await running.replicas[1].start()
        await _serves(running, 1)
        tally.did["old_restarts"] += 1
    except RuntimeError as error:
        tally.loses(f"a replica of {earlier.name} does not come back beside a new one: {error}")
    await running.wait(part)
    await running.replicas[1].kill()
    await _replaced(running, 1)
    await running.wait(part)
    await running.agent(this())
    tally.did["agents"] += 1


async def _replaced(running: Service, number: int) -> None:
    running.replicas[number] = running.replica(number, this())
    await running.replicas[number].start()
    await _serves(running, number)
    running.tally.did["replicas"] += 1


async def _serves(running: Service, number: int) -> None:
    """Returns once a replica says that it is ready."""
    address = f"http://127.0.0.1:{running.ports[number]}/v0/ready"
    with suppress(TimeoutError):
        async with asyncio.timeout(READY), httpx2.AsyncClient() as http:
            while True:
                # It listens before it has opened its store, and ends where it cannot.
                with suppress(httpx2.TransportError):
                    if (await http.get(address)).status_code == 200:
                        return
                await asyncio.sleep(0.05)
    raise RuntimeError(f"it does not serve: {running.replicas[number].log.read_text(errors='replace')[-300:]}")
