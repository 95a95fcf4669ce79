"""Lets agents and clients of the published package, and an agent in JavaScript, work with our servers, and says what
became of each scenario.

    make conformance

The package from PyPI has an environment of its own, `.venv-published`, since it bears the same import name. Nothing in
`published/` imports anything of ours. The agent in `node/` sends the bodies of the published TypeScript SDK. Without
`node` its scenarios are not run, and the report says so. Every scenario runs twice: against `rebuno dev` on SQLite, and
against `rebuno server` on a PostgreSQL that is started for it.
"""

import argparse
import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

# Beside the packages of the tests this one is a program.
sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.conformance import nodes
from tests.postgres.server import Server, database

ROOT: Final = Path(__file__).parents[2]
PUBLISHED: Final = ROOT / ".venv-published" / "bin" / "python"
VERSION: Final = "0.29.2"
BUNDLE: Final = Path(__file__).with_name("conformance.rbp")
PATIENCE: Final = 300.0


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a scenario; `error` is empty where it passed."""

    server: str
    name: str
    says: str
    seconds: float
    error: str


@contextmanager
def served(command: list[str], environment: dict[str, str], log: Path) -> Iterator[str]:
    """The URL of a server of ours that runs while the context is open; its log is kept."""
    known = {key: value for key, value in os.environ.items() if not key.startswith("REBUNO")}
    rebuno = [sys.executable, "-m", "rebuno_cli.main", *command, "--port", "0"]
    with log.open("wb") as errors:
        process = subprocess.Popen(
            rebuno, stdout=subprocess.PIPE, stderr=errors, env={**known, **environment}, cwd=ROOT, text=True
        )
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        address = next((word.rstrip(",") for word in first.split() if word.startswith("http://")), "")
        if not address:
            raise SystemExit(f"`rebuno {command[0]}` does not start: {first}{log.read_text()[-2000:]}")
        yield address
    finally:
        process.terminate()
        process.wait(30)


def play(server: str, url: str, token: str, folder: Path, only: str) -> list[Result]:
    """Plays all scenarios against one server."""
    # The published package finds the scenarios, and not the package of ours that stands beside them.
    (folder / "tests").symlink_to(ROOT / "tests")
    command = [str(PUBLISHED), "-P", "-m", "tests.conformance.published.main"]
    known = {key: value for key, value in os.environ.items() if not key.startswith(("REBUNO", "PYTHON"))}
    done = subprocess.run(
        [*command, "--url", url, "--token", token, "--bundle", str(BUNDLE), "--only", only],
        cwd=folder,
        env={**known, "PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"},
        stdout=subprocess.PIPE,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    report: dict[str, Any] = json.loads(done.stdout)
    if report["rebuno"] != VERSION:
        raise SystemExit(f"`.venv-published` holds rebuno {report['rebuno']}, not {VERSION}; remove it")
    program = nodes.node()
    told = report["results"]
    if program is not None:
        told += nodes.play(program, url, token, BUNDLE.read_text(encoding="utf-8"), only)
    return [Result(server, one["name"], one["says"], one["seconds"], one["error"]) for one in told]


def on_dev(folder: Path, only: str) -> list[Result]:
    """`rebuno dev`, in memory; who sends no token is let in."""
    with served(["dev"], {}, folder / "log") as url:
        return play("dev", url, "", folder, only)


def on_server(folder: Path, only: str) -> list[Result]:
    """`rebuno server` on PostgreSQL; an operator's token is needed."""
    token = secrets.token_hex(16)
    with ExitStack() as stack:
        url = stack.enter_context(database(stack.enter_context(Server()).url()))
        known = {"REBUNO_DB_URL": url, "REBUNO_BEARER_TOKEN": token}
        return play("server", stack.enter_context(served(["server"], known, folder / "log")), token, folder, only)


def table(results: list[Result]) -> str:
    """A line a scenario, and below it why the failed ones failed."""
    names = list(dict.fromkeys(one.name for one in results))
    found = {(one.name, one.server): one for one in results}
    servers = list(dict.fromkeys(one.server for one in results))
    width = max(map(len, names))
    lines = [" ".join([" " * width, *(f"{server:>14}" for server in servers)])]
    for name in names:
        cells = [found[name, server] for server in servers]
        told = (f"{'FAILED' if one.error else 'passed':>7} {one.seconds:5.1f}s" for one in cells)
        lines.append(" ".join([f"{name:<{width}}", *told]))
    lines += [f"\n{one.server}: {one.name}: {one.says}\n{one.error}" for one in results if one.error]
    passed = sum(not one.error for one in results)
    missing = [f"not run: {what}" for what in not_run()]
    said = f"\nrebuno {VERSION} from PyPI, and an agent in JavaScript: {passed} of {len(results)} scenarios passed"
    return "\n".join([*lines, said, *missing])


def not_run() -> list[str]:
    """The scenarios that this machine cannot play, and why."""
    return [] if nodes.node() else [f"{len(nodes.SCENARIOS)} scenarios of an agent in JavaScript: there is no `node`"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--server", choices=["dev", "server"], help="only this one")
    parser.add_argument("--only", default="", help="a part of the names of scenarios")
    parser.add_argument("--log", help="where a server's own log goes")
    parser.add_argument("--json", action="store_true", help="print only JSON")
    options = parser.parse_args()
    results: list[Result] = []
    for name, run in (("dev", on_dev), ("server", on_server)):
        if options.server in (None, name):
            with tempfile.TemporaryDirectory() as folder:
                results += run(Path(folder), options.only)
                if options.log:
                    Path(f"{options.log}.{name}").write_bytes((Path(folder) / "log").read_bytes())
    failed = sum(bool(one.error) for one in results)
    if options.json:
        counts = {"scenarios": len(results), "passed": len(results) - failed, "failed": failed, "not_run": not_run()}
        print(
            json.dumps(
                {**counts, "results": [{"server": one.server, "name": one.name, "error": one.error} for one in results]}
            )
        )
    else:
        print(table(results))
    raise SystemExit(1 if failed or not results else 0)


if __name__ == "__main__":
    main()
