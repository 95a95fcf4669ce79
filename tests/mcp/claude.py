"""Claude Code from npm, and the simulated model provider that it is run against, where they can be had."""

from importlib import import_module
from typing import Any


def live() -> Any:
    """What runs real coding agents against a simulated provider."""
    return import_module("rebuno.hosts.live")


def driver() -> Any:
    """How Claude Code is run."""
    return next(one for one in live().DRIVERS if one.name == "claude-code")


def installed(driver: Any) -> Any:
    """Claude Code in the environment of the hosts, or None."""
    return import_module("tests.hosts.environment").installed(driver)


def missing() -> str:
    """Installs it; why it could not be had, or an empty text."""
    try:
        why: str = import_module("tests.hosts.environment").install(driver())
    except ImportError as error:
        return f"the simulated model provider cannot be had: {error}"
    return why
