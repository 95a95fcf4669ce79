"""Real coding agents, run against a simulated model provider in folders of their own."""

from rebuno.hosts.live.driver import Driver, Ended, InstalledHost, Room, find
from rebuno.hosts.live.drivers import DRIVERS
from rebuno.hosts.live.plan import MAIN, SHELL, PlannedCall, Script, command
from rebuno.hosts.live.provider import PAGE, Exchange, Provider, simulated

__all__ = [
    "DRIVERS",
    "MAIN",
    "PAGE",
    "SHELL",
    "Driver",
    "Ended",
    "Exchange",
    "InstalledHost",
    "PlannedCall",
    "Provider",
    "Room",
    "Script",
    "command",
    "find",
    "simulated",
]
