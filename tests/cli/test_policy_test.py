"""`rebuno policy test`: coverage, JUnit XML, and several bundles at once."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from rebuno.policy import find_bundles, run_suites
from tests.cli.support import CASES, payments, rebuno


def _bundles(folder: Path, count: int) -> None:
    for number in range(count):
        (folder / f"b{number}.rbp").write_text(
            f'bundle b{number}\ndefault deny\nrule r {{ allow tool "t" when args.n == {number} }}\n'
        )
        (folder / f"b{number}.policytest.yaml").write_text("cases: [{target: t, args: {n: 1}, expect: allow}]\n")


def test_tests_that_never_came_out_otherwise_are_named(tmp_path: Path) -> None:
    """Under the rules that no case reaches, with line and text, and the share of it all."""
    payments(tmp_path, CASES.replace("9000", "9"))
    lines = rebuno("policy", "test", ".", within=tmp_path).out.splitlines()
    assert lines[lines.index("  no case reaches: ask, no-shell") :] == [
        "  no case reaches: ask, no-shell",
        "  never no         line 14: args.to in payees",
        "  never no         line 14: args.amount <= 2500",
        "  coverage 50 %: 2 of 4 rules, 2 of 4 answers",
        "",
        "3 cases, 0 failed",
    ]


def test_a_long_list_of_tests_is_cut(tmp_path: Path) -> None:
    """Nobody reads three hundred lines; JSON has them all."""
    parts = " or ".join(f"args.a == {number}" for number in range(300))
    (tmp_path / "a.rbp").write_text(f'bundle a\ndefault deny\nrule r {{ allow tool "t" when {parts} }}\n')
    (tmp_path / "a.policytest.yaml").write_text("cases: [{target: t, args: {a: 299}, expect: allow}]\n")
    out = rebuno("policy", "test", ".", within=tmp_path).out
    assert "  and 288 more tests; `--json` lists them all\n" in out
    assert len(out.splitlines()) < 25
    [bundle] = json.loads(rebuno("policy", "test", ".", "--json", within=tmp_path).out)["bundles"]
    assert len(bundle["coverage"]["tests"]) == 300


@pytest.mark.parametrize(
    ("least", "code"),
    [("50", 0), ("50.1", 1), ("100", 1), ("0", 0), ("101", 2), ("x", 2)],
)
def test_a_least_share_can_be_asked_for(tmp_path: Path, least: str, code: int) -> None:
    """Less of a bundle than that is an answer of no; what is no percentage is wrong usage."""
    payments(tmp_path, CASES.replace("9000", "9"))
    ran = rebuno("policy", "test", ".", "--min-coverage", least, within=tmp_path)
    assert ran.code == code
    assert ("too little is covered: 50.0 %" in ran.out) == (code == 1)


def test_a_bundle_without_cases_covers_nothing(tmp_path: Path) -> None:
    """It must not slip through where a share is asked for; a part of the cases is no measure of it."""
    (tmp_path / "a.rbp").write_text("bundle a\ndefault deny\n")
    assert rebuno("policy", "test", ".", "--min-coverage", "1", within=tmp_path).code == 1
    ran = rebuno("policy", "test", ".", "--min-coverage", "1", "--case", "x", within=tmp_path)
    assert (ran.code, "leave out `--case`" in ran.err) == (2, True)


def test_junit_has_every_case_with_what_went_wrong(tmp_path: Path) -> None:
    """A suite a bundle; errors, failures and missing cases are told apart and counted."""
    payments(tmp_path)
    (tmp_path / "broken.rbp").write_text("bundle broken\ndefault denny\n")
    (tmp_path / "idle.rbp").write_text("bundle idle\ndefault deny\n")
    ran = rebuno("policy", "test", ".", "--junit", "out.xml", within=tmp_path)
    assert ran.code == 2
    root = ElementTree.parse(tmp_path / "out.xml").getroot()
    counts = [{key: suite.get(key) for key in ("name", "tests", "failures", "errors", "skipped")} for suite in root]
    assert counts == [
        {"name": "broken.rbp", "tests": "1", "failures": "0", "errors": "1", "skipped": "0"},
        {"name": "idle.rbp", "tests": "1", "failures": "0", "errors": "0", "skipped": "1"},
        {"name": "pay.rbp", "tests": "3", "failures": "1", "errors": "0", "skipped": "0"},
    ]
    assert [root.get(key) for key in ("tests", "failures", "errors", "skipped")] == ["5", "1", "1", "1"]
    [failure] = root.iter("failure")
    assert failure.get("message") == "expected allow, got require_approval"
    assert "no     args.amount <= 2500" in (failure.text or "")
    [error] = root.iter("error")
    assert "broken.rbp:2:9: error[" in (error.text or "")
    assert [case.get("line") for case in root[2]] == ["3", "4", "9"]


def test_junit_holds_whatever_a_case_holds(tmp_path: Path) -> None:
    """Markup is escaped, and what XML cannot say stands there as an escape."""
    payments(tmp_path)
    name = r'"<a & \"b\"> ]]> \0\a\u001b\ufffe\n\u202e"'
    (tmp_path / "pay.policytest.yaml").write_text(
        f"cases: [{{name: {name}, target: send_money, args: {{to: {name}}}, expect: deny}}]\n"
    )
    rebuno("policy", "test", ".", "--junit", "out.xml", within=tmp_path)
    [case] = ElementTree.parse(tmp_path / "out.xml").getroot().iter("testcase")
    assert case.get("name") == r'<a & "b"> ]]> \u0000\u0007\u001b\ufffe\n\u202e'
    assert r"]]> \u0000\u0007\u001b" in "".join(case.itertext())


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    """A CI job must not go green without its report."""
    payments(tmp_path)
    assert rebuno("policy", "test", ".", "--junit", "nowhere/out.xml", within=tmp_path).code == 3


def test_processes_give_the_same_reports_in_the_same_order(tmp_path: Path) -> None:
    """Failures, traces and coverage included."""
    _bundles(tmp_path, 5)
    suites = find_bundles([tmp_path])
    calls: list[int] = []
    shared = run_suites(suites, jobs=2, done=lambda: calls.append(1))
    assert [one.to_json() for one in shared] == [one.to_json() for one in run_suites(suites, jobs=1)]
    assert [bool(one.report and one.report.failed) for one in shared] == [True, False, True, True, True]
    assert len(calls) == 5


@pytest.mark.parametrize("terminal", [True, False])
def test_a_bar_is_drawn_on_a_terminal_only(tmp_path: Path, terminal: bool) -> None:
    """On standard error, so that the report can be piped; it is taken away again."""
    _bundles(tmp_path, 3)
    parent, child = pty.openpty()
    path = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-m", "rebuno_cli.main", "policy", "test", "."],
        stdout=subprocess.PIPE,
        stderr=child if terminal else subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        cwd=tmp_path,
        env={"PYTHONPATH": path, "PATH": os.environ["PATH"], "TERM": "xterm"},
        timeout=60,
    )
    os.close(child)
    assert done.returncode == 1
    assert b"testing bundles" not in done.stdout
    if terminal:
        assert b"testing bundles" in os.read(parent, 65536)
    else:
        assert done.stderr == b""
    os.close(parent)
