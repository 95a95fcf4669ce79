"""Kills agents with SIGKILL at random moments, and the server beneath them, resumes them, and counts broken promises.

    .venv/bin/python tests/acceptance/kill.py --store sqlite --kills 500 --json
    .venv/bin/python tests/acceptance/kill.py --store postgres --kills 200 --json

Three executions at a time run in one process, each of 22 effects: tools, calls of a model (plain and streamed) and
local steps, of both idempotencies, in a row, side by side and nested, and one that a person must agree to, who answers
from another process while this one runs or is gone. Every body notes its start and end in a file that is synced line by
line, the model's provider keeps every request; after each kill and at the end they are held against the journal.

Half of the kills fall at random instants; the others are meant for moments that are too short to be hit often. On
PostgreSQL a quarter of them hits the server and all its processes, with the agent or without; it is started again on
the same folder, with `fsync`. `points` counts where each execution stood that a kill hit.
"""

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

# Beside the packages of the tests this one is a program; the processes that it starts find them as well.
sys.path.insert(0, str(Path(__file__).parents[2]))
os.environ["PYTHONPATH"] = sys.path[0]

import rebuno
from tests.acceptance.killing.checks import Count
from tests.acceptance.killing.killer import Killer
from tests.llm.provider import provider
from tests.postgres.server import Server, database

# For how many seconds the provider thinks before each event.
PACE = 0.004


async def play(url: str, folder: Path, server: Server | None, options: argparse.Namespace) -> Count:
    """All rounds, the first without a kill."""
    with provider(pace=PACE) as stub:
        async with rebuno.operate(url, create=True) as operator:
            killer = Killer(url, folder, operator, stub, server)
            await killer.round(0)
            while killer.count.kills < options.kills:
                await killer.round(options.kills)
                if not options.json:
                    print(f"{killer.count.kills} of {options.kills} kills", file=sys.stderr)
            return killer.count


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--store", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=None, help="of the moments at which kills fall")
    parser.add_argument("--json", action="store_true", help="print only JSON")
    options = parser.parse_args()
    random.seed(options.seed)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(Server()) if options.store == "postgres" else None
        url = stack.enter_context(database(server.url())) if server is not None else str(folder / "kill.db")
        count = asyncio.run(play(url, folder, server, options))
    report: dict[str, Any] = count.report()
    if options.json:
        print(json.dumps(report))
    else:
        for key, value in report.items():
            print(f"{key:>22}  {value}")
    for text in count.said:
        print(text, file=sys.stderr)
    raise SystemExit(1 if count.broken else 0)


if __name__ == "__main__":
    main()
