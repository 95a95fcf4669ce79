"""The facets of mail: `domain` of one address, and `email`, the addresses in a text."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final
from unicodedata import category

from rebuno.policy.facets.reading import Facet, PathContext, UncertainText, UncertainValue
from rebuno.policy.facets.url.hosts import domain_literal, read_host, under_domain
from rebuno.policy.facets.url.markup import as_markup
from rebuno.policy.facets.words import find_words, word_literal
from rebuno.policy.facets.words import read as read_words
from rebuno.policy.values.json_values import UNREADABLE, Tri, type_name, valid
from rebuno.policy.values.tokens import MAX_SEARCHED_TEXT
from rebuno.policy.values.word_edges import cut_after, cut_before

_LONGEST: Final = 320
# INVARIANT: without `%` and `!`, by which old servers pass mail on to another domain.
_LOCAL: Final = re.compile(r"[\w#$&'*+/=?^`{|}~-]+(?:\.[\w#$&'*+/=?^`{|}~-]+)*")
# An encoded word (RFC 2047): some servers decode it before they look for the `@`.
_ENCODED: Final = re.compile(r"=\?|\?=")
# What stands between blanks, commas, brackets and double quotes.
_TOKEN: Final = re.compile(r"[^\s,;:()<>\[\]\"“”„«»‘’…\\]+")
_AT: Final = re.compile(r"[@＠﹫]")
# What stands before an `@`, and the domain after it, or several: always a match, at the end of a token without `@`.
_ADDRESS: Final = re.compile(r"(?P<local>[^@＠﹫]*+)(?P<rest>(?:[@＠﹫][\w.。．｡-]*+)*+)")
_DOMAIN: Final = re.compile(r"[@＠﹫][\w.。．｡-]+")
_DOTS: Final = re.compile(r"[.。．｡]")
# May stand before an address in a token, or begin it.
_LEADING: Final = "'`*~|/&=?!#{}."
_SEPARATORS: Final = re.compile(r"[=/?&|]")
# Ends of what mail allows before an `@` and this does not read: `"a b"@c`, `a(b)@c`. A blank is none, nor is nothing.
_COMMENT_ENDS: Final = frozenset('")]>\\')
_DOUBTFUL: Final = frozenset("%[")


@dataclass(frozen=True, slots=True)
class Address:
    """`text` is the address with its domain in lower case and punycode; upper and lower case before the `@` stay."""

    text: str
    domain: str


def read_address(value: Any) -> Address | None:
    """The one address that a JSON value is; None where it is none, or more than a bare `local@domain`."""
    if type(value) is not str or len(value) > _LONGEST or not valid(value):
        return None
    local, at, domain = value.partition("@")
    if not at or not _LOCAL.fullmatch(local) or _ENCODED.search(local):
        return None
    host = read_host(domain)
    return None if host is None or host.ip else Address(f"{local}@{host.text}", host.text)


def find_addresses(text: str) -> list[str | UncertainText] | None:
    """The mail addresses in `text`, in order, each once, with its domain as `read_address` gives it; None beyond
    1,048,576 characters and where the text is not valid Unicode.

    One that programs read differently is unsure; so is one that only a reader of markup sees (`ana&#64;corp.example`),
    which comes last. Linear in the text.
    """
    if len(text) > MAX_SEARCHED_TEXT or not valid(text):
        return None
    found = dict.fromkeys(_usual(address) for address in _written(text))
    markup = as_markup(text)
    if markup != text and not any(isinstance(address, UncertainText) for address in found):
        hidden = next((address for address in _written(markup) if _usual(address) not in found), "")
        found |= {UncertainText(hidden): None} if hidden else {}
    return list(found)


def _written(text: str) -> dict[str, bool]:
    # The addresses as they are written, each with whether one of its places is sure: quotes do not cut it off a word.
    written: dict[str, bool] = {}
    for token in _TOKEN.finditer(text):
        if _AT.search(token[0]):
            first = token.start()
            before, after = text[max(0, first - 1) : first], text[token.end() : token.end() + 1]
            for address, start, end in _addresses(token[0], before, after):
                sure = not (cut_before(text, first + start) or cut_after(text, first + end))
                written[address] = written.get(address, False) or sure
    return written


def _usual(written: str) -> str | UncertainText:
    address = read_address(written)
    return address.text if address else UncertainText(written)


def _addresses(token: str, before: str, after: str) -> Iterator[tuple[str, int, int]]:
    # Each with the place of what was written; `before` and `after` are the characters around the token.
    for match in _ADDRESS.finditer(token):
        local, rest = match["local"].lstrip(_LEADING), match["rest"].rstrip("._-。．｡")
        at = match.start("rest")
        start, end = at - len(local), at + len(rest)
        next = token[match.end() : match.end() + 1] or after
        if not local and match.start() == 0 and before in _COMMENT_ENDS:
            local = before
        if not rest or not local or not (_named(rest[1:]) or next == "["):
            continue
        if next in _DOUBTFUL or (next and not next.isspace() and category(next)[0] in "CM"):
            rest += next
        yield local + rest, start, end
        last = _SEPARATORS.split(local)[-1]
        if last and last != local:
            yield last + rest, at - len(last), end


def _named(domain: str) -> bool:
    # `react@18.2.0` is a version, `me@home` a manner of speaking.
    labels = _DOTS.split(domain)
    return len(labels) > 1 and not labels[-1].isdigit()


# ---------------------------------------------------------------- the facets


def _read_domain(value: Any, context: PathContext) -> Any:
    address = read_address(value)
    return address.domain if address else UNREADABLE


def _read_emails(value: Any, context: PathContext) -> Any:
    addresses = find_addresses(value) if type(value) is str else None
    return UNREADABLE if addresses is None else addresses


def _found(text: str, part: Callable[[Address], str]) -> Iterator[str | UncertainValue]:
    if len(text) > MAX_SEARCHED_TEXT or not valid(text):
        return
    for written, sure in _written(text).items():
        address = read_address(written)
        if address:
            yield part(address) if sure else UncertainValue(part(address))


def _read_mailbox(value: Any, context: PathContext) -> Any:
    address = read_address(value)
    found = read_words(address.text.partition("@")[0], context) if address else []
    return found or UNREADABLE


def _domain_literal(value: Any, context: PathContext) -> str:
    if type(value) is not str:
        raise ValueError(f'a {type_name(value)} is no domain; write `"corp.example"`')
    return domain_literal(value)


def _email_literal(value: Any, context: PathContext) -> str:
    address = read_address(value)
    if address is None:
        found = f"`{value}`" if type(value) is str else f"a {type_name(value)}"
        raise ValueError(f'{found} is no mail address; write it alone, `"ana@corp.example"`')
    return address.text


def _email_under(email: str, domain: str) -> Tri:
    address = read_address(email)
    return under_domain(address.domain, domain) if address else None


FACETS: Final[tuple[Facet, ...]] = (
    Facet(
        name="domain",
        of="exactly one mail address",
        gives="what stands after its `@`, in lower case, in punycode",
        value="string",
        read=_read_domain,
        literal=_domain_literal,
        lower=True,
        network=_domain_literal,
        under=under_domain,
        find=lambda text, context: _found(text, lambda address: address.domain),
    ),
    Facet(
        name="email",
        of="any text",
        gives="the mail addresses in it, their domains in lower case, in punycode",
        value="string",
        read=_read_emails,
        literal=_email_literal,
        many=True,
        network=_domain_literal,
        under=_email_under,
        find=lambda text, context: _found(text, lambda address: address.text),
    ),
    Facet(
        name="mailbox",
        of="exactly one mail address",
        gives="the words before its `@`, in lower case",
        value="string",
        read=_read_mailbox,
        literal=word_literal,
        many=True,
        lower=True,
        # A user names people by their words. The domain of an address is no part of a name.
        find=lambda text, context: find_words(_DOMAIN.sub(" ", text)),
    ),
)
