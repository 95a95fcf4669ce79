"""Scenarios are played on the stores of the kernel's own tests."""

from tests.kernel.conftest import opener, play

__all__ = ["opener", "play"]
