"""Who looks at the console: a session in one signed cookie, which is checked anew at each request."""

import hashlib
import hmac
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import orjson

# How long a session lasts, in seconds: a working day.
LIFETIME: Final = 12 * 3600
_LONGEST: Final = 2048


class SessionKind(StrEnum):
    """How somebody has signed in: not at all (a server for development), with the server's own token, with a key, by a
    proxy, or by the link that `rebuno console` has opened."""

    ANYONE = "anyone"
    BOOTSTRAP = "bootstrap"
    KEY = "key"
    PROXY = "proxy"
    LOGIN = "login"


@dataclass(frozen=True, slots=True)
class ConsoleSession:
    """`name` is the id of the key, or the name of the person; `mark` is void once the key has another token; `expires`
    is in seconds since 1970."""

    kind: SessionKind
    name: str
    nonce: str
    expires: float
    mark: str = ""


class Sessions:
    """Signs sessions and reads them back. Nothing is kept here, so that every replica under one secret knows them."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def begin(self, kind: SessionKind, name: str, *, mark: str = "") -> ConsoleSession:
        """A new session."""
        return ConsoleSession(kind, name, secrets.token_urlsafe(16), time.time() + LIFETIME, mark)

    def sealed(self, session: ConsoleSession) -> str:
        """The value of the cookie."""
        told = [session.kind.value, session.name, session.nonce, session.expires, session.mark]
        # Without padding: a cookie with such a sign comes in quotes.
        body = urlsafe_b64encode(orjson.dumps(told)).decode().rstrip("=")
        return f"{body}.{self._sign('session', body)}"

    def read(self, cookie: str) -> ConsoleSession | None:
        """The session of a cookie; None where it is none of ours, or over."""
        body, _, signature = cookie.partition(".")
        if len(cookie) > _LONGEST or not cookie.isascii():
            return None
        if not hmac.compare_digest(self._sign("session", body), signature):
            return None
        kind, name, nonce, expires, mark = orjson.loads(urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        if expires < time.time():
            return None
        return ConsoleSession(SessionKind(kind), name, nonce, expires, mark)

    def form_token(self, session: ConsoleSession) -> str:
        """What each form of this session carries, and no other page can know."""
        return self._sign("form", session.nonce)

    def _sign(self, purpose: str, text: str) -> str:
        return hmac.new(self._secret, f"{purpose}\0{text}".encode(), hashlib.sha256).hexdigest()


class OneTimeLink:
    """The secret of the link that `rebuno console` opens: the first who comes with it has started it."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(32)
        self._used = False

    def opens(self, given: str) -> bool:
        """Whether this is the secret, for the first time."""
        right = hmac.compare_digest(given.encode("utf-8", "surrogatepass"), self.token.encode())
        fresh, self._used = right and not self._used, self._used or right
        return fresh


def mark_of(token_hash: bytes) -> str:
    """What stands in a session for the token of a key."""
    return hashlib.sha256(token_hash).hexdigest()[:24]
