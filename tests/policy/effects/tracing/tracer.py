"""Starts sandboxes, and sends command lines to them."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from tests.policy.effects.tracing.strace import Event

_BASES: Final = ("/mnt", "/srv", "/media", "/opt")
_UNSHARE: Final = ("unshare", "-rmn", "--pid", "--ipc", "--fork", "--mount-proc", "--kill-child")
# What comes with Python is taken from the environment that the tests run in.
_PYTHON: Final = (
    "python",
    "python3",
    "pip",
    "pip3",
    "pytest",
    "py.test",
    "ruff",
    "mypy",
    "black",
    "isort",
    "flake8",
    "coverage",
)
_SECONDS: Final = 6.0
# Folders of programs that choose one of several versions and run it.
_SHIMS: Final = re.compile(r"/shims$|/\.cargo/bin$")


_PLUGINS: Final = ("pytest_cov.plugin", "xdist.plugin")


def _there(module: str) -> bool:
    return find_spec(module.partition(".")[0]) is not None


class CannotTraceError(Exception):
    """Nothing can be traced on this system, with the reason."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What a line did. `known` are the files before it, by path: `d`, `f`, or where a link leads. `names` are the
    addresses of the sandbox's hosts by their names, `asked` those whose address was asked for. `status` is None where
    the time ran out."""

    line: str
    events: Sequence[Event]
    first: int
    known: Mapping[str, str]
    names: Mapping[str, str]
    asked: Sequence[str]
    status: int | None
    errors: str


def _tools() -> dict[str, str]:
    found: dict[str, str] = {}
    here = Path(sys.executable).parent
    for name in _PYTHON:
        path = here / name
        if path.exists():
            found[name] = str(path)
    real = Path(sys.base_prefix, "bin", f"python{sys.version_info[0]}.{sys.version_info[1]}")
    if real.exists():
        found["python"] = found["python3"] = str(real)
    # `rustup` would look for its toolchains in the home.
    for tool in ("cargo", "rustc", "rustfmt"):
        where = sorted(Path.home().glob(f".rustup/toolchains/*/bin/{tool}"))
        if where:
            found[tool] = str(where[-1])
    return found


def _base(kept: Sequence[str]) -> str:
    for one in _BASES:
        if os.path.isdir(one) and not any(path.startswith(f"{one}/") for path in kept):
            return one
    raise CannotTraceError(f"none of {', '.join(_BASES)} can be the sandbox's folder")


class Tracer:
    """A sandbox that runs lines one after another. `programs` are looked for in it: `installed` are those found."""

    def __init__(self, programs: Iterable[str] = ()) -> None:
        for name in ("strace", "unshare", "ip", "bash"):
            if shutil.which(name) is None:
                raise CannotTraceError(f"`{name}` is not installed")
        tools = _tools()
        kept = [str(Path(__file__)), sys.prefix, sys.base_prefix, *tools.values()]
        self.base = _base(kept)
        self.running = subprocess.Popen(
            [*_UNSHARE, sys.executable, "-I", str(Path(__file__).with_name("sandbox.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        given = {
            "base": self.base,
            "kept": kept,
            "tools": tools,
            "path": ":".join(one for one in os.environ.get("PATH", os.defpath).split(":") if not _SHIMS.search(one)),
            "programs": sorted(programs),
            # Other plugins of the environment that the tests run in take seconds to load.
            "environment": {
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
                "PYTEST_PLUGINS": ",".join(filter(_there, _PLUGINS)),
            },
        }
        answer = self._ask(given)
        self.clean: dict[str, str] = answer["clean"]
        self.installed: dict[str, str | None] = answer["programs"]
        self.environment: dict[str, str] = answer["environment"]
        self.workdir, self.home = f"{self.base}/proj", f"{self.base}/home/dev"

    def _ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        assert self.running.stdin is not None
        assert self.running.stdout is not None
        try:
            self.running.stdin.write(json.dumps(question) + "\n")
            self.running.stdin.flush()
            text = self.running.stdout.readline()
        except BrokenPipeError:
            text = ""
        answer = json.loads(text) if text else {}
        if "fault" in answer or not answer:
            said = self.running.communicate()[1].strip().splitlines()
            raise CannotTraceError(answer.get("fault") or (said[-1] if said else "the sandbox does not start"))
        return dict(answer)

    def run(self, line: str, wanted: Sequence[tuple[str, bool]] = (), seconds: float = _SECONDS) -> Trace:
        """Runs a line. `wanted` are paths that are made before, each with whether it is a folder."""
        answer = self._ask({"line": line, "wanted": list(wanted), "limit": seconds})
        return Trace(
            line,
            [Event(*one) for one in answer["events"]],
            answer["first"],
            {**self.clean, **answer["known"]},
            answer["names"],
            answer["asked"],
            answer["status"],
            answer["errors"],
        )

    def close(self) -> None:
        """Ends the sandbox."""
        if self.running.poll() is None:
            self.running.communicate()

    def __enter__(self) -> "Tracer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
