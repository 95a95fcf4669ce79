"""One process of the mutation tests: reads a job as JSON from standard input, writes what came of it to a file.

`{"tests": […], "mutants": [[path, index], …], "jobs": 2, "alone": false, "out": path}`. With `alone` there is one
mutant, and the module is imported with it.
"""

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.mutation.areas import ROOT
from tests.mutation.mutants import Mutant, mutants
from tests.mutation.session import Forks, imported

# No files of earlier runs, the same examples each time. Output is caught in memory, since copies would share a file.
OPTIONS = ["-x", "-q", "-p", "no:cacheprovider", "--capture=sys", "--hypothesis-seed=0"]
# What is imported before pytest looks at it cannot be rewritten, and says so.
OPTIONS += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]


def main() -> None:
    """Runs the job."""
    job: dict[str, Any] = json.load(sys.stdin)
    os.chdir(ROOT)
    found = [_mutant(path, index) for path, index in job["mutants"]]
    if job["alone"]:
        imported(found[0])
        loaded = Loaded()
        code = pytest.main([*OPTIONS, *job["tests"]], plugins=[loaded])
        _end(job["out"], {"code": int(code), "imported": found[0].module in sys.modules, "by": loaded.failed})
    forks = Forks(found, job["jobs"])
    code = pytest.main([*OPTIONS, *job["tests"]], plugins=[forks])
    if forks.is_copy:
        os._exit(int(code))
    outcomes = {key: asdict(outcome) for key, outcome in forks.outcomes.items()}
    _end(job["out"], {"code": int(code), "baseline": forks.baseline, "failed": forks.failed, "outcomes": outcomes})


class Loaded:
    """Remembers which test failed."""

    failed = ""

    def pytest_configure(self) -> None:
        """With the examples of the copies."""
        Forks.pytest_configure(Forks([], 1))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """The first that fails is the last that runs."""
        if report.failed:
            self.failed = report.nodeid


def _mutant(path: str, index: int) -> Mutant:
    return mutants(path, (ROOT / path).read_text(encoding="utf-8"))[index]


def _end(path: str, said: dict[str, Any]) -> None:
    Path(path).write_text(json.dumps(said), encoding="utf-8")
    # What a mutant has left running must not keep the process.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
