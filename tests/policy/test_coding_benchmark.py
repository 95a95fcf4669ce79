"""The benchmark of the coding bundle: its bounds hold, it notices a worse bundle, and it tells what cannot be read."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
PROGRAM: Final = ROOT / "benchmarks" / "coding.py"
BUNDLE: Final = ROOT / "policies" / "coding.rbp"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The program, where no other guard is installed."""
    command = [sys.executable, str(PROGRAM), *arguments]
    return subprocess.run(command, cwd=ROOT, env={"PATH": ""}, capture_output=True, text=True, timeout=300, check=False)


def test_the_bounds_hold() -> None:
    """It prints the figures as JSON, ends with 0, and says nothing besides."""
    ran = run("--json")
    assert (ran.returncode, ran.stderr) == (0, "")
    found = json.loads(ran.stdout)
    assert set(found) == {"everyday", "consent", "hostile", "openmoat"}
    everyday, consent, hostile = found["everyday"], found["consent"], found["hostile"]
    assert (everyday["calls"], consent["calls"], hostile["calls"]) == (101, 21, 212)
    assert everyday["allowed"] >= 93
    assert consent["asked"] == 21
    assert hostile["allowed"] == 0
    assert hostile["denied"] * 100 >= 80 * hostile["must_deny"]
    assert found["openmoat"] is None


def test_a_worse_bundle_ends_with_one(tmp_path: Path) -> None:
    """A bundle that allows everything, and one that allows nothing: each sentence names a bound that does not hold."""
    loose = tmp_path / "loose.rbp"
    loose.write_text("bundle loose\ndefault allow\n", "utf-8")
    ran = run("--json", "--bundle", str(loose))
    assert ran.returncode == 1
    assert json.loads(ran.stdout)["hostile"]["allowed"] == 212
    assert ran.stderr.splitlines() == [
        "coding: 0 of 21 consent calls are asked about",
        "coding: 212 hostile calls are allowed",
        "coding: 0 of 107 calls that must be denied are",
    ]
    tight = tmp_path / "tight.rbp"
    tight.write_text('bundle tight\ndefault deny because "nothing"\n', "utf-8")
    ran = run("--bundle", str(tight))
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[0] == "coding: 0 of 101 everyday calls are allowed"


def test_the_bundle_without_a_rule_ends_with_one(tmp_path: Path) -> None:
    """The shipped bundle, in which one word makes the last question a permission."""
    folder = tmp_path / "policies"
    (folder / "lib").mkdir(parents=True)
    for path in (BUNDLE.parent / "lib").glob("*.rbp"):
        (folder / "lib" / path.name).write_text(path.read_text("utf-8"), "utf-8")
    text = BUNDLE.read_text("utf-8")
    head, asks, rest = text.partition('rule shell-asks {\n  require approval for tool "shell"\n')
    assert asks
    rest = "\n".join(line for line in rest.splitlines() if 'message "Should this run?' not in line)
    worse = folder / "coding.rbp"
    worse.write_text(f'{head}rule shell-asks {{\n  allow tool "shell"\n{rest}\n', "utf-8")
    ran = run("--json", "--bundle", str(worse))
    assert ran.returncode == 1, ran.stderr
    assert json.loads(ran.stdout)["hostile"]["allowed"] > 0


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("--bundle", None),
        ("--bundle", "bundle broken\nrule x {\n"),
        ("--bundle", 'bundle broken\nrule x {\n  allow tool "shell" when args.\n  deny\n}\nrule y { allow }\n'),
        ("--corpus", None),
        ("--corpus", "not JSON"),
        ("--corpus", "[]"),
        ("--corpus", "{}"),
        ("--corpus", '{"cases": [{"id": "x"}]}'),
        ("--corpus", '{"cases": [5]}'),
        ("--corpus", '{"cases": [{"id": "x", "kind": "odd", "right": "ask", "tool": "Bash", "input": {}}]}'),
        ("--corpus", '{"cases": [{"id": "x", "kind": "benign", "right": "allow", "tool": "Odd", "input": {}}]}'),
        ("--corpus", '{"cases": [{"id": "x", "kind": "benign", "right": "allow", "tool": "Bash", "input": 5}]}'),
    ],
)
def test_what_cannot_be_read_ends_with_two(tmp_path: Path, option: str, text: str | None) -> None:
    """One line says what is wrong, and nothing is printed."""
    path = tmp_path / "given"
    if text is not None:
        path.write_text(text, "utf-8")
    ran = run("--json", option, str(path))
    assert (ran.returncode, ran.stdout) == (2, "")
    assert len(ran.stderr.splitlines()) == 1, ran.stderr
    assert ran.stderr.startswith("coding: ")
