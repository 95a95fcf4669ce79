"""The page on facets lists those that there are, and the package that it shows works as it says."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from rebuno.policy.facets import registry
from tests.docs.pages import ROOT, blocks

PAGE = "docs/facets/README.md"
TEXT = (ROOT / PAGE).read_text(encoding="utf-8")
SHOWN = {block.file: block.body for block in blocks(PAGE) if block.file}
COMMAND = "import sys; from rebuno_cli.main import main; sys.exit(main(sys.argv[1:]))"
LANDLORD = "de75512108001245126199"


def test_the_table_is_the_registry() -> None:
    """Each facet in order, with what it reads, what it gives, and whether `under` can be asked."""
    rows = re.findall(r"^\| \[`(\w+)`\]\([\w-]+\.md\) \| (.+?) \| (.+?) \| (.+?) \|$", TEXT, re.MULTILINE)
    there = []
    for name in registry.OWN:
        facet = registry.facet(name)
        assert facet is not None
        there.append((name, facet.of, f"{'the **set** of ' if facet.many else ''}{facet.gives}", bool(facet.network)))
    assert [(name, of, gives, under != "–") for name, of, gives, under in rows] == there


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the package of the page as an installer leaves it there."""
    folder = tmp_path_factory.mktemp("site")
    project = tomllib.loads(SHOWN["pyproject.toml"])["project"]
    info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (info / "METADATA").write_text(metadata, encoding="utf-8")
    points = [
        f"[{group}]\n{name} = {value}\n"
        for group, names in project["entry-points"].items()
        for name, value in names.items()
    ]
    (info / "entry_points.txt").write_text("".join(points), encoding="utf-8")
    (folder / "bank_facets.py").write_text(SHOWN["bank_facets.py"], encoding="utf-8")
    return folder


def _python(code: str, *args: str, within: Path, package: Path | None) -> "subprocess.CompletedProcess[str]":
    paths = [ROOT, ROOT / "cli", *([package] if package else [])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    command = [sys.executable, "-W", "error", "-c", code, *args]
    return subprocess.run(command, cwd=within, env=env, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("account", "verdict"),
    [
        (LANDLORD, "allow"),  # the same account, written otherwise
        ("DE75 1234 0000 0000 0000 00", "deny"),
        ("de7551210800124512619\u00df", "deny"),  # a letter that turns into two others in capitals
    ],
)
def test_the_facet_of_the_page_decides(account: str, verdict: str, tmp_path: Path, package: Path) -> None:
    """Installed, it reads values as our own facets do."""
    (tmp_path / "iban.rbp").write_text(SHOWN["iban.rbp"], encoding="utf-8")
    asked = ("policy", "explain", "iban.rbp", "--target", "pay", "--args", json.dumps({"account": account}))
    done = _python(COMMAND, *asked, "--expect", verdict, within=tmp_path, package=package)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_is_named_where_its_facet_is_used(tmp_path: Path, package: Path) -> None:
    """So a decision can be told apart from one of another version of the package."""
    code = "from rebuno.policy.facets import registry; print(registry.packages(['iban', 'host']))"
    done = _python(code, within=tmp_path, package=package)
    assert done.stdout.strip() == "('bank-facets 1.0',)", done.stderr


def test_without_the_package_the_bundle_is_refused(tmp_path: Path) -> None:
    """A rule that nobody can read is no rule that is passed over."""
    (tmp_path / "iban.rbp").write_text(SHOWN["iban.rbp"], encoding="utf-8")
    done = _python(COMMAND, "policy", "check", "iban.rbp", within=tmp_path, package=None)
    assert done.returncode == 2
    assert "there is no facet `iban`" in done.stdout


def test_a_literal_that_the_facet_does_not_read_is_refused(tmp_path: Path, package: Path) -> None:
    """What the package says of it is what the checker prints."""
    (tmp_path / "bad.rbp").write_text(SHOWN["iban.rbp"].replace("DE75 5121", "75 5121"), encoding="utf-8")
    done = _python(COMMAND, "policy", "check", "bad.rbp", within=tmp_path, package=package)
    assert done.returncode == 2
    assert "is no account number" in done.stdout
