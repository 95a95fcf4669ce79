"""What an installation gives: the wheel is built, looked into, installed away from the checkout and used there."""

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.house.project import ROOT, files

SHIPPED = {
    "rebuno": "rebuno",
    "cli/rebuno_cli": "rebuno_cli",
    "grammar": "rebuno/_data/grammar",
    "policies": "rebuno/_data/policies",
    "examples/init": "rebuno/_data/examples/init",
    "docs/diagnostics.md": "rebuno/_data/docs/diagnostics.md",
}
BUNDLE = 'bundle one\ndefault deny because "nothing else"\n\nrule reads {\n  allow tool "get_*"\n}\n'


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(folder)]
    run = subprocess.run([*pip, "wheel", *options, str(ROOT)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment that has the wheel, and the libraries of this one."""
    home = tmp_path_factory.mktemp("environment") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "--python", str(python)]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", str(wheel)], check=True)
    site = next((home / "lib").glob("python*/site-packages"))
    # A plain path in a .pth file does not read the .pth files there, so the checkout stays out of sight.
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return home / "bin"


def run(command: Sequence[str | Path], folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a program of the environment from a folder of its own."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "REBUNO"))}
    return subprocess.run([str(part) for part in command], cwd=folder, env=env, capture_output=True, text=True)


def test_the_wheel_holds_the_package_the_command_and_their_data(wheel: Path) -> None:
    """Every tracked file of what is shipped is in it, at its place; besides them only metadata."""
    expected = set()
    for path in files():
        for folder, place in SHIPPED.items():
            if path.is_relative_to(folder) and not path.name.startswith("."):
                below = path.relative_to(folder).as_posix()
                expected.add(place if below == "." else f"{place}/{below}")
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    assert expected <= held
    tops = {name.split("/")[0] for name in held}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"rebuno", "rebuno_cli"}
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in held)


@pytest.mark.parametrize(
    "name",
    [
        "rebuno/py.typed",  # types are for users too
        "rebuno/_data/grammar/rbp.lark",  # without it no bundle can be read
        "rebuno/journal/sqlite/queries.sql",  # without it no store can be opened
        "rebuno/journal/sqlite/migrations/0001_journal.sql",
        "rebuno/journal/postgres/queries.sql",
        "rebuno/journal/postgres/migrations/0001_journal.sql",
        "rebuno_cli/main.py",
    ],
)
def test_the_wheel_holds_what_the_library_reads(wheel: Path, name: str) -> None:
    """Files that are no Python code are forgotten most easily."""
    with zipfile.ZipFile(wheel) as archive:
        assert name in archive.namelist()


def test_the_installed_package_is_the_one_that_is_imported(installed: Path, tmp_path: Path) -> None:
    """The other tests of this file say nothing if the checkout is what they reach."""
    done = run([installed / "python", "-c", "import rebuno; print(rebuno.__file__)"], tmp_path)
    assert Path(done.stdout.strip()).is_relative_to(installed.parent), done.stderr


def test_the_command_works_away_from_the_checkout(installed: Path, tmp_path: Path) -> None:
    """`rebuno policy check` reads a bundle in an empty folder, and refuses one with an error."""
    (tmp_path / "one.rbp").write_text(BUNDLE, encoding="utf-8")
    done = run([installed / "rebuno", "policy", "check", "one.rbp"], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "two.rbp").write_text(BUNDLE.replace("allow", "alow"), encoding="utf-8")
    assert run([installed / "rebuno", "policy", "check", "two.rbp"], tmp_path).returncode == 2


@pytest.mark.parametrize("command", ["check", "test"])
def test_the_starter_policies_come_along(installed: Path, tmp_path: Path, command: str) -> None:
    """The bundles in the wheel have no errors, and their own cases beside them come out."""
    where = run([installed / "python", "-c", "from rebuno import packaged; print(packaged.policies())"], tmp_path)
    done = run([installed / "rebuno", "policy", command, where.stdout.strip()], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_starter_policy_has_cases() -> None:
    """A bundle that is shipped is shipped with its tests; a file without rules is for other bundles to use."""
    bundles = [
        path
        for path in files()
        if path.parts[0] == "policies" and path.suffix == ".rbp" and "\nrule " in (ROOT / path).read_text("utf-8")
    ]
    assert bundles
    assert [str(path) for path in bundles if not (ROOT / path.with_suffix(".policytest.yaml")).is_file()] == []


def test_a_kernel_runs_away_from_the_checkout(installed: Path, tmp_path: Path) -> None:
    """The store finds its SQL, the policy its grammar."""
    (tmp_path / "one.rbp").write_text(BUNDLE, encoding="utf-8")
    code = (
        "import rebuno\n"
        "@rebuno.tool\n"
        "def get_time(): return 12\n"
        "async def agent(): return await get_time()\n"
        "print(rebuno.run_sync(agent, path='agent.db', policy='one.rbp').output)\n"
    )
    done = run([installed / "python", "-W", "error", "-c", code], tmp_path)
    assert done.stdout == "12\n", done.stderr


def test_the_hook_works_away_from_the_checkout(installed: Path, tmp_path: Path) -> None:
    """`rebuno-hook` starts the judge of its own installation, which judges by the bundle that came along."""
    folders = {name: tmp_path / name for name in ("home", "run", "project")}
    for folder in folders.values():
        folder.mkdir(mode=0o700)
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folders["home"]),
        "XDG_RUNTIME_DIR": str(folders["run"]),
        "CLAUDE_PROJECT_DIR": str(folders["project"]),
        "REBUNO_JUDGE_IDLE": "1",
    }
    decisions = []
    for command in ("ls src", "cat .env"):
        event = {
            "hook_event_name": "PreToolUse",
            "session_id": "s",
            "cwd": str(folders["project"]),
            "tool_name": "Bash",
            "tool_input": {"command": command},
            "tool_use_id": command,
        }
        done = subprocess.run(
            [str(installed / "rebuno-hook"), "claude-code"],
            input=json.dumps(event),
            capture_output=True,
            text=True,
            env=environ,
            cwd=folders["project"],
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        decisions.append(json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"])
    assert decisions == ["allow", "deny"]
    assert (folders["run"] / "rebuno" / "judge.lock").exists()
