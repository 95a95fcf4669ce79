"""How a coding agent is run against a simulated provider, in folders of its own."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

# No host reaches anybody with it.
KEY: Final = "made-up-key-of-a-simulated-provider"
PATIENCE: Final = 120.0
# What a program needs to find others and to speak; nothing of the user's own.
_KEPT: Final = ("PATH", "LANG", "LC_ALL", "TERM", "TZ", "TMPDIR", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")


@dataclass(frozen=True, slots=True)
class Room:
    """The folders of a run: a home and a project, with nobody's settings in them."""

    home: Path
    project: Path

    @classmethod
    def below(cls, folder: Path) -> "Room":
        """Makes both below a folder; links in its path are resolved, as hosts do."""
        room = cls(folder.resolve() / "home", folder.resolve() / "project")
        for one in (room.home, room.project):
            one.mkdir(parents=True)
        return room


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run of a host ended: its exit code (None: it took too long and was killed) and what it printed."""

    code: int | None
    out: str
    err: str

    def events(self) -> list[dict[str, Any]]:
        """The lines of its output that are JSON objects, or the one object that it is."""
        found = []
        for line in self.out.splitlines():
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict):
                found.append(value)
        return found


class Driver(Protocol):
    """A coding agent. `name` is ours, `program` its command, `package` where npm has it."""

    name: str
    program: str
    package: str

    def furnish(self, room: Room, url: str) -> None:
        """Writes the files that send the host to the provider; none that holds hooks."""

    def environment(self, room: Room, url: str) -> dict[str, str]:
        """The variables that do so."""

    def command(self, room: Room, url: str, prompt: str, resume: str) -> list[str]:
        """The words after the program; `resume` is the id of a session that goes on, or empty."""

    def session(self, ended: Ended) -> str:
        """The id of the session that a run had, empty where it said none."""


@dataclass(frozen=True, slots=True)
class InstalledHost:
    """A host that is there: its driver and its executable. `more` are variables that its runs get besides."""

    driver: Driver
    executable: str
    more: Mapping[str, str] = field(default_factory=dict)

    def version(self) -> str:
        """What it says of itself, or an empty text."""
        try:
            done = subprocess.run(
                [self.executable, "--version"], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return next((word for word in done.stdout.split() if word[:1].isdigit()), "")

    def environment(self, room: Room, url: str) -> dict[str, str]:
        """All variables of a run. The provider is the proxy too, so that nothing leaves the machine unseen."""
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), url)
        local = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")
        homes = {"HOME": str(room.home), "XDG_CONFIG_HOME": str(room.home / ".config")}
        homes |= {"XDG_STATE_HOME": str(room.home / ".local/state"), "XDG_DATA_HOME": str(room.home / ".local/share")}
        homes |= {"XDG_CACHE_HOME": str(room.home / ".cache")}
        return kept | proxies | local | homes | self.driver.environment(room, url) | dict(self.more)

    def run(
        self, room: Room, url: str, prompt: str, *, resume: str = "", more: Mapping[str, str] | None = None
    ) -> Ended:
        """Lets the host work on a prompt until it ends by itself."""
        words = self.driver.command(room, url, prompt, resume)
        return run([self.executable, *words], room.project, {**self.environment(room, url), **(more or {})})


def run(words: Sequence[str], folder: Path, environment: Mapping[str, str], patience: float = PATIENCE) -> Ended:
    """Runs a program with no input; what takes longer than `patience` seconds is killed with all that it started."""
    with subprocess.Popen(
        words,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=patience)
            code: int | None = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            out, err = process.communicate()
            code = None
    return Ended(code, out.decode(errors="replace"), err.decode(errors="replace"))


def find(driver: Driver, *, path: str) -> InstalledHost | None:
    """The host by its program, looked for in the folders of `path`, which is written as PATH is."""
    found = shutil.which(driver.program, path=path)
    return InstalledHost(driver, found) if found else None
