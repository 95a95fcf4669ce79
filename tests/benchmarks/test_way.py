"""The way of a new step through the files is followed, and stays short."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def followed() -> dict[str, Any]:
    """What the program prints, by the kind of step."""
    command = [sys.executable, "benchmarks/way.py", "--trail"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    return {line["kind"]: line for line in map(json.loads, ran.stdout.splitlines())}


def test_a_tool_step_enters_few_files() -> None:
    """Its way begins at the tool, goes through the one function that routes it, and changes files no more often than it
    was brought down to."""
    found = followed()
    for _ in range(2):
        # On a busy machine the store's thread takes part in more of the steps, which adds changes of files.
        if found["tool"]["switches"] > 80:
            found = followed()
    assert set(found) == {"tool", "tool_once", "local"}
    tool = found["tool"]
    assert tool["trail"]["loop"][0] == "sdk/tool.py"
    assert {"kernel/core/submit.py", "kernel/core/settle.py", "policy/matcher/policy.py"} <= set(tool["trail"]["loop"])
    assert tool["files"] <= 28
    assert tool["switches"] <= 80
