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
    """A folder with stubs, in which one text after the other runs; none may hold a `/`."""

    def __init__(self, folder: Path) -> None:
        self.here, self.log, self.start = folder / "here", folder / "log", folder / "start"
        self.bin = folder / "bin"
        self.here.mkdir()
        self.bin.mkdir()
        self.start.write_text(_UNKNOWN.format(log=self.log))
        for name in STUBS:
            stub = self.bin / name
            stub.write_text(_STUB.format(log=self.log))
            stub.chmod(0o755)
        for name in WRAPPERS:
            found = shutil.which(name)
            assert found, f"`{name}` is missing; it is an essential program of every Debian"
            (self.bin / name).symlink_to(found)

    def run(self, text: str, seconds: float = 2.0) -> Ran:
        """What the text does; after `seconds` it is ended, and what it did until then counts."""
        assert "/" not in text
        shutil.rmtree(self.here)
        self.here.mkdir()
        self.log.write_bytes(b"")
        environment = {"PATH": str(self.bin), "BASH_ENV": str(self.start), "x": "b c", "y": "*", "LC_ALL": "C.UTF-8"}
        with subprocess.Popen(
            [BASH, "--norc", "-c", text],
            cwd=self.here,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            with suppress(subprocess.TimeoutExpired):
                process.wait(seconds)
            # What it left in the background must not write into the next text's log.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        lines = self.log.read_bytes().decode("utf-8", "replace").split("\036")
        files = {file.name for file in self.here.iterdir()} - {"nohup.out"}
        return Ran([line.split("\037") for line in lines if line], files)
