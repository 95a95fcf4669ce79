"""Reads the program texts of `sed`."""

import re
from typing import Final

from rebuno.policy.facets.shell.effects.code_effects import QUIET, CodeEffects, UnreadCodeError, is_plain_path

_ALONE: Final = frozenset("=dDgGhHnNpPxzF")
_LABEL: Final = re.compile(r"[ \t]*([A-Za-z0-9_.-]*)[ \t]*")
_LABELLED: Final = re.compile(r"[ \t]*[A-Za-z0-9_.-]+[ \t]*")
_NUMBER: Final = re.compile(r"[ \t]*[0-9]*[ \t]*")
_LINE: Final = re.compile(r"[0-9]+(?:~[0-9]+)?|\$")
_SECOND_LINE: Final = re.compile(r"[0-9]+|[+~][0-9]+|\$")
_FLAGS: Final = re.compile(r"[gpiImM0-9]*")
_ADDRESS_FLAGS: Final = re.compile(r"[IM]*")
_BLANKS: Final = re.compile(r"[ \t]*")
_GAP: Final = re.compile(r"[ \t\n;]*")
_TO_LINE_END: Final = re.compile(r"[^\n]*")
_DELIMITERS: Final = frozenset("/|,:#@!%_~=+;^&\"'<>")
# `a text`, `a\` and the text on the next lines, `a\text`.
_TEXT: Final = re.compile(r"[ \t]*(?:\\\n|\\(?=[^\s\\])|(?=[^\s\\]))(?P<text>(?:[^\\\n]|\\.)*)", re.DOTALL)


class _SedReader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.reads: list[str] = []
        self.writes: list[str] = []

    def read(self) -> CodeEffects:
        self._skip(_GAP)
        while self.at < len(self.text):
            self._addresses()
            self._command()
            self._skip(_GAP)
        return CodeEffects(tuple(self.reads), tuple(self.writes))

    def _here(self) -> str:
        return self.text[self.at : self.at + 1]

    def _skip(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if found is None:
            raise UnreadCodeError
        self.at = found.end()
        return found[0]

    def _addresses(self) -> None:
        if self._address(_LINE):
            self._skip(_BLANKS)
            if self._here() == ",":
                self.at += 1
                self._skip(_BLANKS)
                if not self._address(_SECOND_LINE):
                    raise UnreadCodeError
        self._skip(_BLANKS)
        if self._here() == "!":
            self.at += 1
            self._skip(_BLANKS)

    def _address(self, line: re.Pattern[str]) -> bool:
        here = self._here()
        if here in ("/", "\\") and here:
            self.at += 1
            delimiter = here
            if here == "\\":
                delimiter = self._here()
                self.at += 1
            self._regex(delimiter)
            self._skip(_ADDRESS_FLAGS)
            return True
        found = line.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found is not None

    def _regex(self, delimiter: str) -> None:
        # Some end it at a delimiter in brackets, some do not: there is none in them.
        if delimiter not in _DELIMITERS:
            raise UnreadCodeError
        bracket = False
        while True:
            here = self._here()
            self.at += 1
            if here in ("", "\n"):
                raise UnreadCodeError
            if here == "\\":
                following = self._here()
                if following in ("", "\n") or (bracket and following in ("]", "[", delimiter)):
                    raise UnreadCodeError
                self.at += 1
            elif bracket:
                if here == delimiter:
                    raise UnreadCodeError
                if here == "[":
                    self._class()
                bracket = here != "]"
            elif here == delimiter:
                return
            elif here == "[":
                bracket = True
                if self._here() == "^":
                    self.at += 1
                if self._here() == "]":
                    raise UnreadCodeError

    def _class(self) -> None:
        # `[:alpha:]` in brackets; a `[` alone is read in more than one way.
        found = re.compile(r":[a-z]+:\]").match(self.text, self.at)
        if found is None:
            raise UnreadCodeError
        self.at = found.end()

    def _replacement(self, delimiter: str) -> None:
        while True:
            here = self._here()
            self.at += 1
            if here in ("", "\n"):
                raise UnreadCodeError
            if here == "\\":
                if not self._here():
                    raise UnreadCodeError
                self.at += 1
            elif here == delimiter:
                return

    def _command(self) -> None:
        letter = self._here()
        self.at += 1
        if letter in _ALONE and letter:
            self._end()
        elif letter in ("{", "}"):
            if letter == "}":
                self._end()
        elif letter == "#":
            self._skip(_TO_LINE_END)
        elif letter in ("b", "t", "T", ":") and letter:
            # Some let a label go on up to a `;`, with a `}` or a `#` in it.
            self._skip(_LABELLED if letter == ":" else _LABEL)
            if self._here() not in ("", ";", "\n") and (letter == ":" or self._here() != "}"):
                raise UnreadCodeError
        elif letter in ("q", "Q", "l"):
            self._skip(_NUMBER)
            self._end()
        elif letter in ("a", "i", "c"):
            self._skip(_TEXT)
            if self._here() not in ("", "\n"):
                raise UnreadCodeError
        elif letter in ("r", "R"):
            self._file(self.reads)
        elif letter in ("w", "W"):
            self._file(self.writes)
        elif letter == "s":
            self._substitute()
        elif letter == "y":
            self._transliterate()
        else:
            raise UnreadCodeError

    def _substitute(self) -> None:
        delimiter = self._here()
        self.at += 1
        self._regex(delimiter)
        self._replacement(delimiter)
        self._skip(_FLAGS)
        if self._here() == "w":
            self.at += 1
            self._file(self.writes)
        else:
            self._end()

    def _transliterate(self) -> None:
        delimiter = self._here()
        self.at += 1
        if delimiter not in _DELIMITERS:
            raise UnreadCodeError
        self._replacement(delimiter)
        self._replacement(delimiter)
        self._end()

    def _end(self) -> None:
        self._skip(_BLANKS)
        if self._here() not in ("", ";", "\n", "}", "#"):
            raise UnreadCodeError

    def _file(self, paths: list[str]) -> None:
        # The name is all up to the end of the line.
        self._skip(_BLANKS)
        name = self._skip(_TO_LINE_END)
        if name in QUIET:
            return
        if not is_plain_path(name):
            raise UnreadCodeError
        paths.append(name)


def read_sed(text: str) -> CodeEffects | None:
    """The files that a program text of `sed` names; None where it is not of a known form, or may run something."""
    if not text.isprintable() and not re.fullmatch(r"[^\x00-\x08\x0b-\x1f\x7f]*", text):
        return None
    try:
        return _SedReader(text).read()
    except UnreadCodeError:
        return None
