"""The quick start of the server's page, as it is written."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.docs.pages import ROOT, Block, blocks

PAGE = "docs/server.md"
TEXT = (ROOT / PAGE).read_text(encoding="utf-8")


def _section() -> list[Block]:
    first = TEXT[: TEXT.index("## Quick start")].count("\n")
    last = TEXT[: TEXT.index("## For trying things out")].count("\n")
    return [block for block in blocks(PAGE) if first < block.line < last]


def _free() -> str:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return str(taken.getsockname()[1])


@contextmanager
def _shell(text: str, folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A terminal in which these lines run; what still does at the end is ended."""
    names = {name: value for name, value in os.environ.items() if not name.startswith("REBUNO")}
    path = f"{Path(sys.executable).parent}:{names['PATH']}"
    env = {**names, "PATH": path, "PYTHONPATH": f"{ROOT}:{ROOT / 'cli'}"}
    shell = subprocess.Popen(
        ["/bin/sh", "-ec", text],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        yield shell
    finally:
        if shell.poll() is None:
            os.killpg(shell.pid, signal.SIGTERM)
        shell.communicate(timeout=20)


def test_the_quickstart_works_as_written(tmp_path: Path) -> None:
    """Three terminals, in a folder with the page's files: the execution completes with the agent's output."""
    files = {block.file: block.body for page in ("README.md", PAGE) for block in blocks(page) if block.file}
    server, agent, client = (block.body for block in _section() if block.sort == "sh")
    ports = {"8080": _free(), "5000": _free()}

    def here(text: str) -> str:
        return re.sub(r"\b(8080|5000)\b", lambda found: ports[found[0]], text)

    for name in ("hello.rbp", "served.py", "manifest.yaml"):
        (tmp_path / name).write_text(here(files[name]), encoding="utf-8")
    server = server.replace("rebuno dev", f"rebuno dev --port {ports['8080']}")
    with _shell(server, tmp_path) as one:
        assert one.stdout is not None
        assert b"http://127.0.0.1" in one.stdout.readline()
        with _shell(here(agent), tmp_path):
            _reached(int(ports["5000"]))
            with _shell(here(client), tmp_path) as third:
                said, _ = third.communicate(timeout=60)
                assert third.returncode == 0, said
    assert b"completed" in said


def _reached(port: int) -> None:
    """Waits until somebody listens there."""
    for _ in range(300):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"nobody listens on port {port}")
