"""The tables that commands are read by: those that come along, and those of a user's files.

A table that comes along is loaded when a command first names its program.
"""

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from rebuno.errors import BundleError
from rebuno.model.dataclass import dataclass
from rebuno.policy.facets.shell.effects.table import ProgramTable, TableError, read_table

if TYPE_CHECKING:
    from rebuno.policy.syntax.yaml import YamlNode

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
def builtin_table(program: str, flavour: str = GNU) -> ProgramTable | None:
    """The table of a program that comes along; None where there is none. `flavour` is `gnu` or `bsd`."""
    known, program = table_files(), _ALIASES.get(program, program)
    one = known.get(f"{program}.{flavour}") or known.get(program)
    if one is None:
        return None
    # The cases stand at the end, for tests alone.
    return read_table(program, load_yaml(one.read_text("utf-8").partition("\ncases:\n")[0]))


FLAVOURS: Final = (GNU, BSD)


def read_table_file(text: str) -> dict[str, dict[str, Any]]:
    """What stands in a user's file, a mapping of programs (`deploy`, or `deploy,deployctl` for two names), each with
    its table as it is written.

    Raises:
        TableError: it is no YAML that is read alike everywhere, or no mapping of mappings.
    """
    from rebuno.policy.syntax.source import Source
    from rebuno.policy.syntax.yaml import read_yaml

    try:
        value = _merged(read_yaml(Source(text), wanted="write the name of a program, and its table"))
    except BundleError as error:
        first = error.diagnostics[0]
        raise TableError(f"line {first.span.line}", first.message) from None
    if not isinstance(value, dict):
        raise TableError("line 1", "write a mapping of programs, each with its table")
    found: dict[str, dict[str, Any]] = {}
    for key, each in value.items():
        for name in (one.strip() for one in key.split(",")):
            if not isinstance(each, dict):
                raise TableError(name, "a table is a mapping")
            if not name or "/" in name or name in found:
                raise TableError(name or key, "write the name of a program, and each only once")
            found[name] = each
    return found


def _merged(node: "YamlNode") -> Any:
    # YAML by the JSON schema has neither `<<` nor `~`, which tables use.
    if isinstance(node.value, list):
        return [_merged(one) for one in node.value]
    if not isinstance(node.value, dict):
        return None if node.value == "~" else node.value
    own = {key: _merged(one) for key, one in node.value.items()}
    given = own.pop("<<", ())
    taken: dict[str, Any] = {}
    for one in given if isinstance(given, list) else [given] if given != () else []:
        if not isinstance(one, dict):
            raise TableError(f"line {node.span.line}", "`<<` takes in a mapping, or a list of mappings")
        taken = {**one, **taken}
    return {**taken, **own}


def read_tables(text: str) -> Mapping[str, ProgramTable]:
    """The tables of a user's file.

    Raises:
        TableError: it holds something else than tables.
    """
    return {name: read_table(name, value) for name, value in read_table_file(text).items()}


@cache
def _known_tables(text: str) -> Mapping[str, ProgramTable]:
    return read_tables(text)


@dataclass(frozen=True, slots=True)
class TableSet:
    """The tables that a bundle reads commands by: those of its files, given as their `texts`, a later one before an
    earlier one; then those that come along, of the flavour."""

    flavour: str = GNU
    texts: tuple[str, ...] = ()

    def table(self, program: str) -> ProgramTable | None:
        """The table of a program; None where there is none.

        Raises:
            TableError: a file holds something else than tables; `policy check` has reported it.
        """
        for text in reversed(self.texts):
            found = _known_tables(text).get(program)
            if found is not None:
                return found
        return builtin_table(program, self.flavour)


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
