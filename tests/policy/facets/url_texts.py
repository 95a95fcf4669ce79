"""Texts that are, or nearly are, URLs: put together from parts that programs are known to read differently."""

from random import Random
from typing import Final

_SCHEMES: Final = (
    *("http", "https", "HTTPS", "hTTp", "ws", "wss", "ftp", "file"),
    *("ssh", "git+ssh", "redis", "rediss", "postgresql", "mysql", "mongodb+srv", "s3", "ldap", "gopher", "socks5"),
    *("sqlite", "unix", "mailto", "data", "javascript", "about", "urn", "tel", "cid", "sms", "blob", "view-source"),
    # Nobody's: for some clients these are hosts.
    *("evil.example", "www.evil.example", "10.0.0.1", "a.b", "x.y", "evil", "localhost", "foo", "x-y", "x+y", "a"),
    *("jdbc:mysql", "http:http", "evil.example:80", "user@evil.example", "", "1http", "ht tp", "é"),
)
_SEPARATORS: Final = (
    *("://",) * 14,
    *(":", ":/", ":///", ":////", ":\\\\", ":/\\", "//", "", "/", "://@", "://:", "://\t", "://%", "://[", "://."),
    *(":?//", ":#//", "://../"),
)
_CREDENTIALS: Final = (
    *("",) * 8,
    *("a@", "a:b@", "a:b:c@", "@", ":@", "corp.example@", "corp.example:80@", "a%40b@", "a@b@", "%40@", "é@"),
    *("a;b@", "[::1]@", "a/b@", "a?b@", "a#b@"),
)
_HOSTS: Final = (
    *("corp.example", "evil.example", "CORP.example", "corp.example.", "www.corp.example", "localhost"),
    *("127.0.0.1", "1.2.3.4.", "0x7f.1", "2130706433", "0177.0.0.1", "127.1", "017700000001", "0", "0x", "0x.0x"),
    *("0.0.0.0x", "1e3", "1.2.3", "1.2.3.4.5", "08.0.0.1", "4294967296", "256.1.1.1", "0xffffffffff"),
    *("[::1]", "[::ffff:10.0.0.1]", "[fe80::1%25eth0]", "[FD00::1]", "[v1.a]", "[1]"),
    *("bücher.example", "faß.example", "xn--bcher-kva.example", "xn--.example", "xn--a.example", "例え.テスト"),
    *("İ.example", "ſ.example", "K.example", "ⓔ.example", "a。b", "１.2.3.4", "٣.1.1.1", "a\u200db.example"),
    *("a_b.corp.example", "-a.example", "a-.example", "ab--c.example", "a..b", ".a", "corp%2eexample"),
    *("evil.example:80", "corp.example%00", "ex\u00adample.example"),
)
_PORTS: Final = (
    *("",) * 8,
    *(":80", ":443", ":", ":0", ":0080", ":8080", ":65535", ":65536", ":-1", ":+80", ":8_0", ":٣", ":80:80"),
    *(": 80", ":80a", ":1e1", ":00000000080", ":0x50"),
)
_PATHS: Final = (
    *("", "", "/", "/", "/a", "/a//b", "/a;b", "/é", "/[x]", "/{x}", "/|", "/'", '/"', "/<x>", "/`", "/^"),
    *("/a/../b", "/./a", "/%2e%2e/b", "/..;/a", "/a/..", "/a/.", "/...", "/%2F", "/%00", "/%zz", "/%"),
    *("//evil.example/x", "/@evil.example", "/a:b", ":evil.example", ";evil.example"),
)
_QUERIES: Final = (
    *("",) * 4,
    *("?", "?a=b", "?a=@evil.example", "?//evil.example", "?host=evil.example", "?é", "?a=%zz", "?[x]", "?'\"", "?a?b"),
)
_FRAGMENTS: Final = (*("",) * 6, "#", "#a", "#@evil.example", "#//evil.example/", "#é")
_ODD: Final = (
    *"@:/\\?#[]%.;,&=+-_~!$'()*\"<>{}|^` \t\n\r\0\x7f\x85\xa0\xad\u3000\u2028\ufeff\u200b。／：＠？＃éßİ1",
    *("//", "://", "%40", "%2f", "%5c", "%23", "%00", "0x", "xn--", "http:", "https://", "www."),
    *("evil.example", "@evil.example", "corp.example"),
)


def thrown(random: Random) -> str:
    """One text; most are doubted by somebody."""
    parts = (_SCHEMES, _SEPARATORS, _CREDENTIALS, _HOSTS, _PORTS, _PATHS, _QUERIES, _FRAGMENTS)
    text = "".join(random.choice(part) for part in parts)
    if random.random() < 0.05:
        text = "www." + text
    for _ in range(random.choice([0, 0, 0, 1, 1, 2, 3])):
        at = random.randint(0, min(len(text), 30) if random.random() < 0.8 else len(text))
        if random.random() < 0.8:
            text = text[:at] + random.choice(_ODD) + text[at:]
        else:
            text = text[:at] + text[at + random.randint(1, 4) :]
    return text
