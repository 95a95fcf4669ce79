"""What is wrong with a bundle whose syntax is right is found, each mistake once, and nothing else is."""

import re
from contextlib import nullcontext
from pathlib import Path

import pytest

from rebuno.errors import BundleError
from rebuno.policy.check.bundle import check_bundle
from rebuno.policy.compile import from_trees
from rebuno.policy.syntax.diagnostics import MOST, Code, Severity, ordered
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import Source
from tests.policy.test_parse import BANKING

ROOT = Path(__file__).parents[2]


def found(text: str, severity: Severity = Severity.ERROR) -> list[tuple[str, int, int]]:
    bundle, errors = parse_bundle(Source(text))
    assert [str(error) for error in errors] == []
    return [(d.code, d.span.line, d.span.column) for d in check_bundle(bundle) if d.severity is severity]


def hints(text: str) -> list[str]:
    return [f"{d.message}: {d.help}" for d in check_bundle(parse_bundle(Source(text))[0])]


NAMES = """\
let names = ["a"]
let word = "a"
let five = 5
known seen = input
condition small = args.amount <= 5
"""

# code, column of the finding, the test
TESTS: list[tuple[str, int, str]] = [
    # names
    ("unknown-name", 1, "smal"),
    ("unknown-name", 11, "args.x in nams"),
    ("wrong-sort", 1, "names"),
    ("wrong-sort", 1, "seen"),
    ("wrong-sort", 1, "args"),
    ("wrong-sort", 11, "args.x in small"),
    ("wrong-sort", 11, "args.x == seen"),
    ("wrong-sort", 17, "args.x contains seen"),
    ("wrong-sort", 1, "names.x == 1"),
    ("wrong-sort", 1, "small.x == 1"),
    ("unknown-root", 1, "arg.x == 1"),
    ("misplaced-root", 1, "it == 1"),
    ("misplaced-root", 1, "item.x == 1"),
    ("misplaced-root", 11, "args.x == result.y"),
    ("misplaced-root", 1, "this.args.x == 1"),
    ("bad-path", 1, "target.x == 1"),
    ("unknown-facet", 1, "hots of args.x == 1"),
    ("unknown-facet", 11, "args.x == hots of args.y"),
    ("unknown-type", 11, "args.x is sting"),
    # types
    ("null-comparison", 11, "args.x == null"),
    ("null-comparison", 11, "args.x != null"),
    ("wrong-type", 10, 'args.x < "5"'),
    ("wrong-type", 10, "args.x < true"),
    ("wrong-type", 10, "args.x < word"),
    ("wrong-type", 10, "args.x < [1]"),
    ("wrong-type", 13, "args.x like 5"),
    ("wrong-type", 16, "args.x matches true"),
    ("wrong-type", 20, "args.x starts with 5"),
    ("wrong-type", 18, "args.x ends with five"),
    ("wrong-type", 11, 'args.x in "a"'),
    ("wrong-type", 11, "args.x in word"),
    ("wrong-type", 17, 'args.x contains ["a"]'),
    ("wrong-type", 17, "args.x contains names"),
    ("bad-list", 11, "args.x in []"),
    ("bad-list", 17, 'args.x in ["a", null]'),
    ("bad-regex", 16, 'args.x matches "("'),
    ("bad-regex", 16, 'args.x matches r"a(?=b)"'),
    ("bad-glob", 13, 'args.x like "[a"'),
    ("bad-glob", 13, r'args.x like "a\\"'),
    ("bad-path", 11, "args.x == args.y[]"),
    # quantifiers
    ("missing-quantifier", 1, "args.x[] == 1"),
    ("missing-quantifier", 1, "args.x.* == 1"),
    ("missing-quantifier", 1, 'key of args == "x"'),
    ("missing-quantifier", 1, "(args.x, args.y) == 1"),
    ("superfluous", 1, "any args.x given"),
    ("superfluous", 1, "args.x == 5 ignoring case"),
    ("superfluous", 1, "args.x < 5 ignoring case"),
]

FINE = [
    "small and not small",
    "args.x[] given or (args.x, args.y) missing",
    "any args.x[] in names and every (args.x, args.y) not in seen",
    "args.x in [1, \"a\", true]",
    "args.x in args.list[].name and args.y in input and target in names",
    "args.x == word and args.x != five and args.y > five and args.z == args.w",
    "args.x like [\"a*\", \"b*\"] and args.x starts with names ignoring case",
    "args.x matches r\"\\d+\" and args.x contains 5",
    "args.x is not null or args.x is integer",
]  # fmt: skip


@pytest.mark.parametrize(("code", "column", "test"), TESTS, ids=[test for _, _, test in TESTS])
def test_tests(code: str, column: int, test: str) -> None:
    """Each test that cannot be asked gives one finding at the part that is wrong."""
    before = "condition c = "
    assert found(f"{NAMES}{before}{test}") == [(code, 6, len(before) + column)]


@pytest.mark.parametrize("test", FINE)
def test_tests_that_can_be_asked(test: str) -> None:
    """What the language allows passes without a finding."""
    assert found(f"{NAMES}condition c = {test}") == []


SOURCES: list[tuple[str, int, str]] = [
    ("bad-source", 11, 'result of llm "x" at y'),
    ("bad-source", 11, 'result of local "x" at y'),
    ("bad-source", 11, "result of any step at y"),
    ("bad-source", 1, "args.x"),
    ("bad-source", 1, "target"),
    ("missing-at", 1, 'result of tool "x"'),
    ("missing-at", 1, 'approved tool "x"'),
    ("wrong-sort", 1, "small"),
    ("unknown-name", 1, "imput"),
    ("bad-list", 1, "[]"),
    ("unknown-facet", 23, 'result of tool "x" at dat of y'),
    ("misplaced-test", 32, 'result of tool "x" at y where (small)'),
    ("misplaced-test", 46, 'result of tool "x" at y where (item.x not in seen)'),
    ("misplaced-root", 32, 'result of tool "x" at y where (this.args.x == 1)'),
    ("bad-glob", 16, 'result of tool "[" at y'),
]


@pytest.mark.parametrize(("code", "column", "source"), SOURCES, ids=[source for _, _, source in SOURCES])
def test_sources(code: str, column: int, source: str) -> None:
    """Each source that bears no evidence gives one finding."""
    before = "known k = "
    assert found(f"{NAMES}{before}{source}") == [(code, 6, len(before) + column)]


def test_sources_that_bear_evidence() -> None:
    """Input, lists, tools' results at a place and approved arguments pass."""
    sources = "input or input.request or names or [1] or approved any step at x"
    result = 'result of tool "x" at [].y where (item.a == "b" and args.c in names and input.d == item.e)'
    assert found(f"{NAMES}known k = {sources} or {result}") == []


RULES: list[tuple[str, int, str]] = [
    ("bad-glob", 1, 'allow tool ""'),
    ("bad-glob", 1, 'allow tool "[z-a]"'),
    ("wrong-sort", 1, "allow tool seen"),
    ("wrong-type", 1, "allow tool five"),
    ("unknown-name", 1, "allow tool nams"),
    ("duplicate-clause", 3, 'allow tool "a"\nwhen small\nwhen small'),
    ("misplaced-clause", 2, 'allow tool "a"\nmessage "m"'),
    ("misplaced-clause", 2, 'deny tool "a"\nmessage "m"'),
    ("misplaced-clause", 2, 'allow tool "a"\nedits args.x'),
    ("misplaced-clause", 2, 'deny tool "a"\nedits args.x'),
    ("bad-path", 2, 'require approval for tool "a"\nedits input.x\nbecause "b"'),
    ("bad-path", 2, 'require approval for tool "a"\nedits args\nbecause "b"'),
    ("bad-path", 2, 'require approval for tool "a"\nedits amount\nbecause "b"'),
]


@pytest.mark.parametrize(("code", "line", "rule"), RULES, ids=[rule for _, _, rule in RULES])
def test_rules(code: str, line: int, rule: str) -> None:
    """Each clause that does not fit gives one finding on its line."""
    assert [(c, at) for c, at, _ in found(f"{NAMES}rule r {{\n{rule}\n}}")] == [(code, 6 + line)]


LINES: list[tuple[str, int, str]] = [
    ("duplicate-line", 2, "default deny\ndefault allow"),
    ("duplicate-line", 2, "bundle a\nbundle b"),
    ("misplaced-bundle", 2, "default deny\nbundle a"),
    ("unknown-version", 1, "bundle a version 2"),
    ("duplicate-name", 2, "let a = 1\nknown a = input"),
    ("reserved-name", 1, "let host = 1"),
    ("reserved-name", 1, "condition when = args.x given"),
    ("wrong-type", 1, "let a = null"),
    ("wrong-type", 1, "let a = true"),
    ("duplicate-id", 2, "rule r { allow any step }\nrule r { allow any step }"),
    ("reserved-name", 1, "rule __mine { allow any step }"),
    ("reserved-name", 1, "rule local { allow any step }"),
    ("cycle", 1, "condition a = not a"),
    ("cycle", 2, "condition a = b\ncondition b = args.x given and (a or a)"),
]


@pytest.mark.parametrize(("code", "line", "text"), LINES, ids=[text for _, _, text in LINES])
def test_lines(code: str, line: int, text: str) -> None:
    """Statements that clash give one finding, at the later of the two."""
    assert [(c, at) for c, at, _ in found(text)] == [(code, line)]


def test_both_places_are_named() -> None:
    """A duplicate says where the first one stands."""
    assert "first at line 1" in hints("let a = 1\n\nlet a = 2")[-1]
    assert "first is at line 1" in hints("rule r { allow any step }\nrule r { allow any step }")[-2]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("condition c = smal\ncondition small = args.x given", "did you mean `small`?"),
        ("condition c = arg.x given", "did you mean `args`?"),
        ("condition c = hots of args.x given", "did you mean `host`?"),
        ("condition c = args.x is strin", "did you mean `string`?"),
        ("condition c = args.x == null", "write `is null`"),
    ],
)
def test_hints(text: str, hint: str) -> None:
    """A hint names what was probably meant."""
    assert any(hint in line for line in hints(text))


def test_deep_and_wide_conditions_are_refused() -> None:
    """Conditions built on conditions are bounded, however long the chain."""
    deep = "condition a0 = args.x given\n" + "".join(f"condition a{n} = not a{n - 1}\n" for n in range(1, 2_000))
    wide = "condition a0 = args.x given\n" + "".join(f"condition a{n} = a{n - 1} and a{n - 1}\n" for n in range(1, 40))
    assert {code for code, _, _ in found(deep)} == {"too-deep"}
    assert {code for code, _, _ in found(wide)} == {"too-deep"}
    backwards = "".join(reversed(deep.splitlines(keepends=True)))
    assert len(found(backwards)) == len(found(deep)) < 50


NUMBERS = " or ".join(f"args.a == {n}" for n in range(10_000))
MANY = f'rule r {{ allow tool "x" when {NUMBERS} }}\n'


@pytest.mark.parametrize(
    ("text", "large"),
    [
        (MANY, False),
        (MANY.replace(" }", " or args.b given }"), True),
        ("condition c = args.b given\n" + MANY.replace(" }", " or c }"), True),
        (f"rule r {{ allow tool \"x\" when {'not ' * 98}args.a given }}", False),
        (f"rule r {{ allow tool \"x\" when {'not ' * 99}args.a given }}", False),
        (f"rule r {{ allow tool \"x\" when {'not ' * 100}args.a given }}", True),
        (f"condition c = not args.a given\nrule r {{ allow tool \"x\" when {'not ' * 98}c }}", True),
        ('known k = result of tool "x" at a where (' + NUMBERS.replace("args.", "item.") + ' or item.b given)\n'
         'rule r { allow tool "x" when args.a in k }', True),
    ],
)  # fmt: skip
def test_what_would_not_compile_is_an_error_of_the_check(text: str, large: bool) -> None:
    """The check and the compiler count alike."""
    text = "bundle b\ndefault deny\n" + text
    assert {code for code, _, _ in found(text)} == ({"too-deep"} if large else set())
    tree, _ = parse_bundle(Source(text))
    with pytest.raises(BundleError, match="is deeper than 100 or") if large else nullcontext():
        from_trees([(tree, Source(text))])


def test_input_is_not_looked_for_in_a_text() -> None:
    """A `known` that takes in the input cannot stand after `contains any`."""
    text = "known a = input or [1]\nknown b = [1]\ncondition c = args.x contains any {}"
    assert ("bad-source", 3, 35) in found(text.format("a"))
    assert "bad-source" not in [code for code, _, _ in found(text.format("b"))]


def test_many_warnings_are_capped_and_stay_warnings() -> None:
    """However many warnings there are, a bundle without an error is usable."""
    bundle, errors = parse_bundle(Source("default deny\n" + "".join(f"let a{n} = 1\n" for n in range(300))))
    warnings = check_bundle(bundle)
    assert errors == []
    assert len(warnings) == MOST + 1
    assert {d.severity for d in warnings} == {Severity.WARNING}


def test_the_example_bundle_has_no_error() -> None:
    """The example uses most of the language."""
    bundle, errors = parse_bundle(Source(BANKING))
    assert errors == []
    assert [d.message for d in check_bundle(bundle) if d.severity is Severity.ERROR] == []


WARNINGS: list[tuple[list[str], str]] = [
    ([], 'default deny\nrule r { deny tool "a" because "b" }'),
    (["no-default"], 'rule r { deny tool "a" because "b" }'),
    (["no-default"], ""),
    (["no-because"], 'default deny\nrule r { deny tool "a" }'),
    (["no-because"], 'default deny\nrule r { require approval for tool "a" }'),
    (["allow-everything"], "default deny\nrule r { allow any step }"),
    (["allow-everything"], 'default deny\nrule r { allow llm "a" or tool "b", "*" }'),
    ([], 'default deny\nrule r { allow tool "*" when args.x given }'),
    (["unused-name"], "default deny\nlet a = 1"),
    (["unused-name"], "default deny\nknown a = input"),
    (["optional-unless"], 'default deny\nrule r { allow tool "a" unless args.force == true }'),
    ([], 'default deny\nrule r { allow tool "a" when args.force given unless args.force == true }'),
    ([], 'default deny\nrule r { deny tool "a" unless args.force == true because "b" }'),
]


@pytest.mark.parametrize(("codes", "text"), WARNINGS, ids=[text for _, text in WARNINGS])
def test_warnings(codes: list[str], text: str) -> None:
    """What an author may want to know is told, and no more."""
    assert [code for code, _, _ in found(text, Severity.WARNING)] == codes


def test_a_broken_bundle_gives_no_warnings_that_the_rest_might_settle() -> None:
    """With a statement missing, nobody can say what is unused or lacking."""
    bundle, errors = parse_bundle(Source("let a = 1\nrule r { allow tol a }"))
    assert len(errors) == 1
    assert check_bundle(bundle) == []


def test_every_code_has_a_section() -> None:
    """The page of diagnostics has exactly the codes that exist."""
    page = (ROOT / "docs" / "diagnostics.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^### (\S+)$", page, re.MULTILINE)) == sorted(code.value for code in Code)


def test_the_page_of_the_language_shows_what_it_says() -> None:
    """The example beside the grammar is a bundle without a finding."""
    page = (ROOT / "grammar" / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```rbp\n(.*?)```", page, re.DOTALL)
    bundle, errors = parse_bundle(Source(example))
    assert [str(d) for d in [*errors, *check_bundle(bundle)]] == []


def test_the_golden_report() -> None:
    """One file with many mistakes keeps its report, word for word."""
    folder = ROOT / "tests" / "golden" / "diagnostics"
    text = (folder / "mistakes.rbp").read_text(encoding="utf-8")
    bundle, errors = parse_bundle(Source(text, "mistakes.rbp"))
    lines = "".join(f"{diagnostic}\n" for diagnostic in ordered([*errors, *check_bundle(bundle)]))
    assert lines == (folder / "mistakes.txt").read_text(encoding="utf-8")
