"""An adapter whose framework is not installed says which extra brings it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FRAMEWORKS = {
    "pydantic_ai": ("pydantic-ai", "pydantic_ai"),
    "langchain": ("langchain", "langchain"),
    "openai_agents": ("openai-agents", "agents"),
    "claude_agent": ("claude-agent", "claude_agent_sdk"),
    "strands": ("strands", "strands"),
}
WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {package!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
import rebuno.adapters
from rebuno.errors import RebunoError
try:
    import rebuno.adapters.{module}
except RebunoError as error:
    print(error)
"""


@pytest.mark.parametrize("module", FRAMEWORKS)
def test_a_missing_framework_is_named_by_its_extra(module: str) -> None:
    """In one sentence, with the command that installs it."""
    extra, package = FRAMEWORKS[module]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    line = [sys.executable, "-c", WITHOUT.format(package=package, module=module)]
    done = subprocess.run(line, env=env, capture_output=True, text=True, check=True)
    wanted = f"`rebuno.adapters.{module}` needs the extra `{extra}`: pip install "
    assert done.stdout.startswith(wanted), done.stdout + done.stderr
