"""Runs shell texts in the bash of this machine, in a folder of their own. All programs but those that run other
programs only write down their words and where they stand."""

import os
import shutil
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

BASH = "/bin/bash"
STUBS = ("a", "b", "git", "rm", "foo", "cat")
WRAPPERS = ("env", "nice", "timeout", "nohup", "xargs", "find", "stdbuf", "bash", "sh")
FOLDERS = ("proj/src/deep", "proj/docs", "other/src", "home/x")
# So many folders lie above the one that a text begins in that no text of ours climbs out of them.
ABOVE = 40

# `f…` fails, so that no loop goes on for ever. A real `pwd` is asked nothing: the shell knows where it stands.
_STUB = """#!/bin/sh
s="${{0##*/}}\037$PWD"
for w; do s="$s\037$w"; done
printf '%s\036' "$s" >> {log}
case ${{0##*/}} in f*) exit 1;; esac
"""
_UNKNOWN = """
command_not_found_handle() {{
  local IFS=$'\\037' name=$1
  shift
  set -- "$name" "$PWD" "$@"
  printf '%s\\036' "$*" >> {log}
  [[ $1 != f* ]]
}}
"""


@dataclass(frozen=True)
class Run:
    """What one program was given: its words, its own name first, and where it stood."""

    words: tuple[str, ...]
    place: str


@dataclass(frozen=True)
class Ran:
    """What a text did: the programs that it ran, and the files that are there and were not."""

    programs: tuple[Run, ...]
    files: frozenset[str]


class Sandbox:
    """A folder in which texts run one after another; `start` and `home` are the same for all of them."""

    def __init__(self, folder: Path) -> None:
        self.root = folder.resolve().joinpath(*["d"] * ABOVE)
        self.top = str(self.root)
        self.start, self.home, self.other = (str(self.root / name) for name in ("proj", "home", "other"))
        self.log = folder.resolve() / "log"
        self.programs = folder.resolve() / "bin"
        self.programs.mkdir(parents=True)
        (self.programs / "start").write_text(_UNKNOWN.format(log=self.log))
        for name in STUBS:
            (self.programs / name).write_text(_STUB.format(log=self.log))
            (self.programs / name).chmod(0o755)
        for name in WRAPPERS:
            found = shutil.which(name)
            assert found, f"`{name}` is missing; it is an essential program of every Debian"
            (self.programs / name).symlink_to(found)
        self.environment = {
            "PATH": str(self.programs),
            "BASH_ENV": str(self.programs / "start"),
            "HOME": self.home,
            "x": "src",
            "y": "*",
            "LC_ALL": "C.UTF-8",
        }

    def run(self, text: str, seconds: float = 1.0) -> Ran:
        """What the text does; after `seconds` it is ended, and what it did until then counts."""
        shutil.rmtree(self.root, ignore_errors=True)
        for folder in FOLDERS:
            (self.root / folder).mkdir(parents=True)
        self.log.write_bytes(b"")
        with subprocess.Popen(
            [BASH, "--norc", "-c", text],
            cwd=self.start,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            with suppress(subprocess.TimeoutExpired):
                process.wait(seconds)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        lines = [line.split("\037") for line in self.log.read_bytes().decode("utf-8", "replace").split("\036")]
        programs = tuple(Run((name, *words), place) for name, place, *words in (line for line in lines if line != [""]))
        return Ran(programs, frozenset(self._files()))

    def _files(self) -> list[str]:
        found = []
        for folder, _, files in os.walk(self.root):
            # `nohup` makes a file of its own.
            found += [os.path.join(folder, file) for file in files if file != "nohup.out"]
        return found
