"""The data key of one execution: encrypts what belongs to it."""

import hmac
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Final

from rebuno.errors import SealBroken
from rebuno.packaged import needing

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

# How a sealed text begins: version 1, and behind it base64 of the nonce, the ciphertext and the tag.
SEALED: Final = "s1."
_NONCE: Final = 12
_TAG: Final = 16


def cipher(key: bytes) -> "AESGCM":
    """AES-256-GCM under a key of 32 bytes. Raises `RebunoError` where the extra `encrypt` is missing."""
    with needing("encrypt", "encryption"):
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    return AESGCM(key)


def derived(key: bytes, purpose: str) -> bytes:
    """A key of 32 bytes for one purpose, from a key that is random: HMAC-SHA256 of the purpose."""
    return hmac.digest(key, f"rebuno {purpose}".encode(), "sha256")


class ExecutionKey:
    """Encrypts and decrypts what belongs to the execution `execution_id`. `key_id` names the key of the ring under
    which the data key is `wrapped`.

    `place` says what the bytes are (`step:ID:args`): a ciphertext that was moved to another place, or to another
    execution, does not open.
    """

    __slots__ = ("_cipher", "_nonces", "execution_id", "key_id", "wrapped")

    def __init__(self, execution_id: str, key_id: str, *, data_key: bytes, wrapped: bytes) -> None:
        self.execution_id = execution_id
        self.key_id = key_id
        self.wrapped = wrapped
        self._cipher = cipher(data_key)
        self._nonces = derived(data_key, "nonces")

    def __repr__(self) -> str:
        return f"ExecutionKey({self.execution_id!r}, {self.key_id!r})"

    def encrypt(self, data: bytes, place: str) -> bytes:
        """A nonce of 12 bytes, the ciphertext and a tag of 16 bytes: the same for the same data at the same place, so
        that what is written a second time stays what it is, and its hash with it."""
        # INVARIANT: a nonce comes again with the very same data and place only: it is a keyed hash of both.
        nonce = hmac.digest(self._nonces, len(place.encode()).to_bytes(4) + place.encode() + data, "sha256")[:_NONCE]
        return nonce + self._cipher.encrypt(nonce, data, self._about(place))

    def decrypt(self, sealed: bytes, place: str) -> bytes:
        """The bytes that `encrypt` took, at the same place.

        Raises:
            SealBroken: they were changed, or belong elsewhere.
        """
        from cryptography.exceptions import InvalidTag

        if len(sealed) < _NONCE + _TAG:
            raise self._broken(place)
        try:
            return self._cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], self._about(place))
        except InvalidTag:
            raise self._broken(place) from None

    def seal(self, text: str, place: str) -> str:
        """A text as a sealed text of ASCII characters that JSON need not escape."""
        return SEALED + b64encode(self.encrypt(text.encode(), place)).decode()

    def unseal(self, sealed: str, place: str) -> str:
        """The text that `seal` took. Raises `SealBroken`."""
        if not sealed.startswith(SEALED):
            raise self._broken(place)
        try:
            return self.decrypt(b64decode(sealed[len(SEALED) :], validate=True), place).decode()
        except ValueError:
            # No base64, or no ASCII at all.
            raise self._broken(place) from None

    def _about(self, place: str) -> bytes:
        return f"{self.execution_id}\0{place}".encode()

    def _broken(self, place: str) -> SealBroken:
        return SealBroken(
            f"`{place}` of execution `{self.execution_id}` does not open with its key `{self.key_id}`: it was changed,"
            " or moved from elsewhere; restore a copy",
            execution_id=self.execution_id,
            place=place,
        )
