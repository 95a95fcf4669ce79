"""Sends one HTTP request to a kernel and reads the answer. Callers add the credentials."""

import ssl
from collections.abc import Mapping
from functools import cache
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

import httpx2

from rebuno.errors import NetworkError, ValidationError
from rebuno.sdk import responses

# A little longer than a server lets a request wait.
TIMEOUT: Final = 35.0
# So many requests are on their way at once at most; as many connections are kept for the next ones.
_CONNECTIONS: Final = 100


def route(*parts: str, **query: object) -> str:
    """`/v0/executions/ID?limit=5`: every part and value percent-escaped, without values that are None or empty."""
    asked = {name: str(given) for name, given in query.items() if given not in (None, "")}
    path = "/v0/" + "/".join(quote(part, safe="") for part in parts)
    return f"{path}?{urlencode(asked)}" if asked else path


class Requests:
    """Connections to the kernel at `url`; `ValidationError` if that is not the URL of a server."""

    def __init__(self, url: str, *, headers: Mapping[str, str] | None = None, timeout: float = TIMEOUT) -> None:
        self.url = _checked(url)
        self.http = httpx2.AsyncClient(
            base_url=self.url,
            headers={"Content-Type": "application/json", "Accept": "application/json", **(headers or {})},
            timeout=timeout,
            limits=httpx2.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=_CONNECTIONS),
            follow_redirects=False,
            verify=_certificates(),
        )

    def build(self, method: str, path: str, body: bytes) -> httpx2.Request:
        """A request that can still be given headers."""
        return self.http.build_request(method, path, content=body)

    async def send(self, request: httpx2.Request) -> Any:
        """The kernel's answer as a JSON value; None for an empty answer.

        Raises:
            NetworkError: the kernel cannot be reached, or something else answers.
            RebunoError: it refuses, as the error says.
        """
        content = await self._answered(request)
        return responses.value(content) if content else None

    async def text(self, request: httpx2.Request) -> str:
        """The kernel's answer as it is. Raises as `send` does."""
        try:
            return (await self._answered(request)).decode()
        except UnicodeDecodeError as error:
            raise NetworkError("the answer is no kernel's: it is not UTF-8; look at the URL") from error

    async def _answered(self, request: httpx2.Request) -> bytes:
        try:
            response = await self.http.send(request)
        except httpx2.RequestError as error:
            raise self.unreachable(error) from error
        if response.status_code >= 300:
            raise responses.refusal(response.status_code, response.content)
        return response.content

    def unreachable(self, error: httpx2.RequestError) -> NetworkError:
        """The message for a failed connection."""
        return NetworkError(f"the kernel at `{self.url}` cannot be reached: {str(error) or type(error).__name__}")

    async def close(self) -> None:
        """Closes the connections."""
        await self.http.aclose()


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        # An address in brackets is read here, and a port is only looked at where it is asked for.
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        httpx2.URL(url)
    except (ValueError, httpx2.InvalidURL):
        fits = False
    if "@" in url:
        # It stands in messages and in logs.
        raise ValidationError("the kernel's URL holds credentials; leave them out, and set REBUNO_API_KEY")
    if not fits or any(sign.isspace() for sign in url):
        raise ValidationError(
            f"`{url}` is no URL of a kernel; it looks like https://rebuno.example or http://HOST:PORT"
        )
    if parts.query or parts.fragment:
        raise ValidationError(f"`{url}` is more than the URL of a kernel; leave out what follows its path")
    return url.rstrip("/")


@cache
def _certificates() -> ssl.SSLContext:
    # Reading the world's certificates takes longer than most requests: once is enough.
    return httpx2.create_ssl_context()
