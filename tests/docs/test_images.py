"""The pictures of the pages are drawn from the recorded results."""

import json
import re
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import pytest

from benchmarks import diagrams
from benchmarks.diagrams import IMAGES, RESULTS, Bar, Chart, drawn, images
from tests.console import screenshots

PLOTS: Final = ("agentdojo.svg", "decide.svg", "steps.svg")
LARGEST: Final = 64 * 1024


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    """The pictures, drawn now."""
    return images()


def test_the_folder_holds_the_pictures_and_no_other(made: dict[str, str]) -> None:
    """A picture without a source cannot be drawn again."""
    assert sorted(path.name for path in IMAGES.iterdir()) == sorted([*made, *screenshots.names()])


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_shows_the_recorded_results(name: str, made: dict[str, str]) -> None:
    """`make diagrams` changes nothing."""
    assert (IMAGES / name).read_text(encoding="utf-8") == made[name]


@pytest.mark.parametrize("name", ["trace.svg", "diagnostic.svg"])
def test_a_terminal_shows_what_the_command_prints(name: str, made: dict[str, str]) -> None:
    """The text is compared; another version of rich may lay it out in another way."""
    assert _text((IMAGES / name).read_text(encoding="utf-8")) == _text(made[name])


@pytest.mark.parametrize("name", screenshots.names())
def test_a_picture_of_the_console_is_small(name: str) -> None:
    """`make screenshots` takes them."""
    assert (IMAGES / name).read_bytes().startswith(b"\x89PNG")
    assert (IMAGES / name).stat().st_size < screenshots.LARGEST


@pytest.mark.parametrize("path", sorted(IMAGES.glob("*.svg")), ids=lambda path: path.name)
def test_a_picture_is_small_and_loads_nothing(path: Path) -> None:
    """Hosts show an SVG without its external parts."""
    text = path.read_text(encoding="utf-8")
    ElementTree.fromstring(text)
    assert len(text) <= LARGEST
    assert re.findall(r"(?:href|src|url)\s*[=(]\s*[\"']?https?:", text) == []


def test_the_table_of_agentdojo_is_the_recorded_one() -> None:
    """The page and the plot show the same numbers."""
    page = (diagrams.ROOT / "docs/policies.md").read_text(encoding="utf-8")
    for name, suite in json.loads((RESULTS / "agentdojo.json").read_text(encoding="utf-8"))["suites"].items():
        tasks = f"{suite['automatic']} of {suite['user_tasks']}"
        attacks = f"{suite['stopped']} of {suite['attack_pairs']}"
        assert f"| {name} | {tasks} | {attacks} |" in page


def test_a_bar_is_as_long_as_its_value() -> None:
    """Half of the most is half of the width."""
    chart = Chart("t", ("s",), (("g", (Bar("", 50, "50"),)), ("h", (Bar("", 100, "100"),))), 100)
    assert re.findall(r"width='([\d.]+)' height='16'", drawn(chart)) == ["190.0", "380.0"]


def _text(svg: str) -> str:
    root = ElementTree.fromstring(svg)
    return "".join("".join(part.itertext()) for part in root.iter() if part.tag.endswith("}text"))
