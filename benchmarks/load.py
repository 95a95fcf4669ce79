"""How long it takes until a policy is there: 1,000 rules from text to policy, and `rebuno policy test policies`."""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.decide import make_rules
from rebuno.policy import Source, compile_bundle

ROOT = Path(__file__).resolve().parent.parent
RULES = 1_000
RUNS = 5

# In a process of its own, as a command does it: the first bundle also pays for the parser.
LOAD = "import sys; from rebuno.policy import Source, compile_bundle; compile_bundle(Source(sys.stdin.read()))"
TEST = (sys.executable, "-m", "rebuno_cli.main", "policy", "test", str(ROOT / "policies"))


def bundle(rules: int) -> str:
    """The bundle of `decide.py`, two of three rules with a reason."""
    texts = [rule.text() for rule in make_rules(rules)]
    reasoned = [text.replace("\n}", f'\n  because "reason {n}"\n}}') if n % 3 else text for n, text in enumerate(texts)]
    return "default deny\n" + "\n".join(reasoned)


def seconds(work: Callable[[], object]) -> float:
    """The median of a few runs by the clock on the wall."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def measure() -> dict[str, Any]:
    """`first_s` in a new process with its start, `again_s` in one that has loaded a bundle, `policy_test_s` the command
    with its start."""
    text = bundle(RULES)

    def run(command: tuple[str, ...], stdin: str) -> None:
        subprocess.run(command, input=stdin, capture_output=True, text=True, check=True, cwd=ROOT)

    compile_bundle(Source(text))
    number = count()
    return {
        "rules": RULES,
        "first_s": round(seconds(lambda: run((sys.executable, "-c", LOAD), text)), 3),
        # Each time another text, though by a comment only: one that was parsed before would not be parsed again.
        "again_s": round(seconds(lambda: compile_bundle(Source(f"{text}\n# {next(number)}\n"))), 3),
        "policy_test_s": round(seconds(lambda: run(TEST, "")), 3),
    }


def main() -> None:
    """Prints a few lines, or with `--json` one object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON only")
    options = parser.parse_args()
    figures = measure()
    if options.json:
        print(json.dumps(figures))
        return
    print(f"{RULES:,} rules parsed, checked and compiled: {figures['first_s']} s in a new process with its start,")
    print(f"  {figures['again_s']} s in one that has loaded a bundle before")
    print(f"rebuno policy test policies: {figures['policy_test_s']} s")


if __name__ == "__main__":
    main()
