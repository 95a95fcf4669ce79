"""The kinds of words in a table: what a word of each kind makes a command do."""

import re
from dataclasses import replace
from typing import Final

from rebuno.policy.facets.path.placed import Places
from rebuno.policy.facets.shell.effects import code, parts
from rebuno.policy.facets.shell.effects.arguments import Argument
from rebuno.policy.facets.shell.effects.expansion import HOME, PIPE, WordValue
from rebuno.policy.facets.shell.effects.found import EffectKind, Found, Reader
from rebuno.policy.facets.shell.effects.table import CHOICE, PACKED, EffectRule, GlobChoice

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
    # A name in the folder that the text does not show.
    "write-in": (EffectKind.WRITTEN, True),
    "remove": (EffectKind.REMOVED, False),
    "remove-deep": (EffectKind.REMOVED, True),
    "run": (EffectKind.EXECUTED, False),
    "run-deep": (EffectKind.EXECUTED, True),
}
_FOLDERS: Final = {
    "go-run": "run-deep",
    "go-new": "write-visible",
    "go-out": "write",
    "file": "read-deep",
}
_HOST_KINDS: Final = {"host-new": EffectKind.WRITTEN, "host-gone": EffectKind.REMOVED}
_QUIET: Final = frozenset({"-", "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/zero", PIPE})
_INPUTS: Final = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
_AMOUNT: Final = re.compile(r"[-+]?(?:0[xX][0-9A-Fa-f]+|[0-9][0-9.,]*[kKmMgG]?)")
_SHELL_SUFFIXES: Final = (".sh", ".bash", ".zsh", ".ksh")
_HOST_PATH: Final = re.compile(r"(?:[^@/:\s]+@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):(?P<path>.*)", re.DOTALL)
_HOST: Final = re.compile(r"(?:[^@/:\s]+@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::[0-9]+)?")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def _path(kind: str, argument: Argument, found: Found) -> None:
    effect, below = _PATHS[kind]
    for value in argument.values or ():
        # A name that stands there is taken though it is hidden; a glob of the shell finds none unless it begins so.
        found_names = not value.below or (bool(value.names) and value.names[0] != ".")
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
            only=value.only if not below else () if value.below else argument.slot.only,
            visible=kind.endswith("visible") and found_names,
            names="" if below else value.names,
            glob=not below and bool(value.only),
        )
        if below and (value.names or value.only):
            # What the glob names may be files, beside all that lies below it.
            why = found.why(argument.option, argument.raw)
            found.add(
                effect, value.text, argument.places, why, below=True, only=value.only, names=value.names, glob=True
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
    found.unread.extend(argument.raw for value in argument.values or () if re.match("/+inet", value.text))
    _path("path", argument, found)


def _at(kind: str, argument: Argument, found: Found) -> None:
    # `@file` stands for what is in a file.
    if any(value.text[:1] == "@" for value in argument.values or ()):
        _unread(kind, argument, found)


def _suffix(kind: str, argument: Argument, found: Found) -> None:
    # With a `*` or a `/` in it, it is a pattern of names.
    if any(value.below or not re.fullmatch(r"[\w.~-]*", value.text) for value in argument.values or ()):
        found.unread.append(argument.raw)


_SIGNS: Final = re.compile(r"[*?\[{(\\]")
_ENDING: Final = re.compile(r"(?P<start>\.[\w.-]*)(?:\{(?P<ends>\w[\w-]*(?:,\w[\w-]*)*)\}|(?<=\w))$")
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
        deep = bool(below or sign or value.below)
        names = _suffixes(text) if sign and effect is EffectKind.READ else ()
        only = names or argument.slot.only if deep and not value.below else ()
        found.add(effect, folder, argument.places, why, below=deep, only=only)


def _suffixes(glob: str) -> tuple[str, ...]:
    # Globs that fit all names that one such as `src/**/*.{js,ts}` or `*.{test,spec}.ts` finds.
    found = _ENDING.search(glob.rpartition("/")[2])
    return () if found is None else tuple(f"*{found['start']}{one}" for one in (found["ends"] or "").split(","))


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
        # Names that the shell puts in the place of a glob are all taken.
        only = () if value.below else argument.slot.only
        for verb, text in told:
            if verb == "url":
                found.add(EffectKind.CONTACTED, text, (), why, url=True)
            else:
                effect, below = _VERBS[verb]
                below, visible = below or value.below, verb.endswith("-visible") and not value.below
                names = "*" if verb == "write-in" and not value.below else ""
                found.add(effect, text, argument.places, why, below=below, only=only, visible=visible, names=names)


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


def _nothing(kind: str, argument: Argument, found: Found) -> None:
    """Says nothing about files, hosts and programs, or is read with the other words."""


def _text(kind: str, argument: Argument, found: Found) -> None:
    # Says nothing about files, hosts and programs; but the shell lists the folder of a glob.
    for value in argument.values or ():
        if value.below:
            found.add(EffectKind.READ, value.text, argument.places, found.why(argument.option, argument.raw))


# A path that leads out, and a URL; also behind a `=`.
_AWAY: Final = re.compile(r"(?:[^=]*=)?(?:/|~|[A-Za-z][A-Za-z0-9+.-]*:/)|(?:.*[/=])?\.\.(?:/.*)?", re.DOTALL)


def _handed(kind: str, argument: Argument, found: Found) -> None:
    # An argument of code that nobody reads: it says nothing, unless it leads out of where the code lies.
    if any(_AWAY.match(value.text) or value.text[:1] == HOME for value in argument.values or ()):
        found.unread.append(argument.raw)


def _number(kind: str, argument: Argument, found: Found) -> None:
    for value in argument.values or ():
        if value.below or not _AMOUNT.fullmatch(value.text):
            found.unread.append(argument.raw if not argument.option else f"{argument.option} {argument.raw}")


def _unread(kind: str, argument: Argument, found: Found) -> None:
    found.unread.append(argument.raw if not argument.option else f"{argument.option} {argument.raw}")


_READERS: Final[dict[str, Reader]] = {
    **dict.fromkeys(_PATHS, _path),
    "text": _text,
    "only": _nothing,
    "all": _nothing,
    "file-type": _nothing,
    "suffix": _suffix,
    "local": _local,
    "at": _at,
    "awk-input": _awk_input,
    "path-zip": _zip,
    "new-zip": _zip,
    "command": _nothing,
    "unread": _unread,
    "host": _host,
    "host-path": _host_path,
    "host-new": _host_path,
    "host-gone": _host_path,
    **dict.fromkeys(parts.READERS, _parts),
    **dict.fromkeys((f"pattern-{kind}" for kind in _PATHS), _pattern),
    "pattern": _pattern,
    CHOICE: _choice,
    # What only stands in its own place, or behind an option.
    **dict.fromkeys(("tool", "script-tool", "module", "dir"), _unread),
    **dict.fromkeys(("sed", "awk", "jq", "yq", "code"), _code),
    "program": _script,
    "shell-script": _script,
    **dict.fromkeys(("printed", "tested"), _nothing),
    "handed": _handed,
    "number": _number,
    "prefix": _prefix,
    **dict.fromkeys(("into", "into-deep", "linked"), _nothing),
    "script": _script,
}


def read_kind(kind: str, argument: Argument, found: Found) -> None:
    """Adds what a word of this kind makes the command do."""
    among = argument.slot.among
    if argument.values is None and (among or kind not in ("text", "command", "printed", "tested", "all")):
        # Where it is not known what a word is, neither is its effect.
        found.unread.append(argument.raw)
        return
    if among and not all(value.text in among and not value.below for value in argument.values or ()):
        found.unread.append(argument.raw if not argument.option else f"{argument.option} {argument.raw}")
        return
    (_READERS.get(kind) or found.more.get(kind, _beside))(kind, argument, found)


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
        found.add(EffectKind.CONTACTED, rule.target, (), why, name=rule.target.startswith(("remote:", "push:")))
    elif rule.verb == "run" and re.fullmatch("[A-Za-z0-9_-]+", rule.target) and rule.target not in _PLACES:
        executed(rule.target, places, found)
    else:
        kind, below = _VERBS[rule.verb]
        target = rule.target
        first = target.partition("/")[0]
        project, root, outside = first == "project", first == "root", target == "elsewhere"
        if target[:1] == "~":
            target = f"{HOME}{target[1:]}"
        elif project or root or outside:
            target = target.partition("/")[2] or "."
        # The folder of the project is meant with all that it holds.
        below = below or (project and target == ".")
        only, seen = rule.only, rule.verb.endswith("-visible")
        names = "*" if rule.verb == "write-in" else ""
        found.add(
            kind,
            target,
            places,
            why,
            below=below,
            only=only,
            visible=seen,
            project=project,
            outside=outside,
            root=root,
            names=names,
        )
