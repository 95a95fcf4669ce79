"""The effects that are read from a command line, as sets of paths, hosts and programs."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from rebuno.policy.facets.reading import PathContext, UncertainReading
from rebuno.policy.facets.shell.effects.arguments import read_arguments
from rebuno.policy.facets.shell.effects.effects import text_effects
from rebuno.policy.facets.shell.effects.readings import FolderReading, ProgramName, placed
from rebuno.policy.facets.shell.effects.table import ProgramTable
from rebuno.policy.facets.shell.effects.table_set import builtin_table
from rebuno.policy.facets.shell.script import ShellCommands, read_shell

Tables = Callable[[str], ProgramTable | None]


@dataclass(frozen=True, slots=True)
class Place:
    """A path of a set: alone, or with all that lies below it."""

    path: str
    below: bool = False
    only: tuple[str, ...] = ()
    visible: bool = False

    def holds(self, path: str, folder: bool = False) -> bool:
        """Whether the path is in the set."""
        if path == self.path:
            return True
        start = self.path if self.path == "/" else f"{self.path}/"
        if not self.below or not path.startswith(start):
            return False
        names = path[len(start) :].split("/")
        if self.visible and any(name[:1] == "." for name in names):
            return False
        return folder or not self.only or any(fnmatchcase(names[-1], one) for one in self.only)


@dataclass(frozen=True, slots=True)
class Read:
    """What is read from a line: the sets of its effects, what is unread, and what each of its programs has as its
    own."""

    read: tuple[Place, ...]
    written: tuple[Place, ...]
    removed: tuple[Place, ...]
    executed: tuple[Place, ...]
    programs: frozenset[str]
    contacted: frozenset[str]
    unread: tuple[str, ...]
    own: Mapping[str, tuple[str, ...]]
    shown: Mapping[str, tuple[str, ...]]

    @property
    def sure(self) -> bool:
        """Whether nothing is unread."""
        return not self.unread


def _values(value: Any) -> Iterable[Any]:
    return value.readings if type(value) is UncertainReading else (value,)


def _place(value: Any) -> Place:
    if type(value) is FolderReading:
        return Place(str(value.folder), True, value.only, value.visible)
    return Place(str(value))


def read_line(line: str, context: PathContext, tables: Tables = builtin_table) -> Read:
    """What is read from a line."""
    shell = read_shell(line)
    if shell is None:
        return Read((), (), (), (), frozenset(), frozenset(), (line,), {}, {})
    found = placed(text_effects(shell, tables), context)
    sets: dict[str, list[Place]] = {}
    programs: set[str] = set()
    contacted: set[str] = set()
    shown: dict[str, list[str]] = {}
    for many, effect in found.values:
        kind = effect.kind.value
        for value in _values(many):
            shown.setdefault(kind, []).append(f"{value if isinstance(value, str) else str(value)}  ({effect.why})")
            if kind == "contacted_host":
                contacted.add(value)
            elif type(value) is ProgramName:
                programs.add(value.name)
            else:
                sets.setdefault(kind, []).append(_place(value))
    return Read(
        tuple(sets.get("read_path", ())),
        tuple(sets.get("written_path", ())),
        tuple(sets.get("removed_path", ())),
        tuple(sets.get("executed", ())),
        frozenset(programs),
        frozenset(contacted),
        tuple(found.unread),
        _owned(shell, tables),
        {kind: tuple(dict.fromkeys(each)) for kind, each in shown.items()},
    )


def _owned(shell: ShellCommands, tables: Tables) -> dict[str, tuple[str, ...]]:
    """What each program of a line has as its own, by its name; those too that another one runs by its table."""
    own: dict[str, list[str]] = {}
    for simple in shell.commands:
        name = simple.words[0].start.rpartition("/")[2]
        table = tables(name)
        owned = own.setdefault(name, [])
        if table is None:
            continue
        owned += read_arguments(simple, table).table.own
        words = [word.start for word in simple.words[1:] if word.known]
        for module in words:
            modules = (tables(table.modules_of) or table).modules if table.modules_of else table.modules
            inner = modules.get(module)
            inner = tables(inner) if isinstance(inner, str) else inner
            owned += _all_own(inner, words) if inner is not None else ()
        if _hands_on(table):
            ran = next(((word, one) for word in words if (one := tables(word)) is not None), None)
            if ran is not None:
                own.setdefault(ran[0], []).extend(_all_own(ran[1], words))
    return {name: tuple(dict.fromkeys(each)) for name, each in own.items()}


def _all_own(table: ProgramTable, words: list[str]) -> list[str]:
    # With that of the subcommands that are named.
    inner = [table.subcommands[word] for word in words if word in table.subcommands]
    return [*table.own, *(each for one in inner for each in _all_own(one, words))]


def _hands_on(table: ProgramTable) -> bool:
    inner = (*table.subcommands.values(), *((table.otherwise,) if table.otherwise else ()))
    here = any("tool" in slot.kinds for form in table.forms for slot in form.operands)
    return here or any(_hands_on(one) for one in inner)


def wanted(read: Read, base: str, known: Mapping[str, str], line: str) -> list[tuple[str, bool]]:
    """The paths that a line reads, removes or runs and that the sandbox lacks; some of them stay missing."""
    found: list[tuple[str, bool]] = []
    for place in (*read.read, *read.removed, *read.executed):
        inside = place.path.startswith(f"{base}/")
        if inside and place.path not in known and (len(line) + len(place.path)) % 5:
            name = place.path.rpartition("/")[2]
            found.append((place.path, place.below and "." not in name))
    return found
