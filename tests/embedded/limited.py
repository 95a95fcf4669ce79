"""What other processes do in the tests of limits: `python -m tests.embedded.limited STORE NOTES DEED KEY …`.

Each KEY is an execution of one agent, which does one thing; its body notes that it ran, in a file beside NOTES.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from unittest.mock import patch

import rebuno
from rebuno.journal.postgres import PostgresStore
from rebuno.journal.records import Full, Spend
from rebuno.journal.sqlite import SQLiteStore
from rebuno.journal.store import Store
from rebuno.policy import compile_text
from tests.embedded.agents import die, note

LIMITED = compile_text('rule r { allow tool "act" limit 5 per 1h for each agent }')


async def run(store: str, path: Path, *keys: str) -> list[str]:
    """How each execution ended: its status, or the reason why it failed."""

    @rebuno.tool("act")
    def act(key: str) -> str:
        note(path, key)
        return key

    async def handler(key: str) -> str:
        return str(await act(key))

    async with rebuno.open(store, policy=LIMITED) as kernel:
        ended = [await kernel.run(handler, {"key": key}, id=key, agent="agent") for key in keys]
    return [one.failure_reason or one.status.value for one in ended]


def dying(spend: Callable[..., Awaitable[Full | None]]) -> Callable[..., Awaitable[Full | None]]:
    """The place is on the disk then, and nothing says what for."""

    async def then_die(store: Store, step_id: str, spends: Sequence[Spend]) -> Full | None:
        full = await spend(store, step_id, spends)
        die()
        return full

    return then_die


if __name__ == "__main__":
    where, beside, deed, *names = sys.argv[1:]
    kind = PostgresStore if where.startswith("postgresql:") else SQLiteStore
    with patch.object(kind, "spend", dying(kind.spend) if deed == "die" else kind.spend):
        said = asyncio.run(run(where, Path(beside), *names))
    sys.stdout.write(f"{' '.join(said)}\n")
