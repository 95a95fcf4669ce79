"""The settings of the console, checked before anything is served."""

import re
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final, Self

from rebuno.errors import ValidationError
from rebuno.server.auth import KeyScope

HEADER: Final = "x-forwarded-user"
# What a person may do whom a proxy names, unless it is said.
PERSON: Final = (
    KeyScope.EXECUTIONS_READ,
    KeyScope.APPROVALS_READ,
    KeyScope.APPROVALS_WRITE,
    KeyScope.AGENTS_READ,
)
_HEADER: Final = re.compile(r"[a-z0-9-]{1,64}")
_HOST: Final = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,252}[a-z0-9])?(?::[0-9]{1,5})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """`hosts` are the names by which browsers reach the console, besides its addresses and `localhost`; where it is
    `secure`, they do so by https only. A request from one of the `proxies` is of the person whom its `header` names,
    who may do what the `scopes` say."""

    hosts: frozenset[str] = frozenset()
    secure: bool = False
    proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    header: str = HEADER
    scopes: frozenset[KeyScope] = field(default_factory=lambda: frozenset(PERSON))

    @classmethod
    def read(
        cls,
        *,
        hosts: tuple[str, ...] = (),
        secure: bool = False,
        proxies: tuple[str, ...] = (),
        header: str = HEADER,
        scopes: tuple[str, ...] = (),
    ) -> Self:
        """The settings as words of a command line.

        Raises:
            ValidationError: a word is no host, no address or network, no header or no scope.
        """
        names = frozenset(name.lower() for name in hosts)
        for name in names:
            if not _HOST.fullmatch(name):
                raise ValidationError(f"`{name}` is no host; write it like rebuno.example.com")
        lower = header.lower()
        if not _HEADER.fullmatch(lower) or lower in ("authorization", "cookie", "host", "origin"):
            raise ValidationError(f"`{header}` cannot be the header that names a person")
        known = {scope.value: scope for scope in KeyScope}
        for one in scopes:
            if one not in known:
                raise ValidationError(f"the scope `{one}` is none of {', '.join(known)}")
        granted = frozenset(known[one] for one in scopes) or frozenset(PERSON)
        return cls(names, secure, tuple(map(_network, proxies)), lower, granted)

    def is_proxy(self, address: str) -> bool:
        """Whether a connection comes from one of the proxies."""
        if not self.proxies:
            return False
        try:
            found = ip_address(address)
        except ValueError:
            return False
        return any(found in network for network in self.proxies)


def _network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text)
    except ValueError:
        raise ValidationError(f"`{text}` is no address and no network; write it like 10.0.0.7 or 10.0.0.0/24") from None
