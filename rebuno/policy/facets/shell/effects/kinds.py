"""The kinds of words in a table: what a word of each kind makes a command do."""

import re
from collections.abc import Callable
from dataclasses import field, replace
from enum import StrEnum
from typing import Final

from rebuno.model.dataclass import dataclass
from rebuno.policy.facets.path.placed import Places
from rebuno.policy.facets.shell.effects import code
from rebuno.policy.facets.shell.effects.arguments import Argument
from rebuno.policy.facets.shell.effects.expansion import HOME, PIPE, WordValue
from rebuno.policy.facets.shell.effects.table import CHOICE, PACKED, EffectRule, GlobChoice


class EffectKind(StrEnum):
    """What an effect is done to."""

    READ = "read_path"
    WRITTEN = "written_path"
    REMOVED = "removed_path"
    CONTACTED = "contacted_host"
    EXECUTED = "executed"


# The facets that look effects up in tables.
EFFECT_FACETS: Final = frozenset({*(kind.value for kind in EffectKind), "unread"})


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect. `text` is a path as written (`HOME` begins one in the home directory), a host, a URL or the name of a
    program, and `places` the directories from which a path is read.

    With `below` it stands for all that lies below the folder too; then only for names that fit one of the globs `only`
    if there are any, and if it is `visible` for no name that begins with a dot. With `outside` it counts only if it is
    not in `workdir`; with `glob` it is names in the folder and not the folder itself. `project` stands for the project
    in which the command stands. `why` names the table and the word or option that gave it.
    """

    kind: EffectKind
    text: str
    places: Places
    why: str
    below: bool = False
    only: tuple[str, ...] = ()
    visible: bool = False
    outside: bool = False
    project: bool = False
    url: bool = False
    name: bool = False
    glob: bool = False


@dataclass(slots=True)
class Found:
    """What has been found of a command so far."""

    home: bool
    effects: list[Effect] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    table: str = ""
    read_only: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    suffix: str = ""

    def begin(self, table: str, read_only: tuple[str, ...], only: tuple[str, ...], suffix: str) -> None:
        """What follows is said by this table. Folders are read for names that fit one of `read_only`, or else read and
        written for names that fit one of `only`. Beside each written operand one with the `suffix` is written too."""
        self.table, self.read_only, self.only, self.suffix = table, read_only, only, suffix

    def add(
        self,
        kind: EffectKind,
        text: str,
        places: Places,
        why: str,
        *,
        below: bool = False,
        visible: bool = False,
        outside: bool = False,
        project: bool = False,
        url: bool = False,
        name: bool = False,
        names: str = "",
        only: tuple[str, ...] = (),
    ) -> None:
        """Adds an effect. `names` is a glob for names directly in the folder, `only` are globs for those below it."""
        if below and not only and kind in (EffectKind.READ, EffectKind.WRITTEN):
            only = (self.read_only if kind is EffectKind.READ else ()) or self.only
        if names:
            # The shell leaves names out that begin with a dot, unless the glob does.
            only, visible = () if names == "*" else (names,), names[:1] != "."
        effect = Effect(kind, text, places, why, below, only, visible, outside, project, url, name, bool(names))
        self.effects.append(effect)

    def why(self, option: str, raw: str) -> str:
        """How a word came to have its effect."""
        return f"{self.table}: {option or raw}"


_PATHS: Final = {
    "path": (EffectKind.READ, False),
    "deep": (EffectKind.READ, True),
    "visible": (EffectKind.READ, True),
    "new": (EffectKind.WRITTEN, False),
    "new-deep": (EffectKind.WRITTEN, True),
    "gone": (EffectKind.REMOVED, False),
    "gone-deep": (EffectKind.REMOVED, True),
    "run": (EffectKind.EXECUTED, False),
    "run-deep": (EffectKind.EXECUTED, True),
}
_VERBS: Final = {
    "read": (EffectKind.READ, False),
    "read-deep": (EffectKind.READ, True),
    "write": (EffectKind.WRITTEN, False),
    "write-deep": (EffectKind.WRITTEN, True),
    "remove": (EffectKind.REMOVED, False),
    "remove-deep": (EffectKind.REMOVED, True),
    "run": (EffectKind.EXECUTED, False),
    "run-deep": (EffectKind.EXECUTED, True),
}
_QUIET: Final = frozenset({"-", "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/zero", PIPE})
_INPUTS: Final = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
_SHELL_SUFFIXES: Final = (".sh", ".bash", ".zsh", ".ksh")
_REMOTE_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_HOST_PATH: Final = re.compile(r"(?:[^@/:\s]+@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):(?P<path>.*)", re.DOTALL)
_HOST: Final = re.compile(r"(?:[^@/:\s]+@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::[0-9]+)?")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_REVISION: Final = re.compile(r"[A-Za-z0-9_./@{}~^+=#,-]+")


def _path(kind: str, argument: Argument, found: Found) -> None:
    effect, below = _PATHS[kind]
    for value in argument.values or ():
        if value.text in _QUIET and not value.below:
            continue
        found.add(
            effect,
            value.text,
            argument.places,
            found.why(argument.option, argument.raw),
            below=below or value.below,
            visible=kind == "visible",
            names="" if below else value.names,
            only=() if below else value.only,
        )

        if kind == "new" and found.suffix and not argument.option:
            # The old file is kept beside it.
            why = found.why(argument.option, argument.raw)
            text = value.text if value.below else value.text + found.suffix
            found.add(effect, text, argument.places, why, below=value.below)


def _beside(kind: str, argument: Argument, found: Found) -> None:
    # The name of another file in the same folder: with a suffix, or without it.
    kind, _, suffix = kind.partition(".")
    for value in argument.values or ():
        why = found.why(argument.option, argument.raw)
        name = f"{value.text}.{suffix}" if kind == "new" else _unpacked(value.text, suffix)
        if value.text in _QUIET and not value.below:
            continue
        if kind == "packed":
            if name is None and not value.below:
                # There the program reads another file, with a suffix, or makes up a name.
                found.unread.append(argument.raw)
        elif value.below:
            found.add(EffectKind.WRITTEN, value.text, argument.places, why, below=True)
        elif name is None:
            found.unread.append(argument.raw)
        else:
            found.add(EffectKind.WRITTEN, name, argument.places, why)
    if kind == "packed":
        _path("path", argument, found)


def _unpacked(name: str, suffix: str) -> str | None:
    before, _, here = name.rpartition(".")
    to = PACKED[suffix].get(here)
    return None if to is None or not before or before.endswith("/") else before + to


def _zip(kind: str, argument: Argument, found: Found) -> None:
    # `zip` writes `a.zip` where it is given `a`; `unzip` reads it where there is no `a`, and expands globs itself.
    for value in argument.values or ():
        text, why = value.text, found.why(argument.option, argument.raw)
        glob = re.search(r"[*?\[]", text)
        if value.below or (kind == "path-zip" and glob):
            folder = text if value.below or glob is None else text[: glob.start()].rpartition("/")[0] or "."
            found.add(EffectKind.READ, folder, argument.places, why, below=True)
            if kind == "new-zip":
                found.add(EffectKind.WRITTEN, folder, argument.places, why, below=True)
        elif kind == "new-zip":
            text = text if text in _QUIET or "." in text.rpartition("/")[2] else f"{text}.zip"
            if text not in _QUIET:
                found.add(EffectKind.READ, text, argument.places, why)
                found.add(EffectKind.WRITTEN, text, argument.places, why)
        else:
            found.add(EffectKind.READ, text, argument.places, why)
            if not text.casefold().endswith(".zip"):
                found.add(EffectKind.READ, f"{text}.zip", argument.places, why)
                found.add(EffectKind.READ, f"{text}.ZIP", argument.places, why)


def _local(kind: str, argument: Argument, found: Found) -> None:
    # `host:file` lies on another host.
    for value in argument.values or ():
        if ":" in value.text.partition("/")[0] or (value.below and not value.text):
            found.unread.append(argument.raw)


def _awk_input(kind: str, argument: Argument, found: Found) -> None:
    # A file, or `name=value`, which some take for a file if the name is a word of theirs. Some talk to hosts where a
    # name begins with `/inet`.
    if any(re.match("/+inet", value.text) for value in argument.values or ()):
        found.unread.append(argument.raw)
    _path("path", argument, found)


def _at(kind: str, argument: Argument, found: Found) -> None:
    # `@file` stands for what is in a file.
    if any(value.text[:1] == "@" for value in argument.values or ()):
        _unread(kind, argument, found)


def _suffix(kind: str, argument: Argument, found: Found) -> None:
    # With a `*` or a `/` in it, it is a pattern of names.
    if any(value.below or not re.fullmatch(r"[\w.~-]*", value.text) for value in argument.values or ()):
        found.unread.append(argument.raw)


def _pathspec(kind: str, argument: Argument, found: Found) -> None:
    # A pathspec of git: a file, a folder and all below it, or a glob that looks below its folder too.
    effect, _ = _PATHS[kind.removeprefix("pathspec-")] if kind != "pathspec" else _PATHS["deep"]
    for value in argument.values or ():
        text = value.text
        if text[:2] in (":!", ":^"):
            continue
        if text[:1] == ":":
            found.unread.append(argument.raw)
            continue
        glob = re.search(r"[*?\[]", text)
        if glob:
            text = text[: glob.start()].rpartition("/")[0] or "."
        found.add(effect, text, argument.places, found.why(argument.option, argument.raw), below=True)


_SIGNS: Final = re.compile(r"[*?\[{(\\]")
_LEADS_OUT: Final = re.compile(r"\\|\.\.|[{(,|]\.*[,|)}]")


def _pattern(kind: str, argument: Argument, found: Found) -> None:
    # A path, or a glob that the program expands itself: all below the folder in which the names begin.
    plain = kind.removeprefix("pattern-") if kind != "pattern" else "path"
    effect, below = _PATHS[plain]
    for value in argument.values or ():
        text = value.text
        sign = _SIGNS.search(text)
        if text[:1] == "!" and text[1:2] != "(":
            continue
        start, slash, name = text[: sign.start()].rpartition("/") if sign else (text, "", "")
        if sign and (name.strip(".") != name or _leads_out(text[sign.start() :])):
            found.unread.append(argument.raw)
            continue
        folder = start or slash or "." if sign else text
        why = found.why(argument.option, argument.raw)
        found.add(effect, folder, argument.places, why, below=bool(below or sign or value.below))


def _leads_out(glob: str) -> bool:
    # Whether what follows the first sign of a glob may lead up again, or to the root.
    depth = 0
    for letter in glob:
        depth = max(0, depth + (letter in "{(") - (letter in "})"))
        if letter == "/" and depth:
            return True
    return _LEADS_OUT.search(glob) is not None


def _choice(kind: str, argument: Argument, found: Found) -> None:
    # A kind that the table makes itself: the first glob that the word fits says what it is.
    choices = argument.slot.globs
    for value in argument.values or ():
        chosen: tuple[GlobChoice, str] | None = None
        if not value.below:
            fitting = ((each, each.part(value.text)) for each in choices)
            chosen = next(((each, part) for each, part in fitting if part is not None), None)
        elif choices[-1].glob == "*" and all(each.glob[:1] == "*" or each.glob[:4] == "PATH" for each in choices):
            # The names in the place of a glob may end with anything, but lie where their word begins.
            chosen = (choices[-1], value.text)
        if chosen is None:
            found.unread.append(argument.raw)
            continue
        slot, text = chosen[0].slot, chosen[0].slot.default or chosen[1]
        one = replace(argument, slot=slot, values=(WordValue(text, value.below),))
        for each in slot.kinds:
            read_kind(each, one, found)


def _revision(kind: str, argument: Argument, found: Found) -> None:
    # A commit, a range of them, or a file in one (`HEAD:src/x`).
    for value in argument.values or ():
        before, colon, path = value.text.partition(":")
        if value.below or not _REVISION.fullmatch(before or "HEAD") or (colon and not before and path[:1] in "/!^("):
            found.unread.append(argument.raw)
        elif colon:
            path = re.sub(r"^[0-3]:", "", path) if not before else path
            found.add(EffectKind.READ, path or ".", argument.places, found.why("", argument.raw), below=True)


def _host(kind: str, argument: Argument, found: Found) -> None:
    for value in argument.values or ():
        host = _HOST.fullmatch(value.text)
        if host is None or value.below:
            found.unread.append(argument.raw)
        else:
            found.add(EffectKind.CONTACTED, host["host"], (), found.why(argument.option, argument.raw))


def _url(kind: str, argument: Argument, found: Found) -> None:
    for value in argument.values or ():
        text = value.text if _SCHEME.match(value.text) else f"http://{value.text}"
        if value.below or re.search(r"[{}\[\]*?]", value.text):
            found.unread.append(argument.raw)
        elif text.casefold().startswith("file:"):
            found.add(EffectKind.READ, re.sub("^file://[^/]*", "", text, flags=re.IGNORECASE), (), "a URL")
        else:
            found.add(EffectKind.CONTACTED, text, (), found.why(argument.option, argument.raw), url=True)


def _host_path(kind: str, argument: Argument, found: Found) -> None:
    # `user@host:path` and URLs lead to a host, all else is a path here.
    for value in argument.values or ():
        there = _HOST_PATH.fullmatch(value.text)
        if _SCHEME.match(value.text):
            found.add(EffectKind.CONTACTED, value.text, (), found.why(argument.option, argument.raw), url=True)
        elif there is not None and not value.below:
            found.add(EffectKind.CONTACTED, there["host"], (), found.why(argument.option, argument.raw))
        else:
            effect = EffectKind.WRITTEN if kind == "host-new" else EffectKind.READ
            why = found.why(argument.option, argument.raw)
            found.add(effect, value.text, argument.places, why, below=True)


def _remote(kind: str, argument: Argument, found: Found) -> None:
    # The name of a remote in a configuration file, or where it is.
    for value in argument.values or ():
        if _REMOTE_NAME.fullmatch(value.text) and not value.below:
            found.add(
                EffectKind.CONTACTED, f"remote:{value.text}", (), found.why(argument.option, argument.raw), name=True
            )
        elif "::" in value.text:
            found.unread.append(argument.raw)
        else:
            _host_path("host-path", argument, found)


def _code(kind: str, argument: Argument, found: Found) -> None:
    reader = code.READERS.get(kind)
    for value in argument.values or ():
        read = None if reader is None or value.below else reader(value.text)
        if read is None:
            found.unread.append(argument.raw)
            continue
        why = found.why(argument.option, "the program text")
        for path in read.reads:
            found.add(EffectKind.READ, path, argument.places, why)
        for path in read.writes:
            found.add(EffectKind.WRITTEN, path, argument.places, why)


def _prefix(kind: str, argument: Argument, found: Found) -> None:
    # The beginning of the names of new files.
    for value in argument.values or ():
        folder, slash, _ = value.text.rpartition("/")
        why = found.why(argument.option, argument.raw)
        text = value.text if value.below else folder or slash or "."
        found.add(EffectKind.WRITTEN, text, argument.places, why, below=True)


def _script(kind: str, argument: Argument, found: Found) -> None:
    for value in argument.values or ():
        if value.text == "-" or value.below or value.text.startswith(_INPUTS) or _SCHEME.match(value.text):
            # What it reads there is not written here; some programs fetch a script from a URL.
            found.unread.append(argument.raw)
        elif kind == "program":
            executed(value.text, argument.places, found)
        elif kind == "shell-script" and "/" not in value.text and not value.text.endswith(_SHELL_SUFFIXES):
            # A shell looks for it among the programs too, if it is not here.
            executed(value.text, argument.places, found)
            found.add(EffectKind.EXECUTED, value.text, argument.places, found.why(argument.option, argument.raw))
        else:
            found.add(EffectKind.EXECUTED, value.text, argument.places, found.why(argument.option, argument.raw))


def _text(kind: str, argument: Argument, found: Found) -> None:
    """Says nothing about files, hosts and programs."""


def _unread(kind: str, argument: Argument, found: Found) -> None:
    found.unread.append(argument.raw if not argument.option else f"{argument.option} {argument.raw}")


_Reader = Callable[[str, Argument, Found], None]
_READERS: Final[dict[str, _Reader]] = {
    **dict.fromkeys(_PATHS, _path),
    **dict.fromkeys((f"pathspec-{kind}" for kind in _PATHS), _pathspec),
    "pathspec": _pathspec,
    "text": _text,
    "only": _text,
    "all": _text,
    "file-type": _text,
    "suffix": _suffix,
    "local": _local,
    "at": _at,
    "awk-input": _awk_input,
    "path-zip": _zip,
    "new-zip": _zip,
    "command": _text,
    "unread": _unread,
    "host": _host,
    "url": _url,
    "host-path": _host_path,
    "host-new": _host_path,
    "remote": _remote,
    **dict.fromkeys((f"pattern-{kind}" for kind in _PATHS), _pattern),
    "pattern": _pattern,
    CHOICE: _choice,
    "tool": _unread,
    "module": _unread,
    "revision": _revision,
    **dict.fromkeys(("sed", "awk", "jq", "yq", "code"), _code),
    "program": _script,
    "shell-script": _script,
    "printed": _text,
    "prefix": _prefix,
    **dict.fromkeys(("into", "into-deep", "linked"), _text),
    "script": _script,
}


def read_kind(kind: str, argument: Argument, found: Found) -> None:
    """Adds what a word of this kind makes the command do."""
    if argument.values is None and kind not in ("text", "command", "printed", "all"):
        # Where it is not known what a word is, neither is its effect.
        found.unread.append(argument.raw)
        return
    _READERS.get(kind, _beside)(kind, argument, found)


def executed(program: str, places: Places, found: Found) -> None:
    """Adds a program by its name, or by its path."""
    if "/" in program:
        found.add(EffectKind.EXECUTED, program, places, f"{found.table}: {program}")
    else:
        found.add(EffectKind.EXECUTED, program, (), f"{found.table}: {program}", name=True)


def apply(rule: EffectRule, places: Places, option: str, found: Found) -> None:
    """Adds the effect of a rule."""
    why = found.why(option, "the program itself")
    if rule.verb == "unread":
        found.unread.append(option or found.table)
    elif rule.verb == "contact":
        found.add(EffectKind.CONTACTED, rule.target, (), why, name=rule.target.startswith("remote:"))
    else:
        kind, below = _VERBS[rule.verb]
        target = rule.target
        text = f"{HOME}{target[1:]}" if target[:1] == "~" else target
        project, outside = target == "project", target == "elsewhere"
        text = "." if project or outside else text
        found.add(kind, text, places, why, below=below or project, project=project, outside=outside)
