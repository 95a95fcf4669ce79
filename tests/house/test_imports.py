"""Imports point down, each heavy library has one door, and `import rebuno` is cheap."""

import importlib
import subprocess
import sys

import pytest

import rebuno
from tests.house.project import ROOT

HEAVY = ["apsw", "lark", "pydantic", "re2", "rich", "click", "yaml"]


def test_the_import_contracts_hold() -> None:
    """The layers and the doors of lark, rich and the store's driver, as `pyproject.toml` states them."""
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_public_names_are_sorted() -> None:
    """Constants, then classes, then functions, each in the order of the alphabet."""

    def rank(name: str) -> tuple[int, str]:
        return (0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2, name)

    assert rebuno.__all__ == sorted(rebuno.__all__, key=rank)
    assert len(set(rebuno.__all__)) == len(rebuno.__all__)


@pytest.mark.parametrize("name", rebuno.__all__)
def test_every_public_name_can_be_imported_and_says_what_it_is(name: str) -> None:
    """`from rebuno import NAME` works, and classes and functions have a docstring."""
    value = getattr(rebuno, name)
    assert not callable(value) or value.__doc__


def test_public_names_are_listed_by_dir() -> None:
    """Names that are loaded late can still be found."""
    assert set(rebuno.__all__) <= set(dir(rebuno))


def test_an_unknown_name_is_refused() -> None:
    """Loading late must not hide a misspelt name."""
    with pytest.raises(AttributeError, match="no attribute `opne`"):
        _ = importlib.import_module("rebuno").opne


@pytest.mark.parametrize("module", ["rebuno", "rebuno.errors", "rebuno.hosts.run", "rebuno_cli.main"])
def test_importing_loads_nothing_heavy(module: str) -> None:
    """Programs that only import, and a command that only prints its help, start at once."""
    heavy = [name for name in HEAVY if not (module == "rebuno_cli.main" and name == "click")]
    code = f"import sys, {module}; print(*sorted(set({heavy!r}) & set(sys.modules)))"
    path = f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / 'cli')!r}]; "
    run = subprocess.run([sys.executable, "-c", path + code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
