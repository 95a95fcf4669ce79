"""Where things live and how large they may grow."""

import ast
from pathlib import Path

import pytest

from tests.house.project import ROOT, files, sources

LONGEST = 500
FOLDERS = {
    "rebuno",
    "grammar",
    "policies",
    "cli",
    "tests",
    "docs",
    "examples",
    "benchmarks",
    "deploy",
    "editors",
    ".ci",
}
FILES = {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE", "Makefile", "pyproject.toml"}
FILES |= {"requirements-dev.txt", ".gitignore", ".pre-commit-config.yaml"}


def test_the_top_level_holds_what_a_visitor_expects_and_no_more() -> None:
    """A new folder or file beside the sources is a decision, not an accident."""
    top = {path.parts[0] for path in files() if len(path.parts) > 1}
    assert top <= FOLDERS
    assert {str(path) for path in files() if len(path.parts) == 1} <= FILES


@pytest.mark.parametrize("name", ["LICENSE", "README.md", "pyproject.toml", "Makefile", "rebuno/py.typed"])
def test_what_every_reader_and_installer_looks_for_is_there(name: str) -> None:
    """A licence, an introduction, the build's description, the two commands, the mark of typed code."""
    assert (ROOT / name).is_file()


def test_no_file_is_too_long_to_read() -> None:
    """Code, SQL and grammar stay below the limit."""
    long = {}
    for path in files():
        if path.suffix in {".py", ".sql", ".lark"}:
            lines = len((ROOT / path).read_text(encoding="utf-8").splitlines())
            if lines > LONGEST:
                long[str(path)] = lines
    assert long == {}


def test_every_module_says_why_it_exists() -> None:
    """Every module that holds code begins with a docstring."""
    silent = [str(path) for path in sources() if _has_no_docstring(ROOT / path)]
    assert silent == []


def _has_no_docstring(path: Path) -> bool:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return bool(tree.body) and not ast.get_docstring(tree)


@pytest.mark.parametrize("folder", ["cli", "grammar", "policies"])
def test_folders_that_are_shipped_as_data_are_no_packages(folder: str) -> None:
    """An `__init__.py` there would give the wheel and the checkout different import names."""
    assert not (ROOT / folder / "__init__.py").exists()


def test_the_project_knows_no_machine() -> None:
    """No file names the folder that it happens to lie in. Only what tells of the hosts of commands names a package
    index."""
    # Written in pieces, so that this file is no finding.
    hosts = ["pypi" + ".org", "python" + "hosted", "index" + "-url"]
    named = []
    for path in files():
        text = (ROOT / path).read_text(encoding="utf-8", errors="replace")
        of_tables = path.parent.name == "tables" and path.suffix == ".yaml"
        of_commands = str(path) in (
            "docs/effects-programs.md",
            "examples/coding/corpus.json",
            "policies/lib/commands.rbp",
        )
        told = [] if of_tables or of_commands else hosts
        named += [f"{path}: {word}" for word in [f"{ROOT}/", *told] if word in text]
    assert named == []
