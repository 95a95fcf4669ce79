"""How much processor time a command takes before it has something to say, beside `python -c pass`.

    python benchmarks/startup.py [--rounds 11] [--before FOLDER]

Prints a JSON line for each command line: the median of the processor time of the process and of those that it started,
in milliseconds, and how many times that of `python -c pass` it is. The rounds alternate, so that a busy machine is busy
for all of them. With `--before`, a checkout of an earlier commit, the work of both is measured with this interpreter,
and `of_before` is the share of the earlier time that is left.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
PASS: Final = "python -c pass"
CHECK: Final = "rebuno policy check policies/coding.rbp"
HELLO: Final = "python examples/hello.py"
# What the console script does.
COMMAND: Final = "import sys; from rebuno_cli.main import main; sys.exit(main())"


def main() -> None:
    """Measures, and prints what was found."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--rounds", type=int, default=11)
    arguments.add_argument("--before", type=Path, help="a checkout to compare with")
    given = arguments.parse_args()
    runs = [(line, ROOT) for line in (PASS, *_lines(), CHECK, HELLO)]
    if given.before:
        runs += [(line, given.before.resolve()) for line in (CHECK, HELLO)]
    found: dict[tuple[str, Path], list[float]] = {run: [] for run in runs}
    for _ in range(given.rounds):
        for line, checkout in runs:
            found[line, checkout].append(_measured(line, checkout))
    medians = {run: statistics.median(times) for run, times in found.items()}
    for line in dict.fromkeys(line for line, _ in runs):
        own = medians[line, ROOT]
        told = {"command": line, "ms": round(own, 1), "times_pass": round(own / medians[PASS, ROOT], 2)}
        if given.before and (before := medians.get((line, given.before.resolve()))):
            told |= {"before_ms": round(before, 1), "of_before": round(own / before, 3)}
        print(json.dumps(told), flush=True)


def _lines() -> list[str]:
    from rebuno_cli.tree import names

    asked = ["", *dict.fromkeys(name.partition(" ")[0] for name in names() if " " in name), *names()]
    return ["rebuno version", *(" ".join(["rebuno", *name.split(), "--help"]) for name in asked)]


def _measured(line: str, checkout: Path) -> float:
    """The processor time of one run, in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for name in ("policies", "examples"):
            (work / name).symlink_to(checkout / name)
        if line == HELLO:
            # It keeps its store beside itself; here in a folder that is new each time.
            (work / "hello.rbp").symlink_to(checkout / "examples" / "hello.rbp")
        start = _children()
        ran = subprocess.run(_argv(line), cwd=work, env=_environment(checkout), capture_output=True, text=True)
        spent = _children() - start
    if ran.returncode:
        raise SystemExit(f"`{line}` in {checkout} ended with {ran.returncode}: {ran.stderr}")
    return spent * 1000


def _argv(line: str) -> Sequence[str]:
    program, *words = line.split()
    return [sys.executable, *(["-c", COMMAND] if program == "rebuno" else []), *words]


def _environment(checkout: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "REBUNO"))}
    return kept | {"PYTHONPATH": os.pathsep.join([str(checkout), str(checkout / "cli")])}


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
