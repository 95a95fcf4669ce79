"""Has many payers draw from one limit of an amount at once, in several processes, and counts broken promises.

    .venv/bin/python tests/acceptance/pots.py --store postgres --json
    .venv/bin/python tests/acceptance/pots.py --store sqlite --json

On PostgreSQL, half of the payments come through two replicas of a server, half from an embedded kernel; on SQLite four
processes pay on one file. All draw from `limit 500 of args.amount per 24h for all agents together`, and want about
three times that. A third is declined by the bank, which gives the amount back. Never may more than 500 be paid, no
payment may be lost, and what is left in the end can be paid to the last cent.
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

# Beside the packages of the tests this one is a program; the processes that it starts find them as well.
sys.path.insert(0, str(Path(__file__).parents[2]))
os.environ["PYTHONPATH"] = sys.path[0]

from tests.acceptance.paying.play import play_postgres, play_sqlite
from tests.postgres.server import Server, database


def main() -> None:
    """Pays, and reports."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--store", choices=["postgres", "sqlite"], default="postgres")
    parser.add_argument("--payments", type=int, default=100)
    parser.add_argument("--processes", type=int, default=4, help="on SQLite")
    parser.add_argument("--seed", type=int, default=None, help="of the amounts")
    parser.add_argument("--json", action="store_true", help="print only JSON")
    options = parser.parse_args()
    random.seed(options.seed)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if options.store == "postgres":
            url = stack.enter_context(database(stack.enter_context(Server()).url()))
            count = asyncio.run(play_postgres(url, folder, options.payments))
        else:
            count = asyncio.run(play_sqlite(folder / "pots.db", folder, options.payments, options.processes))
    report = count.report()
    if options.json:
        print(json.dumps(report))
    else:
        for key, value in report.items():
            print(f"{key:>15}  {value}")
    for text in count.said:
        print(text, file=sys.stderr)
    raise SystemExit(1 if count.broken else 0)


if __name__ == "__main__":
    main()
