"""Files of key rings: made, and given a new current key."""

import os
from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from typing import Final

import uuid_utils

from rebuno.errors import KeyRingError
from rebuno.model.clock import rfc3339
from rebuno.model.identity import canonical
from rebuno.sealing.ring import KEY_BYTES, MOST_KEYS, VERSION, KeyRing, RingKey, read_private

_MODE: Final = 0o600


def create(path: Path, *, now: float) -> KeyRing:
    """Makes a ring with one key in a new file that only its owner may read. `now` is seconds since 1970.

    Raises:
        KeyRingError: the file exists, or cannot be written.
    """
    key = _new_key(now)
    ring = KeyRing((key,), key.id, os.urandom(KEY_BYTES))
    _write(path, path, os.O_EXCL, ring)
    return ring


def rotate(path: Path, *, now: float) -> KeyRing:
    """Gives a ring a new current key; the others stay. The file is replaced at once, or not at all.

    Raises:
        KeyRingError: as `KeyRing.read`, or the file cannot be written.
    """
    ring = KeyRing.parse(read_private(path), f"the key ring `{path}`")
    if len(ring.keys) >= MOST_KEYS:
        raise KeyRingError(f"the key ring `{path}` has {MOST_KEYS:,} keys already")
    key = _new_key(now)
    grown = replace(ring, keys=(*ring.keys, key), current=key.id)
    # Where a link names it, the file behind the link is replaced.
    target = path.resolve()
    # A second rotation at the same time finds the name taken.
    beside = target.with_name(f".{target.name}.new")
    _write(beside, path, os.O_EXCL, grown)
    try:
        os.replace(beside, target)
        _sync_folder(target.parent)
    except OSError as error:
        raise KeyRingError(f"the key ring `{path}` cannot be replaced: {error.strerror}") from None
    return grown


def _new_key(now: float) -> RingKey:
    # The beginning is the time, so that names sort by age.
    return RingKey(f"k-{uuid_utils.uuid7().hex[:16]}", rfc3339(now), os.urandom(KEY_BYTES))


def text(ring: KeyRing) -> str:
    """A ring as JSON."""
    keys = [{"id": key.id, "created_at": key.created_at, "key": _coded(key.secret)} for key in ring.keys]
    return canonical({"rebuno_key_ring": VERSION, "current": ring.current, "marks": _coded(ring.marks), "keys": keys})


def _coded(secret: bytes) -> str:
    return b64encode(secret).decode()


def _write(file: Path, named: Path, flags: int, ring: KeyRing) -> None:
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | flags, _MODE)
        with os.fdopen(descriptor, "w") as opened:
            os.fchmod(opened.fileno(), _MODE)
            opened.write(text(ring) + "\n")
            opened.flush()
            os.fsync(opened.fileno())
        _sync_folder(file.parent)
    except FileExistsError:
        raise KeyRingError(f"`{file}` exists; name another file, or remove it if nothing writes it") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise KeyRingError(f"the key ring `{named}` cannot be written: {why}") from None


def _sync_folder(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
