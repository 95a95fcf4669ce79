"""`workdir session`: relative paths start in the folder that the host named when the session began."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebuno.model.decision import Decision
from rebuno.policy import (
    Facts,
    Policy,
    check_bundle,
    compile_bundle,
    compile_policy,
    compile_text,
    dump_ast,
    explain_decision,
    format_bundle,
    load_ast,
    parse_bundle,
    read_cases,
    read_source,
    shadow_verdicts,
)
from rebuno.policy.explain.explain import known_values
from rebuno.policy.facets.path.begins import MAX_LETTERS
from rebuno.policy.matcher.policy import MOST_FOLDERS, SessionLayer
from rebuno.policy.syntax import tree
from rebuno.policy.syntax.source import Source
from rebuno.policy.values.json_values import Tri
from tests.policy import bundles

ROOT = Path(__file__).resolve().parents[2]
HOME = 'home "/home/bot"\n'
ASKED = """
rule sure { allow tool "sure" when TEST }
rule perhaps { deny tool "perhaps" when TEST }
default allow
"""


def told(decision: Decision) -> tuple[Any, ...]:
    """What a decision says, without the policy that it is of."""
    limits = [repr(replace(one, bundle="")) for one in decision.obligations]
    return decision.verdict, decision.rule_id, decision.reason, decision.message, decision.line, limits


def decided(policy: Policy, facts: Facts) -> Decision:
    """The decision; `explain` gives the same one."""
    decision = policy.decide(facts)
    counted = facts.tests
    trace = explain_decision(policy, facts)
    assert told(trace.decision) == told(decision)
    assert facts.tests == counted
    return decision


def asked(test: str, args: Any, workdir: str, head: str = "workdir session\n") -> Tri:
    """What a test comes to in a session with this folder."""
    policy = compile_text(head + ASKED.replace("TEST", test).replace("default allow", "default deny", 1))
    if decided(policy, Facts("tool_call", "sure", args, workdir=workdir)).rule_id == "sure":
        return True
    return None if decided(policy, Facts("tool_call", "perhaps", args, workdir=workdir)).rule_id == "perhaps" else False


@pytest.mark.parametrize(
    ("test", "args", "expected"),
    [
        ('args.path under "."', {"path": "src/a.py"}, True),
        ('args.path under "."', {"path": "/work/app/src/a.py"}, True),
        ('args.path under "."', {"path": "../x"}, False),
        ('args.path under "."', {"path": "/etc/passwd"}, False),
        ('args.path under ["src", "tests"]', {"path": "/work/app/tests/a.py"}, True),
        ('args.path under ["src", "tests"]', {"path": "docs/a.md"}, False),
        ('path of args.path like "src/*.py"', {"path": "/work/app/src/a.py"}, True),
        ('path of args.path like "src/*.py"', {"path": "/src/a.py"}, False),
        ('path of args.path == "a.py"', {"path": "/work/app/a.py"}, True),
        ('path of args.path in ["a.py", "/b"]', {"path": "./a.py"}, True),
        ("args.path under args.dir", {"path": "a.py", "dir": "/work/app"}, True),
        ('every redirect of args.command under "."', {"command": "make > log"}, True),
        ('every redirect of args.command under "."', {"command": "cd .. && make > log"}, False),
        ('every redirect of args.command under "."', {"command": "make > log", "cwd": "src"}, True),
        ('every redirect of args.command under "."', {"command": "make > log", "cwd": "/tmp"}, False),
        ('every redirect of args.command under "src"', {"command": "make > log", "cwd": "src"}, True),
        ('any redirect of args.command under "."', {"command": "make > log", "cwd": 7}, None),
        ('every command of args.command has (path of it[1] under "src")', {"command": "cat a.py", "cwd": "src"}, True),
        ('every command of args.command has (path of it[1] under "src")', {"command": "cat a.py"}, False),
    ],
)
def test_paths_of_a_session(test: str, args: Any, expected: Tri) -> None:
    """Values, literals and commands start in the folder, as under a `workdir` that names it."""
    assert asked(test, args, "/work/app") is expected
    assert asked(test, args, "/work/app", 'workdir "/work/app"\n') is expected
    assert asked(test, args, "/work/./app//") is expected


ABSENT = ["/", "//", "/.", "/x/..", "/home/bot", "/home", "/Home", "/HOME/Bot/", "/home/bot/.", "work", "C:\\x", "~",
          " ", "/a\nb", "/" + "a" * MAX_LETTERS, "/a" * 200]  # fmt: skip


@pytest.mark.parametrize("workdir", ABSENT)
def test_a_folder_that_counts_as_absent(workdir: str) -> None:
    """`/`, the home, what is above it, and what is no path: everything that is tested against a relative literal is
    maybe; else it is as in a session without a folder."""
    head = f"workdir session\n{HOME}"
    for path in ("a", "/home/bot/a", "/etc/a", "../a", "."):
        assert asked('args.path under "."', {"path": path}, workdir, head) is None
        assert asked('path of args.path == "a"', {"path": path}, workdir, head) is None
        assert asked('path of args.path like ["a", "src/*"]', {"path": path}, workdir, head) is None
        assert asked('path of args.path in ["a"]', {"path": path}, workdir, head) is None
        assert asked("args.path under args.dir", {"path": path, "dir": "."}, workdir, head) is None
        for test in ('args.path under "/home/bot"', 'args.path under "~"', 'name of args.path == "a"',
                     'path of args.path like "**/.ssh/**"', 'path of args.path like "/etc/*"'):  # fmt: skip
            assert asked(test, {"path": path}, workdir, head) is asked(test, {"path": path}, "", HOME)
    assert asked('every redirect of args.command under "."', {"command": "a > b"}, workdir, head) is None
    assert (
        asked('every redirect of args.command under "/etc"', {"command": "a > b", "cwd": "/etc"}, workdir, head) is True
    )


@pytest.mark.parametrize(
    "workdir", ["/home/ann", "/Users/ann", "/root", "/home", "/USERS", "/export/home/ann", "/var/root"]
)
def test_without_a_home_what_looks_like_one_is_one(workdir: str) -> None:
    """A bundle that does not say what the home is cannot tell that a user's folder is not."""
    assert asked('args.path under "."', {"path": ".bashrc"}, workdir) is None
    assert asked('args.path under "."', {"path": ".bashrc"}, f"{workdir}/a/b") is True
    if workdir != "/home":
        assert asked('args.path under "."', {"path": ".bashrc"}, workdir, f"workdir session\n{HOME}") is True


def test_a_session_without_a_folder() -> None:
    """It is as without the line."""
    for path in ("a", "/a", "../a", "~/a"):
        for test in ('args.path under "."', 'args.path under "/a"', 'path of args.path like "a"', 'args.path == "a"'):
            assert asked(test, {"path": path}, "") is asked(test, {"path": path}, "", "")


# ---------------------------------------------------------------- laws


@settings(max_examples=60)
@given(bundles.bundles(), st.data())
def test_it_is_a_workdir_of_that_name(text: str, data: st.DataObject) -> None:
    """A bundle with `workdir session` decides as the same bundle with the folder's name in its place."""
    lines = [line for line in text.split("\n") if not line.startswith(("workdir", "home"))]
    facts = data.draw(bundles.facts())
    folder = data.draw(st.sampled_from(["/proj", "/a/b", "/x/../a"]))
    session, named = (
        bundles.policy_of("\n".join([lines[0], f"workdir {where}", *lines[1:]])) for where in ("session", f'"{folder}"')
    )
    one = session.decide(bundles.again(facts, workdir=folder))
    assert told(one) == told(named.decide(bundles.again(facts, workdir="")))
    assert told(explain_decision(session, bundles.again(facts, workdir=folder)).decision) == told(one)


def test_the_shipped_bundle() -> None:
    """Every case of the coding bundle has the same answer if the session has its folder."""
    path = ROOT / "policies" / "coding.rbp"
    session = compile_bundle(read_source(path))
    text = path.read_text(encoding="utf-8").replace("\nworkdir session\n", '\nworkdir "/workspace"\n')
    assert '"/workspace"' in text
    named = compile_bundle(Source(text, str(path), "coding", path.parent))
    cases = read_cases(read_source(ROOT / "policies" / "coding.policytest.yaml")).cases
    assert len(cases) > 200
    for case in cases:
        facts = case.submission.facts()
        assert facts.workdir == "/workspace"
        assert told(session.decide(facts)) == told(named.decide(case.submission.facts()))


# ---------------------------------------------------------------- beside one another


def test_policies_of_folders_are_kept_for_a_while() -> None:
    """Each folder has a policy of its own, and one that was let go is made again."""
    policy = compile_text('workdir session\nrule r { allow tool "t" when args.p under "." }\ndefault deny')
    assert isinstance(policy, SessionLayer)
    for _ in range(2):
        for number in range(MOST_FOLDERS + 10):
            facts = Facts("tool_call", "t", {"p": "/work/7/a"}, workdir=f"/work/{number}")
            assert (policy.decide(facts).rule_id == "r") is (number == 7)


def test_layers_and_texts_that_are_filled() -> None:
    """Each layer has its own start, and a decision tells the values of its own submission."""
    outer = Source('bundle outer\nworkdir "/work"\nrule a { deny tool "t" when args.p under "keys" }\ndefault allow')
    inner = Source(
        "bundle inner\nworkdir session\ndefault deny\n"
        'rule b { require approval for tool "t" when args.p under "." message f"p {args.p}" }'
    )
    policy = compile_policy([outer, inner])
    for path in ("a", "b"):
        decision = policy.decide(Facts("tool_call", "t", {"p": path}, workdir="/work/app"))
        assert (decision.rule_id, decision.message) == ("b", f'p "{path}"')
    assert policy.decide(Facts("tool_call", "t", {"p": "keys/x"}, workdir="/work/app")).rule_id == "a"
    assert policy.decide(Facts("tool_call", "t", {"p": "../x"}, workdir="/work/app")).rule_id == "default"


def test_shadows_and_known_sets() -> None:
    """A bundle that is tried beside the policy starts in the same folder; so do the values of its sets."""
    head = 'bundle new\nworkdir session\ndefault allow\nknown some = ["src"]\n'
    shadow = compile_text(head + 'rule r { deny tool "t" when path of args.p in some }')
    policy = compile_text("default allow").with_shadows(shadow.layers)
    [said] = shadow_verdicts(policy, Facts("tool_call", "t", {"p": "/work/app/src"}, workdir="/work/app"))
    assert said["rule_id"] == "r"
    doubtful = compile_text('workdir session\nrule r { deny tool "t" when args.p under "." }\ndefault allow')
    policy = compile_text("default allow").with_shadows(doubtful.layers)
    [said] = shadow_verdicts(policy, Facts("tool_call", "t", {"p": "x"}, workdir="/"))
    assert said["doubt"] == 'args.p under "."'
    assert known_values(shadow, Facts("tool_call", "t", {}, workdir="/work/app")) == {"some": ["src"]}


# ---------------------------------------------------------------- other forms of a bundle


def test_the_statement_in_other_forms() -> None:
    """The tree, its JSON and its layout."""
    bundle, found = parse_bundle(Source("workdir   session\nlet session = 1\ndefault deny"))
    assert not found
    assert bundle.statements[0] == tree.Workdir(None)
    loaded = load_ast(json.dumps(dump_ast(bundle)))
    assert loaded.statements == bundle.statements
    assert format_bundle(Source("workdir   session\ndefault   deny")) == "workdir session\ndefault deny\n"


def test_nothing_is_said_of_a_missing_workdir() -> None:
    """A deny rule over paths has a start under `workdir session`."""
    text = 'workdir session\ndefault allow\nrule r { deny tool "t" when args.p under "/etc" }\n'
    assert "no-workdir" not in _codes(text)
    assert "no-workdir" in _codes(text.replace("workdir session\n", ""))


def _codes(text: str) -> set[str]:
    bundle, _ = parse_bundle(Source(text))
    return {str(one.code) for one in check_bundle(bundle)}
