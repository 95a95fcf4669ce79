"""Tables of programs: what their options, subcommands and operands do. Each is a YAML file that a reviewer reads.

The format is described in `tables/README.md`. A table is loaded when a command first names its program.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, Final

from rebuno.model.dataclass import dataclass

STYLES: Final = frozenset({"getopt", "single-dash", "primaries", "first-cluster", "assignments", "text"})
VERBS: Final = frozenset(
    {
        "read", "read-deep", "write", "write-deep", "remove", "remove-deep", "contact", "run", "run-deep", "unread",
    }
)  # fmt: skip
_PATHS: Final = frozenset({"path", "deep", "visible", "new", "new-deep", "gone", "gone-deep", "run", "run-deep"})
KINDS: Final = frozenset(
    {
        *_PATHS, *(f"pathspec-{kind}" for kind in _PATHS), "pathspec", "text", "unread", "host", "url", "host-path",
        "host-new", "remote", "revision", "sed", "awk", "jq", "code", "command", "program", "script", "dir", "only",
        "shell-script", "printed", "number", "into", "into-deep", "linked", "prefix",
    }
)  # fmt: skip
_SLOT: Final = re.compile(
    r"(?P<kinds>[a-z+-]+)(?P<many>[*?]?)(?: = (?P<default>\S+))?(?: if (?P<if>-\S+(?: -\S+)*))?"
    r"(?: unless (?P<unless>-\S+(?: -\S+)*))?"
)
_RULE: Final = re.compile(
    r"(?P<verb>[a-z-]+) (?P<target>\S+)(?: if (?P<if>(?:-\S+|none|operands)(?: (?:-\S+|none|operands))*))?"
    r"(?: unless (?P<unless>(?:-\S+|none|operands)(?: (?:-\S+|none|operands))*))?"
)
_KEYS: Final = frozenset(
    {
        "program", "versions", "about", "style", "abbreviations", "permute", "names", "directory", "environment", "own",
        "options", "operands", "after", "effects", "only", "forms", "glued", "subcommands", "otherwise", "assignments",
        "cases",
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
    With `needs` it is there only beside one of these options, with `without` only without all of them.
    """

    kinds: tuple[str, ...]
    many: bool = False
    optional: bool = False
    default: str | None = None
    needs: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class EffectRule:
    """An effect that does not come from a word: `verb` and the path or host `target`. The conditions name options,
    `none` (there is no operand) or `operands` (there is one)."""

    verb: str
    target: str
    needs: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Option:
    """An option: the slots of its values, one word each. With `attached` its one value is optional, and only given
    after `=` or directly behind a letter."""

    name: str
    values: tuple[Slot, ...] = ()
    attached: bool = False
    effects: tuple[EffectRule, ...] = ()


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
class Table:
    """What a program, or one of its subcommands, does. `name` is the program's and the subcommands' names.

    `options` are found by each of their names. `environment` holds globs of variables that may be set before it without
    changing what it does, `own` globs of files that it uses for itself. With `names` a file name in the place of an
    operand does no harm, though it may begin with `-`. With `directory` an option that changes the directory counts for
    operands only. Unless values can be `glued`, none stands in the word of its option's letter. `otherwise` is
    the table of unknown words in the place of a subcommand.
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
    subcommands: Mapping[str, "Table"]
    assignments: Mapping[str, Slot]
    otherwise: "Table | None"


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


def _slot(where: str, text: Any) -> Slot:
    found = _SLOT.fullmatch(text) if isinstance(text, str) else None
    kinds = tuple(found["kinds"].split("+")) if found else ()
    unknown = [kind for kind in kinds if kind not in KINDS]
    if found is None or unknown:
        raise _fail(where, f"`{text}` is no kind of words" + (f": `{unknown[0]}` is unknown" if unknown else ""))
    return Slot(
        kinds,
        found["many"] == "*",
        found["many"] == "?",
        found["default"],
        frozenset((found["if"] or "").split()),
        frozenset((found["unless"] or "").split()),
    )


def _rule(where: str, text: Any) -> EffectRule:
    found = _RULE.fullmatch(text) if isinstance(text, str) else None
    if found is None or found["verb"] not in VERBS:
        raise _fail(where, f"`{text}` is no effect; write one as `write build/ if -o`")
    needs, without = frozenset((found["if"] or "").split()), frozenset((found["unless"] or "").split())
    return EffectRule(found["verb"], found["target"], needs, without)


def _rules(where: str, value: Any) -> tuple[EffectRule, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise _fail(where, "write a list of effects")
    return tuple(_rule(where, one) for one in value)


def _option(where: str, key: str, value: Any) -> Iterable[tuple[str, Option]]:
    names = key.split()
    if not names or not all(re.fullmatch(r"[-+(),!@;].*|\[", name) for name in names):
        raise _fail(where, f"`{key}` is no option; write its names with blanks between them")
    effects: tuple[EffectRule, ...] = ()
    if isinstance(value, dict):
        if value.keys() - {"value", "effects"}:
            raise _fail(where, "an option has `value` and `effects`")
        effects, value = _rules(where, value.get("effects")), value.get("value")
    if value is None:
        values: tuple[Slot, ...] = ()
    elif isinstance(value, str):
        values = tuple(_slot(where, one) for one in value.split())
    else:
        raise _fail(where, "write the kind of its value, or `~` where it has none")
    attached = len(values) == 1 and values[0].optional
    option = Option(names[-1] if len(names) > 1 else names[0], values, attached, effects)
    return [(name, option) for name in names]


def _options(where: str, value: Any) -> dict[str, Option]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _fail(where, "write a mapping of options")
    found: dict[str, Option] = {}
    for key, each in value.items():
        for name, option in _option(f"{where}: {key}", str(key), each):
            if name in found:
                raise _fail(where, f"`{name}` stands there twice")
            found[name] = option
    return found


def _form(where: str, value: Mapping[str, Any]) -> Form:
    operands = tuple(_slot(f"{where}: operands", one) for one in _list(where, value.get("operands")))
    if sum(slot.many for slot in operands) > 1:
        raise _fail(where, "only one place of the operands can take any number of words")
    after = value.get("after")
    return Form(
        operands,
        None if after is None else tuple(_slot(f"{where}: after", one) for one in _list(where, after)),
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


_NO_TABLE: Final = Table("", "getopt", False, True, False, False, True, (), (), {}, (Form(),), {}, {}, None)


def read_table(name: str, value: Any, outer: Table = _NO_TABLE) -> Table:
    """A table from parsed YAML. `outer` is the table of the program, for one of a subcommand.

    Raises:
        TableError: it is none, with the place and the reason.
    """
    if not isinstance(value, dict):
        raise _fail(name, "a table is a mapping")
    unknown = [str(key) for key in value if key not in _KEYS]
    if unknown:
        raise _fail(name, f"`{unknown[0]}` is no key of a table")
    style = value.get("style", outer.style)
    if style not in STYLES:
        raise _fail(name, f"`{style}` is no style; there are {', '.join(sorted(STYLES))}")
    forms = _list(f"{name}: forms", value.get("forms"))
    plain = {key: value[key] for key in ("operands", "after", "effects", "only") if key in value}
    if forms and plain:
        raise _fail(name, "write `forms`, or operands and effects beside them, not both")
    made = Table(
        name,
        style,
        bool(value.get("abbreviations", outer.abbreviations)),
        bool(value.get("permute", outer.permute)),
        bool(value.get("names") == "harmless"),
        bool(value.get("directory") == "operands"),
        bool(value.get("glued", outer.glued)),
        (*outer.environment, *_words(f"{name}: environment", value.get("environment"))),
        (*outer.own, *_words(f"{name}: own", value.get("own"))),
        _options(f"{name}: options", value.get("options")),
        tuple(_form(f"{name}: forms", one) for one in forms) if forms else (_form(name, plain),),
        {},
        {key: _slot(f"{name}: assignments: {key}", one) for key, one in (value.get("assignments") or {}).items()},
        None,
    )
    subcommands: dict[str, Table] = {}
    for key, each in (value.get("subcommands") or {}).items():
        names = str(key).split()
        table = read_table(f"{name} {names[0]}", {} if each is None else each, made)
        subcommands.update(dict.fromkeys(names, table))
    otherwise = value.get("otherwise")
    if not (subcommands or otherwise):
        return made
    other = None if otherwise is None else read_table(f"{name} …", otherwise, made)
    return replace(made, subcommands=subcommands, otherwise=other)


_FOLDER: Final = files("rebuno.policy.facets.shell.effects") / "tables"
# Names that no file can have everywhere.
_ALIASES: Final = {":": "true", "[": "test"}
GNU: Final = "gnu"
BSD: Final = "bsd"


@cache
def table_files() -> Mapping[str, Any]:
    """The files of the tables that come along, by the names of their programs; `a,b.yaml` tells of two."""
    found: dict[str, Any] = {}
    for one in sorted(_FOLDER.iterdir(), key=lambda each: each.name):
        if one.name.endswith(".yaml"):
            for name in one.name.removesuffix(".yaml").split(","):
                found[name] = one
    return found


def load_yaml(text: str) -> Any:
    """YAML by the parser in C where it is there.

    Raises:
        yaml.YAMLError: it is none.
    """
    import yaml

    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


@cache
def builtin_table(program: str, flavour: str = GNU) -> Table | None:
    """The table of a program that comes along; None where there is none. `flavour` is `gnu` or `bsd`."""
    known, program = table_files(), _ALIASES.get(program, program)
    one = known.get(f"{program}.{flavour}") or known.get(program)
    return None if one is None else read_table(program, load_yaml(one.read_text("utf-8")))


def builtin_programs() -> tuple[str, ...]:
    """The names of all programs that have a table, sorted."""
    return tuple(sorted(table_files()))


@cache
def builtin_digest() -> str:
    """The SHA-256 of all tables that come along, in hexadecimal."""
    found = sha256()
    for name, one in sorted(table_files().items()):
        found.update(f"{name}\0".encode() + one.read_bytes())
    return found.hexdigest()
