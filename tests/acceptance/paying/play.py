"""Has many payers draw from one limit at once, and counts what was paid, declined and refused."""

import asyncio
import json
import os
import random
import sys
from asyncio.subprocess import PIPE
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import rebuno
from tests.acceptance.paying.agent import paid
from tests.acceptance.paying.job import BUNDLE, LEDGER, LIMIT, NAME
from tests.acceptance.replicating.balancer import balancer
from tests.acceptance.replicating.killer import ENDED, LEASE, ROOT, SECRET, TOKEN, Program, again, free_ports

PATIENCE: Final = 240.0
_AGENT: Final = "tests.acceptance.paying.agent"


@dataclass(slots=True)
class Count:
    """What was seen. `paid_amount` is what the tool was let to pay in all, `taken` what the store says of the limit,
    `left_refused` how much of the rest could not be paid in the end, `over` how much was paid beyond the limit."""

    store: str
    payments: int
    processes: int
    paid: int = 0
    declined: int = 0
    refused: int = 0
    lost: int = 0
    paid_amount: str = "0"
    taken: str = "0"
    left_refused: str = "0"
    over: str = "0"
    said: list[str] = field(default_factory=list)

    @property
    def broken(self) -> bool:
        """Whether anything is not as promised."""
        wrong = (self.over, self.left_refused, str(self.lost), str(Decimal(self.taken) - Decimal(self.paid_amount)))
        return any(Decimal(number) != 0 for number in wrong)

    def report(self) -> dict[str, object]:
        """The counts by name."""
        return {name: value for name, value in asdict(self).items() if name != "said"}


def payments(number: int) -> list[dict[str, Any]]:
    """So many amounts, of which about three times the limit are paid if nobody refuses; a third is declined."""
    most = 9 * LIMIT * 100 // number
    return [
        {"amount": random.randrange(1, most) / 100, "declined": random.random() < 1 / 3, "n": n} for n in range(number)
    ]


async def play_postgres(url: str, folder: Path, number: int) -> Count:
    """Half of the payments through two replicas, half in a kernel of this process, all at once."""
    made = payments(number)
    served, own = made[: number // 2], made[number // 2 :]
    count = Count("postgres", number, processes=4)
    ledger = folder / "ledger"
    os.environ[LEDGER] = str(ledger)
    *ports, port = free_ports(3)
    async with AsyncExitStack() as stack:

        async def started(port: int, *arguments: str, **environment: str) -> None:
            program = Program(port, arguments, environment)
            stack.push_async_callback(program.kill)
            await program.start()

        for one in ports:
            command = ("rebuno_cli.main", "server", "--log-level", "error", "--port", str(one))
            await started(one, *command, REBUNO_DB_URL=url, REBUNO_BEARER_TOKEN=TOKEN)
        address = await stack.enter_async_context(balancer(ports))
        client = await stack.enter_async_context(rebuno.Client(address, TOKEN))
        webhook = f"http://127.0.0.1:{port}/webhook"
        await again(lambda: client.put_agent(NAME, webhook_url=webhook, secret=SECRET, lease_timeout_seconds=LEASE))
        await again(lambda: client.set_policy(NAME, BUNDLE))
        known = {"REBUNO_URL": address, "REBUNO_AGENT_SECRET": SECRET, LEDGER: str(ledger)}
        await started(port, _AGENT, "serve", str(port), **known)
        others = asyncio.gather(*(_served(client, payment) for payment in served))
        became = [*await paid(url, own), *await others]
        shown = await again(client.list_limits)
    await _look_through(url, ledger, became, count)
    if [limit.taken for limit in shown if limit.name == "daily"] != [count.taken]:
        count.said.append(f"the server says {shown}")
        count.lost += 1
    return count


async def play_sqlite(path: Path, folder: Path, number: int, processes: int) -> Count:
    """The payments in several processes on one file, all at once."""
    made = payments(number)
    count = Count("sqlite", number, processes)
    ledger = folder / "ledger"
    os.environ[LEDGER] = str(ledger)
    running = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-m", _AGENT, "run", str(path), json.dumps(made[n::processes]), cwd=ROOT, stdout=PIPE
        )
        for n in range(processes)
    ]
    ended = await asyncio.gather(*(asyncio.wait_for(process.communicate(), PATIENCE) for process in running))
    became = [text for out, _ in ended for text in json.loads(out or b"[]")]
    await _look_through(str(path), ledger, became, count)
    return count


def _noted(ledger: Path) -> list[Any]:
    return [json.loads(line) for line in ledger.read_text(encoding="utf-8").splitlines()]


async def _served(client: rebuno.Client, payment: dict[str, Any]) -> str:
    begun = await again(lambda: client.create(NAME, payment, idempotency_key=f"served-{payment['n']}"))
    async with asyncio.timeout(PATIENCE):
        done = await again(lambda: client.get(begun.id))
        while done.status not in ENDED:
            await asyncio.sleep(0.2)
            done = await again(lambda: client.get(begun.id))
    return str(done.output or done.failure_reason)


async def _look_through(store: str, ledger: Path, became: list[str], count: Count) -> None:
    """Holds what the tool noted against what the payers were told and what the store says; then pays what is left."""
    noted = _noted(ledger)
    count.paid, count.declined = became.count("paid"), became.count("declined")
    count.refused = became.count("refused")
    ran = [how for _, _, how in noted]
    strange = [text for text in became if text not in ("paid", "declined", "refused")]
    count.said += strange
    count.lost = count.payments - count.paid - count.declined - count.refused
    count.lost += abs(ran.count("paid") - count.paid) + abs(ran.count("declined") - count.declined)
    amount = sum((Decimal(repr(amount)) for _, amount, how in noted if how == "paid"), Decimal(0))
    count.paid_amount = str(amount)
    # `max` would tell an amount that meets the limit as "0.00".
    count.over = str(amount - LIMIT) if amount > LIMIT else "0"
    async with rebuno.open(store, policy=rebuno.PERMISSIVE) as kernel:
        count.taken = next(limit.taken for limit in await kernel.operator.limits() if limit.name == "daily")
    left = LIMIT - amount
    more = [{"amount": float(left), "declined": False, "n": -1}] if left > 0 else []
    last = await paid(store, more)
    count.left_refused = str(left) if last not in (["paid"], []) else "0"
    if await paid(store, [{"amount": 0.01, "declined": False, "n": -2}]) != ["refused"]:
        count.over = "0.01"
