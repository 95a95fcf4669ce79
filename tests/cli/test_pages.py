"""The page of commands against the commands: every one is there, with every option that it takes."""

import re
from pathlib import Path

import pytest

from rebuno_cli.tree import names
from tests.cli.support import rebuno

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")


def _section(command: str) -> str:
    return PAGE.partition(f"## rebuno {command}\n")[2].partition("\n## ")[0]


def test_every_command_has_a_section_and_every_section_a_command() -> None:
    """Nothing is hidden, and nothing promised."""
    assert sorted(re.findall(r"^## rebuno (.+)$", PAGE, re.MULTILINE)) == sorted(names())


@pytest.mark.parametrize("command", names())
def test_a_section_shows_every_option(command: str) -> None:
    """The synopsis and `--help` name the same options."""
    known = set(re.findall(r"--[a-z]+", rebuno(*command.split(), "--help").out)) - {"--help"}
    synopsis = re.findall(r"`(rebuno [^`]+)`", _section(command).replace("\n", " "))
    assert set(re.findall(r"--[a-z]+", " ".join(synopsis))) - {"--version"} == known
