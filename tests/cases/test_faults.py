"""Every fault of the first edition has tests that hold its kind, and they are there."""

import ast
from functools import cache
from typing import Any

import pytest
import yaml

from tests.cases.playing import HERE
from tests.house.project import ROOT

FAULTS: list[dict[str, Any]] = yaml.safe_load((HERE / "faults.yaml").read_text(encoding="utf-8"))["faults"]


@cache
def functions(file: str) -> frozenset[str]:
    """The names of the functions of a file, those in classes too."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: str(fault["id"]))
def test_a_fault_has_its_tests(fault: dict[str, Any]) -> None:
    """By file and name, at least one."""
    assert fault["tests"]
    for name in fault["tests"]:
        file, _, function = name.partition("::")
        assert function in functions(file), name
    assert len({one["id"] for one in FAULTS}) == len(FAULTS)
