"""Programs that run their own arguments, and what each of them runs."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from rebuno.model.dataclass import dataclass
from rebuno.policy.facets.shell.builtins import SET_OPTIONS
from rebuno.policy.facets.shell.find import FOUND, Loops, ends_command, find_loops, found_word, piped_loops
from rebuno.policy.facets.shell.variables import given
from rebuno.policy.facets.shell.words import ANYTHING, Word, WordKind

Words = tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class WrappedCommands:
    """What a wrapper runs.

    `commands` are lists of words (never empty), `texts` are shell texts. `hidden` tells that it may run something that
    is not written there, `assigned` names are set for what it runs. `moved` tells that it runs in a directory that is
    not known, `directory` in which one, and `homeless` that its home directory is not known. `script` tells that all
    that it hides is what stands in a file that its words name. `loops` are variables that stand for
    known words, a list for each of the `commands` where there are any.
    """

    commands: tuple[tuple[Word, ...], ...] = ()
    texts: tuple[str, ...] = ()
    hidden: bool = False
    assigned: tuple[str, ...] = ()
    moved: bool = False
    directory: str | None = None
    homeless: bool = False
    script: bool = False
    loops: tuple[Loops, ...] = ()


NOTHING: Final = WrappedCommands()
HIDDEN: Final = WrappedCommands(hidden=True)


@dataclass(frozen=True, slots=True)
class Options:
    """The options that a program takes before its operands: letters and long names, without (`flags`) and with
    (`valued`) a value of their own. Those in `ends` print something and run nothing; the value of those in `moves` is
    the directory that the command runs in, which is not known after those in `leaves`; after those in `clears` its home
    directory is not known. Any other option is unknown."""

    flags: str = ""
    valued: str = ""
    long_flags: frozenset[str] = frozenset()
    long_valued: frozenset[str] = frozenset()
    ends: frozenset[str] = frozenset({"--help", "--version"})
    moves: frozenset[str] = frozenset()
    leaves: frozenset[str] = frozenset()
    clears: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options as they stand: where the operands begin, and the options met, each with its value or None."""

    at: int
    found: tuple[tuple[str, str | None], ...]

    def has(self, names: frozenset[str]) -> bool:
        """Whether one of these options is there."""
        return any(name in names for name, _ in self.found)


def read_options(words: Words, options: Options, at: int = 1) -> ReadOptions | None:
    """The options from `at` on; None where one is unknown or a word could be one."""
    found: list[tuple[str, str | None]] = []
    while at < len(words):
        word = words[at]
        text = word.start
        if not word.known:
            if word.home and word.single:
                # A path in the home directory is no option.
                break
            if not text or text.startswith("-") or not word.single:
                return None
            break
        if not text.startswith("-") or text == "-":
            break
        at += 1
        if text == "--":
            break
        wanting = ""
        if text.startswith("--"):
            name, equals, value = text.partition("=")
            if name[2:] in options.long_valued:
                wanting = "" if equals else name
                found.append((name, value if equals else None))
            elif name[2:] in options.long_flags or name in options.ends:
                found.append((name, value if equals else None))
            else:
                return None
        else:
            for position, letter in enumerate(text[1:], 2):
                name = "-" + letter
                if letter in options.valued:
                    value = text[position:]
                    wanting = "" if value else name
                    found.append((name, value or None))
                    break
                if letter not in options.flags and name not in options.ends:
                    return None
                found.append((name, None))
        if wanting:
            if at == len(words) or not words[at].single:
                return None
            found[-1] = (wanting, words[at].start if words[at].known else None)
            at += 1
    return ReadOptions(at, tuple(found))


_ASSIGNMENT: Final = re.compile(r"([^=]*)=")


Wrapper = Callable[[Words], WrappedCommands]


def _plain(options: Options, *, operands: int = 0, assigns: bool = False, homeless: bool = False) -> Wrapper:
    # A wrapper whose command follows its options, `operands` words of its own and, where it `assigns`, `NAME=value`s.
    # `homeless`: what it runs has another home directory.
    def found(words: Words) -> WrappedCommands:
        read = read_options(words, options)
        if read is None:
            return HIDDEN
        if read.has(options.ends):
            return NOTHING
        at = read.at
        assigned: list[str] = []
        while assigns and at < len(words):
            name = _ASSIGNMENT.match(words[at].start)
            if name is None:
                break
            if not (name[1] and words[at].single):
                return HIDDEN
            word = words[at]
            assigned.extend(given(name[1], word.start.partition("=")[2] if word.known else None))
            at += 1
        if not all(word.single for word in words[at : at + operands]):
            return HIDDEN
        rest = tuple(words[at + operands :])
        if not rest:
            return NOTHING
        moved, directory = _directory(read, options)
        cleared = homeless or read.has(options.clears)
        return WrappedCommands((rest,), (), False, tuple(assigned), moved, directory, cleared)

    return found


def _directory(read: ReadOptions, options: Options) -> tuple[bool, str | None]:
    # Whether the directory is another one that is not known, and which it is where it is known.
    values = [value for name, value in read.found if name in options.moves]
    if not values:
        return read.has(options.leaves), None
    known = values[0] if len(values) == 1 and not read.has(options.leaves) else None
    # `sudo` reads a `~`, `env` does not.
    plain = known if known is not None and known[:1] != "~" else None
    return plain is None, plain


def _joined(words: Words) -> WrappedCommands:
    # A shell reads the words again, with blanks between them.
    if not all(word.known for word in words):
        return HIDDEN
    return WrappedCommands(texts=(" ".join(word.start for word in words),))


# Not `-O`, `-P`, `-k` and the like, which change how words and directories are read.
_SHELL: Final = Options(
    flags="abefhilmnprtuvxBCDEHcs",
    valued="o",
    long_flags=frozenset({"login", "noprofile", "norc", "posix", "restricted", "verbose"}),
)


def _shell(words: Words) -> WrappedCommands:
    read = read_options(words, _SHELL)
    if read is None:
        return HIDDEN
    if read.has(_SHELL.ends):
        return NOTHING
    if not all(value in SET_OPTIONS for name, value in read.found if name == "-o"):
        return HIDDEN
    at = read.at
    # A lone `-` ends the options as `--` does; where both stand shells differ.
    if words[at : at + 1] == (Word("-"),) and words[at - 1] != Word("--"):
        at += 1
    # Without `-c` it reads a script or its input, which are not written here; `-i` and `-l` run other files first.
    if not read.has(frozenset({"-c"})):
        return HIDDEN if read.has(frozenset({"-s"})) or at == len(words) else replace(HIDDEN, script=True)
    if at == len(words) or not words[at].known:
        return HIDDEN
    text = words[at].start
    # What begins with `+` is one more option.
    return HIDDEN if text[:1] in ("-", "+") else WrappedCommands(texts=(text,))


# What zsh reads in its own way: `=name` is the path of a program, `*(e:code:)` runs code.
_ZSH: Final = re.compile(r"(?:^|[\s;&|(!{])=|[*?\])]\(")


def _zsh(words: Words) -> WrappedCommands:
    found = _shell(words)
    return HIDDEN if any(_ZSH.search(text) for text in found.texts) else found


def _env(words: Words) -> WrappedCommands:
    # A lone `-` behind the options means `-i`.
    read = read_options(words, _ENV_OPTIONS)
    if read is not None and words[read.at : read.at + 1] == (Word("-"),):
        return replace(_ENV((*words[: read.at], *words[read.at + 1 :])), homeless=True)
    return _ENV(words)


_XARGS: Final = Options(
    flags="0rtxpo",
    valued="aEILnPsd",
    long_flags=frozenset(
        {"null", "no-run-if-empty", "verbose", "exit", "interactive", "open-tty", "replace", "eof", "max-lines"}
    ),
    long_valued=frozenset({"arg-file", "delimiter", "max-args", "max-procs", "max-chars"}),
)


_FILLED: Final = frozenset({"-0", "--null"})
_NOT_FILLED: Final = frozenset({"-a", "--arg-file", "-d", "--delimiter"})
_ONLY_FILLED: Final = frozenset({"-r", "--no-run-if-empty"})


def _xargs(words: Words, fed: Words = ()) -> WrappedCommands:
    read = read_options(words, _XARGS)
    if read is None:
        return HIDDEN
    if read.has(_XARGS.ends):
        return NOTHING
    command = tuple(words[read.at :]) or (Word("echo"),)
    marks = [
        value or ("{}" if name == "--replace" else None) for name, value in read.found if name in ("-I", "--replace")
    ]
    loops = piped_loops(fed) if fed and read.has(_FILLED) and not read.has(_NOT_FILLED) else None
    if loops is not None and marks in ([], [FOUND]):
        return _filled(command, loops, marked=bool(marks), only=read.has(_ONLY_FILLED))
    if not marks:
        return WrappedCommands(((*command, ANYTHING),))
    mark = marks[-1]
    return HIDDEN if mark is None else WrappedCommands((_replaced(command, mark),))


def _filled(command: Words, loops: Loops, *, marked: bool, only: bool) -> WrappedCommands:
    # Names with a NUL behind each are words as they are. Without any the command is run once, unless `only` with some.
    if marked:
        return WrappedCommands((tuple(found_word(word, single=True) for word in command),), loops=(loops,))
    names = Word("", kind=WordKind.OPEN, single=False, raw=FOUND)
    filled = (*command, names)
    return WrappedCommands((filled,) if only else (filled, command), loops=(loops,) * (1 if only else 2))


def _replaced(words: Words, mark: str) -> tuple[Word, ...]:
    # Something unknown stands where the mark does.
    return tuple(Word("", kind=WordKind.OPEN) if word.known and mark in word.start else word for word in words)


_FIND_RUNS: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


def _find(words: Words) -> WrappedCommands:
    commands: list[tuple[Word, ...]] = []
    hidden = moved = False
    at = 1
    while at < len(words):
        word = words[at]
        at += 1
        if word.known and word.start in _FIND_RUNS:
            start = at
            while at < len(words) and not ends_command(words, at):
                at += 1
            if at == start or at == len(words):
                hidden = True
            else:
                single = words[at] == Word(";")
                commands.append(tuple(found_word(each, single=single) for each in words[start:at]))
                hidden = hidden or not all(each.single for each in words[start:at])
            moved = moved or word.start in ("-execdir", "-okdir")
            at += 1
        elif (word.known and word.start in (";", "+")) or _may_run(word):
            # An unknown word before the sign may be `-exec`.
            hidden = True
    loops = find_loops(words) if commands and not (hidden or moved) else None
    if loops is None or len(loops) != len(commands):
        return WrappedCommands(tuple(commands), hidden=hidden, moved=moved)
    return WrappedCommands(tuple(commands), loops=loops)


def _may_run(word: Word) -> bool:
    return not (word.single or word.start) and any(map(word.may_be, _FIND_RUNS))


_WATCH: Final = Options(
    flags="bcdegtwxr",
    valued="nq",
    long_flags=frozenset(
        {"beep", "color", "differences", "errexit", "chgexit", "no-title", "no-wrap", "exec", "precise"}
    ),
    long_valued=frozenset({"interval"}),
    ends=frozenset({"--help", "--version", "-h", "-v"}),
)


def _watch(words: Words) -> WrappedCommands:
    read = read_options(words, _WATCH)
    if read is None:
        return HIDDEN
    rest = tuple(words[read.at :])
    if read.has(_WATCH.ends) or not rest:
        return NOTHING
    return WrappedCommands((rest,)) if read.has(frozenset({"-x", "--exec"})) else _joined(rest)


_PARALLEL: Final = Options(
    flags="0kmtuX", valued="jnNLP", long_flags=frozenset({"bar", "keep-order", "null", "verbose"})
)
_PLACEHOLDER: Final = re.compile(r"\{[^{}\s=]*\}")


def _parallel(words: Words) -> WrappedCommands:
    read = read_options(words, _PARALLEL)
    if read is None:
        return HIDDEN
    if read.has(_PARALLEL.ends):
        return NOTHING
    end = read.at
    while end < len(words) and not (words[end].known and words[end].start.startswith(":::")):
        end += 1
    template = words[read.at : end]
    if not template or not all(word.known for word in template) or any("{=" in word.start for word in template):
        return HIDDEN
    # Its arguments stand where a placeholder does, else behind.
    text = " ".join(word.start for word in template)
    filled = _PLACEHOLDER.sub("$_", text)
    return WrappedCommands(texts=(filled if filled != text else f"{text} $_",))


_SSH: Final = Options(flags="46AaCfGgKkMNnqsTtvXxYy", valued="BbcDeIiJLlmpQRWwo", ends=frozenset({"-V"}))
_SSH_HARMLESS: Final = re.compile(
    r"(?:BatchMode|ConnectTimeout|StrictHostKeyChecking|UserKnownHostsFile|LogLevel|ServerAlive\w+|IdentitiesOnly)=.*"
)


def _ssh(words: Words) -> WrappedCommands:
    read = read_options(words, _SSH)
    if read is None or read.at == len(words):
        return HIDDEN
    # Options may follow the host too.
    more = read_options(words, _SSH, read.at + 1)
    if more is None or more.at == len(words):
        return HIDDEN
    for name, value in (*read.found, *more.found):
        if name == "-o" and not (value and _SSH_HARMLESS.fullmatch(value)):
            return HIDDEN
    found = _joined(words[more.at :])
    return WrappedCommands(texts=found.texts, hidden=found.hidden, moved=True, homeless=True)


def _time(words: Words) -> WrappedCommands:
    # The keyword stands before assignments, and a quoted one is a program; a word does not tell how it was quoted.
    found = _plain(Options(flags="p"))(words)
    return HIDDEN if any(_ASSIGNMENT.match(command[0].start) for command in found.commands) else found


def _busybox(words: Words) -> WrappedCommands:
    if len(words) == 1:
        return NOTHING
    return HIDDEN if words[1].start.startswith("-") else WrappedCommands((tuple(words[1:]),))


def _jobs(words: Words) -> WrappedCommands:
    # `jobs -x` runs a command, in the shell itself.
    return NOTHING if all(word.known and "x" not in word.start for word in words[1:]) else HIDDEN


def _hides(words: Words) -> WrappedCommands:
    return HIDDEN


_ENV_OPTIONS: Final = Options(
    flags="i0v",
    valued="uC",
    long_flags=frozenset({"ignore-environment", "null", "debug"}),
    long_valued=frozenset({"unset", "chdir"}),
    moves=frozenset({"-C", "--chdir"}),
    clears=frozenset({"-i", "--ignore-environment", "-u", "--unset"}),
)
_ENV: Final = _plain(_ENV_OPTIONS, assigns=True)
_SUDO: Final = Options(
    flags="AbEHknPS",
    valued="CDgpRrTtuU",
    long_flags=frozenset({"preserve-env", "set-home", "non-interactive", "background", "stdin", "askpass"}),
    long_valued=frozenset({"user", "group", "chdir", "prompt", "chroot", "role", "type", "command-timeout"}),
    ends=frozenset({"--help", "--version", "-V", "-K", "-v", "-l", "--list", "--validate"}),
    moves=frozenset({"-D", "--chdir"}),
    leaves=frozenset({"-R", "--chroot"}),
)
_TIMEOUT: Final = Options(
    flags="fpv",
    valued="ks",
    long_flags=frozenset({"foreground", "preserve-status", "verbose"}),
    long_valued=frozenset({"kill-after", "signal"}),
)

_RUNNERS: Final = (
    "su", "runuser", "pkexec", "chroot", "unshare", "nsenter", "setpriv", "ionice", "chrt", "taskset", "numactl",
    "flock", "strace", "ltrace", "script", "systemd-run", "fakeroot", "firejail", "bwrap", "unbuffer", "entr",
    "tmux", "screen", "at", "batch", "fish", "csh", "tcsh", "pwsh", "toybox",
)  # fmt: skip

WRAPPERS: Final[dict[str, Wrapper]] = {
    "sudo": _plain(_SUDO, assigns=True, homeless=True),
    "doas": _plain(Options(flags="n", valued="Cau", ends=frozenset({"-L"})), homeless=True),
    "env": _env,
    "nice": _plain(Options(flags="0123456789", valued="n", long_valued=frozenset({"adjustment"}))),
    "nohup": _plain(Options()),
    "timeout": _plain(_TIMEOUT, operands=1),
    "time": _time,
    "command": _plain(Options(flags="p", ends=frozenset({"-v", "-V"}))),
    "exec": _plain(Options(flags="cl", valued="a", clears=frozenset({"-c"}))),
    "builtin": _plain(Options()),
    "xargs": _xargs,
    "find": _find,
    "setsid": _plain(Options(flags="cfw", long_flags=frozenset({"ctty", "fork", "wait"}))),
    "stdbuf": _plain(Options(valued="ioe", long_valued=frozenset({"input", "output", "error"}))),
    "watch": _watch,
    "parallel": _parallel,
    "busybox": _busybox,
    "ssh": _ssh,
    "zsh": _zsh,
    "jobs": _jobs,
    **dict.fromkeys(("sh", "bash", "dash", "ash", "ksh", "rbash"), _shell),
    # What these run is not looked for.
    **dict.fromkeys(_RUNNERS, _hides),
}


def inside(name: str, words: Words, fed: Words = ()) -> WrappedCommands:
    """What the program `name` (its base name) runs when it is given `words` (its own name first). `fed` are the words
    of the command whose output is its input, if that is known."""
    if name == "xargs":
        return _xargs(words, fed)
    wrapper = WRAPPERS.get(name)
    return NOTHING if wrapper is None else wrapper(words)
