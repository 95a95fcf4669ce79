"""What the commands tell somebody who asks for a verdict, for its reason, for failing tests and for mistakes."""

import json
import socket
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.cases.playing import HERE
from tests.cli.support import rebuno

GOOD = str(HERE / "bundles" / "good.rbp")

NPM = "\n".join(
    [
        'bundle npm\ndefault deny because "not agreed"\n',
        *(f'rule r{n} {{\n  allow tool "shell"\n  when args.command == "make {n}"\n}}\n' for n in range(1, 7)),
        'rule r7 {\n  allow tool "shell"\n  when args.command == "npm test" and args.cwd under "/proj"\n}\n',
        *(f'rule r{n} {{\n  allow tool "shell"\n  when args.command == "make {n}"\n}}\n' for n in range(8, 11)),
    ]
)

SIX = "\n".join(
    [
        'bundle six\ndefault deny because "not agreed"\n',
        *(
            f'rule r{n} {{\n  {verdict} tool "t{n}"\n  because "{n}"\n}}\n'
            for n, verdict in enumerate(["allow"] * 5 + ["deny"])
        ),
    ]
)
SIX_CASES = """\
cases:
  - {name: first, target: t0, expect: allow, expect_rule: r0}
  - {name: second, target: t1, expect: allow}
  - {name: third, target: t5, expect: allow}
  - {name: fourth, target: t3, expect: allow}
"""

MISTAKES = """\
bundle mistakes
default deny because "x"

dney tool "x"

rule a {
  allow tool "x"
  when args.a == 1
  beacuse "y"
}

rule b { allow tool "y" when args.b === 2 }
"""


# ---------------------------------------------------------------- what would happen


@pytest.mark.parametrize(
    ("command", "expected", "rule", "line"),
    [("git push", "deny", "no-push", 5), ("date", "require_approval", "ask", 11)],
)
def test_a_verdict_is_asked_for_without_making_it_happen(
    command: str, expected: str, rule: str, line: int, tmp_path: Path
) -> None:
    """Verdict, rule, line and reason, as text and as JSON; nothing is opened, nothing is written."""
    argv = ("policy", "explain", GOOD, "--target", "shell", "--args", json.dumps({"command": command}))
    with patch.object(socket, "socket", side_effect=AssertionError("the network is touched")):
        ran = rebuno(*argv, "--expect", expected, within=tmp_path)
        other = rebuno(*argv, "--expect", "allow", within=tmp_path)
        data = json.loads(rebuno(*argv, "--json", within=tmp_path).out)
        piped = rebuno(*argv[:-1], "-", stdin=argv[-1].encode(), within=tmp_path)
    assert (ran.code, other.code, ran.out) == (0, 1, piped.out)
    assert expected in ran.out.splitlines()[1]
    assert f"rule {rule}" in ran.out
    assert f"good.rbp:{line}:" in ran.out
    assert "because " in ran.out
    assert data["decision"] == expected
    assert (data["rule"], data["line"]) == (rule, line)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "wrong",
    [
        ("--target", "shell", "--args", "{"),
        ("--target", "shell", "--args", '{"command": 1, "command": 2}'),
        ("--target", "shell", "--args", "NaN"),
        ("--target", "shell", "--kind", "tol"),
        ("--target", "shell", "--expect", "maybe"),
        ("--target", ""),
        ("--target", "shell", "--args", "@gone.json"),
    ],
    ids=str,
)
def test_a_malformed_question_is_no_verdict(wrong: tuple[str, ...], tmp_path: Path) -> None:
    """An error on standard error, and nothing else."""
    ran = rebuno("policy", "explain", GOOD, *wrong, within=tmp_path)
    assert ran.code not in (0, 1)
    assert ran.out == ""
    assert ran.err


def test_a_tool_that_no_rule_names_is_judged_by_the_default() -> None:
    """An unknown name is no error: the default says what happens."""
    ran = rebuno("policy", "explain", GOOD, "--target", "unknown", "--expect", "allow")
    assert ran.code == 0
    assert "by the default" in ran.out


def test_a_thousand_calls_are_judged_in_one_process() -> None:
    """One JSON object a line, one answer a line."""
    lines = [json.dumps({"target": "shell", "args": {"command": f"git log -{n}"}}) for n in range(1000)]
    ran = rebuno("policy", "explain", GOOD, "--json", stdin="\n".join(lines).encode())
    assert len(ran.out.splitlines()) == 1000
    bad = rebuno("policy", "explain", GOOD, "--json", stdin="\n".join([*lines[:3], "{"]).encode())
    assert (bad.code, bad.out) == (2, "")


# ---------------------------------------------------------------- why


def test_the_nearest_miss_is_told_with_the_value_that_missed(tmp_path: Path) -> None:
    """The trailing blank can be seen, and the default is called the default."""
    (tmp_path / "npm.rbp").write_text(NPM)
    call = ("--target", "shell", "--args", '{"command": "npm test ", "cwd": "/proj/app"}')
    ran = rebuno("policy", "explain", "npm.rbp", *call, within=tmp_path)
    assert "by the default" in ran.out
    assert '"npm test "' in ran.out
    assert "r7" in ran.out
    everything = rebuno("policy", "explain", "npm.rbp", *call, "--all", within=tmp_path).out
    places = [everything.index(f" r{n} ") for n in range(1, 11)]
    assert places == sorted(places)
    data = json.loads(rebuno("policy", "explain", "npm.rbp", *call, "--json", within=tmp_path).out)
    assert data["rule"] == "default"
    assert [rule["rule"] for rule in data["rules"]] == [f"r{n}" for n in range(1, 11)]


@pytest.mark.parametrize(
    ("name", "mark"),
    [
        ("sear\u0441h", '("sear\\u0441h")'),  # a Cyrillic letter
        ("\uff53earch", '("\\uff53earch")'),  # a wide letter
        ("sea\u200brch", "sea\\u200brch"),  # an invisible one
        ("search\u202e", "search\\u202e"),  # one that turns text round
        ("search ", '("search ")'),  # a blank at the end
        ("search\n", "search\\n"),
    ],
)
def test_a_name_that_looks_like_another_is_marked(name: str, mark: str) -> None:
    """It can be told from the plain name, which has no mark."""
    bundle = str(HERE / "bundles" / "one-tool.rbp")
    assert mark in rebuno("policy", "explain", bundle, "--target", name).out.splitlines()[0]
    assert rebuno("policy", "explain", bundle, "--target", "search").out.startswith("tool_call search {}")


# ---------------------------------------------------------------- tests and mistakes


def test_a_failing_test_is_told_in_full_and_coverage_all_the_same(tmp_path: Path) -> None:
    """Expected, got, the deciding rule with its line, the trace, and the rules that nobody asked about."""
    (tmp_path / "six.rbp").write_text(SIX)
    (tmp_path / "six.policytest.yaml").write_text(SIX_CASES)
    ran = rebuno("policy", "test", "six.rbp", "--junit", "out.xml", within=tmp_path)
    assert ran.code == 1
    assert "expected allow, got deny" in ran.out
    assert "by rule r5" in ran.out
    assert "six.rbp:" in ran.out
    assert "no case reaches: r2, r4" in ran.out
    assert "<failure" in (tmp_path / "out.xml").read_text()
    one = rebuno("policy", "test", "six.rbp", "--case", "first", within=tmp_path)
    assert one.code == 0
    assert "second" not in one.out
    data = json.loads(rebuno("policy", "test", "six.rbp", "--json", within=tmp_path).out)
    assert [bundle["failed"] for bundle in data["bundles"]] == [1]


def test_a_folder_without_tests_is_no_success(tmp_path: Path) -> None:
    """Nothing tested is not all well."""
    ran = rebuno("policy", "test", ".", within=tmp_path)
    assert ran.code != 0
    assert ran.err or ran.out


def test_every_mistake_is_told_in_one_go(tmp_path: Path) -> None:
    """Three mistakes, three places with a mark; swapped letters get a suggestion; a missing file is an error."""
    (tmp_path / "mistakes.rbp").write_text(MISTAKES)
    ran = rebuno("policy", "check", "mistakes.rbp", within=tmp_path)
    heads = [line for line in ran.out.splitlines() if line.startswith("mistakes.rbp:")]
    assert [head.split(":")[1] for head in heads] == ["4", "9", "12"]
    assert "`because`" in ran.out
    assert ran.out.count("^") >= 3
    gone = rebuno("policy", "check", "gone.rbp", within=tmp_path)
    assert gone.code == 2
    assert "gone.rbp" in gone.out + gone.err
