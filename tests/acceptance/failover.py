"""Kills the primary of a PostgreSQL with a synchronous standby, again and again under load, and counts broken promises.

    .venv/bin/python tests/acceptance/failover.py --json

Two replicas serve an agent. The primary is killed with SIGKILL, its standby is promoted with `pg_ctl promote`, and a
new standby is copied from it; so often as `--kills` says. The way `direct` names both servers in the URL, with
`target_session_attrs=read-write`, and so does `embedded`, where a kernel in this process takes the replicas' place;
`session` goes through PgBouncer, which is pointed at the new primary. The modes `transaction` and `statement` of
PgBouncer cannot hold, and a store must be refused in them.

    lost     answers that callers had and the journal has not, executions that did not end as they must, broken logs
    doubled  bodies that may run at most once and began twice, and requests that became two executions
    refused  modes of the pooler in which the store was refused

The exit code is 1 where a promise was broken or a mode was not refused, and 2 where there is no PgBouncer.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

# Beside the packages of the tests this one is a program.
sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.acceptance.failing import embedded
from tests.acceptance.failing.play import REFUSED, WAYS, play, refusals
from tests.acceptance.upgrading.count import Tally
from tests.postgres.pooler import program


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--executions", type=int, default=200, help="on each way")
    parser.add_argument("--kills", type=int, default=5, help="on each way")
    parser.add_argument("--way", choices=WAYS, action="append", help="only this one (default: each)")
    parser.add_argument("--json", action="store_true", help="print only JSON")
    options = parser.parse_args()
    ways = options.way or list(WAYS)
    try:
        program()
    except FileNotFoundError as error:
        if "session" in ways:
            parser.exit(2, f"{error}; `--way direct` and `--way embedded` do without\n")
    tallies: dict[str, Tally] = {}
    for way in ways:
        with tempfile.TemporaryDirectory() as folder:
            if way == "embedded":
                played = embedded.play(Path(folder), options.executions, options.kills)
            else:
                played = play(way, Path(folder), options.executions, options.kills)
            tallies[way] = asyncio.run(played)
    said = asyncio.run(refusals()) if "session" in ways else {}
    report = whole(tallies, said)
    if options.json:
        print(json.dumps(report))
    else:
        for key, value in report.items():
            print(f"{key:>20}  {value}")
    for way, tally in tallies.items():
        for text in tally.said:
            print(f"{way}: {text}", file=sys.stderr)
    missing = [mode for mode in REFUSED if mode in said and not said[mode]]
    for mode in missing:
        print(f"{mode}: the store was not refused", file=sys.stderr)
    raise SystemExit(1 if missing or any(tally.broken for tally in tallies.values()) else 0)


def whole(tallies: dict[str, Tally], said: dict[str, str]) -> dict[str, Any]:
    """The counts over all ways, and of each."""
    ways = {way: tally.report() for way, tally in tallies.items()}
    names = ("executions", "completed", "lost", "doubled", "kills")
    sums: dict[str, Any] = {name: sum(one.get(name, 0) for one in ways.values()) for name in names}
    return sums | {"ways": ways, "refused": [mode for mode, text in said.items() if text]}


if __name__ == "__main__":
    main()
