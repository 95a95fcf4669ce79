"""Runs a program for a moment and reads what it says."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

# In seconds, on a busy machine.
PATIENCE: Final = 30.0
_LONGEST: Final = 100_000


def output(line: list[str], environ: Mapping[str, str], cwd: Path) -> tuple[int, str]:
    """The exit code of a program and all that it said.

    Raises:
        OSError: it cannot be started, or did not end in time.
    """
    with subprocess.Popen(
        line,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=dict(environ),
        cwd=cwd,
        start_new_session=True,
    ) as running:
        try:
            said, _ = running.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            _end(running)
            raise TimeoutError(f"`{line[0]}` did not end within {PATIENCE:.0f} s") from None
    return running.returncode, said[:_LONGEST].decode("utf-8", "replace")


def find(command: str, environ: Mapping[str, str]) -> str | None:
    """Where the command is on the PATH."""
    return shutil.which(command, path=environ.get("PATH", os.defpath))


def asked(line: list[str], environ: Mapping[str, str], cwd: Path, requests: list[dict[str, Any]]) -> dict[str, Any]:
    """Speaks JSON-RPC, one message a line, with a program: sends the requests, of which the last has the `id` of the
    answer that is returned.

    Raises:
        OSError: it cannot be started or did not answer in time.
        ValueError: it answered with an error, or ended without an answer.
    """
    with subprocess.Popen(
        line,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=dict(environ),
        cwd=cwd,
        start_new_session=True,
    ) as running:
        try:
            assert running.stdin is not None
            assert running.stdout is not None
            running.stdin.write(b"".join(json.dumps(request).encode() + b"\n" for request in requests))
            running.stdin.flush()
            return _answer(running.stdout, requests[-1]["id"])
        finally:
            _end(running)


def _answer(stream: IO[bytes], number: int) -> dict[str, Any]:
    import select

    pending = b""
    deadline = time.monotonic() + PATIENCE
    while (left := deadline - time.monotonic()) > 0 and select.select([stream], [], [], left)[0]:
        more = os.read(stream.fileno(), 1 << 16)
        if not more:
            raise ValueError("it ended without an answer")
        *lines, pending = (pending + more).split(b"\n")
        for one in lines:
            message = json.loads(one)
            if isinstance(message, dict) and message.get("id") == number:
                if not isinstance(message.get("result"), dict):
                    raise ValueError("it does not know the question")
                result: dict[str, Any] = message["result"]
                return result
    raise TimeoutError(f"no answer within {PATIENCE:.0f} s")


def _end(running: "subprocess.Popen[bytes]") -> None:
    with suppress(ProcessLookupError):
        os.killpg(running.pid, signal.SIGKILL)
    running.wait()
