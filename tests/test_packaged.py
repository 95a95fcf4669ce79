"""Hints that name what to install can be followed, wherever this was installed from."""

import re
import shlex
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from rebuno import packaged

ROOT = Path(__file__).parents[1]
EXTRAS = ["sql", "postgres", "otel", "mcp"]


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_is_told_by_the_packages_that_it_needs(extra: str) -> None:
    """Each is a requirement of ours, and installed here, where all extras are."""
    pip, install, *needed = shlex.split(packaged.install(extra))
    assert (pip, install) == ("pip", "install")
    assert needed
    for one in map(Requirement, needed):
        assert one.marker is None
        assert one.specifier.contains(metadata.version(one.name), prereleases=True)
        assert f'"{one.name}' in (ROOT / "pyproject.toml").read_text()


def test_without_metadata_the_checkout_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sources may merely be on the path."""
    monkeypatch.setattr(packaged, "DISTRIBUTION", "no-such-distribution")
    assert packaged.install("sql") == "pip install '.[sql]' in a checkout of rebuno"


def texts() -> list[Path]:
    """What users read: code, docs, starter bundles, examples."""
    folders = ("rebuno", "cli", "docs", "policies", "examples", "grammar")
    found = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".md", ".rbp")]
    return [*found, ROOT / "README.md"]


def test_no_text_tells_to_install_what_no_index_has() -> None:
    """The distribution by its name is nowhere to be had yet."""
    wrong = re.compile(r"rebuno-kernel\[|pip install ['\"]?rebuno(?!-)|pip install ['\"]?rebuno-kernel")
    assert len(texts()) > 100
    assert [path.name for path in texts() if wrong.search(path.read_text())] == []
