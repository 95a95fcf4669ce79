"""Kills the replicas of a served kernel with SIGKILL while they work, starts them again, and counts broken promises.

    .venv/bin/python tests/acceptance/replicas.py --json

Two replicas share one PostgreSQL. An agent of our SDK, in a process of its own, reaches them through a balancer, as
does the client that begins executions and the person who answers their questions. Every body notes its start in a file.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

# Beside the packages of the tests this one is a program.
sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.acceptance.replicating.killer import play
from tests.postgres.server import Server, database


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--executions", type=int, default=200)
    parser.add_argument("--kills", type=int, default=10, help="so many at least")
    parser.add_argument("--seed", type=int, default=None, help="of the moments at which kills fall")
    parser.add_argument("--json", action="store_true", help="print only JSON")
    options = parser.parse_args()
    random.seed(options.seed)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = stack.enter_context(database(stack.enter_context(Server()).url()))
        count = asyncio.run(play(url, folder, options.executions, options.kills))
    report = count.report()
    if options.json:
        print(json.dumps(report))
    else:
        for key, value in report.items():
            print(f"{key:>20}  {value}")
    for text in count.said:
        print(text, file=sys.stderr)
    raise SystemExit(1 if count.broken else 0)


if __name__ == "__main__":
    main()
