"""A package with a face is imported through its face only, and the face holds what it promises."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import FunctionType, ModuleType
from typing import Final

import pytest

import rebuno.policy
from tests.house.project import ROOT, sources

# Each face with the folders that may look behind it: the package itself and its own tests.
FACES: Final = {"rebuno.policy": ("rebuno/policy/", "tests/policy/")}
# Tests elsewhere that look behind a face, each with its reason.
BEHIND: Final = {
    "rebuno.policy": {
        "tests/kernel/test_heavy.py": "replaces the readers of shell and SQL to see in which thread they work",
    }
}


def _imported(path: Path) -> list[str]:
    # The modules that a file imports: of `from a import b` both `a` and `a.b`, which may be a module.
    names: list[str] = []
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return names


def _is_behind(name: str, face: str) -> bool:
    if not name.startswith(f"{face}."):
        return False
    place = ROOT.joinpath(*face.split("."))
    first = name.removeprefix(f"{face}.").partition(".")[0]
    return (place / first).is_dir() or (place / f"{first}.py").is_file()


@pytest.mark.parametrize("face", FACES)
def test_other_packages_and_their_tests_import_the_face_only(face: str) -> None:
    """What is behind the face can change without a look at the rest of the project."""
    behind = {
        str(path): sorted(names)
        for path in sources()
        if not str(path).startswith(FACES[face])
        and (names := {name for name in _imported(path) if _is_behind(name, face)})
    }
    assert {path: names for path, names in behind.items() if path not in BEHIND[face]} == {}
    assert set(behind) == set(BEHIND[face])


def test_the_names_of_the_face_are_sorted_and_can_be_loaded() -> None:
    """Constants, then classes, then functions; each is listed by `dir` and documented where it can be."""

    def rank(name: str) -> tuple[int, str]:
        return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)

    names = rebuno.policy.__all__
    assert names == sorted(set(names), key=rank)
    assert set(names) <= set(dir(rebuno.policy))
    for name in names:
        value = getattr(rebuno.policy, name)
        assert not isinstance(value, type | FunctionType | ModuleType) or value.__doc__


def test_no_name_of_the_face_is_that_of_a_module_in_it() -> None:
    """An import of the module would overwrite the name."""
    modules = {module.name for module in iter_modules(rebuno.policy.__path__)}
    assert modules.isdisjoint(rebuno.policy.__all__)
    assert {"check", "explain", "inline", "restore", "values"} <= modules


def test_the_type_checker_sees_what_the_program_loads() -> None:
    """The imports under `TYPE_CHECKING` name the same homes as the table that is read at run time."""
    path = ROOT / "rebuno" / "policy" / "__init__.py"
    checked = {
        alias.name: node.module
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("rebuno.policy.")
        for alias in node.names
    }
    assert set(checked) == set(rebuno.policy.__all__)
    for name, module in checked.items():
        found = import_module(f"{module}.{name}") if name == "tree" else getattr(import_module(module), name)
        assert getattr(rebuno.policy, name) is found


def test_a_name_that_the_face_does_not_have_is_refused() -> None:
    """Loading late must not hide a misspelt name."""
    with pytest.raises(AttributeError, match="no attribute `compile_polciy`"):
        _ = import_module("rebuno.policy").compile_polciy


def test_the_face_loads_nothing_by_itself() -> None:
    """A program pays for the parts that it asks for."""
    code = "import sys, rebuno.policy; print(*sorted(m for m in sys.modules if m.startswith('rebuno.policy.')))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
