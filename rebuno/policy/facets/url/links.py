"""Finds the URLs in a text: what a browser, a mail program or a chat would turn into a link."""

import re
from collections.abc import Collection, Iterator
from typing import Final

from rebuno.policy.facets.reading import Unsure
from rebuno.policy.facets.url.markup import as_markup, loaded_by_style
from rebuno.policy.facets.url.parse import authority_end, plain_text, read_url, usual
from rebuno.policy.values import windows
from rebuno.policy.values.json_values import valid
from rebuno.policy.values.tokens import MAX_TEXT

# A scheme with two slashes, of either kind; one that browsers know without them; `www.`.
_PLAIN: Final = (
    r"[A-Za-z][A-Za-z0-9+.-]{0,31}:[/\\]{2,}"
    r"|(?<![A-Za-z0-9])(?i:https?|wss?|ftp):[/\\]?(?=[\w\[])|(?<![A-Za-z0-9])(?i:file):[/\\]"
    r"|(?<![A-Za-z0-9.@-])(?i:www)\.(?=\w)"
)
_INNER: Final = re.compile(_PLAIN)
# `corp.example/x`, `corp.example?x`, `10.0.0.1/x` (but not the network `10.0.0.0/8`).
_START: Final = re.compile(
    rf"{_PLAIN}"
    r"|(?<![A-Za-z0-9./\\%-])(?:[^\W_][\w-]{0,62}[.。．｡]){1,9}[^\W\d_][\w-]{1,62}(?::[0-9]{1,5})?(?=[/?])"
    r"|(?<![A-Za-z0-9./\\%-])(?:[0-9]{1,3}[.。．｡]){3}[0-9]{1,3}(?::[0-9]{1,5})?(?=\?|/(?![0-9]{1,2}(?![\w.])))"
)
# `//host`, `\\host`: how far one has to look for the dot has no end, and slashes are found fast.
_SLASHES: Final = re.compile(r"[/\\](?<![\w/\\.].)[/\\]+(?=[\w@:%-]*\.\w|\[)", re.DOTALL)
# A scheme, or ten labels and a port, and what stands behind them.
_AHEAD: Final = 768
_PAIRS: Final = {"(": ")", "[": "]", "{": "}"}
_OPENERS: Final = _PAIRS | dict(zip("\"'`<“„‘«「（", "\"'`>”“’»」）", strict=True))
_STOP: Final = re.compile(rf"[\s|…{re.escape(''.join({*_OPENERS, *_OPENERS.values()}))}]")
_TRAILING: Final = ".,;:!?*_~。，、；：！？"
_CLOSING: Final = "\"'`)\\]}>|…”’»」）"
# What may stand after a link in a sentence: the rest of a quotation, then a blank, a tag or nothing.
_OVER: Final = re.compile(rf"[{_CLOSING}]{{0,8}}[{_TRAILING}]{{0,8}}[{_CLOSING}]{{0,8}}(?:[\s<]|\Z)")
_LOOK_BACK: Final = 64
# Clients agree on the host of such a URL and not on its path: some resolve `%2e%2e` and `..`, some send them; some
# escape a `%` that begins no code, and then all others.
_DETOUR: Final = re.compile(r"[^?#]*?/(?:\.|%2[eE]){1,2}(?:[/?#]|\Z)|[^#]*?%(?![0-9A-Fa-f]{2})")


def find_links(text: str) -> list[str | Unsure] | None:
    """The URLs in `text`, in order, each once and in its usual form; None beyond 1,048,576 characters and where the
    text is not valid Unicode.

    A link that only a reader of markup sees comes last, and is unsure: `ht&#116;ps://…`, or one that a line break in an
    attribute takes apart. Where there is an unsure one already, none is sought. Linear in the text.
    """
    if len(text) > MAX_TEXT or not valid(text):
        return None
    found = dict.fromkeys(_usual(link) for link in dict.fromkeys(_links(text)))
    if not any(isinstance(link, Unsure) for link in found):
        hidden = _hidden(text, found)
        found |= {hidden: None} if hidden else {}
    return list(found)


def _hidden(text: str, found: Collection[str | Unsure]) -> Unsure | None:
    markup = as_markup(text)
    more = next((link for link in _links(markup) if _usual(link) not in found), "") if markup != text else ""
    hidden = more or loaded_by_style(text)
    return Unsure(hidden) if hidden else None


def _usual(link: str) -> str | Unsure:
    url = read_url(link)
    if url is None:
        # A scheme that is not known leaves the host in doubt; two such links are alike where their texts are.
        return link if plain_text(link) else Unsure(link)
    return Unsure(link) if _DETOUR.match(link) else usual(link, url)


def _links(text: str) -> Iterator[str]:
    position = 0
    start_at, slashes_at = _Next(_START, text), _Next(_SLASHES, text)
    while match := _first(start_at.after(position), slashes_at.after(position)):
        start, body = match.span()
        position = _end(text, body)
        yield from _link(text, start, body, position)
        # A URL inside another, as in `?next=https://…`, is one too.
        inside: re.Match[str] | None = None
        for following in windows.each(_INNER, text, body, position, ahead=_AHEAD):
            if inside is not None:
                yield from _link(text, *inside.span(), following.start())
            inside = following
        if inside is not None:
            yield from _link(text, *inside.span(), position)


class _Next:
    """The matches of a pattern, each sought once."""

    __slots__ = ("_match", "_pattern", "_text")

    def __init__(self, pattern: re.Pattern[str], text: str) -> None:
        self._pattern = pattern
        self._text = text
        self._match = self._search(0)

    def after(self, position: int) -> re.Match[str] | None:
        """The first one that begins at `position` or behind it; positions only grow."""
        if self._match is not None and self._match.start() < position:
            self._match = self._search(position)
        return self._match

    def _search(self, position: int) -> re.Match[str] | None:
        if self._pattern is _SLASHES:
            return _SLASHES.search(self._text, position)
        return windows.search(self._pattern, self._text, position, len(self._text), ahead=_AHEAD)


def _first(one: re.Match[str] | None, other: re.Match[str] | None) -> re.Match[str] | None:
    if one is None or other is None:
        return one or other
    return one if one.start() < other.start() else other


def _end(text: str, start: int) -> int:
    # Where the link that begins before `start` ends: at a blank, a quote, or a bracket that it did not open.
    open: list[str] = []
    for match in _STOP.finditer(text, start):
        character = match[0]
        if character in _PAIRS:
            open.append(_PAIRS[character])
        elif open and character == open[-1]:
            open.pop()
        else:
            return match.start()
    return len(text)


def _link(text: str, start: int, body: int, end: int) -> Iterator[str]:
    link = text[start:end].rstrip(_TRAILING)
    if authority_end(link, body - start) < len(link):
        yield link
    elif _goes_on(text, start, end):
        yield text[start : end + 1]
    elif len(link) > body - start:
        yield link


def _goes_on(text: str, start: int, end: int) -> bool:
    # INVARIANT: a link that ends within its host is sure only where no reader goes on. In an attribute, browsers drop
    # line breaks and take quotes for credentials: `href='https://corp.example"@evil.example'`.
    stop = text[end : end + 1]
    if not stop:
        return False
    before = text[max(0, start - _LOOK_BACK) : start].rstrip()[-1:]
    if before in _OPENERS:
        return stop != _OPENERS[before] and not (before == "<" and stop == "|")
    if before == "=" and stop == "<":
        return True
    return not _OVER.match(text, end)
