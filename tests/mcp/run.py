"""Plays the proxy with real parts: the official client of both versions in front, on stdio and HTTP; the server of the
tests, the reference servers from npm, and Claude Code against a simulated model provider.

    python tests/mcp/run.py --json

What could not be had is said by name. Exit code 1 where a scenario failed.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

# Beside the packages of the tests this one is a program.
sys.path.insert(0, str(Path(__file__).parents[2]))

import anyio

from tests.hosts import environment
from tests.mcp import npm
from tests.mcp.scenarios import ALWAYS, CLAUDE, CLAUDE_CODE, REFERENCE, Played

_PATIENCE: Final = 180.0


def play(name: str, scenario: Played) -> tuple[str, str]:
    """Plays one scenario in a folder of its own; what was wrong, or an empty text."""

    async def whole(folder: Path) -> None:
        with anyio.fail_after(_PATIENCE):
            await scenario(folder)

    began = time.monotonic()
    wrong = ""
    with tempfile.TemporaryDirectory(prefix="rebuno-mcp-", ignore_cleanup_errors=True) as folder:
        try:
            asyncio.run(whole(Path(folder).resolve()))
        except Exception:
            log = Path(folder) / "proxy.log"
            wrong = traceback.format_exc() + (log.read_text()[-4000:] if log.exists() else "")
    sys.stderr.write(f"{'FAILED' if wrong else 'passed'} in {time.monotonic() - began:.1f} s: {name}\n{wrong}")
    return name, wrong


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    parser.add_argument("--only", default="", metavar="TEXT", help="scenarios with this text in their names")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="so many at once")
    options = parser.parse_args()
    not_run: list[str] = []
    wanted: list[tuple[str, Played]] = []

    def want(scenarios: Iterable[tuple[str, Played]], missing: str) -> None:
        for name, scenario in scenarios:
            if options.only in name:
                if missing:
                    not_run.append(f"{name}: {missing}")
                else:
                    wanted.append((name, scenario))

    def missing(scenarios: Iterable[tuple[str, Played]], why: "object") -> str:
        named = any(options.only in name for name, _ in scenarios)
        return str(why()) if named and callable(why) else ""

    want(CLAUDE, missing(CLAUDE, lambda: environment.install(CLAUDE_CODE)))
    want(REFERENCE, missing(REFERENCE, npm.install))
    want(ALWAYS, "")
    with ThreadPoolExecutor(options.jobs) as threads:
        played = list(threads.map(lambda one: play(*one), wanted))
    failed = {name: wrong for name, wrong in played if wrong}
    passed = len(played) - len(failed)
    if options.json:
        report = {"passed": passed, "failed": len(failed), "failures": failed, "not_run": not_run}
        sys.stdout.write(json.dumps(report, indent=1) + "\n")
    else:
        sys.stdout.write(f"{passed} passed, {len(failed)} failed\n")
        for line in not_run:
            sys.stdout.write(f"not run: {line}\n")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
