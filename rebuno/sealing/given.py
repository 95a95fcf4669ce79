"""The key ring that a caller names."""

from pathlib import Path

from rebuno.errors import KeyRingError
from rebuno.sealing.ring import KeyRing


def ring_of(key_ring: str | Path | KeyRing | None, key_command: str = "") -> KeyRing | None:
    """The ring itself, that of a file, or what a command prints; None where neither is named.

    Raises:
        KeyRingError: it cannot be used, or both are named.
    """
    if key_ring and key_command:
        raise KeyRingError("a key ring is in a file or comes from a command; name one of the two")
    if isinstance(key_ring, KeyRing):
        return key_ring
    if key_ring:
        return KeyRing.read(key_ring)
    return KeyRing.from_command(key_command) if key_command else None
