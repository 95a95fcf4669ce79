"""What a module of a host offers, and where to find it."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final, Protocol

from rebuno.hosts.answer import HookAnswer
from rebuno.hosts.events import CallBegins, HostEvent


class HookHost(Protocol):
    """One host: pure functions from its events and to its answers. Each module of a host is one."""

    @property
    def NAME(self) -> str:  # noqa: N802 - a module's constant
        """What the host is called, in commands and as the agent of its sessions."""

    # The seconds that the host gives a hook for events with a time of their own, by the event's name.
    @property
    def SHORT_EVENTS(self) -> Mapping[str, float]:  # noqa: N802
        """The events that the host cuts short, with the seconds it gives them."""

    def read_event(self, event: dict[str, Any], environ: Mapping[str, str]) -> HostEvent:
        """The event as one of ours; one that is not known is a call of a tool of its name.

        Raises:
            ValidationError: it lacks what it must have.
        """

    def allowed(self, call: CallBegins, *, quiet: bool) -> HookAnswer:
        """The call may run. With `quiet` the host goes on as if there were no hook."""

    def denied(self, call: CallBegins, reason: str) -> HookAnswer:
        """The call must not run; the model is told the reason, which is not empty."""

    def asked(self, call: CallBegins, message: str) -> HookAnswer:
        """The host puts the question to its user, or the call off, as `call.asking` says; `refuse` is a denial."""


_MODULES: Final = {
    "claude-code": "claude_code",
    "codex": "codex",
    "gemini-cli": "gemini_cli",
    "opencode": "opencode",
}


def host_named(name: str) -> HookHost:
    """The module of a host, imported now."""
    module: Any = import_module(f"rebuno.hosts.{_MODULES[name]}")
    found: HookHost = module
    return found
