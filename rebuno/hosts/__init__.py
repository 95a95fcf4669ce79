"""Hooks of coding agents: from an event of a host to a verdict, and back in the host's own words."""

from typing import Final

HOSTS: Final = ("claude-code", "codex", "gemini-cli", "opencode")
