"""The names by which the kernel is known outside of it."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import rebuno.kernel
from tests.house.project import ROOT


def test_the_names_are_sorted_and_each_is_in_the_table() -> None:
    """Constants, then classes, then functions, each in the order of the alphabet."""

    def rank(name: str) -> tuple[int, str]:
        return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)

    assert rebuno.kernel.__all__ == sorted(set(rebuno.kernel.__all__), key=rank)
    assert set(rebuno.kernel.__all__) == set(rebuno.kernel._HOMES)
    assert set(rebuno.kernel.__all__) <= set(dir(rebuno.kernel))


@pytest.mark.parametrize("name", rebuno.kernel.__all__)
def test_a_name_leads_to_what_its_module_calls_so(name: str) -> None:
    """And what can be called says what it does."""
    module, attribute = rebuno.kernel._HOMES[name]
    value = getattr(rebuno.kernel, name)
    assert value is getattr(import_module(f"rebuno.kernel.{module}"), attribute)
    assert not callable(value) or value.__doc__ or name == "Send"


def test_no_name_is_that_of_a_module() -> None:
    """Or the module would stand in its place once it was imported."""
    folder = Path(rebuno.kernel.__path__[0])
    modules = {path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert not modules & set(rebuno.kernel.__all__)


def test_an_unknown_name_is_refused() -> None:
    """Loading late must not hide a misspelt name."""
    with pytest.raises(AttributeError, match="no attribute `Kernal`"):
        _ = rebuno.kernel.Kernal


def test_importing_the_face_loads_nothing_behind_it() -> None:
    """A program pays for the names that it uses."""
    code = "import sys, rebuno.kernel; print(*[name for name in sys.modules if name.startswith('rebuno.kernel.')])"
    path = f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
    run = subprocess.run([sys.executable, "-c", path + code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
