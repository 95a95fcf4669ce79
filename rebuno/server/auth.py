"""Authenticates callers: an operator by a token, an agent by a signature."""

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_address
from typing import Final

from rebuno.errors import ForbiddenError, NotFoundError, UnauthorizedError, ValidationError
from rebuno.kernel import Dispatched, Serving
from rebuno.sdk import signing

# How far an agent's clock may be off, in seconds.
WINDOW: Final = 300
BOOTSTRAP: Final = "bootstrap"
ANYONE: Final = "anyone"

_SIGNATURE: Final = re.compile(r"v1=[0-9a-f]{64}")
_SECONDS: Final = re.compile(r"[0-9]{1,12}", re.ASCII)
_DISPATCH: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HOST: Final = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::[0-9]{1,5})?", re.ASCII)
_ATTEMPT: Final = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)


class KeyScope(StrEnum):
    """The permissions of a key. A write scope does not include the read scope. A key that may speak answers questions
    in the names of people, as a console or a chat bridge does."""

    EXECUTIONS_READ = "executions:read"
    EXECUTIONS_WRITE = "executions:write"
    APPROVALS_READ = "approvals:read"
    APPROVALS_WRITE = "approvals:write"
    APPROVALS_SPEAK = "approvals:speak"
    AGENTS_READ = "agents:read"
    AGENTS_WRITE = "agents:write"
    POLICIES_WRITE = "policies:write"
    API_KEYS_MANAGE = "api_keys:manage"


ALL: Final = frozenset(KeyScope)


@dataclass(frozen=True, slots=True)
class Caller:
    """The authenticated caller: an operator's key by its `name` and scopes, or an agent by its id. `agents` are those
    that the key is bound to, empty for a key that is bound to none."""

    name: str = ""
    scopes: frozenset[str] = frozenset()
    agent_id: str = ""
    agents: frozenset[str] = frozenset()

    def need(self, *scopes: KeyScope) -> None:
        """Raises `ForbiddenError` if the key lacks a scope."""
        for scope in scopes:
            if scope not in self.scopes:
                raise ForbiddenError(f"this key has no scope `{scope.value}`")


def is_agent(headers: Mapping[str, str]) -> bool:
    """Whether a request comes with an agent's credentials. Names of headers are in small letters everywhere here."""
    return "rebuno-signature" in headers or "rebuno-agent-id" in headers


async def agent(serving: Serving, headers: Mapping[str, str], *, method: str, target: str, body: bytes) -> Caller:
    """The agent that has signed this request.

    Raises:
        UnauthorizedError: a header is missing or malformed, the clock is off by more than 300 s, or the signature is
            not this agent's.
    """
    agent_id, stamp = headers.get("rebuno-agent-id", ""), headers.get("rebuno-timestamp", "")
    given = headers.get("rebuno-signature", "")
    if not agent_id or not _SIGNATURE.fullmatch(given):
        raise UnauthorizedError("sign the request: `Rebuno-Agent-Id` and `Rebuno-Signature: v1=…` are needed here")
    if not _SECONDS.fullmatch(stamp) or abs(time.time() - int(stamp)) > WINDOW:
        raise UnauthorizedError(f"`Rebuno-Timestamp` is not within {WINDOW} seconds of this server's clock")
    try:
        known = await serving.agent(agent_id)
    except NotFoundError:
        known = None
    expected = signing.request(
        known.secret if known is not None else "",
        method,
        target,
        stamp,
        body,
        dispatch_id=headers.get("rebuno-dispatch-id", ""),
        dispatch_attempt=headers.get("rebuno-dispatch-attempt", ""),
    )
    # As bytes: of texts that are not ASCII the comparison raises.
    if not hmac.compare_digest(expected.encode(), given.encode()) or known is None:
        raise UnauthorizedError("the signature is not this agent's")
    return Caller(agent_id=agent_id)


def dispatched(headers: Mapping[str, str]) -> Dispatched:
    """The delivery of an agent's request; `ValidationError` if the headers do not name one."""
    id, attempt = headers.get("rebuno-dispatch-id", ""), headers.get("rebuno-dispatch-attempt", "")
    if not _DISPATCH.fullmatch(id):
        raise ValidationError("`Rebuno-Dispatch-Id` is missing or no dispatch's id; send what the webhook said")
    if not _ATTEMPT.fullmatch(attempt):
        raise ValidationError("`Rebuno-Dispatch-Attempt` is missing or no number; send what the webhook said")
    return Dispatched(id.lower(), int(attempt))


class Tokens:
    """Authenticates operators by tokens: the bootstrap token, and the keys of the store. Unless they `require` a token,
    a caller without one may do everything, except for pages in browsers."""

    def __init__(self, serving: Serving, bootstrap: str, *, require: bool) -> None:
        self._serving = serving
        self._bootstrap = _hashed(bootstrap) if bootstrap else None
        self._require = require
        self._own = secrets.token_bytes(32)

    @property
    def open_to_all(self) -> bool:
        """Whether a caller without a token may do everything."""
        return not self._require

    def secret(self, purpose: str) -> bytes:
        """A secret for this purpose: the same for all servers with one bootstrap token, or of this one where there is
        none."""
        return hmac.digest(self._bootstrap or self._own, purpose.encode(), "sha256")

    async def caller(self, headers: Mapping[str, str]) -> Caller:
        """The owner of this token; `UnauthorizedError` if there is none."""
        given = headers.get("authorization")
        if given is None:
            if self._require:
                raise UnauthorizedError("send `Authorization: Bearer TOKEN`")
            # Any page that somebody opens on this machine could answer questions otherwise.
            if "origin" in headers or headers.get("sec-fetch-site", "none") != "none":
                raise UnauthorizedError("a page in a browser has to send `Authorization: Bearer TOKEN`")
            if not by_address(headers.get("host", "")):
                raise UnauthorizedError("send `Authorization: Bearer TOKEN`, or call the server by its address")
            return Caller(ANYONE, ALL)
        scheme, _, token = given.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise UnauthorizedError("send `Authorization: Bearer TOKEN`")
        if self._bootstrap is not None and hmac.compare_digest(_hashed(token), self._bootstrap):
            return Caller(BOOTSTRAP, ALL)
        key = await self._serving.key(token)
        if key is None:
            raise UnauthorizedError("this token is not known here, or was revoked")
        return Caller(key.name, frozenset(key.granted), agents=frozenset(key.agents))


def check_single(headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Refuses a repeated header that two programs on the way could read differently.

    Raises:
        ValidationError: `Host`, `Authorization` or one of an agent's comes twice.
    """
    seen: set[bytes] = set()
    for name, _ in headers:
        if name in (b"host", b"authorization") or name.startswith(b"rebuno-"):
            if name in seen:
                raise ValidationError(f"the header `{name.decode('latin-1')}` comes twice; send it once")
            seen.add(name)


def by_address(host: str) -> bool:
    """Whether a `Host` is an address as it is written, or `localhost`. Anyone who has a name, or gives one within a
    network, can have it lead here, and then a page of theirs reads what it likes: to the browser it comes from there.
    A number that some programs read as an address is no address."""
    found = _HOST.fullmatch(host)
    if found is None:
        return False
    name = (found["name"] or "").lower().removesuffix(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ip_address(found["six"] or name)
    except ValueError:
        return False
    return (address.version == 6) == (found["six"] is not None)


def _hashed(token: str) -> bytes:
    # Of one length, so that a comparison tells nothing of the token's.
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
