"""Hooks in the settings of coding agents: planted, taken out, and looked after."""

from rebuno.hosts.install.hosts import HOSTS, SCOPES, HostProfile, Places, Scope, find
from rebuno.hosts.install.install import (
    FileChange,
    Installation,
    install,
    places,
    planned,
    program,
    settings_file,
    uninstall,
)

__all__ = [
    "HOSTS",
    "SCOPES",
    "FileChange",
    "HostProfile",
    "Installation",
    "Places",
    "Scope",
    "find",
    "install",
    "places",
    "planned",
    "program",
    "settings_file",
    "uninstall",
]
