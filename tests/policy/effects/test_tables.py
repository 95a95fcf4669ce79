"""Each table of a program is read, and its own cases hold."""

from collections.abc import Iterator
from typing import Any

import pytest

from rebuno.policy.facets.reading import PathContext
from rebuno.policy.facets.registry import find_facet
from rebuno.policy.facets.shell.effects.cases import case_effects, read_cases_of
from rebuno.policy.facets.shell.effects.facets import effects_of
from rebuno.policy.facets.shell.effects.table import ProgramTable
from rebuno.policy.facets.shell.effects.table_set import (
    TableSet,
    builtin_programs,
    builtin_table,
    load_yaml,
    table_files,
)


def cases() -> Iterator[Any]:
    """All cases of all tables."""
    for name, one in table_files().items():
        value = load_yaml(one.read_text("utf-8"))
        for command, case in (value.get("cases") or {}).items():
            yield pytest.param(command, case, id=f"{name}: {command[:60]}")


@pytest.mark.parametrize(("command", "case"), list(cases()))
def test_the_cases_of_a_table_hold(command: str, case: Any) -> None:
    """All that a command does, and no more."""
    assert case_effects(command, TableSet()) == read_cases_of("", {command: case})[0].effects


@pytest.mark.parametrize("program", builtin_programs())
def test_a_table_is_read_and_has_cases(program: str) -> None:
    """It names its program, and at least one of its cases is about something that is unread or has an effect."""
    table = builtin_table(program)
    assert table is not None
    assert table.name == program
    value = load_yaml(table_files()[program].read_text("utf-8"))
    assert {program, program.split(".")[0]} & set(value["program"])
    assert value.get("cases"), "a table has cases"
    assert list(value)[-1] == "cases", "what follows the cases is not read"


def tables(table: ProgramTable) -> Iterator[ProgramTable]:
    """A table with those of its subcommands and modules."""
    yield table
    for each in (*table.subcommands.values(), table.otherwise, *table.modules.values()):
        if isinstance(each, ProgramTable):
            yield from tables(each)


@pytest.mark.parametrize("program", builtin_programs())
def test_a_condition_names_an_option_that_stands_alone(program: str) -> None:
    """Names that stand together are one option, so a condition on one of them holds for all of them."""
    top = builtin_table(program)
    assert top is not None
    known = {name: option for table in tables(top) for name, option in table.options.items()}
    for table in tables(top):
        conditions: set[str] = set()
        for form in table.forms:
            conditions |= form.needs | form.without
            for slot in (*form.operands, *(form.after or ())):
                conditions |= slot.needs | slot.without
            for rule in form.effects:
                conditions |= rule.needs | rule.without
        for name in conditions - {"none", "operands", "after", "outside", *table.assignments}:
            option = table.options.get(name) or known.get(name)
            assert option is not None, f"{table.name}: {name} is no option"
            names = [other for other, one in {**known, **table.options}.items() if one is option]
            assert len(names) <= 7, f"{table.name}: {name} is one with {names}"


def test_commands_that_differ_in_an_unknown_word_are_told_apart() -> None:
    """What was read of one is not taken for the other, which has the same known words."""
    context = PathContext("/proj", "/home/dev")
    found = []
    for text in ("echo $HOME", "echo $API_KEY", "echo $HOME"):
        (command,) = commands_of(text, context)
        found.append(effects_of(command, context))
    assert found[0] == found[2]
    assert found[0] != found[1]


def commands_of(text: str, context: PathContext) -> list[Any]:
    """The commands of a text, as a rule has them."""
    facet = find_facet("command")
    assert facet is not None
    read: list[Any] = facet.read(text, context)
    return read
