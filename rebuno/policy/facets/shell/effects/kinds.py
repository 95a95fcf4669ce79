"""The kinds of words in a table: what a word of each kind makes a command do."""

import re
from collections.abc import Callable
from dataclasses import field
from enum import StrEnum
from typing import Final

from rebuno.model.dataclass import dataclass
from rebuno.policy.facets.path.placed import Places
from rebuno.policy.facets.shell.effects import code, parts
from rebuno.policy.facets.shell.effects.arguments import Argument
from rebuno.policy.facets.shell.effects.expansion import HOME
from rebuno.policy.facets.shell.effects.table import EffectRule


class EffectKind(StrEnum):
    """What an effect is done to."""

    READ = "read_path"
    WRITTEN = "written_path"
    REMOVED = "removed_path"
    CONTACTED = "contacted_host"
    EXECUTED = "executed"


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect. `text` is a path as written (`HOME` begins one in the home directory), a host, a URL or the name of a
    program, and `places` the directories from which a path is read.

    With `below` it stands for all that lies below the folder too; then only for names that fit one of the globs `only`
    if there are any, and if it is `visible` for no name that begins with a dot. With `outside` it counts only if it is
    not in `workdir`. `project` stands for the project in which the command stands. `why` names the table and the word
    or option that gave it.
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


@dataclass(slots=True)
class Found:
    """What has been found of a command so far."""

    home: bool
    effects: list[Effect] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    table: str = ""
    only: tuple[str, ...] = ()

    def begin(self, table: str, only: tuple[str, ...]) -> None:
        """What follows is said by this table; folders are read for names that fit `only`."""
        self.table, self.only = table, only

    def add(
        self,
        kind: EffectKind,
        text: str,
        places: Places,
        why: str,
        *,
        below: bool = False,
        only: tuple[str, ...] = (),
        visible: bool = False,
        outside: bool = False,
        project: bool = False,
        url: bool = False,
        name: bool = False,
    ) -> None:
        """Adds an effect."""
        only = () if not below else only or (self.only if kind is EffectKind.READ else ())
        self.effects.append(Effect(kind, text, places, why, below, only, visible, outside, project, url, name))

    def why(self, option: str, raw: str) -> str:
        """How a word came to have its effect."""
        return f"{self.table}: {option or raw}"


_PATHS: Final = {
    "path": (EffectKind.READ, False),
    "deep": (EffectKind.READ, True),
    "visible": (EffectKind.READ, True),
    "new": (EffectKind.WRITTEN, False),
    "new-deep": (EffectKind.WRITTEN, True),
    "new-visible": (EffectKind.WRITTEN, True),
    "gone": (EffectKind.REMOVED, False),
    "gone-deep": (EffectKind.REMOVED, True),
    "run": (EffectKind.EXECUTED, False),
    "run-deep": (EffectKind.EXECUTED, True),
}
_VERBS: Final = {
    "read": (EffectKind.READ, False),
    "read-deep": (EffectKind.READ, True),
    "read-visible": (EffectKind.READ, True),
    "write": (EffectKind.WRITTEN, False),
    "write-deep": (EffectKind.WRITTEN, True),
    "write-visible": (EffectKind.WRITTEN, True),
    "remove": (EffectKind.REMOVED, False),
    "remove-deep": (EffectKind.REMOVED, True),
    "run": (EffectKind.EXECUTED, False),
    "run-deep": (EffectKind.EXECUTED, True),
}
_FOLDERS: Final = {
    "go-run": "run-deep",
    "go-new": "write-visible",
    "go-out": "write",
    "glob": "read-deep",
    "glob-new": "write-deep",
    "file": "read-deep",
}
_HOST_KINDS: Final = {"host-new": EffectKind.WRITTEN, "host-gone": EffectKind.REMOVED}
_QUIET: Final = frozenset({"-", "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/zero"})
_REMOTE_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_HOST_PATH: Final = re.compile(r"(?:[^@/:\s]+@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):(?P<path>.*)", re.DOTALL)
_HOST: Final = re.compile(r"(?:[^@/:\s]+@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::[0-9]+)?")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_REVISION: Final = re.compile(r"[A-Za-z0-9_./@{}~^+=#,-]+")


def _path(kind: str, argument: Argument, found: Found) -> None:
    effect, below = _PATHS[kind]
    for value in argument.values or ():
        if value.text in _QUIET and not value.below:
            if effect is EffectKind.EXECUTED and value.text != "/dev/null":
                # Code that is not written there.
                found.unread.append(argument.raw if not argument.option else f"{argument.option} {argument.raw}")
            continue
        found.add(
            effect,
            value.text,
            argument.places,
            found.why(argument.option, argument.raw),
            below=below or value.below,
            only=argument.slot.only if below else (),
            visible=kind.endswith("visible"),
        )


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


def _parts(kind: str, argument: Argument, found: Found) -> None:
    # What a part of the word does.
    for value in argument.values or ():
        told = parts.READERS[kind](value.text)
        if value.below and kind in _FOLDERS:
            # A name in the place of a glob is below its folder.
            told = ((_FOLDERS[kind], value.text or "."),)
        elif value.below:
            told = None
        if told is None:
            found.unread.append(argument.raw if not argument.option else f"{argument.option} {argument.raw}")
            continue
        why = found.why(argument.option, argument.raw)
        for verb, text in told:
            if verb == "url":
                found.add(EffectKind.CONTACTED, text, (), why, url=True)
            else:
                effect, below = _VERBS[verb]
                visible = verb.endswith("-visible")
                found.add(effect, text, argument.places, why, below=below, only=argument.slot.only, visible=visible)


def _host_path(kind: str, argument: Argument, found: Found) -> None:
    # `user@host:path` and URLs lead to a host, all else is a path here.
    for value in argument.values or ():
        there = _HOST_PATH.fullmatch(value.text)
        if _SCHEME.match(value.text):
            found.add(EffectKind.CONTACTED, value.text, (), found.why(argument.option, argument.raw), url=True)
        elif there is not None and not value.below:
            found.add(EffectKind.CONTACTED, there["host"], (), found.why(argument.option, argument.raw))
        elif ":" in value.text.partition("/")[0]:
            # Some host, by a name that is not usual.
            found.unread.append(argument.raw)
        else:
            effect = _HOST_KINDS.get(kind, EffectKind.READ)
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


def _script(kind: str, argument: Argument, found: Found) -> None:
    for value in argument.values or ():
        if value.text == "-" or value.below:
            found.unread.append(argument.raw)
        elif kind == "program":
            executed(value.text, argument.places, found)
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
    "command": _text,
    "unread": _unread,
    "host": _host,
    "host-path": _host_path,
    "host-new": _host_path,
    "host-gone": _host_path,
    **dict.fromkeys(parts.READERS, _parts),
    "remote": _remote,
    "revision": _revision,
    **dict.fromkeys(("sed", "awk", "jq", "code"), _code),
    "program": _script,
    "script": _script,
}


def read_kind(kind: str, argument: Argument, found: Found) -> None:
    """Adds what a word of this kind makes the command do."""
    among = argument.slot.among
    if argument.values is None and (among or kind not in ("text", "command")):
        # Where it is not known what a word is, neither is its effect.
        found.unread.append(argument.raw)
        return
    if among and not all(value.text in among and not value.below for value in argument.values or ()):
        found.unread.append(argument.raw if not argument.option else f"{argument.option} {argument.raw}")
        return
    _READERS[kind](kind, argument, found)


def executed(program: str, places: Places, found: Found) -> None:
    """Adds a program by its name, or by its path."""
    if "/" in program:
        found.add(EffectKind.EXECUTED, program, places, f"{found.table}: {program}")
    else:
        found.add(EffectKind.EXECUTED, program, (), f"{found.table}: {program}", name=True)


_PLACES: Final = ("project", "elsewhere")


def apply(rule: EffectRule, places: Places, option: str, found: Found) -> None:
    """Adds the effect of a rule."""
    why = found.why(option, "the program itself")
    if rule.verb == "unread":
        found.unread.append(option or found.table)
    elif rule.verb == "contact":
        found.add(EffectKind.CONTACTED, rule.target, (), why, name=rule.target.startswith("remote:"))
    elif rule.verb == "run" and re.fullmatch("[A-Za-z0-9_-]+", rule.target) and rule.target not in _PLACES:
        executed(rule.target, places, found)
    else:
        kind, below = _VERBS[rule.verb]
        target = rule.target
        project, outside = target.partition("/")[0] == "project", target == "elsewhere"
        if target[:1] == "~":
            target = f"{HOME}{target[1:]}"
        elif project or outside:
            target = target.partition("/")[2] or "."
        # The folder of the project is meant with all that it holds.
        below = below or (project and target == ".")
        found.add(
            kind,
            target,
            places,
            why,
            below=below,
            only=rule.only,
            visible=rule.verb.endswith("-visible"),
            project=project,
            outside=outside,
        )
