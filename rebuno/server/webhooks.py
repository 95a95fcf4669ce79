"""Posts signed webhooks, only to allowed URLs, without following redirects."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, urlsplit

import httpx2

from rebuno.errors import NetworkError, ValidationError
from rebuno.kernel import Send, Webhook
from rebuno.sdk import signing
from rebuno.server.wire.webhook import webhook

TIMEOUT: Final = 30.0
# How much of an answer is read, in bytes, and how long a connection waits for the next webhook, in seconds.
_MOST_READ: Final = 64 * 1024
_IDLE: Final = 2.0
# What stands in a host for something else is read by one program in this way and by another in that.
_HOST: Final = re.compile(r"(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?|[0-9a-f:.]+", re.ASCII)
_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class _UrlPrefix:
    """The beginning of an allowed URL. A host of `*.example.com` stands for every host below `example.com`."""

    scheme: str
    host: str
    port: int
    path: str

    def covers(self, other: "_UrlPrefix") -> bool:
        same = (self.scheme, self.port) == (other.scheme, other.port)
        return same and self._host(other.host) and _below(self.path, other.path)

    def _host(self, host: str) -> bool:
        return host.endswith(self.host[1:]) if self.host.startswith("*.") else host == self.host


class AllowList:
    """The allowed targets of webhooks: URLs below one of these prefixes, or without prefixes any URL."""

    def __init__(self, prefixes: Iterable[str] = ()) -> None:
        """`prefixes` are URLs such as `https://agents.example.com/hooks` or `https://*.example.com`.

        Raises:
            ValidationError: one of them is no such URL.
        """
        self._places = tuple(_place(prefix, pattern=True) for prefix in prefixes)

    def check(self, url: str) -> None:
        """Raises `ValidationError` if webhooks to this URL are not allowed."""
        place = _place(url)
        if self._places and not any(allowed.covers(place) for allowed in self._places):
            raise ValidationError(f"webhooks to `{url}` are not allowed here; ask for it to be added to the allow list")


@asynccontextmanager
async def sender(allowed: AllowList) -> AsyncIterator[Send]:
    """Posts webhooks while the context is open, and returns the status of each answer; the rest of the answer is
    ignored.

    What it gives raises `NetworkError` where no answer came within 30 seconds, or none may be asked for.
    """
    limits = httpx2.Limits(max_connections=256, max_keepalive_connections=32, keepalive_expiry=_IDLE)
    # No proxy and no credentials of the environment: where a webhook goes is what its agent says.
    async with httpx2.AsyncClient(timeout=TIMEOUT, follow_redirects=False, trust_env=False, limits=limits) as http:

        async def send(to: Webhook) -> int:
            try:
                allowed.check(to.url)
            except ValidationError:
                # Without the URL, which readers of logs and events need not know.
                raise NetworkError("webhooks to its URL are not allowed here") from None
            body = webhook(to).encode()
            headers = {"Content-Type": "application/json", "Rebuno-Signature": signing.webhook(to.secret, body)}
            try:
                async with asyncio.timeout(TIMEOUT), http.stream("POST", to.url, content=body, headers=headers) as got:
                    # A connection whose answer was read serves the next webhook too.
                    announced = got.headers.get("content-length", "")
                    if announced.isdecimal() and int(announced) <= _MOST_READ:
                        async for _ in got.aiter_raw():
                            pass
                    return got.status_code
            except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError) as error:
                raise NetworkError(f"the webhook got no answer: {type(error).__name__}") from None

        yield send


def _place(url: str, *, pattern: bool = False) -> _UrlPrefix:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValidationError(f"`{url}` is no URL") from None
    if parts.scheme not in _PORTS or not parts.hostname or not url.isascii() or not url.isprintable() or " " in url:
        raise ValidationError(f"`{url}` is no http or https URL")
    if parts.username is not None or parts.password is not None or "\\" in url:
        raise ValidationError("a webhook's URL holds no credentials and no backslashes")
    if "*" in parts.netloc and not (pattern and parts.hostname.startswith("*.") and parts.hostname.count("*") == 1):
        raise ValidationError(f"`{url}`: only an allowed URL may have a `*`, as the whole first label of its host")
    if not _HOST.fullmatch(parts.hostname):
        raise ValidationError(f"`{url}`: a host is made of letters, digits, `-`, `_` and dots, or is an address")
    return _UrlPrefix(parts.scheme, parts.hostname.rstrip("."), port or _PORTS[parts.scheme], _path(parts))


def _path(parts: SplitResult) -> str:
    path = parts.path.lower()
    # Some servers take an escaped slash for one, and leave out what follows a `;`.
    for escaped, meant in (("%2e", "."), ("%2f", "/"), ("%5c", "/"), ("%3b", ";")):
        path = path.replace(escaped, meant)
    if any(segment.partition(";")[0] in (".", "..") for segment in path.split("/")):
        raise ValidationError("a webhook's URL has no `.` and `..` in its path")
    return parts.path or "/"


def _below(prefix: str, path: str) -> bool:
    return path == prefix or path.startswith(prefix if prefix.endswith("/") else f"{prefix}/")
