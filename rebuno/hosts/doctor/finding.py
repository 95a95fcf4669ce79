"""One thing that the doctor found."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rebuno.hosts.install.hosts import HostProfile, Places, Scope
from rebuno.hosts.settings import HookSettings

# `failed`: calls run unjudged, or none runs. `note`: nobody can tell from here, or it is worth a look.
Status = Literal["ok", "note", "failed"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at (`check`), what was found, and, unless all is well, what to do (`fix`)."""

    host: str
    check: str
    status: Status
    message: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class PlantedHook:
    """A hook that is planted: whose settings, their value, our own settings (None where they cannot be read)."""

    host: HostProfile
    scope: Scope
    here: Places
    root: Mapping[str, Any]
    settings: HookSettings | None

    @property
    def again(self) -> str:
        """The command that plants the hook again."""
        observe = " --observe" if self.settings and self.settings.observe else ""
        return f"rebuno hook install {self.host.name}{self.option}{observe}"

    @property
    def option(self) -> str:
        """The option that names the scope."""
        return "" if self.scope == "user" else " --scope project"

    def ok(self, check: str, message: str) -> Finding:
        """All is well."""
        return Finding(self.host.name, check, "ok", message)

    def note(self, check: str, message: str, fix: str) -> Finding:
        """Worth a look."""
        return Finding(self.host.name, check, "note", message, fix)

    def failed(self, check: str, message: str, fix: str) -> Finding:
        """The hook does not do its work."""
        return Finding(self.host.name, check, "failed", message, fix)
