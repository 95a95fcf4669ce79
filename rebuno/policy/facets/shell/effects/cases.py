"""Cases of tables: command lines with all their effects, which show that a table says what it means."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rebuno.model.dataclass import dataclass
from rebuno.policy.facets.reading import PathContext, Reading
from rebuno.policy.facets.shell.effects.facets import effects_of
from rebuno.policy.facets.shell.effects.table import TableError
from rebuno.policy.facets.shell.effects.table_set import GNU, TableSet, read_table_file

# Where the command of a case stands.
WORKDIR: Final = "/proj"
HOME: Final = "/home/dev"
# What a case calls each facet.
_KEYS: Final = {
    "read_path": "read",
    "written_path": "written",
    "removed_path": "removed",
    "contacted_host": "contacted",
    "executed": "executed",
}
_UNREAD: Final = "unread"


@dataclass(frozen=True, slots=True)
class TableCase:
    """A command line, and all its effects by the keys of cases."""

    command: str
    effects: Mapping[str, frozenset[str]]


def read_cases_of(where: str, value: Any) -> tuple[TableCase, ...]:
    """The cases below the key `cases`.

    Raises:
        TableError: they are none.
    """
    if value is None:
        return ()
    if not isinstance(value, dict):
        raise TableError(where, "write a mapping of command lines, each with its effects")
    return tuple(TableCase(str(command), _effects(f"{where}: {command}", case)) for command, case in value.items())


def _effects(where: str, case: Any) -> dict[str, frozenset[str]]:
    keys = (*_KEYS.values(), _UNREAD)
    if not isinstance(case, dict) or not set(case) <= set(keys):
        raise TableError(where, f"write a mapping of effects; the keys are {', '.join(keys)}")
    found = {}
    for key, value in case.items():
        texts = value.split() if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts):
            raise TableError(where, f"write a text, or a list of texts, as `{key}`")
        found[key] = frozenset(texts)
    return {key: texts for key, texts in found.items() if texts}


def case_effects(command: str, tables: TableSet) -> dict[str, frozenset[str]]:
    """All effects of a command line, by the keys of cases, without empty ones."""
    found = effects_of(command, PathContext(WORKDIR, HOME, tables=tables))
    if found is None:
        return {_UNREAD: frozenset({command})}
    sets: dict[str, set[str]] = {}
    for value, effect in found.values:
        text = str(value.json() if isinstance(value, Reading) else value)
        sets.setdefault(_KEYS[effect.kind.value], set()).add(_short(text))
    if found.unread:
        sets[_UNREAD] = set(found.unread)
    return {key: frozenset(texts) for key, texts in sets.items()}


def _short(text: str) -> str:
    """A path as a case has it: relative to the project, or to the home."""
    if text == WORKDIR:
        return "."
    if text.startswith(f"{WORKDIR}/*"):
        return "." + text.removeprefix(WORKDIR)
    if text.startswith(f"{HOME}/"):
        return text.replace(HOME, "~", 1)
    return text.removeprefix(f"{WORKDIR}/")


def broken_cases(text: str, flavour: str = GNU, earlier: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """The cases in the text of a user's file that do not hold, each with what is wrong with it. `earlier` are the texts
    of the files that a bundle names before it.

    Raises:
        TableError: the file holds something else than tables with cases.
    """
    tables = TableSet(flavour, (*earlier, text))
    for program, value in read_table_file(text).items():
        for case in read_cases_of(f"{program}: cases", value.get("cases")):
            found = case_effects(case.command, tables)
            if found != case.effects:
                yield case.command, _difference(found, case.effects)


def _difference(found: Mapping[str, frozenset[str]], wanted: Mapping[str, frozenset[str]]) -> str:
    parts = []
    for key in (*_KEYS.values(), _UNREAD):
        there, said = found.get(key, frozenset()), wanted.get(key, frozenset())
        if there != said:
            names = [", ".join(f"`{one}`" for one in sorted(texts)) or "nothing" for texts in (there, said)]
            parts.append(f"{key} is {names[0]}, not {names[1]}")
    return "; ".join(parts)
