"""The counter of lines counts code, and nothing that only explains code."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.lines import ROOT, code_lines, modules

STATEMENTS = ["x = 1", "def f():\n    return 2", "y = [\n    1,\n    2,\n]", "class C:\n    z: int = 3"]
EXPLAINED = ["", "# a comment", "   # another", "\t"]


@given(st.lists(st.tuples(st.sampled_from(STATEMENTS), st.lists(st.sampled_from(EXPLAINED), max_size=3))))
def test_comments_and_blank_lines_add_nothing(parts: list[tuple[str, list[str]]]) -> None:
    """However many stand between the statements."""
    bare = "".join(f"{statement}\n" for statement, _ in parts)
    text = "".join("\n".join([*above, statement, ""]) for statement, above in parts)
    assert code_lines(text) == code_lines(bare) == bare.count("\n")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('"""A docstring\nof two lines."""\nx = 1\n', 1),
        ('class C:\n    """Says why."""\n\n    def f(self):\n        """Says\n        more."""\n        return 1\n', 3),
        ("async def f():\n    '''Why.'''\n    return 1\n", 2),
        ('x = """two\nlines"""\n', 2),
        ('def f():\n    return 1  # why\n    "no docstring, since it stands last"\n', 3),
        ("", 0),
    ],
)
def test_docstrings_add_nothing_and_other_texts_do(text: str, lines: int) -> None:
    """A text is a docstring only where it stands first in a module, a class or a function."""
    assert code_lines(text) == lines


def test_the_report_sums_up_every_module() -> None:
    """The folders of the first level add up to the number in front."""
    ran = subprocess.run([sys.executable, "benchmarks/lines.py"], cwd=ROOT, capture_output=True, text=True, check=True)
    report = json.loads(ran.stdout)
    assert report["code"] == report["folders"]["rebuno"] + report["folders"]["cli"]
    assert report["code"] == sum(code_lines((ROOT / path).read_text(encoding="utf-8")) for path in modules(ROOT))
    assert report["modules"] == len(list(modules(ROOT)))
