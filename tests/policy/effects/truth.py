"""Runs command lines in a sandbox and compares what they do with what is read from them.

python tests/policy/effects/truth.py --command 'git log -p | head'      # one line, everything shown
python tests/policy/effects/truth.py --program git --lines 500 --seed 3
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from rebuno.policy.facets.reading import PathContext
from rebuno.policy.facets.shell.effects.table import builtin_programs
from tests.policy.effects.tracing.compare import Comparison, read_line, wanted
from tests.policy.effects.tracing.tracer import CannotTraceError, Tracer


def show(tracer: Tracer, line: str) -> int:
    """Prints what a line does beside what is read from it."""
    context = PathContext(tracer.workdir, tracer.home)
    read = read_line(line, context)
    trace = tracer.run(line, wanted(read, tracer.base, tracer.clean, line))
    comparison = Comparison(trace, read, context)
    faults = comparison.faults()
    print(f"{line}\n  workdir {tracer.workdir}, home {tracer.home}, status {trace.status}\nread from the line:")
    for kind, each in read.shown.items():
        print(*(f"  {kind}: {one}" for one in each), sep="\n")
    print(*(f"  unread: {one}" for one in read.unread), sep="\n")
    print("traced, what is its own left out:")
    for actor, kind, what, call in dict.fromkeys(comparison.effects):
        outside = any(one.kind == kind and one.what == what for one in faults)
        print(f"  {'NOT READ ' if outside else ''}{actor}: {kind} {what} ({call})")
    if trace.errors.strip():
        print("said:", *trace.errors.strip().splitlines()[-6:], sep="\n  ")
    return 1 if faults and read.sure else 0


def main() -> int:
    """The command; 1 for faults, 3 where nothing can be traced."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", metavar="LINE", help="trace this line only")
    given = parser.parse_args()
    try:
        with Tracer(builtin_programs()) as tracer:
            return show(tracer, given.command)
    except CannotTraceError as error:
        print(f"not run: {error}")
        return 3


if __name__ == "__main__":
    raise SystemExit(main())
