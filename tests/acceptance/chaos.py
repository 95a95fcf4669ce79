"""Loses answers between kernels and PostgreSQL, and between agents and a server, and counts broken promises.

    .venv/bin/python tests/acceptance/chaos.py --store postgres --faults 600 --json
    .venv/bin/python tests/acceptance/chaos.py --store postgres --faults 600 --served --json

A proxy stands before the server and loses answers, by chance and from a seed. `drop`: the request or its answer is
dropped and the line reset. `stall`: the request is carried out, and its line stalls, sometimes for ever. `partial`: a
part of the answer comes together with the reset. `late`: the request arrives after its line was reset, or a second
time. One half of the executions runs on asyncio's own event loop, the other on uvloop.

Embedded, sixteen executions at a time run in a kernel of this process; with `--served`, an agent in a process of its
own runs those that a server delivers, and proxies stand before the server and before its PostgreSQL. Each has six or
seven effects of both idempotencies, one in four asks a person, some have no key, some are forked. What bodies noted and
what callers were told is held against the journal:

    double_runs           a body ran again after its step had succeeded
    at_most_once_doubles  a body of an at_most_once step began twice
    lost                  what was acknowledged is gone or another one, or a log or an output is not whole
    duplicates            one create became two executions
    failed_by_us          an execution failed, or its caller got an error of the store
    hung                  something did not end within its bound: an execution, a close, a server told to stop

The exit code is 1 where one of them is not 0, or where less fell than was asked for: 600 faults mean 50 of each kind.
On SQLite there is no line between the kernel and its file: it can only be tried with `--served`.
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

from tests.acceptance.faulting import embedded, served
from tests.acceptance.faulting.checks import Count
from tests.acceptance.faulting.loops import LOOPS, run_on
from tests.postgres.server import Server, database


def main() -> None:
    """Both halves, and the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", choices=["postgres", "sqlite"], default="postgres")
    parser.add_argument("--served", action="store_true", help="through a server, with a proxy before it as well")
    parser.add_argument("--faults", type=int, default=600, help="so many at least")
    parser.add_argument("--executions", type=int, default=200, help="so many at least")
    parser.add_argument("--seed", type=int, default=None, help="of the faults")
    parser.add_argument("--json", action="store_true", help="print only JSON")
    options = parser.parse_args()
    if options.store == "sqlite" and not options.served:
        parser.error(
            "an embedded kernel has no line to its SQLite file, so that no answer can be lost;"
            " add --served, or use kill.py, which kills the process"
        )
    dice = random.Random(options.seed)
    whole = Count()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(Server(fsync=False)) if options.store == "postgres" else None
        for loop in LOOPS:
            url = stack.enter_context(database(server.url())) if server is not None else str(folder / f"{loop}.db")
            executions, faults = -(-options.executions // len(LOOPS)), -(-options.faults // len(LOOPS))
            if options.served:
                half = asyncio.run(served.play(url, folder, executions, faults, dice, loop))
            else:
                half = run_on(loop, embedded.play(url, executions, faults, dice))
            whole.add(half)
            if not options.json:
                print(f"{loop}: {half.report()}", file=sys.stderr)
    report = whole.report()
    if options.json:
        print(json.dumps(report))
    else:
        for key, value in report.items():
            print(f"{key:>22}  {value}")
    for text in whole.said:
        print(text, file=sys.stderr)
    raise SystemExit(1 if whole.broken or not whole.enough(options.executions, options.faults) else 0)


if __name__ == "__main__":
    main()
