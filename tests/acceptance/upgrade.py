"""Takes a served kernel from an earlier version to this one, replica by replica under load, and counts broken promises.

    .venv/bin/python tests/acceptance/upgrade.py --json

Two replicas of the earlier version share one PostgreSQL, with an agent of its SDK. While executions go on, one replica
is told to stop and comes back in this version, which brings the store up to date; the other one is killed, comes back
once more in the earlier version (`old_restarts`), is killed again and comes back in this version. An agent of this
version takes over last.

    lost     answers that callers had and the journal has not, executions that did not end as they must, broken logs,
             and an old replica that does not come back
    doubled  bodies that may run at most once and began twice, and requests that became two executions

The earlier version is built from `git archive` in an environment of its own, with the dependencies that it asks for.
Where that is not possible, the program says why and ends with 2.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

# Beside the packages of the tests this one is a program.
sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.acceptance.upgrading.earlier import BuildError, Version, build
from tests.acceptance.upgrading.play import play
from tests.postgres.server import Server, database

COMMIT = "23cb6e4"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--executions", type=int, default=200)
    parser.add_argument("--commit", default=COMMIT, help="of the earlier version (default: %(default)s)")
    help = "the earlier version, built already: its interpreter, and the folder of its files"
    parser.add_argument("--built", nargs=2, metavar=("PYTHON", "FOLDER"), help=help)
    parser.add_argument("--json", action="store_true", help="print only JSON")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if options.built is not None:
            python, root = (Path(each).absolute() for each in options.built)
            earlier = Version("the earlier version", str(python), root)
        else:
            try:
                earlier = build(options.commit, folder)
            except BuildError as error:
                parser.exit(2, f"the earlier version cannot be built: {error}\n")
        url = stack.enter_context(database(stack.enter_context(Server()).url()))
        tally = asyncio.run(play(url, folder, options.executions, earlier))
    report = tally.report()
    if options.json:
        print(json.dumps(report))
    else:
        for key, value in report.items():
            print(f"{key:>20}  {value}")
    for text in tally.said:
        print(text, file=sys.stderr)
    raise SystemExit(1 if tally.broken else 0)


if __name__ == "__main__":
    main()
