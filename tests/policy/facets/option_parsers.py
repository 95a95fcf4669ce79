"""How real parsers of options read the words of a command: those of the standard library, and two of Go's.

A parser is given which options take a value, and gives the options that it met, each by all its names and with its
value, in order. It raises `RefusedError` for words that it does not take.
"""

import argparse
import getopt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn


class RefusedError(Exception):
    """The program ends with an error."""


@dataclass(frozen=True)
class Option:
    """An option of a program: its names, as `-n --namespace`, and whether it takes a value."""

    names: tuple[str, ...]
    valued: bool


Program = tuple[Option, ...]
Met = list[tuple[Option, str | None]]
Parser = Callable[[Program, Sequence[str]], Met]


def _named(program: Program, name: str) -> Option:
    for option in program:
        if name in option.names:
            return option
    raise RefusedError(name)


def _getopt(parse: Callable[..., tuple[list[tuple[str, str]], list[str]]]) -> Parser:
    def read(program: Program, words: Sequence[str]) -> Met:
        short, long = "", []
        for option in program:
            for name in option.names:
                if name.startswith("--"):
                    long.append(name[2:] + "=" * option.valued)
                else:
                    short += name[1] + ":" * option.valued
        try:
            found, _ = parse(list(words), short, long)
        except getopt.GetoptError as error:
            raise RefusedError(str(error)) from None
        return [(one, value if one.valued else None) for name, value in found for one in [_named(program, name)]]

    return read


def _argparse(program: Program, words: Sequence[str]) -> Met:
    met: Met = []

    class Record(argparse.Action):
        """Keeps what was met."""

        def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
            met.append((self.const, values if isinstance(values, str) else None))

    class Quiet(argparse.ArgumentParser):
        """A parser that prints nothing."""

        def error(self, message: str) -> NoReturn:
            raise RefusedError(message)

    parser = Quiet(add_help=False)
    for at, option in enumerate(program):
        parser.add_argument(
            *option.names, action=Record, nargs=None if option.valued else 0, const=option, dest=f"o{at}"
        )
    # An old version of argparse takes `-x=n` for `-x -n`, if `-x` takes no value.
    if any(word[:1] == "-" and word[:2] != "--" and "=" in word for word in words):
        raise RefusedError("=")
    try:
        _, rest = parser.parse_known_args(list(words))
        ended = list(words[words.index("--") :]) if "--" in words else []
        if any(word.startswith("-") and word != "-" and rest.count(word) > ended.count(word) for word in rest):
            raise RefusedError("unknown")
    except argparse.ArgumentError as error:
        raise RefusedError(str(error)) from None
    return met


def _pflag(program: Program, words: Sequence[str]) -> Met:
    # kubectl, helm, gh, docker: options anywhere, in full, `-n=dev` as well as `-ndev`.
    met: Met = []
    left = list(words)
    while left:
        word = left.pop(0)
        if word == "--":
            break
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            option = _named(program, name)
            met.append((option, value if equals else _value(option, left)))
        elif word.startswith("-") and word != "-":
            letters = word[1:]
            while letters:
                option, letters = _named(program, f"-{letters[0]}"), letters[1:]
                if letters.startswith("="):
                    met.append((option, letters[1:]))
                    letters = ""
                elif option.valued and letters:
                    met.append((option, letters))
                    letters = ""
                else:
                    met.append((option, _value(option, left)))
    return met


def _value(option: Option, left: list[str]) -> str | None:
    if not option.valued:
        return None
    if not left:
        raise RefusedError("no value")
    return left.pop(0)


def _go_flag(program: Program, words: Sequence[str]) -> Met:
    # terraform and other programs in Go: `-name` is `--name`, and the first operand ends the options.
    met: Met = []
    left = list(words)
    while left:
        word = left.pop(0)
        if not word.startswith("-") or word in ("-", "--"):
            break
        name, equals, value = word.lstrip("-").partition("=")
        options = [one for one in program if name in [each.lstrip("-") for each in one.names]]
        if not options or word.startswith("---"):
            raise RefusedError(word)
        met.append((options[0], value if equals else _value(options[0], left)))
    return met


PARSERS: Final[dict[str, Parser]] = {
    "gnu": _getopt(getopt.gnu_getopt),
    "posix": _getopt(getopt.getopt),
    "argparse": _argparse,
    "pflag": _pflag,
    "go": _go_flag,
}
# Those that look for options behind the first operand, too.
THROUGHOUT: Final = ("gnu", "argparse", "pflag")
