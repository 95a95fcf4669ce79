"""A project's own modules are not what a planted hook runs."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rebuno.hosts.install.hosts import _line


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
