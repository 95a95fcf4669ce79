"""A project's own modules are not what a planted hook runs."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rebuno.hosts.install import entries
from rebuno.hosts.install.hosts import _claude_hook, _line
from rebuno_cli import hook_start


@pytest.mark.parametrize("path", [".", ":/nowhere"])
@pytest.mark.parametrize("observe", [False, True])
def test_a_module_of_the_project_does_not_answer_for_the_hook(tmp_path: Path, path: str, observe: bool) -> None:
    (tmp_path / "sitecustomize.py").write_text("import os; os._exit(0)\n")
    program = tmp_path / "rebuno-hook"
    program.write_text(f"#!{sys.executable}\nraise SystemExit(2)\n")
    program.chmod(0o700)
    planting: Any = SimpleNamespace(program=program, arguments=["codex"], observe=observe, way_out="")
    ran = subprocess.run(_line(planting), shell=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, check=False)
    assert ran.returncode == 2


@pytest.mark.parametrize("path", [".", ":/nowhere"])
def test_nor_for_that_of_claude_code(tmp_path: Path, path: str) -> None:
    (tmp_path / "sitecustomize.py").write_text("import os; os._exit(0)\n")
    program = tmp_path / "rebuno-hook"
    program.write_text(f"#!{sys.executable}\nraise SystemExit(2)\n")
    program.chmod(0o700)
    planting: Any = SimpleNamespace(program=program, arguments=["claude-code"], observe=False, way_out="", timeout=60)
    hook = _claude_hook(planting, "PreToolUse")
    assert entries.program(hook) == str(program)
    environ = {**os.environ, "PYTHONPATH": path}
    ran = subprocess.run([hook["command"], *hook["args"]], cwd=tmp_path, env=environ, check=False)
    assert ran.returncode == 2


def test_a_module_of_the_project_is_not_imported_where_no_judge_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import os; os._exit(0)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", ".")
    code, _, said = hook_start._in_own_process(["codex"], b"{", "none")
    assert (code, b"cannot be read" in said) == (2, True)
