"""What other processes do in the tests of limits: `python -m tests.embedded.limited PATH DEED KEY …`.

Each KEY is an execution of one agent, which does one thing; its body notes that it ran.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import rebuno
from rebuno.journal.records import Full, Spend
from rebuno.journal.sqlite import SQLiteStore
from rebuno.policy.compile import compile_text
from tests.embedded.agents import die, note

LIMITED = compile_text('rule r { allow tool "act" limit 5 per 1h for each agent }')


async def run(path: Path, *keys: str) -> list[str]:
    """How each execution ended: its status, or the reason why it failed."""

    @rebuno.tool("act")
    def act(key: str) -> str:
        note(path, key)
        return key

    async def handler(key: str) -> str:
        return str(await act(key))

    async with rebuno.open(path, policy=LIMITED) as kernel:
        ended = [await kernel.run(handler, {"key": key}, id=key, agent="agent") for key in keys]
    return [one.failure_reason or one.status.value for one in ended]


async def dies_in_between(self: SQLiteStore, step_id: str, spends: Sequence[Spend]) -> Full | None:
    """The place is on the disk, and nothing says what for."""
    full = await SPEND(self, step_id, spends)
    die()
    return full


SPEND = SQLiteStore.spend

if __name__ == "__main__":
    with patch.object(SQLiteStore, "spend", dies_in_between if sys.argv[2] == "die" else SPEND):
        said = asyncio.run(run(Path(sys.argv[1]), *sys.argv[3:]))
    sys.stdout.write(f"{' '.join(said)}\n")
