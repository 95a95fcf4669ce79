"""Reads the program texts of `awk`: those of which gawk, mawk, busybox and the original one make the same."""

import re
from typing import Final

from rebuno.policy.facets.shell.effects.code_effects import (
    ENVIRONMENT,
    QUIET,
    CodeEffects,
    UnreadCodeError,
    is_plain_path,
)

_TOKEN: Final = re.compile(
    r"""(?P<blank>[ \t]+)
    |(?P<comment>\#[^\n]*)
    |(?P<line>\n)
    |(?P<string>"(?:[^"\\\n]|\\[^\n])*")
    |(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![A-Za-z0-9_.]))
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<step>\+\+|--)
    |(?P<sign>&&|\|\||>>|[=!<>+*%^-]=|!~|[=!<>+*%^~?:,;(){}\[\]$-])""",
    re.VERBOSE,
)
# A list in brackets with a bracket or a `/` in it is read in more than one way.
_REGEX: Final = re.compile(
    r"""/(?:[^\[\]/\\\n]|\\[^\n]
    |\[\^?(?:\[:[a-z]+:\]|[^\[\]/\\\n^]|\\[^\n\]\[/])(?:\[:[a-z]+:\]|[^\[\]/\\\n]|\\[^\n\]\[/])*\])+/""",
    re.VERBOSE,
)
_DIVIDED: Final = re.compile(r"/=?")
# Behind these a `/` begins a regex, behind those below it divides; behind anything else it is not known.
_BEFORE_REGEX: Final = frozenset(
    {"", "\n", "{", "}", ";", "(", ",", "!", "~", "!~", "&&", "||", "?", ":", "print", "return"}
)
_BEFORE_DIVISION: Final = frozenset({"number", "name", "string", "]", ")"})
_KEYWORDS: Final = frozenset(
    {
        "BEGIN", "END", "BEGINFILE", "ENDFILE", "if", "else", "while", "for", "do", "in", "break", "continue", "next",
        "nextfile", "exit", "delete", "return", "print", "printf", "function", "func", "switch", "case", "default",
    }
)  # fmt: skip
_FUNCTIONS: Final = frozenset(
    {
        "length", "substr", "index", "split", "sub", "gsub", "match", "sprintf", "sin", "cos", "atan2", "exp", "log",
        "sqrt", "int", "rand", "srand", "tolower", "toupper", "gensub", "strftime", "mktime", "systime", "patsplit",
        "asort", "asorti", "strtonum", "and", "or", "xor", "lshift", "rshift", "compl", "isarray", "typeof", "fflush",
    }
)  # fmt: skip
# They run programs, read or write other files, change what is read, or are names of everything there is.
_UNREAD: Final = frozenset(
    {
        "system", "getline", "close", "ARGV", "ARGC", "SYMTAB", "FUNCTAB", "PROCINFO", "TEXTDOMAIN", "bindtextdomain",
        "dcgettext", "dcngettext", "BINMODE", "namespace", "load", "include", "extension", "_",
    }
)  # fmt: skip
_CONDITIONS: Final = frozenset({"if", "while", "for", "switch"})
_ENDS_LINE: Final = frozenset({"number", "string", "name", "step", ")", "]", "regex", "print", "printf"})
_ENDS: Final = frozenset({"", "\n", ";", "}"})


class _AwkReader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        # The kind of the last token, or itself where it is a sign; and itself.
        self.before = self.last = ""
        self.opened: list[str] = []
        self.printing: int | None = None
        self.target = False
        self.called: set[str] = set()
        self.defined: set[str] = set()
        self.reads: dict[str, None] = {}
        self.writes: dict[str, None] = {}

    def read(self) -> CodeEffects:
        while self.at < len(self.text):
            if self.text[self.at] == "/":
                self._slash()
                continue
            token = _TOKEN.match(self.text, self.at)
            if token is None:
                raise UnreadCodeError
            self.at = token.end()
            kind = token.lastgroup
            if kind in ("blank", "comment"):
                continue
            if self.target:
                self._target(kind, token[0])
            elif kind == "name":
                self._name(token[0])
            elif kind in ("number", "string", "step"):
                self._token(str(kind), token[0])
            else:
                self._sign(token[0])
        if self.opened or self.target or not self.called <= self.defined:
            raise UnreadCodeError
        return CodeEffects(tuple(self.reads), tuple(self.writes))

    def _token(self, kind: str, text: str) -> None:
        self.before, self.last = kind, text

    def _slash(self) -> None:
        if self.target:
            raise UnreadCodeError
        if self.before in _BEFORE_REGEX or self.last in _BEFORE_REGEX:
            found, kind = _REGEX.match(self.text, self.at), "regex"
        elif self.before in _BEFORE_DIVISION:
            found, kind = _DIVIDED.match(self.text, self.at), "/"
        else:
            raise UnreadCodeError
        if found is None:
            raise UnreadCodeError
        self.at = found.end()
        self._token(kind, found[0])

    def _name(self, name: str) -> None:
        if name in _UNREAD:
            raise UnreadCodeError
        if name == "ENVIRON":
            self.reads[ENVIRONMENT] = None
        if name in ("print", "printf"):
            self.printing = len(self.opened)
        if self.last in ("function", "func"):
            self.defined.add(name)
        following = self.text[self.at : self.at + 1]
        if name in _KEYWORDS:
            self._token(name, name)
        elif name in _FUNCTIONS:
            # `length` alone may be followed by a regex or by a division.
            self._token("name" if following == "(" else "function", name)
        else:
            if following == "(":
                self.called.add(name)
            self._token("name", name)

    def _sign(self, sign: str) -> None:
        if sign in ("(", "[", "{"):
            self.opened.append(f"{sign}{self.last}" if sign == "(" and self.last in _CONDITIONS else sign)
        elif sign in (")", "]", "}"):
            self._close(sign)
            return
        elif sign in (">", ">>") and self.printing is not None:
            if len(self.opened) == self.printing:
                self.target = True
            elif sign == ">>" or "[" in self.opened[self.printing :]:
                raise UnreadCodeError
        elif sign == ">>":
            raise UnreadCodeError
        elif sign in (";", "\n"):
            self._ends(sign)
        self._token(sign, sign)

    def _close(self, sign: str) -> None:
        opened = self.opened.pop() if self.opened else ""
        if {"(": ")", "[": "]", "{": "}"}.get(opened[:1]) != sign:
            raise UnreadCodeError
        if sign == "}":
            self._ends(sign)
        elif self.printing is not None and len(self.opened) < self.printing:
            raise UnreadCodeError
        # A statement may follow a condition, and begin with a regex.
        self._token("condition" if len(opened) > 1 else sign, sign)

    def _ends(self, sign: str) -> None:
        if self.printing is None:
            return
        inner = len(self.opened) > self.printing
        if inner or (sign == "\n" and self.before not in _ENDS_LINE):
            raise UnreadCodeError
        self.printing = None

    def _target(self, kind: str | None, text: str) -> None:
        # What is written to: a plain text, and nothing behind it.
        rest = self.text[self.at :].lstrip(" \t")
        name = text[1:-1]
        if kind != "string" or "\\" in name or rest[:1] not in _ENDS:
            raise UnreadCodeError
        self.target = False
        self._token("string", text)
        if name in QUIET:
            return
        if not is_plain_path(name):
            raise UnreadCodeError
        self.writes[name] = None


def read_awk(text: str) -> CodeEffects | None:
    """The files that a program text of `awk` names, and whether it reads the environment; None where it is not of a
    known form, or may run something."""
    try:
        return _AwkReader(text).read()
    except UnreadCodeError:
        return None
