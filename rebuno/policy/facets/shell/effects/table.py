"""Tables of programs: what their options, subcommands and operands do. Each is a YAML file that a reviewer reads.

The format is described in `tables/README.md`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from fnmatch import translate
from functools import cache, lru_cache
from typing import Any, Final

from rebuno.model.dataclass import dataclass
from rebuno.policy.facets.shell.effects.parts import READERS as PARTS

STYLES: Final = frozenset({"getopt", "single-dash", "primaries", "first-cluster", "assignments", "text"})
VERBS: Final = frozenset(
    {
        "read", "read-deep", "read-visible", "write", "write-deep", "write-visible", "write-in", "remove",
        "remove-deep", "contact", "run", "run-deep", "unread",
    }
)  # fmt: skip
_PATHS: Final = frozenset(
    {"path", "deep", "visible", "new", "new-deep", "new-visible", "gone", "gone-deep", "run", "run-deep"}
)
KINDS: Final = frozenset(
    {
        *_PATHS, "text", "unread", "host", "host-path",
        "host-new", "host-gone", "sed", "awk", "jq", "yq", "code", "command", "program", "script",
        "dir", "only", "shell-script", "printed", "tested", "handed", "number", "into", "into-deep", "linked", "prefix",
        "all", "suffix", "local", "awk-input", "at", "file-type", "path-zip", "new-zip", "module", "tool",
        "script-tool", "pattern", *(f"pattern-{kind}" for kind in _PATHS), *PARTS,
        "revision", "revision-path", "revision-gone", "pathspec", "pathspec-deep", "pathspec-gone", "pathspec-new",
        "remote", "remote-new", "repository", "refspec", "format", "lines", "slug", "endpoint",
    }
)  # fmt: skip
PACKED: Final = {
    "gz": {"gz": "", "Z": "", "z": "", "tgz": ".tar", "taz": ".tar"},
    "bz2": {"bz2": "", "bz": "", "tbz": ".tar", "tbz2": ".tar"},
    "xz": {"xz": "", "lzma": "", "txz": ".tar", "tlz": ".tar"},
    "zst": {"zst": "", "tzst": ".tar"},
}
"""The suffixes of packed files, for each program that knows them, and what stands in their place afterwards."""
BESIDE: Final = re.compile(r"new\.[a-z0-9]+|(?:packed|unpacked)\.(?:gz|bz2|xz|zst)")
"""The kinds of words that name another file in the same folder, with a suffix or without it."""
CHOICE: Final = "choice"
_SLOT: Final = re.compile(
    r"(?P<kinds>[a-z0-9.+-]+)(?P<many>[*?]?)(?: in (?P<among>\S+))?(?: only (?P<only>\S+))?(?: = (?P<default>\S+))?"
    r"(?: if (?P<if>-\S+(?: -\S+)*))?"
    r"(?: unless (?P<unless>-\S+(?: -\S+)*))?"
)
_VALUE: Final = re.compile(r"\S+(?: (?:in|only) \S+)*")
_CONDITIONS: Final = r"(?:-\S+|none|operands|after|outside)(?: (?:-\S+|none|operands|after|outside))*"
_RULE: Final = re.compile(
    r"(?P<verb>[a-z-]+) (?P<target>\S+)(?: only (?P<only>\S+))?"
    rf"(?: if (?P<if>{_CONDITIONS}))?(?: unless (?P<unless>{_CONDITIONS}))?"
)
_KEYS: Final = frozenset(
    {
        "program", "versions", "about", "style", "abbreviations", "permute", "names", "directory", "environment", "own",
        "options", "operands", "after", "effects", "only", "always", "apart", "forms", "subcommands", "otherwise",
        "assignments", "cases", "kinds", "modules", "unread", "glued", "dashed",
    }
)  # fmt: skip


class TableError(Exception):
    """A table cannot be read. `where` is the place in it, such as `git: log: options: -p`."""

    def __init__(self, where: str, message: str) -> None:
        super().__init__(f"{where}: {message}")
        self.where = where
        self.message = message


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for operands, or for the value of an option: all `kinds` hold of each word in it.

    `many` takes any number of words, `optional` none or one. `default` is the word that stands there if none is given.
    With `needs` it is there only beside one of these options, with `without` only without all of them. Of `choices`,
    all whose conditions hold count; where none does, the word is unread. `globs` are those of a kind that the table
    makes itself. A word that is not `among` these texts, if there are any, is unread. `only` are globs of the names
    that are meant below a folder.
    """

    kinds: tuple[str, ...]
    many: bool = False
    optional: bool = False
    default: str | None = None
    needs: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()
    among: frozenset[str] = frozenset()
    only: tuple[str, ...] = ()
    choices: tuple["Slot", ...] = ()
    globs: tuple["GlobChoice", ...] = ()


@dataclass(frozen=True, slots=True)
class GlobChoice:
    """A glob for the words of a table's own kind, and the slot of those that fit it. `PATH` in the glob stands for the
    part of the word that counts."""

    glob: str
    slot: Slot

    def part(self, text: str) -> str | None:
        """What counts of a word: all of it, or what `PATH` stands for. None if it does not fit."""
        found = _words_of(self.glob).fullmatch(text)
        return found[found.lastindex or 0] if found else None


@cache
def _words_of(glob: str) -> re.Pattern[str]:
    # `translate` ends an expression with a sign for the end of the text, which two of them in a row must not have.
    parts = ("(.+?)" if part == "PATH" else translate(part)[:-2] for part in glob.partition("PATH"))
    return re.compile("".join(parts), re.DOTALL)


@dataclass(frozen=True, slots=True)
class EffectRule:
    """An effect that does not come from a word: `verb` and the path or host `target`, below which names are meant that
    fit one of `only`. The conditions name options, `none` (there is no operand), `operands` (there is one), `after`
    (one of them stands behind `--`) or `outside` (of two one leads out of the folder, or is surely a folder)."""

    verb: str
    target: str
    needs: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Option:
    """An option: the slots of its values, one word each. With `attached` its one value is optional, and only given
    after `=` or directly behind a letter. A value that fits one of the globs `harmless` has no effect. With
    `last` the value may be missing where the option is the last word. `names` are all its names."""

    name: str
    values: tuple[Slot, ...] = ()
    attached: bool = False
    effects: tuple[EffectRule, ...] = ()
    harmless: tuple[re.Pattern[str], ...] = ()
    last: bool = False
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Form:
    """How a program is used: the first form whose condition holds counts. `operands` are its words, `after` those
    behind `--` where they are told apart (None where they are not). Of what it reads and writes below a folder, only
    names that fit one of the globs `only` count, if there are any."""

    operands: tuple[Slot, ...] = ()
    after: tuple[Slot, ...] | None = None
    effects: tuple[EffectRule, ...] = ()
    needs: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProgramTable:
    """What a program, or one of its subcommands, does. `name` is the program's and the subcommands' names.

    `behind` is the table of the words behind `--`, where they are for another program. `options` are found by each of
    their names. `environment` holds globs of variables that may be set before it without
    changing what it does, `own` globs of files that it uses for itself. With `names` a file name in the place of an
    operand does no harm, though it may begin with `-`. With `directory` an option that changes the directory counts for
    operands only. Unless values can be `glued`, none stands in the word of its option's letter. `otherwise` is the
    table of unknown words in the place of a subcommand. `kinds` are kinds of words of
    its own. `modules` tells how the words behind a module are read: by the table of a program, or by one that stands
    there; as those of the program `modules_of` if that is named. Words that fit one of the globs `unread` are unread in
    every place. The effects `always` hold for all forms and subcommands. `apart`: an option before the subcommand is
    none of its own, though it has the same name. With `dashed` a word that begins with `-` is an option though a
    value is due.
    """

    name: str
    style: str
    abbreviations: bool
    permute: bool
    names: bool
    directory: bool
    glued: bool
    environment: tuple[str, ...]
    own: tuple[str, ...]
    options: Mapping[str, Option]
    forms: tuple[Form, ...]
    subcommands: Mapping[str, "ProgramTable"]
    assignments: Mapping[str, Slot]
    otherwise: "ProgramTable | None"
    kinds: Mapping[str, tuple[GlobChoice, ...]] = field(default_factory=dict)
    modules: Mapping[str, "str | ProgramTable"] = field(default_factory=dict)
    modules_of: str = ""
    unread: tuple[str, ...] = ()
    behind: "ProgramTable | None" = None
    always: tuple[EffectRule, ...] = ()
    apart: bool = False
    dashed: bool = False


def _fail(where: str, message: str) -> TableError:
    return TableError(where, message)


def _words(where: str, value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return tuple(value.split())
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return tuple(value)
    raise _fail(where, "write a list of texts")


_Kinds = Mapping[str, tuple[GlobChoice, ...]]


def _slot(where: str, text: Any, own: _Kinds) -> Slot:
    found = _SLOT.fullmatch(text) if isinstance(text, str) else None
    kinds = tuple(found["kinds"].split("+")) if found else ()
    globs = own.get(kinds[0], ()) if len(kinds) == 1 else ()
    if globs:
        kinds = (CHOICE,)
    unknown = [kind for kind in kinds if not (kind in KINDS or globs or BESIDE.fullmatch(kind))]
    if found is None or unknown:
        raise _fail(where, f"`{text}` is no kind of words" + (f": `{unknown[0]}` is unknown" if unknown else ""))
    return Slot(
        kinds,
        found["many"] == "*",
        found["many"] == "?",
        found["default"],
        frozenset((found["if"] or "").split()),
        frozenset((found["unless"] or "").split()),
        frozenset(_list_of(found["among"])),
        _list_of(found["only"]),
        globs=globs,
    )


def _own_kinds(where: str, value: Any, outer: _Kinds) -> _Kinds:
    if value is None:
        return outer
    if not isinstance(value, dict) or not all(isinstance(each, dict) and each for each in value.values()):
        raise _fail(where, "write a mapping of globs and kinds for each name")
    taken = [str(name) for name in value if name in KINDS]
    if taken:
        raise _fail(where, f"`{taken[0]}` is a kind already")
    made = {
        str(name): tuple(
            GlobChoice(str(glob), _slot(f"{where}: {name}: {glob}", kind, {})) for glob, kind in each.items()
        )
        for name, each in value.items()
    }
    return {**outer, **made}


def _list_of(text: str | None) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()


def _rule(where: str, text: Any) -> EffectRule:
    found = _RULE.fullmatch(text) if isinstance(text, str) else None
    if found is None or found["verb"] not in VERBS:
        raise _fail(where, f"`{text}` is no effect; write one as `write build/ if -o`")
    needs, without = frozenset((found["if"] or "").split()), frozenset((found["unless"] or "").split())
    return EffectRule(found["verb"], found["target"], needs, without, _list_of(found["only"]))


def _rules(where: str, value: Any) -> tuple[EffectRule, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise _fail(where, "write a list of effects")
    return tuple(_rule(where, one) for one in value)


def _option(where: str, key: str, value: Any, own: _Kinds) -> Iterable[tuple[str, Option]]:
    effects: tuple[EffectRule, ...] = ()
    harmless: tuple[str, ...] = ()
    last = False
    if isinstance(value, dict):
        if value.keys() - {"value", "effects", "harmless", "last"}:
            raise _fail(where, "an option has `value`, `effects`, `harmless` and `last`")
        effects, harmless = _rules(where, value.get("effects")), _words(where, value.get("harmless"))
        last = value.get("last") == "optional"
        value = value.get("value")
    choices: tuple[Slot, ...] = ()
    if isinstance(value, list) and value:
        choices, value = tuple(_slot(where, one, own) for one in value), None
    if value is not None and not isinstance(value, str):
        raise _fail(where, "write the kind of its value, or `~` where it has none")
    try:
        found = _own_option(key, value, own) if own else _plain_option(key, value)
    except TableError as error:
        raise _fail(where, error.message) from error
    if not (effects or harmless or last or choices):
        return found
    # All its names stand for one option.
    option = found[0][1]
    values = (Slot((), choices=choices),) if choices else option.values
    patterns = tuple(_harmless(one) for one in harmless)
    option = replace(option, values=values, effects=effects, harmless=patterns, last=last)
    return [(name, option) for name, _ in found]


# Subcommands share most of their options, which are read once.
@lru_cache(maxsize=4096)
def _plain_option(key: str, value: str | None) -> tuple[tuple[str, Option], ...]:
    return _own_option(key, value, {})


def _own_option(key: str, value: str | None, own: _Kinds) -> tuple[tuple[str, Option], ...]:
    names = key.split()
    if not names or not all(re.fullmatch(r"[-+(),!@;].*|\[", name) for name in names):
        raise _fail(key, f"`{key}` is no option; write its names with blanks between them")
    values = tuple(_slot(key, one, own) for one in _VALUE.findall(value or ""))
    attached = len(values) == 1 and values[0].optional
    option = Option(names[-1], values, attached, names=tuple(names))
    return tuple((name, option) for name in names)


def _harmless(glob: str) -> re.Pattern[str]:
    # `*` takes no `/`, `**` does.
    parts = (".*" if one == "**" else "[^/]*" if one == "*" else re.escape(one) for one in re.split(r"(\*+)", glob))
    return re.compile("".join(parts), re.DOTALL)


def _options(where: str, value: Any, own: _Kinds) -> dict[str, Option]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _fail(where, "write a mapping of options")
    found: dict[str, Option] = {}
    for key, each in value.items():
        for name, option in _option(f"{where}: {key}", str(key), each, own):
            if name in found:
                raise _fail(where, f"`{name}` stands there twice")
            found[name] = option
    return found


_FORM: Final = frozenset({"if", "unless", "operands", "after", "effects", "only"})


def _form(where: str, value: Any, own: _Kinds) -> Form:
    if not isinstance(value, dict) or not _FORM.issuperset(value):
        raise _fail(where, f"a form has {', '.join(sorted(_FORM))}")
    operands = tuple(_slot(f"{where}: operands", one, own) for one in _list(where, value.get("operands")))
    if sum(slot.many for slot in operands) > 1:
        raise _fail(where, "only one place of the operands can take any number of words")
    after = value.get("after")
    return Form(
        operands,
        None if after is None else tuple(_slot(f"{where}: after", one, own) for one in _list(where, after)),
        _rules(f"{where}: effects", value.get("effects")),
        frozenset(_words(f"{where}: if", value.get("if"))),
        frozenset(_words(f"{where}: unless", value.get("unless"))),
        _words(f"{where}: only", value.get("only")),
    )


def _list(where: str, value: Any) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise _fail(where, "write a list")
    return value


def _mapping(where: str, value: Any) -> dict[Any, Any]:
    if value is not None and not isinstance(value, dict):
        raise _fail(where, "write a mapping")
    return value or {}


# Keys with few values: what is misspelt must not be taken for one of them.
_SETTINGS: Final[Mapping[str, tuple[Any, ...]]] = {
    **dict.fromkeys(("abbreviations", "permute", "glued", "apart"), (True, False)),
    "names": ("harmless",),
    "directory": ("operands",),
    "dashed": ("options",),
}


def _settings(where: str, value: Mapping[str, Any]) -> None:
    for key, known in _SETTINGS.items():
        given = value.get(key, known[0])
        if not any(given is one or (isinstance(one, str) and given == one) for one in known):
            said = " or ".join(str(one).lower() for one in known)
            raise _fail(f"{where}: {key}", f"`{given}` is not {said}")


_NO_TABLE: Final = ProgramTable("", "getopt", False, True, False, False, True, (), (), {}, (Form(),), {}, {}, None)


def read_table(name: str, value: Any, outer: ProgramTable = _NO_TABLE) -> ProgramTable:
    """A table from parsed YAML. `outer` is the table of the program, for one of a subcommand.

    Raises:
        TableError: it is none, with the place and the reason.
    """
    if not isinstance(value, dict):
        raise _fail(name, "a table is a mapping")
    unknown = [str(key) for key in value if key not in _KEYS]
    if unknown:
        raise _fail(name, f"`{unknown[0]}` is no key of a table")
    _settings(name, value)
    style = value.get("style", outer.style)
    if not isinstance(style, str) or style not in STYLES:
        raise _fail(name, f"`{style}` is no style; there are {', '.join(sorted(STYLES))}")
    forms = _list(f"{name}: forms", value.get("forms"))
    plain = {key: value[key] for key in ("operands", "after", "effects", "only") if key in value}
    if isinstance(value.get("after"), dict):
        # That is a table of its own, for all forms.
        del plain["after"]
    if forms and plain:
        raise _fail(name, "write `forms`, or operands and effects beside them, not both")
    assignments = _mapping(f"{name}: assignments", value.get("assignments"))
    kinds = _own_kinds(f"{name}: kinds", value.get("kinds"), outer.kinds)
    made = ProgramTable(
        name,
        style,
        bool(value.get("abbreviations", outer.abbreviations)),
        bool(value.get("permute", outer.permute)),
        bool(value.get("names") == "harmless"),
        bool(value.get("directory") == "operands"),
        bool(value.get("glued", outer.glued)),
        (*outer.environment, *_words(f"{name}: environment", value.get("environment"))),
        (*outer.own, *_words(f"{name}: own", value.get("own"))),
        _options(f"{name}: options", value.get("options"), kinds),
        tuple(_form(f"{name}: forms", one, kinds) for one in forms) if forms else (_form(name, plain, kinds),),
        {},
        {key: _slot(f"{name}: assignments: {key}", each, kinds) for key, each in assignments.items()},
        None,
        kinds,
        outer.modules,
        outer.modules_of,
        (*outer.unread, *_words(f"{name}: unread", value.get("unread"))),
        read_table(f"{name} --", value["after"]) if isinstance(value.get("after"), dict) else None,
        (*outer.always, *_rules(f"{name}: always", value.get("always"))),
        bool(value.get("apart")),
        bool(value.get("dashed") == "options" or outer.dashed),
    )
    made = _with_modules(made, value.get("modules"))
    subcommands: dict[str, ProgramTable] = {}
    for key, each in _mapping(f"{name}: subcommands", value.get("subcommands")).items():
        names = str(key).split() or [""]
        table = read_table(f"{name} {names[0]}", {} if each is None else each, made)
        subcommands.update((one, replace(table, name=f"{name} {one}")) for one in names)
    otherwise = value.get("otherwise")
    if not (subcommands or otherwise):
        return made
    other = None if otherwise is None else read_table(f"{name} …", otherwise, made)
    return replace(made, subcommands=subcommands, otherwise=other)


def _with_modules(made: ProgramTable, value: Any) -> ProgramTable:
    if value is None:
        return made
    if isinstance(value, str):
        return replace(made, modules_of=value)
    if not isinstance(value, dict):
        raise _fail(f"{made.name}: modules", "write a mapping of modules, or the program whose modules they are")
    # The words of a module are read by a table that has nothing of that of the interpreter.
    return replace(
        made,
        modules={
            str(key): each if isinstance(each, str) else read_table(f"{made.name} -m {key}", each or {})
            for key, each in value.items()
        },
    )
