"""URLs are read as browsers read them, and doubted wherever programs differ."""

from time import process_time
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebuno.policy.facets.reading import Facet, PathContext
from rebuno.policy.facets.url.facets import FACETS
from rebuno.policy.values.json_values import MISSING, UNREADABLE

AROUND = PathContext()
NAMED: dict[str, Facet] = {facet.name: facet for facet in FACETS}


def read(name: str, value: Any) -> Any:
    return NAMED[name].read(value, AROUND)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://corp.example/a?b=1", "corp.example"),
        ("HTTPS://Corp.EXAMPLE/a", "corp.example"),  # upper case
        ("https://corp.example.:8443/", "corp.example"),  # a dot at the end
        ("https://corp.example@evil.example/", "evil.example"),  # credentials
        ("https://corp.example:443@evil.example/", "evil.example"),
        ("https://evil.example?https://corp.example/", "evil.example"),  # in the query
        ("https://evil.example#@corp.example/", "evil.example"),  # in the fragment
        ("https://evil.example/@corp.example/@x", "evil.example"),  # `@` in the path
        ("https://corp.example.evil.example/", "corp.example.evil.example"),
        ("https://bücher.example/", "xn--bcher-kva.example"),
        ("https://BÜCHER.example/", "xn--bcher-kva.example"),
        ("https://xn--bcher-kva.example/", "xn--bcher-kva.example"),
        ("https://例え.テスト/", "xn--r8jz45g.xn--zckzah"),  # one script a label
        ("https://a_b.corp.example/", "a_b.corp.example"),
        ("git+ssh://git@corp.example:22/x", "corp.example"),  # a scheme that browsers do not know
        ("gopher://127.0.0.1:70/_x", "127.0.0.1"),
        ("redis://0x7f.1:6379", "127.0.0.1"),
        ("http://[::1]:8080/", "::1"),
        ("file://corp.example/x", "corp.example"),
        ("www.corp.example/x", "www.corp.example"),  # no scheme
        ("WWW.corp.example:8080", "www.corp.example"),
        ("file:///etc/passwd", MISSING),  # nowhere on a network
        ("sqlite:///x.db", MISSING),
        ("data:text/html,https://corp.example", MISSING),
        ("mailto:ana@corp.example", MISSING),
        ("javascript:alert(1)", MISSING),
        ("https://evil.example\\@corp.example/", UNREADABLE),  # a backslash
        ("https://corp.example\\.evil.example/", UNREADABLE),
        ("https://a@corp.example@evil.example/", UNREADABLE),  # two `@`
        ("https://ex%61mple.example/", UNREADABLE),  # `%` in the host
        ("https://[fe80::1%25eth0]/", UNREADABLE),  # a zone
        ("https:/corp.example/", UNREADABLE),  # one slash
        ("https:corp.example", UNREADABLE),
        ("https:///corp.example", UNREADABLE),  # three: a path for urllib
        ("file:////corp.example/share", UNREADABLE),
        ("file://localhost/x", UNREADABLE),  # no host for browsers
        ("//corp.example/", UNREADABLE),
        ("corp.example/x", UNREADABLE),  # a host or a folder
        ("corp.example:443/x", UNREADABLE),  # a scheme or a host
        ("localhost:8080/x", UNREADABLE),
        ("/x", UNREADABLE),
        ("", UNREADABLE),
        ("https://", UNREADABLE),
        ("https://user@/", UNREADABLE),
        (" https://corp.example/", UNREADABLE),  # a blank
        ("https://corp.example/a b", UNREADABLE),
        ("https://evil.example\t.corp.example/", UNREADABLE),
        ("https://corp.example\n.evil.example/", UNREADABLE),
        ("https://corp.example/\x00", UNREADABLE),
        ("https://corp.example/\x85", UNREADABLE),
        ("https://corp.example/\x7f", UNREADABLE),
        ("https://corp.example/a\\b", UNREADABLE),
        ("redis://[fe80::1%25eth0]/", UNREADABLE),
        ("https://evil.example\u200b.corp.example/", UNREADABLE),  # nothing to see
        ("https://evil.example\u00ad.corp.example/", UNREADABLE),
        ("https://ｅxample.example/", UNREADABLE),  # a wide letter
        ("https://corp。example/", UNREADABLE),  # another dot
        ("https://faß.example/", UNREADABLE),  # `ss` for older programs
        ("https://сorp.example/", UNREADABLE),  # a Cyrillic letter among Latin ones
        ("https://evil.example“x/", UNREADABLE),
        ("https://a..example/", UNREADABLE),  # an empty label
        ("https://.example/", UNREADABLE),
        ("https://corp.example../", UNREADABLE),
        (f"https://{'a' * 64}.example/", UNREADABLE),  # no resolver takes it
        (f"https://{'a.' * 130}example/", UNREADABLE),
        ("https://corp.example,evil.example/", UNREADABLE),  # no sign of a name
        ("https://*.corp.example/", UNREADABLE),
        ("https://corp.example:99999/", UNREADABLE),  # no port
        ("https://corp.example:8a/", UNREADABLE),
        ("https://[::1/", UNREADABLE),
        ("https://1.2.3.4.5/", UNREADABLE),  # neither a name nor an address
        ("www.corp.example:x@evil.example/", UNREADABLE),  # a host or credentials
        ("blob:https://corp.example/x", UNREADABLE),
        ("javascript://corp.example/%0aalert(1)", UNREADABLE),
        ("https://corp.example/\ud800", UNREADABLE),  # no Unicode
        ({"href": "https://corp.example/"}, UNREADABLE),  # no text
        (["https://corp.example/"], UNREADABLE),
        (1, UNREADABLE),
        (True, UNREADABLE),
    ],
)
def test_host(url: Any, host: Any) -> None:
    """The host is the one that every program opens, or it is in doubt."""
    assert read("host", url) == host


@pytest.mark.parametrize(
    "url",
    [
        "evil.example://corp.example/x",  # a host that stands in the place of a scheme
        "Evil.Example://corp.example/x",
        "evil.example://corp.example:443@x/",
        "evil.example:///corp.example",
        "evil://corp.example/x",  # a client that puts `http://` before it
        "localhost://corp.example/",
        "evil-example://corp.example/",
        "evil+example://corp.example/",
        "x.y://corp.example/",
        "myapp://corp.example/",
        "httpx://corp.example/",
        "http.://corp.example/",
        "jar://corp.example/",
        "intent://corp.example/#Intent;scheme=https;end",
        "www.evil.example://corp.example/",  # the other way about: a scheme that looks like a host
        "www.corp.example://evil.example/",
        "www.corp.example:",
        "www.corp.example:/x",
        "www.corp.example:?x",
        "www.corp.example:000000080/",
        "sqlite://corp.example/x.db",  # a scheme that has no host
        "unix://corp.example/x",
        "postgresql://corp.example/db?host=evil.example",  # a query that names another one
        "postgres:///db?host=evil.example",
        "mysql://corp.example/db?host=evil.example",
        "mongodb+srv://corp.example/?x",
        "redis://corp.example?host=evil.example",
        "postgresql://corp.example,evil.example/db",  # several hosts
        "https://[::1]@corp.example/",  # credentials that no standard allows
        "https://é@corp.example/",
        "https://a%zz@corp.example/",
        'https://evil.example"@corp.example/',
        "https://evil.example[@corp.example/",
        "http://0x/",  # a zero or a name
        "http://0x.0x/",
        "http://0.0.0.0x/",
        "redis://1.0x./",
    ],
)
def test_clients_disagree_about_the_host(url: str) -> None:
    """Where one client opens another host than the next, nothing of the URL is sure."""
    assert [read(name, url) for name in ("host", "scheme", "port", "address")] == [UNREADABLE] * 4


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("git+ssh://git@corp.example/x", "corp.example"),
        ("SFTP://corp.example/x", "corp.example"),
        ("redis://corp.example:6379/0", "corp.example"),
        ("postgresql://ana:x%40y@corp.example/db", "corp.example"),
        ("mongodb+srv://corp.example/db", "corp.example"),
        ("ldaps://corp.example/", "corp.example"),
        ("s3://bucket/key?versionId=1", "bucket"),
        ("git+https://corp.example/x?ref=main", "corp.example"),
        ("unix:///run/x.sock", MISSING),
        ("postgresql:///db", MISSING),
        ("https://a;b,c:d=e@corp.example/", "corp.example"),
        ("https://corp.example/?host=evil.example", "corp.example"),
    ],
)
def test_schemes_that_all_clients_read_alike(url: str, host: Any) -> None:
    """The schemes in use have a host that is sure."""
    assert read("host", url) == host


@pytest.mark.parametrize("facet", ["host", "scheme", "port", "address"])
@pytest.mark.parametrize("line", ["\r\n", "\n", "\r", "\t", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"])
@pytest.mark.parametrize(
    "url", ["{}https://corp.example/", "https://corp.example{}/", "https://corp.example/{}x", "https://corp.example/{}"]
)
def test_line_breaks(url: str, line: str, facet: str) -> None:
    """A value with a line break anywhere, also at its end, may be the head of something else."""
    assert read(facet, url.format(line)) is UNREADABLE


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("127.1", "127.0.0.1"),  # short
        ("0x7f.1", "127.0.0.1"),  # hexadecimal
        ("0X7F000001", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),  # one number
        ("017700000001", "127.0.0.1"),  # octal, too large as decimal
        ("0177.0.0.1", UNREADABLE),  # 127.0.0.1 in octal, 177.0.0.1 in decimal
        ("012.0.0.1", UNREADABLE),
        ("0.0.0.0", "0.0.0.0"),
        ("[::ffff:127.0.0.1]", "127.0.0.1"),  # IPv4 inside IPv6
        ("[::FFFF:7f00:1]", "127.0.0.1"),
        ("[0:0:0:0:0:0:0:1]", "::1"),
        ("[FD00::1]", "fd00::1"),
        ("１２７.0.0.1", UNREADABLE),  # wide digits
        ("corp.example", MISSING),
        ("127.0.0.1.corp.example", MISSING),
    ],
)
def test_address(host: str, address: Any) -> None:
    """All spellings of an address are one; a name has none."""
    assert read("address", f"http://{host}/") == address
    assert read("address", f"redis://{host}/") == address  # whatever the scheme


@pytest.mark.parametrize(
    ("url", "scheme", "port"),
    [
        ("https://corp.example/", "https", 443),
        ("HTTP://corp.example", "http", 80),
        ("wss://corp.example/", "wss", 443),
        ("ftp://corp.example/", "ftp", 21),
        ("https://corp.example:8443/", "https", 8443),
        ("https://corp.example:0443/", "https", 443),
        ("https://corp.example:/", "https", 443),
        ("ssh://corp.example/", "ssh", MISSING),  # no port of its own
        ("file:///x", "file", MISSING),
        ("mailto:ana@corp.example", "mailto", MISSING),
        ("www.corp.example/", MISSING, MISSING),
        ("www.corp.example:81/", MISSING, 81),
        ("//corp.example/", UNREADABLE, UNREADABLE),
    ],
)
def test_scheme_and_port(url: str, scheme: Any, port: Any) -> None:
    """A port that is not written is the scheme's own, where it has one."""
    assert (read("scheme", url), read("port", url)) == (scheme, port)


@pytest.mark.parametrize(
    ("facet", "value", "right", "answer"),
    [
        ("host", "corp.example", "corp.example", True),
        ("host", "docs.corp.example", "Corp.Example.", True),
        ("host", "notcorp.example", "corp.example", False),  # a label is whole
        ("host", "corp.example.evil.example", "corp.example", False),
        ("host", "xn--bcher-kva.example", "bücher.example", True),
        ("host", "10.0.0.1", "example", False),  # an address is below no domain
        ("host", "10.0.0.1", "10.0.0.1", True),
        ("address", "10.1.2.3", "10.0.0.0/8", True),
        ("address", "11.1.2.3", "10.0.0.0/8", False),
        ("address", "10.1.2.3", "10.1.2.3", True),
        ("address", "10.1.2.3", "::ffff:10.0.0.0/104", True),
        ("address", "fd00::1", "fc00::/7", True),
        ("address", "10.1.2.3", "::/0", False),  # the other kind
        ("address", "::1", "0.0.0.0/0", False),
        ("link", "https://docs.corp.example/x", "corp.example", True),
        ("link", "https://evil.example/corp.example", "corp.example", False),
        ("link", "//corp.example/x", "corp.example", None),
        ("link", "file:///corp.example", "corp.example", False),
    ],
)
def test_under(facet: str, value: str, right: str, answer: bool | None) -> None:
    """A host and a link lie under a domain, an address under a network."""
    network, under = NAMED[facet].network, NAMED[facet].under
    assert network is not None
    assert under is not None
    assert under(value, network(right, AROUND)) is answer


@pytest.mark.parametrize(
    ("facet", "literal", "value"),
    [
        ("host", "Bücher.Example.", "xn--bcher-kva.example"),
        ("host", "[::FFFF:10.0.0.1]", "10.0.0.1"),
        ("scheme", "HTTPS", "https"),
        ("port", 443, 443),
        ("address", "0x7f.1", "127.0.0.1"),
        ("address", "::1", "::1"),
        ("link", "HTTPS://corp.example:443/a/../b", "https://corp.example/b"),
        ("link", "www.Corp.example", "www.corp.example/"),
        ("link", "myapp://open?x=1", "myapp://open?x=1"),  # as a text
    ],
)
def test_literal(facet: str, literal: Any, value: Any) -> None:
    """The right side is written in any spelling that its facet reads."""
    assert NAMED[facet].literal(literal, AROUND) == value


@pytest.mark.parametrize(
    ("facet", "literal", "said"),
    [
        ("host", "https://corp.example", "write the host alone"),
        ("host", "corp.example/x", "write the host alone"),
        ("host", "ana@corp.example", "after the `@`"),
        ("host", "*.corp.example", 'write `under "corp.example"`'),
        ("host", "corp..example", "no host"),
        ("host", "0177.0.0.1", "no host"),
        ("host", 5, "a number is no text"),
        ("scheme", "https://", "without colon"),
        ("scheme", "", "without colon"),
        ("port", "443", "without quotes"),
        ("port", 70_000, "0 to 65535"),
        ("port", True, "whole number"),
        ("address", "corp.example", "`host of`"),
        ("address", "10.0.0.0/8", "no IP address"),
        ("link", "corp.example", "no URL"),
    ],
)
def test_bad_literal(facet: str, literal: Any, said: str) -> None:
    """A right side that no value could equal is refused, with what to write."""
    with pytest.raises(ValueError, match=r"^[^A-Z]") as error:
        NAMED[facet].literal(literal, AROUND)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("network", "said"),
    [
        ("10.0.0.1/8", "write `10.0.0.0/8`"),  # bits after the prefix
        ("10.0.0.0/33", "no network"),
        ("10.0.0.0/255.0.0.0", "no network"),
        ("10/8", "no network"),
        ("corp.example", "no network"),
        ("fe80::1%eth0", "no network"),
        ("", "no network"),
    ],
)
def test_bad_network(network: str, said: str) -> None:
    """A network is refused where it could mean another one."""
    read_network = NAMED["address"].network
    assert read_network is not None
    with pytest.raises(ValueError, match="`") as error:
        read_network(network, AROUND)
    assert said in str(error.value)


@given(
    st.one_of(st.text(), st.from_regex(r"(https?|ftp|ssh|file|www|data)[:.]/{0,3}[\w@:%.\[\]\\/#?-]*", fullmatch=True))
)
@settings(max_examples=300, deadline=None)
def test_reads_anything(value: str) -> None:
    """No text makes a facet raise, and a host that is read is read again as it is given."""
    for facet in FACETS:
        facet.read(value, AROUND)
    host = read("host", value)
    if isinstance(host, str):
        assert NAMED["host"].literal(host, AROUND) == host


@given(st.from_regex(r"[a-z][a-z0-9-]{0,10}(\.[a-z][a-z0-9-]{0,10}){1,3}", fullmatch=True), st.integers(1, 65_535))
@settings(max_examples=100, deadline=None)
def test_agrees_with_urllib(host: str, port: int) -> None:
    """Of plain names nothing is in doubt."""
    url = f"https://{host}:{port}/x?y#z"
    assert read("host", url) == urlsplit(url).hostname
    assert read("port", url) == urlsplit(url).port


@pytest.mark.parametrize("part", ["a", "@", "www.", "https://", "é", "[", "a.", "%41"])
def test_long_text(part: str) -> None:
    """Ten million characters take no more than reading them."""
    text = "https://corp.example" + part * (10_000_000 // len(part))
    start = process_time()
    for facet in FACETS:
        facet.read(text, AROUND)
    assert process_time() - start < 5
