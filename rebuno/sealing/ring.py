"""A ring of named keys, which lives outside the store: in a file of its owner's, or with a command that prints it."""

import hmac
import os
import re
import selectors
import shlex
import stat
import subprocess
import time
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from rebuno.errors import KeyRingError, SealBroken, SealKeyMissing, ValidationError
from rebuno.model.identity import parse
from rebuno.sealing.execution_key import ExecutionKey, cipher, derived

VERSION: Final = 1
KEY_BYTES: Final = 32
MOST_KEYS: Final = 1000
_NONCE: Final = 12
_MARK_DIGITS: Final = 8
_LARGEST: Final = 1_000_000
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
# How long a command may take that prints a ring, in seconds.
_PATIENCE: Final = 30.0


@dataclass(frozen=True, slots=True)
class RingKey:
    """A named key of 32 bytes; `created_at` is RFC 3339."""

    id: str
    created_at: str
    secret: bytes = field(repr=False)

    def digest(self, purpose: str, data: bytes) -> bytes:
        """The HMAC-SHA256 of data, under a key of its own for each purpose."""
        return hmac.digest(derived(self.secret, f"digest {purpose}"), data, "sha256")


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The keys that wrap data keys. New executions are sealed under the `current` one; the others open those that were
    sealed under them. `marks` keys the marks that stand for secrets, and stays when keys come and go."""

    keys: tuple[RingKey, ...]
    current: str
    marks: bytes = field(repr=False)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The ring in a file of mode 0600 that belongs to this user.

        Raises:
            KeyRingError: there is none, others may read it, or it is no ring.
        """
        shown = os.fspath(path)
        return cls.parse(read_private(Path(path)), f"the key ring `{shown}`")

    @classmethod
    def from_command(cls, command: str | Sequence[str], *, patience: float = _PATIENCE) -> Self:
        """The ring that a command prints, which is run without a shell and has `patience` seconds.

        Raises:
            KeyRingError: it cannot be run, fails, takes longer, or prints no ring. What it prints is not repeated.
        """
        try:
            words = shlex.split(command) if isinstance(command, str) else list(command)
        except ValueError as error:
            raise KeyRingError(f"the command for the key ring cannot be read: {error}") from None
        if not words:
            raise KeyRingError("the command for the key ring is empty")
        named = f"the command `{words[0]}` for the key ring"
        return cls.parse(_printed(words, named, patience), f"what {named} prints")

    @classmethod
    def parse(cls, text: bytes, named: str = "the key ring") -> Self:
        """The ring in a JSON text. Raises `KeyRingError`, which begins with `named` and repeats nothing of it."""
        try:
            return cls(*_parts(parse(text)))
        except ValidationError:
            raise KeyRingError(f"{named} is no JSON") from None
        except _NoRingError as error:
            raise KeyRingError(f"{named} is no key ring: {error}") from None

    @property
    def ids(self) -> tuple[str, ...]:
        """The names of its keys, oldest first."""
        return tuple(key.id for key in self.keys)

    def __contains__(self, key_id: object) -> bool:
        return any(key.id == key_id for key in self.keys)

    def key(self, key_id: str = "", *, execution_id: str = "") -> RingKey:
        """The key of this name (empty: the current one). Raises `SealKeyMissing`, which names the execution."""
        for key in self.keys:
            if key.id == (key_id or self.current):
                return key
        raise SealKeyMissing(key_id, execution_id=execution_id)

    def mark(self, data: bytes) -> str:
        """8 hexadecimal digits that stand for a secret where it is shown: equal for equal data under one ring, whatever
        its current key."""
        return hmac.digest(self.marks, data, "sha256").hex()[:_MARK_DIGITS]

    def new_key(self, execution_id: str, *, key_id: str = "") -> ExecutionKey:
        """A new data key for an execution, wrapped under the key `key_id` of the ring (empty: the current one).

        Raises:
            SealKeyMissing: the ring has no such key.
        """
        ring_key = self.key(key_id, execution_id=execution_id)
        data_key, nonce = os.urandom(KEY_BYTES), os.urandom(_NONCE)
        about = _about(execution_id, ring_key.id)
        wrapped = nonce + cipher(derived(ring_key.secret, "wrap")).encrypt(nonce, data_key, about)
        return ExecutionKey(execution_id, ring_key.id, data_key=data_key, wrapped=wrapped)

    def open_key(self, execution_id: str, key_id: str, wrapped: bytes) -> ExecutionKey:
        """The data key of an execution.

        Raises:
            SealKeyMissing: the ring does not have the key that wraps it.
            SealBroken: it was changed, belongs to another execution, or the key of this name is another one.
        """
        ring_key = self.key(key_id, execution_id=execution_id)
        nonce, sealed = wrapped[:_NONCE], wrapped[_NONCE:]
        unwrapping = cipher(derived(ring_key.secret, "wrap"))
        from cryptography.exceptions import InvalidTag

        try:
            data_key = unwrapping.decrypt(nonce, sealed, _about(execution_id, key_id))
        except (InvalidTag, ValueError):
            raise SealBroken(
                f"the data key of execution `{execution_id}` does not open with the key `{key_id}` of the ring: the"
                " ring has another key of this name, or the store is damaged",
                execution_id=execution_id,
                place="data key",
            ) from None
        return ExecutionKey(execution_id, ring_key.id, data_key=data_key, wrapped=wrapped)


class _NoRingError(Exception):
    """What is wrong with a ring, in words that repeat nothing of it."""


def _about(execution_id: str, key_id: str) -> bytes:
    return f"data key\0{execution_id}\0{key_id}".encode()


def _parts(data: Any) -> tuple[tuple[RingKey, ...], str, bytes]:
    if not isinstance(data, dict) or set(data) != {"rebuno_key_ring", "current", "marks", "keys"}:
        raise _NoRingError("it holds `rebuno_key_ring`, `current`, `marks` and `keys`, and nothing else")
    version, current, keys = data["rebuno_key_ring"], data["current"], data["keys"]
    if version != VERSION or isinstance(version, bool):
        raise _NoRingError(f"its version is not {VERSION}; upgrade rebuno")
    if not isinstance(keys, list) or not 0 < len(keys) <= MOST_KEYS:
        raise _NoRingError(f"its `keys` are a list of 1 to {MOST_KEYS:,}")
    made = tuple(_key(key) for key in keys)
    names = [key.id for key in made]
    if len(set(names)) != len(names):
        raise _NoRingError("two of its keys have one id")
    if current not in names:
        raise _NoRingError("its current key is none of its keys")
    return made, current, _secret(data["marks"])


def _key(data: Any) -> RingKey:
    match data:
        case {"id": str(name), "created_at": str(at), "key": key} if len(data) == 3 and _NAME.match(name):
            return RingKey(name, at[:40], _secret(key))
    raise _NoRingError("a key has an `id` of letters, digits, dots and dashes, `created_at` and `key`")


def _secret(text: Any) -> bytes:
    try:
        secret = b64decode(text, validate=True) if isinstance(text, str) else b""
    except NotBase64:
        secret = b""
    if len(secret) != KEY_BYTES:
        raise _NoRingError(f"a key is no base64 of {KEY_BYTES} bytes")
    return secret


def _printed(words: list[str], named: str, patience: float) -> bytes:
    """What a command prints, `_LARGEST` bytes at most; it is ended where it goes on."""
    until = time.monotonic() + patience
    try:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise KeyRingError(f"{named} cannot be run: {why}") from None
    with process:
        try:
            printed = _read(process, named, until)
            returned = process.wait(max(0.0, until - time.monotonic()))
        except (TimeoutError, subprocess.TimeoutExpired):
            raise KeyRingError(f"{named} took longer than {patience:g} seconds") from None
        finally:
            process.kill()
    if returned != 0:
        raise KeyRingError(f"{named} ended with {returned}")
    return printed


def _read(process: subprocess.Popen[bytes], named: str, until: float) -> bytes:
    assert process.stdout is not None
    printed = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            left = until - time.monotonic()
            if left <= 0 or not selector.select(left):
                raise TimeoutError
            piece = os.read(process.stdout.fileno(), 1 << 16)
            printed += piece
            if len(printed) > _LARGEST:
                raise KeyRingError(f"{named} prints more than {_LARGEST:,} bytes")
            if not piece:
                return bytes(printed)


def read_private(path: Path) -> bytes:
    """What a file of this user's holds that nobody else may read. Raises `KeyRingError`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
                raise KeyRingError(f"`{path}` is no key ring: it is no file, or larger than {_LARGEST:,} bytes")
            if found.st_mode & 0o077:
                raise KeyRingError(f"others may read the key ring `{path}`; run `chmod 600 {shlex.quote(str(path))}`")
            if found.st_uid not in (0, os.geteuid()):
                raise KeyRingError(f"the key ring `{path}` belongs to another user")
            return file.read()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise KeyRingError(f"the key ring `{path}` cannot be read: {why}") from None
