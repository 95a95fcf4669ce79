"""Makes text that came from elsewhere safe and short enough to be read on a terminal."""

from rebuno.model.visible import LIMIT, escape, spelled, stored, value

__all__ = ["LIMIT", "escape", "spelled", "stored", "value"]
