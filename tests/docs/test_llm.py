"""The program on the page about model calls does what is said there, with a stub in the provider's place."""

import os
import subprocess
import sys
from pathlib import Path

from tests.docs.pages import ROOT, blocks
from tests.llm.provider import provider


def test_the_program_asks_once_and_is_refused_the_other_model(tmp_path: Path) -> None:
    """What a comment on the page says is printed is printed, and the second run asks nobody."""
    page = blocks("docs/llm.md")
    for block in page:
        if block.file:
            (tmp_path / block.file).write_text(block.body, encoding="utf-8")
    (shown,) = [block for block in page if block.sort == "sh"]
    commands = [line.partition("#") for line in shown.body.splitlines()]
    with provider() as stub:
        env = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": f"{stub.url}/v1",
        }
        for command, _, printed in [*commands, commands[0]]:
            program = [sys.executable, "-W", "error", *command.split()[1:]]
            done = subprocess.run(program, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60)
            assert done.stderr == ""
            assert done.stdout.startswith(printed.strip().removesuffix("…"))
    assert [request.body["model"] for request in stub.requests] == ["gpt-5-mini"]
