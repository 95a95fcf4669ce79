"""A home and a project in a folder of the test, and hooks planted there."""

import os
from dataclasses import dataclass
from pathlib import Path

from rebuno.hosts.install import HOSTS, Installation, Places, Scope, install, uninstall
from rebuno.hosts.settings import HookSettings


@dataclass(frozen=True, slots=True)
class Machine:
    """Of one user: the home, a project, and a `rebuno-hook` that is there and refuses everything."""

    root: Path

    @property
    def home(self) -> Path:
        """The home folder."""
        return self.root / "home"

    @property
    def project(self) -> Path:
        """A project folder."""
        return self.root / "project"

    @property
    def program(self) -> Path:
        """The program that is planted."""
        return self.root / "bin" / "rebuno-hook"

    @property
    def here(self) -> Places:
        """As the installer sees it."""
        environ = {"HOME": str(self.home), "PATH": str(self.program.parent)}
        return Places(self.home, self.project, environ, self.root / "system")

    def settings(self, host: str, scope: Scope = "user") -> Path:
        """The settings file of a host."""
        return HOSTS[host].settings(scope, self.here)

    def put(self, host: str, data: bytes, scope: Scope = "user") -> Path:
        """Writes the settings of a host, as its user has them."""
        file = self.settings(host, scope)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        return file

    def install(
        self, host: str, scope: Scope = "user", wanted: HookSettings | None = None, *, dry_run: bool = False
    ) -> Installation:
        """`rebuno hook install`."""
        return install(HOSTS[host], scope, self.here, self.program, wanted or HookSettings(), dry_run=dry_run)

    def uninstall(self, host: str, scope: Scope = "user") -> Installation:
        """`rebuno hook uninstall`."""
        return uninstall(HOSTS[host], scope, self.here)

    def command(self, name: str, script: str) -> None:
        """Puts a program on the PATH."""
        file = self.program.parent / name
        file.write_text(script)
        file.chmod(0o755)

    def files(self) -> dict[str, bytes]:
        """Every file below both folders, by its path; the lock and what is remembered are left out."""
        found = {}
        for folder, _, names in os.walk(self.root):
            for name in names:
                path = Path(folder, name)
                if "installed" not in path.parts:
                    found[str(path.relative_to(self.root))] = path.read_bytes()
        return found


def machine(root: Path) -> Machine:
    """A new one in the folder."""
    made = Machine(root)
    for folder in (made.home, made.project, made.program.parent):
        folder.mkdir()
    made.program.write_text("#!/bin/sh\ncat >/dev/null\necho refused >&2\nexit 2\n")
    made.program.chmod(0o755)
    return made
