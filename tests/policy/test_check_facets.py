"""What is wrong with how a test uses facets is found where it stands, with the reason, and nothing else is."""

import pytest

from rebuno.policy.check.bundle import check_bundle
from rebuno.policy.syntax.diagnostics import Severity
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import Source
from tests.policy.test_check import NAMES, found

# code, where the finding begins, the test
TESTS: list[tuple[str, str, str]] = [
    # the right side is read as the facet's values are
    ("bad-value", '"https', 'host of args.x == "https://a.example"'),
    ("bad-value", "5", "host of args.x == 5"),
    ("bad-value", '"b c"', 'host of args.x in ["a.example", "b c"]'),
    ("bad-value", "70000", "port of args.x == 70000"),
    ("bad-value", '"a.ex', 'address of args.x == "a.example"'),
    ("bad-value", '"10', 'address of args.x under "10.0.0.1/8"'),
    ("bad-value", '"a b"', 'domain of args.x under "a b"'),
    ("bad-value", '"soon"', 'date of args.x == "soon"'),
    ("bad-value", "names", "date of args.x in names"),
    ("bad-value", '"Jan', 'date of args.x <= "January 11"'),  # no order without its year
    ("bad-value", '"~/a"', 'path of args.x == "~/a"'),  # no home
    ("bad-value", '"~/a"', 'args.x under "~/a"'),
    ("bad-glob", '"../*"', 'path of args.x like "../*"'),
    ("bad-glob", '"[a"', 'host of args.x like "[a"'),
    ("bad-regex", '"("', 'host of args.x matches "("'),
    # what the facet gives cannot be asked so
    ("wrong-type", "host", 'host of args.x < "a"'),
    ("wrong-type", "size", "size of args.x under 5"),
    ("wrong-type", "date", 'date of args.x under "2025-01-11"'),
    ("wrong-type", "date", 'date of args.x starts with "2025"'),
    ("wrong-type", "size", 'size of args.x contains "5"'),
    ("wrong-type", "any", 'any command of args.x matches "git.*"'),
    ("wrong-type", "date", "date of args.x == args.y"),
    ("wrong-type", "args.y", "args.y == date of args.x"),
    ("wrong-type", "date", "date of args.x < size of args.y"),
    ("wrong-type", "5", "path of args.x like 5"),
    ("wrong-type", "5", "args.x under 5"),
    # options
    ("facet-text", '"x"', 'path "x" of args.x under "/a"'),
    ("facet-text", '"x"', 'any command "x" of args.x like "ls"'),
    ("facet-text", '"n"', 'any option "n" of args.x == "dev"'),
    ("facet-text", '"-n ns"', 'any option "-n ns" of args.x == "dev"'),
    ("facet-text", '"--ns=a"', 'any option "--ns=a" of args.x == "dev"'),
    ("facet-text", '"--"', 'any option "--" of args.x == "dev"'),
    ("facet-text", '" "', 'any option " " of args.x == "dev"'),
    ("unknown-facet", "optoin", 'any optoin "-n" of args.x == "dev"'),
    ("bad-value", '"n"', 'any option of args.x == "n"'),
    ("bad-value", '"--a=b"', 'any option of args.x in ["-a", "--a=b"]'),
    ("bad-value", '"--"', 'any option of args.x == "--"'),
    ("bad-value", "5", "any option of args.x == 5"),
    ("bad-value", "5", 'any option "-n" of args.x == 5'),
    ("wrong-type", "any", 'any option of args.x like "-n*"'),
    ("wrong-type", "any", 'any option of args.x contains "n"'),
    ("wrong-type", "any", 'any option of args.x starts with "--"'),
    ("wrong-type", "any", "any option of args.x == args.y"),
    ("wrong-type", "any", 'any option "-n" of args.x under "/a"'),
    ("wrong-type", "any", 'any option "-n" of args.x < "a"'),
    ("missing-quantifier", "option", 'option of args.x == "-n"'),
    ("missing-quantifier", "option", 'option "-n" of args.x == "dev"'),
    ("bad-path", "option", 'args.x == option "-n" of args.y'),
    # sets
    ("missing-quantifier", "link", 'link of args.x == "https://a.example"'),
    ("missing-quantifier", "size", "size of text of args.x == 5"),
    ("missing-quantifier", "args.x", "args.x has (it == 1)"),
    ("bad-path", "link", "args.x == link of args.y"),
    ("bad-path", "args.y[]", "args.x contains args.y[]"),
    # blocks
    ("bad-value", '"a b"', 'any host of args.x has (it == "a b")'),
    ("wrong-type", "it ==", "any date of args.x has (it == args.y)"),
    ("misplaced-root", "it == 2", "any args.x has (it == 1) and it == 2"),
    ("missing-quantifier", "link of it", 'any args.x has (link of it == "https://a.example")'),
    ("unknown-facet", "hots", "any hots of args.x has (it == 5)"),
]

FINE = [
    'host of args.x in ["A.example", "10.0.0.1"] and host of args.x under "Corp.Example"',
    'address of args.x under ["10.0.0.0/8", "fc00::/7"]',
    'date of args.x == "January 11" and date of args.x < "2025-01-11" and date of args.x == date of args.y',
    "number of args.x <= 5 and number of args.x == args.y and size of args.x == five",
    'path of args.x like ["src/**", "/a/*.py"] and args.x under "/a" and extension of args.x ends with "y"',
    'any command of args.x has (it like "git *" and it contains "push" and any it like "-*" and it[0] == "git")',
    "every (args.x, args.y) has (it in names or domain of it under word)",
    "any host of link of args.x has (it in seen) and args.x in link of args.y and args.z in host of args.y[]",
    'any text of args contains "a" and any text of args == 5 and args.x contains any args.y[]',
    'any option of args.x in ["-n", "--ns", "-5", "-"] and no option "-n --ns" of args.x like "d*"',
    'option of args.x missing and option "-n" of args.x given and args.y in option "-n" of args.x',
    'any path of option "-o" of args.x under "/a" and any number of option "-5" of args.x <= 5',
    'any command of args.x has (any option "-n" of it has (it == "a" and path of it under "/a"))',
    "any date of args.x has (it == date of args.y and it <= date of args.z)",
    "link of args.x given or host of args.x missing or number of args.x is number",
]


@pytest.mark.parametrize(("code", "at", "test"), TESTS, ids=[test for _, _, test in TESTS])
def test_uses_of_facets(code: str, at: str, test: str) -> None:
    """Each use that can never be meant gives one finding at the part that is wrong."""
    before = "condition c = "
    assert found(f"{NAMES}{before}{test}") == [(code, 6, len(before) + test.index(at) + 1)]


@pytest.mark.parametrize("test", FINE)
def test_uses_that_can_be_asked(test: str) -> None:
    """What the language allows passes without a finding."""
    assert found(f"{NAMES}condition c = {test}") == []


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ('workdir "/proj"\nhome "/home/bot"\ncondition c = args.x under ["~/a", "src"]', []),
        ('workdir "proj"\ncondition c = args.x given', ["bad-directory"]),
        ('home "~"\ncondition c = args.x given', ["bad-directory"]),
        ('workdir "C:\\\\proj"\ncondition c = args.x given', ["bad-directory"]),
        ('workdir ""\ncondition c = args.x given', ["bad-directory"]),
        ('workdir "/a"\nworkdir "/b"', ["duplicate-line"]),
        ('workdir "/a"\nworkdir session', ["duplicate-line"]),
        ('workdir session\ncondition c = args.x under ["~/a", "src"]', ["bad-value"]),
        ('workdir session\nhome "/h"\ncondition c = args.x under ["~/a", "src", "."]', []),
        ('known k = result of tool "t" at date of [].x, hots of y', ["unknown-facet"]),
    ],
)
def test_statements_about_places(text: str, codes: list[str]) -> None:
    """`workdir` and `home` are absolute paths, each once, and what they say is known to the tests."""
    assert [code for code, _, _ in found(text)] == codes


def test_a_facet_that_cannot_be_used_is_the_only_finding() -> None:
    """What an unknown facet would have given is not guessed at."""
    for test in ("hots of args.x < 5", 'hots of args.x like "["', "hots of args.x == date of args.y"):
        bundle, _ = parse_bundle(Source(f"condition c = {test}"))
        codes = [d.code for d in check_bundle(bundle) if d.severity is Severity.ERROR]
        assert codes == ["unknown-facet"]
