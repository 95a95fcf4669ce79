"""What cases exercise: rules that decide, and tests that were seen to hold and to fail."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebuno.policy.compile import compile_bundle, compile_text
from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.explain.trace import TraceNode
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.syntax.source import Source, read_source
from rebuno.policy.testing.cases import CaseReport, run_cases
from rebuno.policy.testing.coverage import CoverageTally
from rebuno.policy.testing.reader import read_cases
from tests.policy import bundles as made

HEAD = "bundle b\ndefault deny\n"


def _report(rules: str, *cases: str) -> CaseReport:
    file = read_cases(Source("cases:\n" + "".join(f"  - {{target: x, args: {{{case}}}}}\n" for case in cases)))
    return run_cases(compile_text(HEAD + rules), file.cases)


def _seen(rules: str, *cases: str) -> dict[str, tuple[int, int, int]]:
    return {test.text: (test.yes, test.no, test.maybe) for test in _report(rules, *cases).coverage.tests}


A, B = "args.a == 1", "args.b == 2"
WHEN = 'rule r {{ allow tool "x" when {0} }}\n'


@pytest.mark.parametrize(
    ("rules", "cases", "seen"),
    [
        (WHEN.format(A), ["a: 1", "a: 2", "a: no"], {A: (1, 1, 1)}),
        # an answer that an earlier part has settled was not needed
        (WHEN.format(f"{A} and {B}"), ["a: 2, b: 2"], {A: (0, 1, 0), B: (0, 0, 0)}),
        (WHEN.format(f"{A} or {B}"), ["a: 2, b: 2"], {A: (0, 1, 0), B: (1, 0, 0)}),
        # a test is counted as it stands, whatever `not` is before it
        (WHEN.format("not args.a == 1"), ["a: 1"], {A: (1, 0, 0)}),
        (WHEN.format(f"not ({A} or not {B})"), ["a: 2, b: 2"], {A: (0, 1, 0), B: (1, 0, 0)}),
        ('rule r { deny tool "x" unless args.a == 1 because "b" }\n', ["a: 1"], {A: (1, 0, 0)}),
        # `not in` is a test of its own
        (WHEN.format("args.a not in [1]"), ["a: 1"], {"args.a not in [1]": (0, 1, 0)}),
        # a rule about another step, or after the one that decided, is not asked
        ('rule r { allow tool "y" when args.a == 1 }\n', ["a: 1"], {A: (0, 0, 0)}),
        ('rule q { allow tool "x" }\nrule r { deny tool "*" when args.a == 1 }\n', ["a: 1"], {A: (0, 0, 0)}),
    ],
)  # fmt: skip
def test_answers_are_counted_where_they_mattered(
    rules: str, cases: list[str], seen: dict[str, tuple[int, int, int]]
) -> None:
    """Yes, no and maybe, for each test on its own."""
    assert _seen(rules, *cases) == seen


def test_a_condition_is_one_place_however_many_rules_use_it() -> None:
    """Its tests stand in the condition, also below another one and below `not`; one that no rule uses is left out."""
    rules = (
        "condition big = args.n > 5\n"
        "condition odd = big or args.odd given\n"
        "condition idle = args.n == 0\n"
        'rule one { allow tool "x" when args.go given and odd }\n'
        'rule two { allow tool "x" when not odd }\n'
    )
    tests = _report(rules, "n: 9, go: 1", "n: 1").coverage.tests
    assert [(t.within, t.line, t.text, t.yes, t.no) for t in tests] == [
        ("condition big", 3, "args.n > 5", 1, 1),
        ("condition odd", 4, "args.odd given", 0, 1),
        ("rule one", 6, "args.go given", 1, 1),
    ]


def test_a_condition_of_another_file_is_named_with_it(tmp_path: Path) -> None:
    """Its lines are those of that file."""
    (tmp_path / "lib.rbp").write_text("condition big = args.n > 5\n")
    (tmp_path / "b.rbp").write_text(f'{HEAD}use "lib.rbp"\nrule r {{ allow tool "x" when args.a given and big }}\n')
    file = read_cases(Source("cases: [{target: x, args: {n: 9, a: 1}}]"))
    tests = run_cases(compile_bundle(read_source(tmp_path / "b.rbp")), file.cases).coverage.tests
    assert [(t.within, Path(t.path).name, t.line, t.yes) for t in tests] == [
        ("rule r", "", 4, 1),
        ("condition big", "lib.rbp", 1, 1),
    ]
    assert Path(tests[1].to_json()["path"]).name == "lib.rbp"


def test_equal_tests_on_a_line_are_told_apart() -> None:
    """By their columns."""
    tests = _report(
        WHEN.format("(args.a == 1 and args.b == 1) or (args.a == 1 and args.c == 1)"), "a: 1, b: 1"
    ).coverage.tests
    assert [(t.column, t.text, t.yes) for t in tests] == [
        (31, "args.a == 1", 1),
        (47, "args.b == 1", 1),
        (64, "args.a == 1", 0),
        (80, "args.c == 1", 0),
    ]


@pytest.mark.parametrize(
    ("rules", "cases", "percent"),
    [
        ("", ["a: 1"], 100.0),  # nothing to reach
        (WHEN.format("args.a == 1"), [], 0.0),
        (WHEN.format("args.a == 1"), ["a: 1"], 66.7),  # the rule and a yes, no no
        (WHEN.format("args.a == 1"), ["a: 1", "a: 2"], 100.0),
        (WHEN.format("args.a == 1"), ["a: no"], 0.0),  # a doubt is neither
    ],
)
def test_the_share_counts_rules_and_both_answers_of_each_test(rules: str, cases: list[str], percent: float) -> None:
    """A rule is worth as much as one answer."""
    assert _report(rules, *cases).coverage.to_json()["percent"] == percent


def test_coverage_as_json() -> None:
    """Rules with the cases that they decided, tests with their place and answers."""
    assert _report(WHEN.format("args.a == 1"), "a: 1").to_json()["coverage"] == {
        "percent": 66.7,
        "rules": [{"rule": "r", "line": 3, "cases": 1}],
        "tests": [{"in": "rule r", "line": 3, "column": 30, "text": "args.a == 1", "yes": 1, "no": 0, "maybe": 0}],
    }


def _leaves(node: TraceNode) -> Iterator[tuple[str, str]]:
    """The plain tests of a trace that mattered, as a reader sees them: with their answer, `not` taken off both."""
    if node.counted and (not node.children or node.label == "has"):
        plain = node.text.removeprefix("not (")
        flipped = {"yes": "no", "no": "yes"}.get(node.answer, node.answer.value)
        yield (plain.removesuffix(")"), flipped) if plain != node.text else (plain, node.answer.value)
    if node.counted:
        for child in node.children:
            yield from _leaves(child)


@settings(max_examples=60, deadline=None)
@given(made.bundles(), st.lists(made.facts(), min_size=1, max_size=3))
def test_what_is_counted_is_what_the_traces_show(text: str, submissions: list[Facts]) -> None:
    """Every test of every trace is counted with its own answer, and nothing else is."""
    policy = made.policy_of(text)
    tally = CoverageTally(policy.bundles[0])
    shown = []
    for facts in submissions:
        trace = explain_decision(policy, facts)
        tally.add(trace)
        shown += [leaf for rule in trace.rules for node in rule.tests for leaf in _leaves(node)]
    counted = [
        (test.text.removesuffix(")"), answer)
        for test in tally.coverage().tests
        for answer, times in (("yes", test.yes), ("no", test.no), ("maybe", test.maybe))
        for _ in range(times)
    ]
    assert sorted(counted) == sorted((text.removesuffix(")"), answer) for text, answer in shown)
