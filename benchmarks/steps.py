"""What a step costs on this machine, beside other durable runtimes and beside two bare commits.

    .venv/bin/python benchmarks/steps.py --json

1, 8 and 32 executions side by side, of 200 steps each that do nothing, so what is left is the runtime: here the whole
kernel, with a policy of a hundred rules. Each runtime has a process of its own, in which it is opened once; they take
turns, and every figure is the median of the rounds. `relative` is the time of a step over that of two bare synced
commits on SQLite in the same round, `times_dbos` and `times_absurd` are ratios of rates in the same round. Peers run
fewer steps where many run side by side, and are compared by rates.

What is on the disk before a body runs differs: here and in the floors the intent of every tool call is; DBOS, Absurd
and LangGraph write outcomes only. LangGraph's may be lost with their process.

Syncs of SQLite files are counted in a VFS below SQLite, those of PostgreSQL by the server, both in runs of their own,
and without those that begin and end an execution.
`slow_disk` makes each sync take 2 ms longer in that VFS. The files of DBOS are out of its reach: its figure there is
computed, from its time here and 2 ms for each sync that its commits cost in the journal mode that it uses.
"""

import argparse
import json
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from benchmarks.steps_plan import Bench, Sizes

WIDTHS: Final = (1, 8, 32)


def measure(sizes: Sizes, *, postgres: bool, peers: bool, said: bool) -> dict[str, Any]:
    """Every figure, by the names that the JSON has."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        bench = Bench(folder, sizes, stack, peers=peers, postgres=postgres, said=said)
        bench.rounds(WIDTHS)
        return bench.report(WIDTHS)


def table(report: dict[str, Any]) -> str:
    """The report as lines of text: one a runtime and width, then the rest as it is."""
    lines = [f"{'':<28}{'executions':>10}{'steps/s':>10}{'× floor':>9}{'syncs/step':>11}{'times':>24}"]
    for name in ("sqlite", "postgres", "floor", "slow_disk", "peers"):
        for label, widths in _rows(name, report.get(name, {})):
            for width, found in widths.items():
                times = "  ".join(f"{key[6:]} {value}" for key, value in found.items() if key.startswith("times_"))
                lines.append(
                    f"{label:<28}{width:>10}{found['steps_per_s']:>10}{found.get('relative', ''):>9}"
                    f"{found.get('syncs_per_step', ''):>11}{times:>24}"
                )
    for name in ("replay", "flat", "memory"):
        lines.append(f"{name}: " + ", ".join(f"{key} {value}" for key, value in report.get(name, {}).items()))
    return "\n".join(lines)


def _rows(name: str, found: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The tables of width and figures that stand under a name, with what each is called."""
    plain = {width: value for width, value in found.items() if width.isdigit()}
    deeper = [(f"{name} {key}", value) for key, value in found.items() if not key.isdigit() and isinstance(value, dict)]
    return ([(name, plain)] if plain else []) + deeper


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print only JSON")
    parser.add_argument("--steps", type=int, default=200, help="steps an execution (default 200)")
    parser.add_argument("--long", type=int, default=10_000, help="steps of the long execution (default 10000)")
    parser.add_argument("--rounds", type=int, default=5, help="timed rounds a figure (default 5)")
    parser.add_argument("--no-postgres", action="store_true", help="SQLite only; no server is started")
    parser.add_argument("--no-peers", action="store_true", help="this runtime and the floors only")
    options = parser.parse_args()
    if options.steps < 10 or options.long < 20 or options.rounds < 1:
        parser.error("at least 10 steps, 20 steps of the long execution and 1 round")
    sizes = Sizes(options.steps, options.long, options.rounds)
    report = measure(sizes, postgres=not options.no_postgres, peers=not options.no_peers, said=not options.json)
    sys.stdout.write((json.dumps(report) if options.json else table(report)) + "\n")


if __name__ == "__main__":
    main()
