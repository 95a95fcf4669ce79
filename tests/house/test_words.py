"""One class name stands for one class, so that a search for a name finds the thing and nothing else."""

import ast
from collections import defaultdict
from typing import Final

from tests.house.project import ROOT, sources

# Names that still stand for several classes. The list may only shrink: a name leaves it with its second class.
DOUBLE: Final = {
    "Agent",
    "Kernel",
    "_Mark",
}


def _classes() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for path in sources():
        if path.parts[0] in {"rebuno", "cli"}:
            tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    found[node.name].append(str(path))
    return found


def test_a_class_name_stands_for_one_class() -> None:
    """A new class takes a name that no other class has."""
    double = {name: paths for name, paths in _classes().items() if len(paths) > 1 and name not in DOUBLE}
    assert double == {}


def test_the_list_of_double_names_only_shrinks() -> None:
    """A name that stands for one class again, or for none, leaves the list."""
    classes = _classes()
    assert {name for name in DOUBLE if len(classes[name]) < 2} == set()


def test_no_two_classes_of_the_rule_language_share_a_name() -> None:
    """Inside the package there is no exception."""
    inside = {name: [path for path in paths if path.startswith("rebuno/policy/")] for name, paths in _classes().items()}
    assert {name: paths for name, paths in inside.items() if len(paths) > 1} == {}
