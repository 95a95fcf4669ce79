"""A plain installation is library, command, SQLite and client; what an extra brings is missed in plain words."""

import os
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.house.project import ROOT

# The modules of the extra `server`.
SERVER = ("starlette", "uvicorn", "httptools", "uvloop", "prometheus_client")
# What is run where none of them can be imported.
WITHOUT = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {SERVER!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""
KERNEL = """
import rebuno

@rebuno.tool
def get_time(): return 12

async def agent(): return await get_time()

print(rebuno.run_sync(agent, path="agent.db", policy="one.rbp").output)
"""
COMMAND = "from rebuno_cli.main import main; sys.exit(main(sys.argv[1:]))"
CLIENT = "import rebuno; rebuno.Client('http://127.0.0.1:9'); rebuno.types"
AGENT = "import rebuno; rebuno.Agent('a', secret='s', base_url='http://127.0.0.1:9').run(print)"
BUNDLE = 'bundle one\ndefault deny because "nothing else"\n\nrule reads {\n  allow tool "get_*"\n}\n'


def run(folder: Path, code: str, *argv: str) -> subprocess.CompletedProcess[str]:
    """Runs a program without the packages of the extra."""
    (folder / "one.rbp").write_text(BUNDLE, encoding="utf-8")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "REBUNO"))}
    env = kept | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "cli")])}
    line = [sys.executable, "-c", WITHOUT + code, *argv]
    return subprocess.run(line, cwd=folder, env=env, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("code", "argv"),
    [
        (KERNEL, ()),
        (CLIENT, ()),
        (COMMAND, ("policy", "check", "one.rbp")),
        (COMMAND, ("policy", "test", "one.rbp")),
        (COMMAND, ("policy", "explain", "one.rbp", "--target", "get_time")),
        (COMMAND, ("policy", "fmt", "--check", "one.rbp")),
        (COMMAND, ("policy", "ast", "one.rbp")),
        (COMMAND, ("policy", "diff", "one.rbp", "one.rbp")),
        (COMMAND, ("dev", "--help")),
    ],
    ids=lambda value: " ".join(value)[:30] if isinstance(value, tuple) else value.strip().splitlines()[0],
)
def test_a_plain_installation_needs_nothing_of_the_server(tmp_path: Path, code: str, argv: tuple[str, ...]) -> None:
    """An embedded kernel, the client, and every command about policies."""
    done = run(tmp_path, code, *argv)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_store_is_looked_at_without_the_server(tmp_path: Path) -> None:
    """Executions are listed and traced by an installation that serves none."""
    assert run(tmp_path, KERNEL).stdout == "12\n"
    for argv in (("exec", "ls"), ("approval", "ls"), ("agent", "ls"), ("exec", "sweep")):
        done = run(tmp_path, COMMAND, *argv, "--db", "agent.db")
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("code", "argv"),
    [
        (COMMAND, ("dev", "--port", "0")),
        (COMMAND, ("server", "--db", "a.db", "--bearer-token", "t" * 40, "--port", "0")),
        (AGENT, ()),
    ],
    ids=["dev", "server", "agent"],
)
def test_what_serves_says_which_extra_it_needs(tmp_path: Path, code: str, argv: tuple[str, ...]) -> None:
    """In one sentence with the command that installs it; the command ends as where a store is unusable."""
    done = run(tmp_path, code, *argv)
    assert "needs the extra `server`: pip install " in done.stderr
    if code == COMMAND:
        assert (done.returncode, len(done.stderr.splitlines())) == (3, 1), done.stderr


def test_a_plain_installation_is_small() -> None:
    """At most 31 distributions, ours included: what its requirements come to with the versions that are installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    waiting = [Requirement(text) for text in project["dependencies"]]
    found = {canonicalize_name(project["name"])}
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if name not in found and (wanted.marker is None or wanted.marker.evaluate({"extra": ""})):
            found.add(name)
            waiting += map(Requirement, distribution(name).requires or [])
    assert 20 < len(found) <= 31, sorted(found)


def test_the_environment_for_development_has_every_extra() -> None:
    """Each is tested. What does not go beside the others is installed after them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    (apart,) = extras.pop("strands")
    assert f"rebuno-kernel[{','.join(sorted(extras))}]" in project["dependency-groups"]["dev"]
    assert f"--no-deps '{apart}'" in (ROOT / ".ci" / "install").read_text(encoding="utf-8")
