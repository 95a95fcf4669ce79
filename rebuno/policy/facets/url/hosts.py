"""Host names and addresses, in the one spelling that URLs, mail and the literals of a bundle are compared by."""

import re
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final
from unicodedata import category, name, normalize

from ada_url import URL, HostType, idna_to_unicode

# What a resolver takes: 253 characters in all, 63 a label.
_LONGEST: Final = 253
_NAME: Final = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
# What cannot stand in a host, and would end it or begin something else.
_OUTSIDE: Final = re.compile(r"[\s\x00-\x2c/:-@\[-^`{-\x9f]")
_OCTAL: Final = re.compile(r"(?<![^.])0+(?=[0-9])")
# `0x` without digits is a zero for browsers, and a name for the C library.
_NO_DIGITS: Final = re.compile(r"(?:\A|\.)0[xX](?:\.|\Z)")
_NETWORK: Final = re.compile(r"[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?")
_MAPPED: Final = IPv6Network("::ffff:0:0/96")

Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class Host:
    """`text` in lower case, without a dot at the end, in punycode; `ip` where it is an address, in its usual form."""

    text: str
    ip: bool


@lru_cache(maxsize=1_024)
def read_host(text: str) -> Host | None:
    """The host that `text` names, with or without the brackets of an IPv6 address; None where that is in doubt.

    Every spelling of an IPv4 address that browsers take is read, and one inside IPv6 (`::ffff:10.0.0.1`) is the IPv4
    address. In doubt are: a name that programs map differently (`ß`, wide letters and dots, invisible characters), or
    that mixes Latin and other letters in a label; octal digits that make another address when read as decimal, `0x`
    without digits; empty or too long labels, and whatever is no host.
    """
    if ":" in text:
        return _ipv6(text[1:-1] if text.startswith("[") and text.endswith("]") else text)
    host = _browsers(text)
    if host is None or (not text.isascii() and not _undisputed(text, host.text)):
        return None
    if host.ip and _NO_DIGITS.search(text):
        return None
    if host.ip and _OCTAL.search(text):
        decimal = _browsers(_OCTAL.sub("", text))
        if decimal is not None and decimal != host:
            return None
    return host


def _browsers(text: str) -> Host | None:
    if not 0 < len(text) <= _LONGEST + 1 or _OUTSIDE.search(text):
        return None
    try:
        url = URL(f"http://{text}/")
    except ValueError:
        return None
    host = url.hostname.removesuffix(".")
    if len(host) > _LONGEST or not _NAME.fullmatch(host):
        return None
    return Host(host, url.host_type is not HostType.DEFAULT)


def _undisputed(text: str, ascii: str) -> bool:
    # Nothing but case may get lost between what is written and what is resolved, and the older mapping, which Python
    # and many clients still use, must come to the same name.
    try:
        older = text.lower().encode("idna").decode("ascii")
    except UnicodeError:
        return False
    written = normalize("NFC", text.lower()).removesuffix(".")
    if older.removesuffix(".") != ascii or idna_to_unicode(ascii) != written:
        return False
    return all(_one_script(label) for label in written.split("."))


def _one_script(label: str) -> bool:
    # Latin beside another script is a look-alike, or a name that words of a text without blanks follow.
    other = [c for c in label if not c.isascii()]
    if any(not c.isalnum() and category(c)[0] != "M" for c in other):
        return False
    latin = [name(c, "").startswith("LATIN") for c in other if c.isalnum()]
    return all(latin) or not (any(latin) or any("a" <= c <= "z" for c in label))


def _ipv6(text: str) -> Host | None:
    if "%" in text:
        return None
    try:
        address = IPv6Address(text)
    except ValueError:
        return None
    return Host(str(address.ipv4_mapped or address), True)


def host_literal(text: str) -> str:
    """A host as a bundle writes it, normalised.

    Raises:
        ValueError: it is no host, or one in doubt.
    """
    return _literal(text).text


def domain_literal(text: str) -> str:
    """The domain of mail as a bundle writes it, normalised.

    Raises:
        ValueError: it is no domain, or one in doubt.
    """
    host = _literal(text.removeprefix("@"))
    if text.startswith("@"):
        raise ValueError(f"`{text}` begins with `@`; write `{host.text}`")
    if host.ip:
        raise ValueError(f"`{text}` is no domain of mail; write `corp.example`")
    return host.text


def _literal(text: str) -> Host:
    if "/" in text:
        raise ValueError(f"`{text}` is more than a host; write the host alone, `corp.example`")
    if "@" in text:
        raise ValueError(f"`{text}` is an address of mail; write what stands after the `@`")
    if text.startswith(("*.", ".")):
        raise ValueError(f'`{text}` is no host; write `under "{text.lstrip("*.")}"` for it and all below it')
    host = read_host(text)
    if host is None:
        raise ValueError(f"`{text}` is no host that all programs read alike; write `corp.example` or `10.0.0.1`")
    return host


def under_domain(host: str, domain: str) -> bool:
    """Whether the host is the domain or below it; both as `read_host` writes them."""
    return host == domain or host.endswith("." + domain)


def address_literal(text: str) -> str:
    """An IP address in any of its spellings, normalised.

    Raises:
        ValueError: it is no address.
    """
    host = read_host(text)
    if host is None or not host.ip:
        raise ValueError(f"`{text}` is no IP address; write `10.0.0.1` or `::1`, for a name `host of`")
    return host.text


def network_literal(text: str) -> Network:
    """A network, `10.0.0.0/8` or `fc00::/7`, or a single address; one of IPv4 inside IPv6 is the IPv4 network.

    Raises:
        ValueError: it is no network, or has bits set after its prefix.
    """
    if not _NETWORK.fullmatch(text):
        raise ValueError(f"`{text}` is no network; write it like `10.0.0.0/8`")
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        raise ValueError(f"`{text}` is no network; write it like `10.0.0.0/8`") from None
    if "/" in text and ip_address(text.partition("/")[0]) != network.network_address:
        raise ValueError(f"`{text}` has bits set after its prefix; write `{network}`")
    if isinstance(network, IPv6Network) and network.subnet_of(_MAPPED):
        return IPv4Network((int(network.network_address) & 0xFFFFFFFF, network.prefixlen - 96))
    return network


def in_network(address: str, network: Network) -> bool:
    """Whether the address, as `read_host` writes it, lies in the network; no address lies in one of the other kind."""
    one: IPv4Address | IPv6Address = ip_address(address)
    return one in network
