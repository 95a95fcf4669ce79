"""Drives the real coding agents against a simulated model provider, with our hook in front of every call.

    make hosts
    python tests/hosts/run.py --json

Each scenario has a home, a project, a bundle and a store of its own. Which of the agents, or of the scenarios, could
not be had is said by name. Exit code 1 where one failed.
"""

import argparse
import json
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

# Beside the packages of the tests this one is a program.
sys.path.insert(0, str(Path(__file__).parents[2]))

from rebuno.hosts.live import DRIVERS, Driver, InstalledHost
from tests.hosts import rows
from tests.hosts.environment import VERSIONS, installed
from tests.hosts.failures import FAILURES
from tests.hosts.live import LIVE
from tests.hosts.scenarios import SCENARIOS
from tests.hosts.scene import NotOffered, Scene
from tests.hosts.servers import a_tool_of_a_server_is_judged_by_its_name

ALL: Final = (*SCENARIOS, a_tool_of_a_server_is_judged_by_its_name, *FAILURES, *LIVE)


@dataclass(slots=True)
class Report:
    """What became of the scenarios of one host."""

    name: str
    version: str = ""
    passed: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    not_run: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Counts, and the names with what is wrong."""
        return {
            "version": self.version,
            "passed": len(self.passed),
            "failed": len(self.failed),
            "failures": self.failed,
            "not_run": [f"{name}: {why}" for name, why in self.not_run.items()],
        }


def play(driver: Driver, only: str, say: Callable[[str], None]) -> Report:
    """Plays all scenarios on one host."""
    report = Report(driver.name)
    host = installed(driver)
    wanted = [one for one in ALL if only in one.__name__]
    if host is None:
        why = f"{driver.package}@{VERSIONS[driver.name]} is not installed; run `make hosts`"
        report.not_run = {one.__name__: why for one in wanted} | {"rows": why}
        return report
    report.version = host.version()
    for scenario in wanted:
        _one(report, host, scenario.__name__, scenario, say)
    if only in "rows":
        _one(report, host, "rows", lambda scene: _rows(report, scene), say)
    return report


def _one(
    report: Report, host: InstalledHost, name: str, scenario: Callable[[Scene], None], say: Callable[[str], None]
) -> None:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rebuno-hosts-", ignore_cleanup_errors=True) as folder:
        scene = Scene(host, Path(folder))
        try:
            scenario(scene)
            became = "passed"
        except NotOffered as why:
            report.not_run[name] = str(why)
            became = f"not run: {why}"
        except Exception:
            log = "\n".join(scene.log)
            report.failed[name] = f"{traceback.format_exc()}\n{log}"
            became = "FAILED"
        finally:
            scene.close()
    if became == "passed" and name != "rows":
        report.passed.append(name)
    say(f"{report.name:<12} {name:<48} {time.monotonic() - began:5.1f} s  {became}")


def _rows(report: Report, scene: Scene) -> None:
    for name, wrong in rows.see(scene).items():
        if wrong:
            report.failed[name] = wrong
        else:
            report.passed.append(name)
    if failed := [name for name in report.failed if name.startswith("row ")]:
        raise AssertionError(f"wrong: {', '.join(failed)}")


def table(reports: list[Report]) -> str:
    """Why the failed ones failed, and a line a host."""
    lines = [f"\n{one.name}: {name}\n{why}" for one in reports for name, why in one.failed.items()]
    lines += [f"not run: {one.name}: {name}: {why}" for one in reports for name, why in one.not_run.items()]
    for one in reports:
        lines.append(f"{one.name:<12} {one.version:<10} {len(one.passed)} passed, {len(one.failed)} failed")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--host", choices=sorted(VERSIONS), action="append", help="only this one; may be given again")
    parser.add_argument("--only", default="", help="a part of the names of scenarios, or `rows`")
    parser.add_argument("--jobs", type=int, default=2, help="how many hosts are driven at once")
    parser.add_argument("--json", action="store_true", help="print only JSON; the progress goes to standard error")
    options = parser.parse_args()
    chosen = [driver for driver in DRIVERS if not options.host or driver.name in options.host]

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    with ThreadPoolExecutor(options.jobs) as pool:
        reports = list(pool.map(lambda driver: play(driver, options.only, say), chosen))
    if options.json:
        print(json.dumps({"hosts": {one.name: one.to_json() for one in reports}}))
    else:
        print(table(reports))
    raise SystemExit(1 if any(one.failed for one in reports) else 0)


if __name__ == "__main__":
    main()
