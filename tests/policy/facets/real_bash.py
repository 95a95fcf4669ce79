"""Runs a shell text in the bash of this machine, in an empty folder, where all programs only write down their names."""

import os
import shutil
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

BASH = "/bin/bash"
STUBS = ("a", "b", "c1", "git", "rm", "foo")
WRAPPERS = ("env", "nice", "timeout", "nohup", "xargs", "find", "stdbuf", "bash", "sh")

# Bash calls it for every name that it finds nowhere. Those that begin with `f` fail, so that no loop goes on for ever.
_UNKNOWN = """
command_not_found_handle() {{
  local IFS=$'\\037'
  printf '%s\\036' "$*" >> {log}
  [[ $1 != f* ]]
}}
"""
_STUB = """#!/bin/bash
IFS=$'\\037'
set -- "${{0##*/}}" "$@"
printf '%s\\036' "$*" >> {log}
[[ $1 != f* ]]
"""


@dataclass(frozen=True)
class Ran:
    """What bash ran outside itself, as lists of words, and the names of the files that it wrote."""

    commands: list[list[str]]
    files: set[str]


class RealBash:
    """A folder in which texts run, each in a place of its own: what one leaves in the background may still write."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0
        self.wrappers = [(name, shutil.which(name)) for name in WRAPPERS]
        for name, found in self.wrappers:
            assert found, f"`{name}` is missing; it is an essential program of every Debian"

    def run(self, text: str, seconds: float = 2.0) -> Ran:
        """What the text does; after `seconds` it is ended, and what it did until then counts. It holds no `/`."""
        assert "/" not in text
        self.count += 1
        place = self.folder / str(self.count)
        here, log, start, programs = place / "here", place / "log", place / "start", place / "bin"
        here.mkdir(parents=True)
        programs.mkdir()
        log.touch()
        start.write_text(_UNKNOWN.format(log=log))
        for name in STUBS:
            (programs / name).write_text(_STUB.format(log=log))
            (programs / name).chmod(0o755)
        for name, found in self.wrappers:
            (programs / name).symlink_to(str(found))
        with subprocess.Popen(
            [BASH, "--norc", "-c", text],
            cwd=here,
            env={"PATH": str(programs), "BASH_ENV": str(start), "x": "b c", "y": "*", "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            with suppress(subprocess.TimeoutExpired):
                process.wait(seconds)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        lines = log.read_bytes().decode("utf-8", "replace").split("\036")
        files = {file.name for file in here.iterdir()} - {"nohup.out"}
        shutil.rmtree(place, ignore_errors=True)
        return Ran([line.split("\037") for line in lines if line], files)
