"""One class name for one thing."""

import ast
from collections import defaultdict

from tests.house.project import ROOT

# The agent that a program runs and the agent that a server knows: both names are those of the published SDK.
PUBLISHED = {"Agent"}
PARTS = (
    "rebuno/types.py",
    "rebuno/embedded.py",
    "rebuno/model",
    "rebuno/journal",
    "rebuno/sdk",
    "rebuno/server",
    "cli",
)


def test_no_two_classes_share_a_name() -> None:
    """In what stands around policy and kernel."""
    found: dict[str, list[str]] = defaultdict(list)
    for part in PARTS:
        place = ROOT / part
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef):
                    found[node.name].append(str(path.relative_to(ROOT)))
    assert len(found) > 200
    assert {name: where for name, where in found.items() if len(where) > 1 and name not in PUBLISHED} == {}
