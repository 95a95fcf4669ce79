"""Reads one URL as browsers do, and owns up to doubt wherever programs are known to read it differently."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

from ada_url import URL

from rebuno.policy.facets.url.hosts import Host, read_host
from rebuno.policy.values.json_values import valid

DEFAULT_PORTS: Final = {"ftp": 21, "http": 80, "https": 443, "ws": 80, "wss": 443}
SPECIAL: Final = frozenset((*DEFAULT_PORTS, "file"))
# These name no place on a network, and nobody reads what stands before the colon as a host.
_OPAQUE: Final = frozenset(("about", "cid", "data", "javascript", "mailto", "sms", "tel", "urn"))
# INVARIANT: only these have a host that is sure. Of `evil.example://corp.example/` one client opens `corp.example`,
# another takes what stands before the colon for the host, or puts `http://` before all of it.
_PLACES: Final = """
cifs coap coaps dav davs ftps git git+ftp git+http git+https git+ssh gopher gs hdfs hg irc ircs nfs nntp nntps rsync
rtmp rtmps rtsp rtsps s3 scp sftp sip sips smb ssh svn svn+ssh telnet vnc webcal webdav webdavs
"""
# Some clients of these let a query name another host: `postgresql://corp.example/db?host=evil.example`.
_SERVICES: Final = """
amqp amqps clickhouse cockroachdb couchbase grpc grpcs imap imaps kafka ldap ldaps mariadb mongodb mongodb+srv mqtt
mqtts mysql nats neo4j pop3 pop3s postgres postgresql redis rediss smtp smtps socks4 socks4a socks5 socks5h tcp tls udp
"""
_ALIKE: Final = SPECIAL.union(_PLACES.split())
_WITHOUT_QUERY: Final = frozenset(_SERVICES.split())
# These lead to a file of this machine, and have no host at all.
_LOCAL: Final = frozenset(("sqlite", "unix"))

# A host, a port and credentials are shorter.
_LONGEST: Final = 2_048
_FORBIDDEN: Final = re.compile(r"[\s\x00-\x20\x7f-\x9f\\]")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,63}):")
_WWW: Final = re.compile(r"www\.", re.IGNORECASE)
_PORT: Final = re.compile(r":[0-9]{1,5}\Z", re.ASCII)
# What RFC 3986 lets stand before an `@`; some clients end the host at other signs.
_CREDENTIALS: Final = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*", re.ASCII)
_END: Final = re.compile(r"[/?#]|\Z")


@dataclass(frozen=True, slots=True)
class Url:
    """What a URL says about where it leads; None stands for what it has not got. `port` is the scheme's own where none
    is written."""

    scheme: str | None
    host: Host | None
    port: int | None


def read_url(value: Any) -> Url | None:
    """The one URL that a JSON value is; None where it is none, or where programs read it differently.

    `www.corp.example/x` has a host and no scheme; every other URL begins with its scheme. Linear in the text.
    """
    if type(value) is not str or not valid(value) or _FORBIDDEN.search(value):
        return None
    if _WWW.match(value):
        end = authority_end(value, 0)
        return _without_scheme(value[:end]) if end <= _LONGEST else None
    match = _SCHEME.match(value)
    if match is None:
        return None
    scheme, start = match[1].lower(), match.end()
    slashes = value.startswith("//", start)
    if scheme in _OPAQUE or not slashes:
        return Url(scheme, None, None) if scheme in _OPAQUE and not slashes else None
    end = authority_end(value, start + 2)
    if end > _LONGEST or not _read_alike(scheme, host=end > start + 2, query="?" in value):
        return None
    if end > start + 2:
        return _with_host(value[:end], scheme)
    # `https:///a` leads to the host `a` for browsers and nowhere for others; `file:////a/b` is another machine's for
    # some.
    if (scheme in SPECIAL and scheme != "file") or value.startswith("//", end):
        return None
    return Url(scheme, None, None)


def _read_alike(scheme: str, *, host: bool, query: bool) -> bool:
    """Whether all clients find the host of such a URL at the same place, behind its two slashes."""
    if scheme in _WITHOUT_QUERY:
        return not query
    return scheme in _ALIKE or (scheme in _LOCAL and not host)


def plain_text(link: str) -> bool:
    """Whether a link whose host is in doubt has no other fault than a scheme that is not known here: as a text it is
    read alike, `myapp://open?x=1`."""
    match = _SCHEME.match(link)
    if match is None or not link.startswith("//", match.end()) or not valid(link) or _FORBIDDEN.search(link):
        return False
    return not any(match[1].lower() in known for known in (_ALIKE, _WITHOUT_QUERY, _LOCAL, _OPAQUE))


def authority_end(text: str, start: int) -> int:
    """Where credentials, host and port that begin at `start` end: at the first `/`, `?` or `#`."""
    match = _END.search(text, start)
    return match.start() if match else len(text)


def usual(value: str, url: Url) -> str:
    """A URL that was read as `url`, in the form that browsers give it: scheme and host in lower case, no default port,
    no `.` and `..` in the path. Where browsers have no rules for the scheme it stays as it is."""
    if url.scheme is None:
        return URL(f"http://{value}").href.removeprefix("http://")
    return URL(value).href if url.scheme in SPECIAL else value


def _without_scheme(authority: str) -> Url | None:
    # `www.corp.example:x@evil.example` has credentials for one reader and is no host for another; the part before the
    # colon of `www.corp.example://evil.example` is a scheme for many.
    if "@" in authority or (":" in authority and not _PORT.search(authority)):
        return None
    url = _with_host(f"http://{authority}", "http")
    if url is None:
        return None
    return Url(None, url.host, url.port if ":" in authority else None)


@lru_cache(maxsize=1_024)
def _with_host(head: str, scheme: str) -> Url | None:
    credentials, at, _ = head.partition("//")[2].rpartition("@")
    if at and not _CREDENTIALS.fullmatch(credentials):
        return None
    try:
        browsers, others = URL(head), urlsplit(head).hostname
    except ValueError:
        return None
    host = read_host(others or "")
    if host is None or (browsers.hostname != others and read_host(browsers.hostname) != host):
        return None
    return Url(scheme, host, int(browsers.port) if browsers.port else DEFAULT_PORTS.get(scheme))
