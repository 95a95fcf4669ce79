"""What is said to follow from a condition does follow, for every value that was thought of."""

from itertools import product
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebuno.policy.analysis.formulas import Formulas
from rebuno.policy.analysis.implication import CountedCondition, implied
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import Source
from rebuno.policy.syntax.tree import Condition
from rebuno.policy.values.json_values import Tri
from tests.policy import bundles as made

PLAIN: Final = [
    '== "a"', '== "A" ignoring case', '!= "a"', "== 1", "!= 1", "== true", 'in ["a", "b"]', 'in ["a", 1]',
    'in ["A", "c"] ignoring case', 'not in ["a", "b"]', "in [1, 2, 3]", "not in [1.0, true]", "in some", "< 2", "<= 2",
    "<= 1", "> 2", ">= 2", 'like "a*"', 'like "[ab]*"', 'like "?"',
    'like "?" ignoring case', 'like "A*" ignoring case', 'like ["*b", "a"]',
    'not like "a*"', 'starts with "a"', 'starts with "ab"', 'starts with "AB" ignoring case', 'ends with "b"',
    'contains "a"', 'contains "ab"', 'contains any ["a", "x"]', 'contains any ["a"]', "contains any some",
    'not contains any ["a", "x"]', "contains 1", 'matches r"a.*"', r'matches r"\w+"', 'matches "A" ignoring case',
    "given", "missing", "is string", "is not string", "is number", "is integer", "is boolean", "is list", "is object",
    "is null", "is not null", "== args.b", "!= args.b", "in asked", "not in asked", 'under "/a"', 'under "/a/b"',
    'under ["/a", "src"]', 'not under "/a"', 'not under "/a/b"',
]  # fmt: skip
READ: Final[dict[str, list[str]]] = {
    "host of args.a": ['under "example"', 'under "corp.example"', 'under ["corp.example", "b"]', '== "corp.example"',
                       'in ["corp.example", "x.b"]', 'not under "example"', 'not under "corp.example"', "given",
                       'ends with ".Example"', 'like "*.example"', '!= "corp.example"'],
    "path of args.a": ['under "/a"', 'under "/a/b"', '== "/a/b"', 'in ["/a/b", "/a/c"]', 'like "src/*"', '!= "/a/b"',
                       'like ["src/*", "**/*.py"]', 'not under "/a"', 'not like "src/*"', 'starts with "/a"'],
    "command of args.a": ['like "git *"', 'like "git status"', 'like "git status *"', 'like "git push *"',
                          'like "g* *"', 'like "*"', 'like ["git *", "ls"]',
                          'not like "git *"', 'not like "git status"', 'contains "push"',
                          'contains any ["push", "x"]', 'like "/usr/bin/git *"', 'like "*git *"', 'like "Git *"'],
    "program of args.a": ['== "git"', '== "GIT" ignoring case', 'in ["GIT", "x"]',
                          'in ["git", "ls"]', 'like "g*"', '!= "git"', 'not in ["git", "ls"]'],
    "domain of args.a": ['== "corp.example"', 'under "example"', 'under "corp.example"', 'not under "example"'],
    "date of args.a": ['== "2025-01-11"', '== "January 11"', '<= "2025-01-11"', 'in ["2025-01-11", "January 11"]'],
    "number of args.a": ["== 1", "<= 1", "<= 50", "in [1, 50]", "!= 1"],
    "link of args.a": ['under "example"', 'under "corp.example"', '== "https://corp.example/a"', 'starts with "https"'],
    "address of args.a": ['under "10.0.0.0/8"', 'under "10.0.0.0/16"', '== "10.0.0.1"'],
    "size of args.a": ["<= 2", "== 1", "> 2"],
}  # fmt: skip
SETS: Final = ("command", "program", "link")

SHELL: Final = [
    "git status", "git status -s", "git push x", "ls", "ls; git status", "git status > f", "/usr/bin/git status",
    "/opt/git push",
    "GIT status", "Git status", "git $X", "$X status", "X=1 git status", "git *", "echo 'a", "gitk", "git", "",
]  # fmt: skip
VALUES: Final[list[Any]] = [
    *made.POOL, *made.WORDS, *made.NUMBERS, *made.HOSTILE, *made.READABLE, *SHELL, "abb", "bb", "c", "C", 3, 1.5, True,
    False, {}, {"a": "a"}, ["git status"], ["a"], ["x"], ["b", "c"], [True], [[]], [None, "a"], ["/a/b/c", "/A/b"],
    "/a/c", "/a/b/../c", "src/x", "https://x.corp.example", "http://10.0.3.1/", "http://10.9.0.1", "ana@x.corp.example",
    "https://CORP.example./b", "see https://x.corp.example", "HTTPS://corp.example/a", "2025-01-12", "2024-01-11",
]  # fmt: skip
NO_VALUES: Final[list[Any]] = [{}, [], {"b": 1}]
FACTS: Final = [
    Facts("tool_call", "pay", args, input="a, 50, git")
    for args in (*NO_VALUES, *({"a": value, "b": "a"} for value in VALUES))
]
PROLOGUE: Final = 'let some = ["a", "ab"]\nknown asked = input'


def asked(expression: str, *, sure: bool) -> CountedCondition:
    bundle, _ = parse_bundle(Source(f"{PROLOGUE}\ncondition c = {expression}"))
    (condition,) = [statement for statement in bundle.statements if isinstance(statement, Condition)]
    return CountedCondition(Formulas(bundle).condition(condition.expr), sure=sure)


def holds(answer: Tri, sure: bool) -> bool:
    return answer is True or (answer is None and not sure)


def families() -> list[list[str]]:
    plain = [f"{operand} {test}" for test in PLAIN for operand in ("args.a",)]
    quantified = [
        f"{quantifier} args.a {test}"
        for test in PLAIN
        for quantifier in ("any", "every", "no")
        if test not in ("given", "missing")
    ]
    read = [
        [
            f"{quantifier} {operand} {test}".strip()
            for test in tests
            for quantifier in (("any", "every", "no") if operand.split()[0] in SETS else ("", "any", "every"))
            if test != "given" or not quantifier
        ]
        for operand, tests in READ.items()
    ]
    return [plain + quantified[::2], plain[::2] + quantified[1::2], *read]


@pytest.mark.parametrize("tests", families(), ids=lambda tests: f"{tests[-1]} and others")
def test_what_follows_from_a_test_holds_for_every_value(tests: list[str]) -> None:
    """Each pair of tests, for each way of counting maybe: what is implied is never contradicted by a value."""
    answers = {test: made.answers(PROLOGUE, test, FACTS) for test in tests}
    made_once = {(test, sure): asked(test, sure=sure) for test in tests for sure in (True, False)}
    context = Formulas(parse_bundle(Source(PROLOGUE))[0]).context
    shown = 0
    for one, other in product(tests, repeat=2):
        for sure, other_sure in product((True, False), repeat=2):
            premise, goal = made_once[one, sure], made_once[other, other_sure]
            if implied(premise, [goal], context) is not None:
                shown += one != other
                for facts, mine, theirs in zip(FACTS, answers[one], answers[other], strict=True):
                    wrong = holds(mine, sure) and not holds(theirs, other_sure)
                    assert not wrong, (one, sure, other, other_sure, facts.args)
        if made_once[one, True].never():
            assert True not in answers[one], one
    assert shown > len(tests) // 4


@settings(max_examples=15, deadline=None)
@given(
    made.prologues(),
    st.lists(made.expressions(conditions=True, depth=1), min_size=4, max_size=4),
    st.lists(made.facts(), min_size=1, max_size=2),
)
def test_what_follows_from_a_condition_holds_for_every_submission(
    prologue: str, drawn: list[str], submissions: list[Facts]
) -> None:
    """Conditions of the whole language, and some that are built of each other."""
    one, two, three, four = drawn
    tests = [*drawn, f"({one} and {two})", f"({one} or {three})", f"(not {one})", f"(not ({one} and {four}))"]
    bundle, _ = parse_bundle(Source(prologue + "".join(f"\ncondition c{n} = {test}" for n, test in enumerate(tests))))
    formulas = Formulas(bundle)
    conditions = {line.name.text: line.expr for line in bundle.statements if isinstance(line, Condition)}
    facts = [varied for given_one in submissions for varied in made.variants(given_one)]
    answers = [made.answers(prologue, test, facts) for test in tests]
    ways = [
        (n, CountedCondition(formulas.condition(conditions[f"c{n}"]), sure=sure))
        for n in range(len(tests))
        for sure in (True, False)
    ]
    for (n, premise), (m, goal) in product(ways, repeat=2):
        if n != m and implied(premise, [goal], formulas.context) is not None:
            for mine, theirs in zip(answers[n], answers[m], strict=True):
                wrong = holds(mine, premise.sure) and not holds(theirs, goal.sure)
                assert not wrong, (tests[n], premise.sure, tests[m], goal.sure)
