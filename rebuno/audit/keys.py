"""Ed25519 keys of an audit stream, in PEM files."""

import os
import stat
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rebuno.errors import RebunoError
from rebuno.packaged import needing

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

_LARGEST: Final = 10_000


class KeyFileError(RebunoError):
    """A key file cannot be used; the message names it and says why."""


def make(path: Path) -> Path:
    """Makes a private key that only its owner may read, and beside it the public one (`.pub`), whose path is returned.

    Raises:
        KeyFileError: one of the files exists, or cannot be written.
    """
    with needing("audit", "signing"):
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    beside = path.with_name(f"{path.name}.pub")
    if beside.exists() or beside.is_symlink():
        raise KeyFileError(f"`{beside}` exists; name another key file")
    _write(path, private, 0o600)
    _write(beside, public, 0o644)
    return beside


def private(path: Path) -> "Ed25519PrivateKey":
    """The private key in a file.

    Raises:
        KeyFileError: there is none, it is no Ed25519 key, or others than its owner may read it.
    """
    with needing("audit", "signing"):
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    text = _read(path, secret=True)
    try:
        key = load_pem_private_key(text, None)
    except (ValueError, TypeError) as error:
        raise KeyFileError(f"`{path}` is no private key in PEM: {error}") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyFileError(f"`{path}` is no Ed25519 key; `rebuno audit keygen` makes one")
    return key


def public(path: Path) -> "Ed25519PublicKey":
    """The public key in a file. Raises as `private`."""
    with needing("audit", "checking signatures"):
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key
    text = _read(path, secret=False)
    try:
        key = load_pem_public_key(text)
    except (ValueError, TypeError) as error:
        raise KeyFileError(f"`{path}` is no public key in PEM: {error}") from None
    if not isinstance(key, Ed25519PublicKey):
        raise KeyFileError(f"`{path}` is no Ed25519 key; `rebuno audit keygen` makes one")
    return key


def name(key: "Ed25519PublicKey") -> str:
    """What a head calls its key: the first 16 hex digits of the SHA-256 of its raw bytes."""
    return sha256(key.public_bytes_raw()).hexdigest()[:16]


def _write(path: Path, content: bytes, mode: int) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    except OSError as error:
        raise KeyFileError(f"`{path}` cannot be made: {error.strerror}") from None
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(file.fileno(), mode)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _read(path: Path, *, secret: bool) -> bytes:
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
                raise KeyFileError(f"`{path}` is no key file")
            if secret and found.st_mode & 0o077:
                raise KeyFileError(f"others may read the private key `{path}`; run `chmod 600 {path}`")
            return file.read()
    except OSError as error:
        raise KeyFileError(f"`{path}` cannot be read: {error.strerror}") from None
