"""The mutants are real changes, the list of survivors can only shrink, and a mutant that a test notices dies."""

import ast
import dataclasses
import importlib.util
import json
import sys
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

from tests.mutation.areas import AREAS, ROOT
from tests.mutation.mutants import Mutant, mutants, mutated
from tests.mutation.run import LIST, drawn, renewed, report
from tests.mutation.session import exchange

TEXT = '''
"""A docstring."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

LIMIT: int = 3


def within(number: int, seen: list[int]) -> bool:
    """Whether it may pass."""
    assert number != 9
    if number < 0 and seen:
        raise ValueError("too small: 1 < 2")
    for one in seen:
        if one:
            continue
        seen.append(one + 1)
    return any(one == number for one in seen if one) or not number
'''


def all_of(text: str) -> list[Mutant]:
    """Its mutants."""
    return mutants("some/module.py", text)


@pytest.mark.parametrize("area", AREAS)
def test_every_mutant_is_another_program(area: str) -> None:
    """It compiles, no two are the same, and each bears a name of its own."""
    for path in AREAS[area].files()[:3]:
        text = (ROOT / path).read_text(encoding="utf-8")
        found = mutants(path, text)
        changed = {ast.dump(mutated(text, mutant.index)) for mutant in found[:40]}
        assert len(changed) == len(found[:40])
        assert ast.dump(ast.parse(text)) not in changed
        assert len({mutant.key for mutant in found}) == len(found)
        for mutant in found[:40]:
            compile(mutated(text, mutant.index), path, "exec")


def test_what_says_nothing_to_a_test_is_left_as_it_is() -> None:
    """Types, docstrings, messages, assertions and imports for type checkers."""
    assert {(mutant.function, mutant.before, mutant.after) for mutant in all_of(TEXT)} == {
        ("module", "3", "4 in LIMIT: int = 3"),
        ("within", "number < 0 and seen", "number < 0 or seen"),
        ("within", "number < 0 and seen", "seen"),
        ("within", "number < 0 and seen", "number < 0"),
        ("within", "number < 0", "number <= 0"),
        ("within", "0", "1 in number < 0"),
        ("within", "raise ValueError('too small: 1 < 2')", "pass"),
        ("within", "one", "not one"),
        ("within", "continue", "break"),
        ("within", "seen.append(one + 1)", "pass"),
        ("within", "one + 1", "one - 1"),
        ("within", "1", "2 in one + 1"),
        ("within", "any((one == number for one in seen if one)) or not number", CHANGED_AND),
        ("within", "any((one == number for one in seen if one)) or not number", "not number"),
        ("within", "any((one == number for one in seen if one)) or not number", ANY),
        ("within", ANY, "all((one == number for one in seen if one))"),
        ("within", "one == number", "one != number"),
        ("within", "for one in seen if one", "for one in seen"),
        ("within", "not number", "number"),
    }


ANY = "any((one == number for one in seen if one))"
CHANGED_AND = f"{ANY} and (not number)"


def test_a_name_outlives_changes_around_it() -> None:
    """Lines above, and another function, leave it as it was."""
    moved = f"def other(a: int) -> int:\n    return a + 1\n{TEXT}"
    assert {mutant.key for mutant in all_of(TEXT)} <= {mutant.key for mutant in all_of(moved)}


@pytest.mark.parametrize("mutant", all_of(TEXT), ids=lambda mutant: f"{mutant.before} => {mutant.after}")
def test_a_function_that_is_loaded_takes_the_code_of_the_mutant(
    mutant: Mutant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does then what the module does that is imported with the mutant; module code cannot be exchanged."""
    path = tmp_path / "module.py"
    path.write_text(TEXT, encoding="utf-8")
    monkeypatch.setattr("tests.mutation.session.ROOT", tmp_path)
    loaded, named = module(path), dataclasses.replace(mutant, path="module.py")
    functions = [one for one in vars(loaded).values() if isinstance(one, FunctionType)]
    if mutant.function == "module":
        assert not exchange(named, functions)
        return
    assert exchange(named, functions)
    fresh: dict[str, object] = {}
    exec(compile(mutated(TEXT, mutant.index), str(path), "exec"), fresh)
    other = fresh["within"]
    assert isinstance(other, FunctionType)
    assert loaded.within.__code__.co_code == other.__code__.co_code


def module(path: Path) -> ModuleType:
    """The module of a file, imported."""
    spec = importlib.util.spec_from_file_location("changed_module", path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    sys.modules.pop("changed_module", None)
    return made


def test_a_sample_is_the_same_for_one_seed() -> None:
    """And of all areas together as large as asked for."""
    one, same, other = (drawn(["url", "path"], 20, seed) for seed in (1, 1, 2))
    assert one == same != other
    assert sum(map(len, one.values())) == 20


def test_the_list_names_each_mutant_once_and_with_a_reason() -> None:
    """Sorted, and what changes nothing says why."""
    listed = json.loads(LIST.read_text(encoding="utf-8"))
    assert listed["alive"] == sorted(set(listed["alive"]))
    assert list(listed["equivalent"]) == sorted(listed["equivalent"])
    assert all(len(why.split()) > 3 for why in listed["equivalent"].values())
    assert not set(listed["alive"]) & set(listed["equivalent"])


def test_the_list_never_grows() -> None:
    """What died is taken out, what is no mutant any more too; a new survivor is told of and not taken in."""
    listed = {"alive": ["a", "b", "old"], "equivalent": {"c": "cannot be seen"}}
    results = {"url": {"a": "killed", "b": "survived", "c": "survived", "d": "survived", "e": "timed out"}}
    said = report(results, listed, seed=1, sample=None)
    assert (said["can be noticed"], said["died"], said["share"]) == (4, 2, 0.5)
    assert (said["new"], said["gone"]) == (["d"], ["a"])
    assert renewed(listed, said["gone"], {"a", "b", "c", "d", "e"}) == {
        "alive": ["b"],
        "equivalent": listed["equivalent"],
    }
