"""One word of a shell text, read by bash's rules of quoting; the parser only says where it stands."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class UncertainShellError(Exception):
    """The text cannot be read honestly. It ends the reading of one text and never leaves the shell facets."""


class WordKind(StrEnum):
    """How much is known of a word."""

    KNOWN = "known"
    NAMES = "names"  # file names, a home directory or a list in braces take its place: nothing is hidden or run
    OPEN = "open"  # whatever a variable holds or a command prints


@dataclass(frozen=True, slots=True)
class Word:
    """A word as the program gets it.

    A known one is `start`. In the place of any other stand words that each begin with `start` and end with `end`:
    exactly one where it is `single`, else any number. With `home` the path of the user's home directory, and nothing
    else, stands before `end`. `raw` is how it is written, if it is not known.
    """

    start: str
    end: str = ""
    kind: WordKind = WordKind.KNOWN
    single: bool = True
    home: bool = False
    raw: str = ""

    @property
    def known(self) -> bool:
        """Whether the word is what it says."""
        return self.kind is WordKind.KNOWN

    def may_be(self, text: str) -> bool:
        """Whether the word, or one in its place, can be this text."""
        if self.known:
            return self.start == text
        return len(text) >= len(self.start) + len(self.end) and text.startswith(self.start) and text.endswith(self.end)


ANYTHING: Final = Word("", kind=WordKind.OPEN, single=False)


def home_path(word: Word) -> str | None:
    """The path that `~` or `~/…` stands for, beginning with `~`; None for any other word."""
    return f"~{word.end}" if word.home else None


_PLAIN: Final = re.compile(rb"[^\s\\'\"`$|&;()<>*?\[\]{}~!#]+")
_QUOTED: Final = re.compile(rb'[^\\"`$!]+')
_ANSI_C: Final = re.compile(rb"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
# After one of these a `$` begins an expansion, which the parser must have seen too.
_EXPANDS: Final = re.compile(rb"[A-Za-z0-9_({\[@*#?$!'\"-]")
_EXPANDS_QUOTED: Final = re.compile(rb"[A-Za-z0-9_({\[@*#?$!-]")
_TILDE: Final = re.compile(rb"~[A-Za-z0-9_.+-]*(?=/|\Z)|~(?=[:/])")
_BRACES: Final = re.compile(rb"\{[^{}]*(?:,|\.\.)")

Expansions = Mapping[int, tuple[int, bool]]
"""Where the expansions of a text begin, each with its end and whether unquoted it can give several words."""


class _WordReader:
    def __init__(self, data: bytes, start: int, end: int, expansions: Expansions) -> None:
        self.data = data
        self.start = start
        self.at = start
        self.end = end
        self.expansions = expansions
        self.pieces: list[bytes] = []
        self.tail = -1  # how many pieces stand before the last unknown one; -1: none is unknown
        self.head = -1
        self.kind = WordKind.KNOWN
        self.single = True
        self.shaped = True
        self.unknown = 0  # how many pieces are not known
        self.home = False

    def word(self) -> Word:
        while self.at < self.end:
            self._next()
        text = b"".join(self.pieces).decode()
        if self.kind is WordKind.KNOWN:
            return Word(text)
        raw = self.data[self.start : self.end].decode()
        if not self.shaped:
            return Word("", "", self.kind, self.single, raw=raw)
        return Word(
            b"".join(self.pieces[: self.head]).decode(),
            b"".join(self.pieces[self.tail :]).decode(),
            self.kind,
            self.single,
            self.home and self.unknown == 1,
            raw,
        )

    def _unknown(self, kind: WordKind, *, single: bool, shaped: bool = True) -> None:
        self.tail = len(self.pieces)
        self.unknown += 1
        if self.head < 0:
            self.head = self.tail
        if self.kind is not WordKind.OPEN:
            self.kind = kind
        self.single = self.single and single
        self.shaped = self.shaped and shaped

    def _jump(self, quoted: bool) -> bool:
        if self.at not in self.expansions:
            return False
        end, splits = self.expansions[self.at]
        if end > self.end:
            raise UncertainShellError
        # `"$@"` and `"${a[@]}"` are several words even in quotes.
        several = splits if not quoted else b"@" in self.data[self.at : end]
        self._unknown(WordKind.OPEN, single=not several, shaped=not several)
        self.at = end
        return True

    def _take(self, length: int, text: bytes) -> None:
        self.pieces.append(text)
        self.at += length

    def _next(self) -> None:
        if self._jump(quoted=False):
            return
        data, at = self.data, self.at
        plain = _PLAIN.match(data, at, self.end)
        if plain:
            self._take(len(plain[0]), plain[0])
            return
        here = data[at : at + 1]
        if here == b"\\":
            self._escape()
        elif here == b"'":
            close = data.find(b"'", at + 1, self.end)
            if close < 0:
                raise UncertainShellError
            self._take(close + 1 - at, data[at + 1 : close])
        elif here == b'"':
            self.at += 1
            self._quoted()
        elif here == b"$":
            self._dollar()
        elif here in (b"*", b"?"):
            self._unknown(WordKind.NAMES, single=False)
            self.at += 1
        elif here == b"[":
            if data.find(b"]", at, self.end) < 0:
                self._take(1, here)
            else:
                self._unknown(WordKind.NAMES, single=False, shaped=False)
                self.at += 1
        elif here == b"{":
            if _BRACES.match(data, at, self.end) or data.find(b"{", at + 1, self.end) >= 0:
                self._unknown(WordKind.NAMES, single=False, shaped=False)
                self.at += 1
            else:
                self._take(1, here)
        elif here == b"~":
            self._tilde()
        elif here == b"!":
            self._history(b" \t\n=")
        elif here in (b"]", b"}") or (here == b"#" and at > self.start):
            self._take(1, here)
        else:
            raise UncertainShellError

    def _escape(self) -> None:
        following = self.data[self.at + 1 : min(self.at + 5, self.end)]
        if not following or following[:1] == b"\n":
            raise UncertainShellError
        self._take(2, following[:1])

    def _tilde(self) -> None:
        if self.at > self.start and self.data[self.at - 1 : self.at] not in (b"=", b":"):
            self._take(1, b"~")
            return
        user = _TILDE.match(self.data, self.at, self.end)
        if user is None:
            raise UncertainShellError
        self._unknown(WordKind.NAMES, single=True, shaped=self.at == self.start)
        self.home = self.at == self.start and user[0] == b"~" and self.data[user.end() : self.end][:1] != b":"
        self.at = user.end()

    def _history(self, harmless: bytes) -> None:
        # An interactive shell puts an earlier command in the place of `!word`.
        if self.at + 1 < self.end and self.data[self.at + 1] not in harmless:
            raise UncertainShellError
        self._take(1, b"!")

    def _dollar(self) -> None:
        ansi = _ANSI_C.match(self.data, self.at, self.end)
        if ansi:
            if b"\\" in ansi[1]:
                self._unknown(WordKind.OPEN, single=True)
                self.at = ansi.end()
            else:
                self._take(len(ansi[0]), ansi[1])
        elif _EXPANDS.match(self.data, self.at + 1):
            raise UncertainShellError
        else:
            self._take(1, b"$")

    def _quoted(self) -> None:
        data = self.data
        while self.at < self.end:
            if self._jump(quoted=True):
                continue
            plain = _QUOTED.match(data, self.at, self.end)
            if plain:
                # An expansion begins where the parser says so and nowhere else, so only at a `$` or a backtick.
                self._take(len(plain[0]), plain[0])
                continue
            here = data[self.at : self.at + 1]
            if here == b'"':
                self.at += 1
                self.pieces.append(b"")
                return
            if here == b"\\":
                following = data[self.at + 1 : self.at + 2]
                if following == b"\n":
                    raise UncertainShellError
                self._take(2, following if following in (b"$", b"`", b'"', b"\\") else b"\\" + following)
            elif here == b"!":
                self._history(b' \t\n="')
            elif here == b"$" and not _EXPANDS_QUOTED.match(data, self.at + 1):
                self._take(1, b"$")
            else:
                raise UncertainShellError
        raise UncertainShellError


def read_word(data: bytes, start: int, end: int, expansions: Expansions) -> Word:
    """The word that stands from `start` to `end`; `expansions` are those that the parser saw, by their first byte.

    Raises:
        UncertainShellError: by the rules of bash the place does not hold exactly one word, or it holds an expansion
            that the parser did not find.
    """
    return _WordReader(data, start, end, expansions).word()


def plain_word(data: bytes, start: int, end: int) -> Word | None:
    """The word that stands there, where nothing in it means anything to the shell, as in most words: no quote, no
    escape, nothing that expands; else None."""
    plain = _PLAIN.fullmatch(data, start, end)
    return Word(plain[0].decode()) if plain else None


_INNER: Final = re.compile(rb"[^\\'\"`$(){}<>!]+")


def check_body(data: bytes, start: int, end: int, expansions: Expansions) -> None:
    """Hold the body of an unquoted here-document to what the parser saw in it.

    Raises:
        UncertainShellError: it holds an expansion that the parser did not see, or a line that a `\\` joins to the next.
    """
    at = start
    while at < end:
        if at in expansions:
            at = expansions[at][0]
            continue
        here = data[at : at + 1]
        if here == b"\\":
            if data[at + 1 : at + 2] == b"\n":
                raise UncertainShellError
            at += 2
        elif here == b"`" or (here == b"$" and _EXPANDS_QUOTED.match(data, at + 1)):
            raise UncertainShellError
        else:
            at += 1


def check_operand(data: bytes, start: int, end: int, expansions: Expansions) -> None:
    """Hold the inside of a `${…}` to plain text and the expansions that the parser saw in it.

    Raises:
        UncertainShellError: it holds quotes, escapes, brackets or another expansion, for which bash has special rules.
    """
    at = start
    while at < end:
        if at in expansions:
            at = expansions[at][0]
            continue
        plain = _INNER.match(data, at, end)
        if plain is None:
            raise UncertainShellError
        # INVARIANT: no expansion begins inside a plain run, since each begins with `$`, a backtick, `<(` or `>(`.
        at = plain.end()
