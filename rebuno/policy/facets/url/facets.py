"""The facets of one URL: `host`, `scheme`, `port` and `address`; and `link`, the URLs in a text."""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from rebuno.policy.facets.reading import Facet, PathContext, UncertainValue
from rebuno.policy.facets.url.hosts import address_literal, host_literal, in_network, network_literal, under_domain
from rebuno.policy.facets.url.links import find_links
from rebuno.policy.facets.url.parse import Url, plain_text, read_url, usual
from rebuno.policy.values.json_values import MISSING, UNREADABLE, Tri, type_name
from rebuno.policy.values.word_edges import QUOTES

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_INNER_QUOTE: Final = re.compile(rf"(?<=\w)[{re.escape(QUOTES)}]+(?=\w)")


def _part(part: Callable[[Url], Any]) -> Callable[[Any, PathContext], Any]:
    def read(value: Any, context: PathContext) -> Any:
        url = read_url(value)
        if url is None:
            return UNREADABLE
        found = part(url)
        return MISSING if found is None else found

    return read


def _found(part: Callable[[Url], Any]) -> Callable[[str, PathContext], Iterator[Any]]:
    def find(text: str, context: PathContext) -> Iterator[Any]:
        for link, sure in _known_links(text):
            url = read_url(link)
            found = part(url) if url else None
            if found is not None:
                yield found if sure else UncertainValue(found)

    return find


def _known_links(text: str) -> Iterator[tuple[str, bool]]:
    # The links that can be read, each with whether it is all that is written: a quote inside a word ends none for sure.
    links = [link for link in find_links(text) or () if isinstance(link, str) and read_url(link)]
    whole = _INNER_QUOTE.sub("x", text)
    sure = links if whole == text else frozenset(find_links(whole) or ())
    return ((link, link in sure) for link in links)


def _scheme(url: Url) -> str | None:
    return url.scheme


def _host(url: Url) -> str | None:
    return url.host.text if url.host else None


def _port(url: Url) -> int | None:
    return url.port


def _address(url: Url) -> str | None:
    return url.host.text if url.host and url.host.ip else None


def _read_links(value: Any, context: PathContext) -> Any:
    links = find_links(value) if type(value) is str else None
    return UNREADABLE if links is None else links


# ---------------------------------------------------------------- the right side


def _text(value: Any, example: str) -> str:
    if type(value) is not str:
        raise ValueError(f"a {type_name(value)} is no text; write {example}")
    return value


def _host_literal(value: Any, context: PathContext) -> str:
    return host_literal(_text(value, '`"corp.example"`'))


def _scheme_literal(value: Any, context: PathContext) -> str:
    text = _text(value, '`"https"`')
    if not _SCHEME.fullmatch(text):
        raise ValueError(f'`{text}` is no scheme; write it without colon and slashes, `"https"`')
    return text.lower()


def _port_literal(value: Any, context: PathContext) -> int:
    if type(value) is not int or not 0 <= value <= 65_535:
        raise ValueError("a port is a whole number from 0 to 65535; write it without quotes, `443`")
    return value


def _address_literal(value: Any, context: PathContext) -> str:
    return address_literal(_text(value, '`"10.0.0.1"`'))


def _link_literal(value: Any, context: PathContext) -> str:
    text = _text(value, '`"https://corp.example/a"`')
    url = read_url(text)
    if url is None and plain_text(text):
        return text
    if url is None:
        raise ValueError(f'`{text}` is no URL that all programs read alike; write it like `"https://corp.example/a"`')
    return usual(text, url)


def _domain(text: str, context: PathContext) -> str:
    return host_literal(text)


def _network(text: str, context: PathContext) -> Any:
    return network_literal(text)


def _link_under(link: str, domain: str) -> Tri:
    url = read_url(link)
    if url is None:
        return None
    return url.host is not None and under_domain(url.host.text, domain)


FACETS: Final[tuple[Facet, ...]] = (
    Facet(
        name="host",
        of="a URL",
        gives="the host it leads to, in lower case, without a dot at the end, in punycode",
        value="string",
        read=_part(_host),
        literal=_host_literal,
        lower=True,
        network=_domain,
        under=under_domain,
        find=_found(_host),
    ),
    Facet(
        name="scheme",
        of="a URL",
        gives="its scheme, in lower case, without the colon",
        value="string",
        read=_part(_scheme),
        literal=_scheme_literal,
        lower=True,
        find=_found(_scheme),
    ),
    Facet(
        name="port",
        of="a URL",
        gives="its port, or the scheme's own",
        value="number",
        read=_part(_port),
        literal=_port_literal,
        find=_found(_port),
    ),
    Facet(
        name="address",
        of="a URL",
        gives="the IP address that its host is, all spellings as one; absent where the host is a name",
        value="string",
        read=_part(_address),
        literal=_address_literal,
        lower=True,
        network=_network,
        under=in_network,
        find=_found(_address),
    ),
    Facet(
        name="link",
        of="any text",
        gives="the URLs in it",
        value="string",
        read=_read_links,
        literal=_link_literal,
        many=True,
        network=_domain,
        under=_link_under,
        find=lambda text, context: (link if sure else UncertainValue(link) for link, sure in _known_links(text)),
    ),
)
