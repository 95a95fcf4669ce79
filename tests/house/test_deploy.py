"""The files of `deploy/` are ones that their readers take, and name what there is."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from rebuno.server.metrics import Metrics

DEPLOY = Path(__file__).parents[2] / "deploy"


def series() -> set[str]:
    """The names of all series that a replica has, with those of histograms."""
    names = set()
    for family in Metrics()._registry.collect():
        names.add(family.name)
        names |= {f"{family.name}{end}" for end in ("_total", "_bucket", "_sum", "_count")}
    return names


@pytest.mark.parametrize("file", ["alerts.yml", "grafana/rebuno.json"])
def test_every_series_that_is_named_is_one_of_a_replica(file: str) -> None:
    """An alert over a series that nobody writes never fires."""
    named = set(re.findall(r"\b(?:rebuno|process)_[a-z_]+(?=[{\[])", (DEPLOY / file).read_text(encoding="utf-8")))
    assert len(named) >= 5
    assert named <= series()


def test_every_alert_that_can_page_is_tested() -> None:
    """`promtool test rules` knows each of them."""
    rules = yaml.safe_load((DEPLOY / "alerts.yml").read_text(encoding="utf-8"))["groups"][0]["rules"]
    paging = {rule["alert"] for rule in rules if rule["labels"]["severity"] == "page"}
    tests = yaml.safe_load((DEPLOY / "alerts.test.yml").read_text(encoding="utf-8"))["tests"]
    assert paging <= {case["alertname"] for test in tests for case in test["alert_rule_test"]}


def test_the_board_has_an_id_for_each_panel() -> None:
    """And none lies on another one."""
    panels = json.loads((DEPLOY / "grafana/rebuno.json").read_text(encoding="utf-8"))["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [tuple(panel["gridPos"].values()) for panel in panels]
    assert len(set(places)) == len(places)


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_the_smoke_test_finds_nothing_wrong() -> None:
    """With the tools that are here; it names what it left out."""
    ran = subprocess.run(["bash", str(DEPLOY / "smoke.sh")], capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "WRONG" not in ran.stdout
    assert "ok    grafana/rebuno.json" in ran.stdout
