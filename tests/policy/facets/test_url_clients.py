"""What the URL facets are sure of is held to what clients make of it."""

from random import Random

import pytest

from rebuno.policy.facets.url.parse import read_url
from tests.policy.facets.url_clients import CLIENTS, Reading, connected, difference, tally
from tests.policy.facets.url_texts import thrown


@pytest.mark.parametrize(("seed", "count", "least"), [(1, 60_000, 2_500)])
def test_no_client_reads_another_place(seed: int, count: int, least: int) -> None:
    """Where the facets are sure of a host, a port and a scheme, no client has others, and none takes a link's path for
    another one. A client may refuse a URL, but nearly all are read."""
    random = Random(seed)
    counts = tally(thrown(random) for _ in range(count))
    assert counts.found == []
    assert counts.sure >= least
    assert all(counts.read[name] >= least for name in CLIENTS)


@pytest.mark.parametrize(
    ("read", "told"),
    [
        (Reading("https", "evil.example", None, "/"), "the host `evil.example`"),
        (Reading("http", "corp.example", 443, "/"), "the scheme `http`"),
        (Reading("https", "corp.example", 8443, "/"), "the port 8443"),
        (Reading("https", "CORP.example.", None, "/"), ""),
    ],
)
def test_a_difference_is_seen(read: Reading, told: str) -> None:
    """The comparison itself tells another host, scheme and port, and no other spelling of the same one."""
    url = read_url("https://corp.example/")
    assert url is not None
    assert difference(url, read).startswith(told)
    assert bool(difference(url, read)) is bool(told)


@pytest.mark.parametrize(
    ("host", "to"),
    [("0x7f.1", "127.0.0.1"), ("0x", "0x"), ("[::FFFF:7f00:1]", "127.0.0.1"), ("Corp.Example.", "corp.example")],
)
def test_hosts_are_compared_as_they_are_resolved(host: str, to: str) -> None:
    """Two spellings of an address are one host, where the resolver says so."""
    assert connected(host) == to
