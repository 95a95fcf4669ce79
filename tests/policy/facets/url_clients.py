"""What real clients make of a URL, and where that is not what the facets say.

By hand: `SEED=7 SECONDS=300 .venv/bin/python -m tests.policy.facets.url_clients`. It makes URLs for so many seconds of
processor time, prints counts as JSON, and ends with 1 where a client reads another host, port, scheme or path. Where
Node is on the machine, its reading of the WHATWG standard is asked too.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from ipaddress import IPv6Address
from random import Random
from typing import Final
from urllib.parse import quote

import httpx2
import yarl
from urllib3.util import parse_url

from rebuno.policy.facets.reading import NO_CONTEXT
from rebuno.policy.facets.url.facets import FACETS
from rebuno.policy.facets.url.parse import DEFAULT_PORTS, Url, read_url, usual
from tests.policy.facets.url_texts import thrown

_LINK: Final = next(facet for facet in FACETS if facet.name == "link")
_CODE: Final = re.compile(r"%[0-9a-f]{2}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a client makes of a URL; an empty `host` and None where it has none. `path` holds the query."""

    scheme: str
    host: str
    port: int | None
    path: str


def _httpx(text: str) -> Reading:
    url = httpx2.URL(text)
    return Reading(url.scheme, url.raw_host.decode(), url.port, url.raw_path.decode())


def _urllib3(text: str) -> Reading:
    url = parse_url(text)
    return Reading(url.scheme or "", url.host or "", url.port, url.request_uri)


def _yarl(text: str) -> Reading:
    url = yarl.URL(text)
    return Reading(url.scheme, url.raw_host or "", url.explicit_port, url.raw_path_qs)


CLIENTS: Final[dict[str, Callable[[str], Reading]]] = {"httpx2": _httpx, "urllib3": _urllib3, "yarl": _yarl}
# urllib3 and yarl raise a ValueError.
_REFUSED: Final = (ValueError, httpx2.InvalidURL)
_NODE: Final = """
const texts = JSON.parse(require("fs").readFileSync(0, "utf8"))
const read = (text) => {
  try { const url = new URL(text); return [url.protocol, url.hostname, url.port, url.pathname + url.search] }
  catch { return null }
}
console.log(JSON.stringify(texts.map(read)))
"""


def node(texts: list[str]) -> list[Reading | None]:
    """What Node makes of each text; None where it refuses it."""
    done = subprocess.run(["node", "-e", _NODE], input=json.dumps(texts), capture_output=True, text=True, check=True)
    return [
        Reading(read[0][:-1], read[1], int(read[2]) if read[2] else None, read[3]) if read else None
        for read in json.loads(done.stdout)
    ]


def connected(host: str) -> str:
    """The host that a client connects to, in the one spelling in which they can be compared: what the C library's
    resolver makes of an address, the name of a name."""
    host = host.removeprefix("[").removesuffix("]").lower().removesuffix(".")
    try:
        if ":" in host:
            return str(IPv6Address(host).ipv4_mapped or IPv6Address(host))
        return host.encode("idna").decode() if not host.isascii() else socket.inet_ntoa(socket.inet_aton(host))
    except (OSError, ValueError):  # a name, or a host with a zone
        return host


def sent(path: str) -> str:
    """A path with its query as servers compare it: signs that may stand as they are and come escaped are the same."""
    return _CODE.sub(lambda code: code[0].upper(), quote(path, safe="/?%!$&()*+,;=:@[]~"))


def difference(url: Url, read: Reading) -> str:
    """What a client reads differently; empty where it agrees, or opens nothing at all."""
    host, ours = connected(read.host), url.host.text if url.host else ""
    # Of `www.corp.example:80/` some take the name for a scheme, and none of them then has a host.
    if not host and url.scheme is None:
        return ""
    if host != ours:
        return f"the host `{host}`, not `{ours}`"
    if read.scheme.lower() != (url.scheme or ""):
        return f"the scheme `{read.scheme}`, not `{url.scheme}`"
    port = DEFAULT_PORTS.get(read.scheme.lower()) if read.port is None else read.port
    return "" if port == url.port else f"the port {port}, not {url.port}"


def detour(text: str, url: Url, client: Callable[[str], Reading]) -> str:
    """Where a client asks for another path than it does for the link that `link of` makes of this text."""
    links = _LINK.read(text, NO_CONTEXT)
    # Elsewhere the link ends before the text does, or is in doubt.
    if text.endswith(".") or url.scheme not in DEFAULT_PORTS or links != [usual(text, url)]:
        return ""
    here, there = sent(client(text).path), sent(client(links[0]).path)
    return "" if here == there else f"the path `{here}`, and `{there}` of the link"


@dataclass
class Tally:
    """Counts of a run, and what was found, each as text, client and difference."""

    texts: int = 0
    sure: int = 0
    read: Counter[str] = field(default_factory=Counter)
    found: list[tuple[str, str, str]] = field(default_factory=list)

    def take(self, text: str) -> bool:
        """Asks all clients about one text; whether the facets are sure of it."""
        self.texts += 1
        url = read_url(text)
        if url is None:
            return False
        self.sure += 1
        for name, client in CLIENTS.items():
            try:
                read = client(text)
            except _REFUSED:
                continue
            self.read[name] += 1
            different = difference(url, read) or detour(text, url, client)
            if different:
                self.found.append((text, name, different))
        return True

    def ask_node(self, texts: list[str]) -> None:
        """Asks Node about texts that the facets are sure of."""
        for text, read in zip(texts, node(texts), strict=True):
            url = read_url(text)
            if url is None or read is None:
                continue
            self.read["node"] += 1
            if url.scheme is not None and (different := difference(url, read)):
                self.found.append((text, "node", different))


def tally(texts: Iterable[str]) -> Tally:
    """What the clients make of these texts."""
    counts = Tally()
    for text in texts:
        counts.take(text)
    return counts


def main() -> int:
    """A run by hand."""
    random, seconds = Random(int(os.environ.get("SEED", "1"))), float(os.environ.get("SECONDS", "60"))
    counts, sure, start = Tally(), list[str](), time.process_time()
    while time.process_time() - start < seconds:
        text = thrown(random)
        if counts.take(text):
            sure.append(text)
    if shutil.which("node"):
        counts.ask_node(sure)
    numbers = {"texts": counts.texts, "sure": counts.sure, "read": counts.read, "found": len(counts.found)}
    sys.stdout.write(json.dumps(numbers) + "\n")
    for text, name, different in counts.found[:50]:
        sys.stdout.write(f"{text!a}: {name} reads {different!a}\n")
    return 1 if counts.found else 0


if __name__ == "__main__":
    sys.exit(main())
