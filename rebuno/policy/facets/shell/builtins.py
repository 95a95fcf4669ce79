"""Builtins of bash that change how the rest of a text is to be read, and what each of them leaves in doubt."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rebuno.policy.facets.shell.variables import EXPORTED, given
from rebuno.policy.facets.shell.words import UncertainShellError, Word

# They run text, or change what a name stands for.
_RUN_TEXT: Final = frozenset(
    {
        "eval", "source", ".", "alias", "unalias", "trap", "hash", "bind", "complete", "compgen", "compopt", "enable",
        "fc", "history", "shopt", "coproc", "autoload", "zmodload", "function",
    }
)  # fmt: skip
_DECLARE: Final = frozenset({"declare", "typeset", "local", "export", "readonly"})
_SET_NAMES: Final = frozenset({"read", "mapfile", "readarray", "getopts", "unset"})
_AFTER_TIME: Final = frozenset(
    {"!", "{", "[[", "if", "while", "until", "for", "case", "select", "function", "coproc", "time"}
)
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SET_LETTERS: Final = re.compile(r"[-+][abCefhmnpuvxET]*")
SET_OPTIONS: Final = frozenset(
    {"pipefail", "errexit", "nounset", "xtrace", "noclobber", "noglob", "verbose", "errtrace", "allexport"}
)
_SUM: Final = re.compile(r"[0-9\s+\-*/%<>=!&|^~?:,()]*")
_COMPARISONS: Final = frozenset(
    {"=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"}
)
_STEERING: Final = re.compile(
    r"PATH|BASH_ENV|ENV|IFS|PS[0-4]|PROMPT_COMMAND|SHELLOPTS|BASHOPTS|CDPATH|LD_\w*|DYLD_\w*"
    r"|\w*PAGER|\w*EDITOR|VISUAL|BROWSER|\w*COMMAND|GIT_SSH|SHELL"
)


@dataclass(frozen=True, slots=True)
class BuiltinEffect:
    """What a command does to the reading of the rest.

    `hidden`: it may run code that is not written there. `assigns`: it gives values to variables.
    """

    hidden: bool = False
    assigns: bool = False


NO_EFFECT: Final = BuiltinEffect()


def steers(name: str) -> bool:
    """Whether a variable of this name says which program or code other programs run."""
    return _STEERING.fullmatch(name) is not None


def may_assign(name: str, words: Sequence[Word]) -> bool:
    """Whether a builtin that gives values to variables, with these words, may give one to the variable `name`."""
    return any(name in word.start.partition("=")[0] or not (word.known or "=" in word.start) for word in words[1:])


def exports_all(words: Sequence[Word]) -> bool:
    """Whether `set` makes the shell export every variable that is given a value from here on."""
    return words[0].start == "set" and any(
        word.start == "allexport" or re.match("-[A-Za-z]*a", word.start) is not None for word in words[1:]
    )


def assigned_names(words: Sequence[Word]) -> list[str]:
    """The names that a builtin that gives values to variables may give one to, some more than it does; the empty text
    for one that is not known. Those that it exports stand behind `export `."""
    name = words[0].start.rpartition("/")[2].casefold()
    options = [word for word in words[1:] if word.start[:1] == "-" or not (word.start or word.known)]
    exports = name == "export" or (name in _DECLARE and any("x" in word.start or not word.known for word in options))
    found: list[str] = []
    for word in words[1:]:
        named = _NAME.match(word.start) if word.known or "=" in word.start else None
        if named is not None:
            value = word.start.partition("=")[2] if word.known else None
            found.extend(given(named[0], value if name in _DECLARE else None))
        elif not word.known:
            found.append("")
    return [f"{EXPORTED}{one}" if exports else one for one in found]


def effect(name: str, words: Sequence[Word]) -> BuiltinEffect:
    """What the command `name` (its base name), with these words, does to the reading of the rest.

    Raises:
        UncertainShellError: it runs text as code, or changes what names stand for.
    """
    if name in _RUN_TEXT:
        raise UncertainShellError
    rest = words[1:]
    if name == "time" and any(word.known and word.start in _AFTER_TIME for word in rest):
        # The keyword takes whole pipelines and loops, of which the parser has seen the first words only.
        raise UncertainShellError
    if name in _DECLARE:
        return BuiltinEffect(hidden=not all(_declares_plainly(word) for word in rest), assigns=True)
    if name in _SET_NAMES:
        return BuiltinEffect(hidden=not all(_names_plainly(word) for word in rest), assigns=True)
    if name == "wait" and any(not word.known or word.start.startswith("-") for word in rest):
        return BuiltinEffect(hidden=not all(_names_plainly(word) for word in rest), assigns=True)
    if name == "printf":
        sets = bool(rest) and (not rest[0].known or rest[0].start.startswith("-v"))
        return BuiltinEffect(hidden=sets and not all(_names_plainly(word) for word in rest[:2]), assigns=sets)
    if name == "let":
        return BuiltinEffect(hidden=not all(word.known and _SUM.fullmatch(word.start) for word in rest), assigns=True)
    if name == "set":
        return BuiltinEffect(hidden=not _sets_plainly(rest), assigns=False)
    if name in ("test", "["):
        return BuiltinEffect(hidden=not _tests_plainly(rest[:-1] if name == "[" else rest))
    return NO_EFFECT


def _declares_plainly(word: Word) -> bool:
    # An integer, an array or a name for another variable evaluates what it is given, as does an index.
    text = word.start
    if text.startswith(("-", "+")):
        return word.known and not set(text[1:]) - set("grxplufF")
    name, equals, value = text.partition("=")
    return (word.known or bool(equals)) and "[" not in name and not value.startswith("(") and not steers(name)


def _names_plainly(word: Word) -> bool:
    # `a[$(…)]` as the name of a variable runs what is in it; `-C` names code to call.
    text = word.start
    return word.known and "[" not in text and not steers(text) and not (text.startswith("-") and "C" in text)


def _sets_plainly(words: Sequence[Word]) -> bool:
    wanting = False
    for word in words:
        if not word.known:
            return False
        if wanting:
            if word.start not in SET_OPTIONS:
                return False
            wanting = False
        elif word.start == "--":
            return True
        elif word.start[:1] in ("-", "+"):
            wanting = word.start.endswith("o")
            if not _SET_LETTERS.fullmatch(word.start.removesuffix("o")):
                return False
        else:
            return True
    return True


def _tests_plainly(words: Sequence[Word]) -> bool:
    # `-v` and `-R` evaluate the index in the name that follows, and an unknown word may be one of them.
    if any(word.known and word.start in ("-v", "-R") for word in words):
        return all(_names_plainly(word) for word in words)
    if all(word.known for word in words):
        return True
    if words[0] == Word("!"):
        words = words[1:]
    if not all(word.single for word in words) or len(words) > 3:
        return False
    if len(words) == 3:
        return words[1].known and words[1].start in _COMPARISONS
    return len(words) < 2 or words[0].known
