"""Runs generated command lines in a sandbox and compares what they do with what is read from them.

    python tests/policy/effects/truth.py --command 'git log -p | head'      # one line, everything shown
    python tests/policy/effects/truth.py --program git --lines 500 --seed 3

Only lines of which all is read are run: of the others nothing is said.
"""

import argparse
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from threading import Lock, Thread

sys.path.insert(0, str(Path(__file__).parents[3]))

from rebuno.policy.facets.reading import PathContext
from rebuno.policy.facets.shell.effects.table_set import builtin_table
from tests.policy.effects.tracing.compare import Comparison, Fault
from tests.policy.effects.tracing.generate import LineMaker, programs_with_tables
from tests.policy.effects.tracing.reading import Tables, read_line, wanted
from tests.policy.effects.tracing.tracer import CannotTraceError, Tracer

_TRIES = 8
# Parts of names that differ from run to run.
_HASH = re.compile(
    r"(?<=[/.-])(?:[0-9a-f]{2}/)?[0-9a-f]{12,}|(?<=objects/)[0-9a-f]{2}\b|[0-9]{4}-[0-9T_-]{8,}Z?|(?<=[-_.])[A-Za-z0-9_]{6}$|[0-9]{4,}"
)


@dataclass(slots=True)
class Tally:
    """What came of the lines of a program: how many were made and read for sure, and the faults of those that ran."""

    program: str
    made: int = 0
    sure: int = 0
    run: int = 0
    late: int = 0
    failed: int = 0
    faults: list[Fault] = field(default_factory=list)


def examine(tracer: Tracer, line: str, tables: Tables = builtin_table) -> tuple[Comparison, list[Fault]]:
    """Runs a line, and says what it did that is not read from it."""
    context = PathContext(tracer.workdir, tracer.home)
    read = read_line(line, context, tables)
    trace = tracer.run(line, wanted(read, tracer.base, tracer.clean, line))
    comparison = Comparison(trace, read, context)
    return comparison, comparison.faults()


def examine_program(tracer: Tracer, program: str, lines: int, seed: int, tables: Tables = builtin_table) -> Tally:
    """Runs up to `lines` different lines of a program: those of its cases first."""
    tally = Tally(program)
    context = PathContext(tracer.workdir, tracer.home)
    seen: set[str] = set()
    for line in islice(LineMaker(program, seed, tables(program)).lines(), lines * _TRIES):
        if line in seen:
            continue
        seen.add(line)
        tally.made += 1
        if read_line(line, context, tables).sure:
            tally.sure += 1
            comparison, faults = examine(tracer, line, tables)
            tally.run += 1
            tally.late += comparison.trace.status is None
            tally.failed += bool(comparison.trace.status)
            tally.faults += faults
            if tally.run >= lines:
                break
    return tally


def show(tracer: Tracer, line: str) -> int:
    """Prints what a line does beside what is read from it."""
    comparison, faults = examine(tracer, line)
    read, trace = comparison.read, comparison.trace
    print(f"{line}\n  workdir {tracer.workdir}, home {tracer.home}, status {trace.status}\nread from the line:")
    for kind, each in read.shown.items():
        print(*(f"  {kind}: {one}" for one in each), sep="\n")
    for one in read.unread:
        print(f"  unread: {one}")
    print("traced, what is its own left out:")
    outside = {(one.program, one.kind, one.what) for one in faults}
    for actor, kind, what, call in dict.fromkeys(comparison.effects):
        print(f"  {'NOT READ ' if (actor, kind, what) in outside else ''}{actor}: {kind} {what} ({call})")
    if trace.errors.strip():
        print("said:", *trace.errors.strip().splitlines()[-6:], sep="\n  ")
    return 1 if faults and read.sure else 0


def _told(tally: Tally) -> str:
    share = f"{tally.sure / tally.made:.0%}" if tally.made else "-"
    late = f", {tally.late} ran out of time" if tally.late else ""
    return (
        f"{tally.program}: {tally.made} lines, {tally.sure} sure ({share}), {tally.run} run"
        f" ({tally.failed} ended with an error{late}), {len(tally.faults)} faults"
    )


def _distinct(faults: Sequence[Fault]) -> list[tuple[Fault, int]]:
    first: dict[tuple[str, str, str], Fault] = {}
    count: Counter[tuple[str, str, str]] = Counter()
    for one in faults:
        key = (one.program, one.kind, _HASH.sub("…", one.what))
        count[key] += 1
        known = first.setdefault(key, one)
        if len(one.line) < len(known.line):
            first[key] = one
    return [(one, count[key]) for key, one in first.items()]


def run_all(programs: Sequence[str], lines: int, seed: int, jobs: int, as_json: bool, shown: int = 20) -> int:
    """Runs lines of all programs; 1 if there are faults."""
    tallies: list[Tally] = []
    missing: list[str] = []
    left = list(programs)
    lock = Lock()

    def work(tracer: Tracer) -> None:
        with tracer:
            while True:
                with lock:
                    if not left:
                        return
                    program = left.pop(0)
                if tracer.installed[program] is None and builtin_table(program) and program not in _BUILTINS:
                    with lock:
                        missing.append(program)
                    continue
                tally = examine_program(tracer, program, lines, seed)
                with lock:
                    tallies.append(tally)
                    if not as_json:
                        print(_told(tally), flush=True)
                        different = _distinct(tally.faults)
                        for fault, times in different[:shown]:
                            print(f"  FAULT {fault}" + (f"   ({times} times)" if times > 1 else ""), flush=True)
                        if len(different) > shown:
                            print(f"  and {len(different) - shown} more", flush=True)

    threads = [Thread(target=work, args=(Tracer(programs),)) for _ in range(max(1, jobs))]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    faults = [fault for tally in tallies for fault in tally.faults]
    if as_json:
        print(json.dumps({"programs": [asdict(one) for one in tallies], "not_installed": sorted(missing)}, indent=1))
        return 1 if faults else 0
    made, sure, ran = (sum(getattr(one, key) for one in tallies) for key in ("made", "sure", "run"))
    print(f"all: {made} lines, {sure} sure, {ran} run, {len(_distinct(faults))} different faults")
    if missing:
        print(f"not installed, and so not run: {', '.join(sorted(missing))}")
    return 1 if faults else 0


# Programs that the shell holds itself.
_BUILTINS = frozenset(
    {"cd", "export", "set", "unset", "read", "local", "declare", "source", "type", "command", "exit", "return"}
)


def main() -> int:
    """The command; 1 for faults, 3 where nothing can be traced."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", metavar="LINE", help="trace this line only")
    parser.add_argument("--lines", type=int, default=50, help="lines to run for each program (50)")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--program", action="append", help="only this one (may be repeated)")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="sandboxes at a time")
    parser.add_argument("--shown", type=int, default=20, help="faults to print for each program (20)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    programs = given.program or list(programs_with_tables())
    try:
        if given.command is None:
            return run_all(programs, given.lines, given.seed, given.jobs, given.json, given.shown)
        with Tracer(programs) as tracer:
            return show(tracer, given.command)
    except CannotTraceError as error:
        print(f"not run: {error}")
        return 3


if __name__ == "__main__":
    raise SystemExit(main())
