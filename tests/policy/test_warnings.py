"""Conditions that do less than they seem to are told of, and sound ones are not."""

import pytest

from rebuno.policy.check.bundle import check_bundle
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import Source

START = 'default deny\nworkdir "/srv"\nknown asked = input or ["x"]\nknown paid = ["y"]\n'


def codes(text: str) -> list[str]:
    bundle, errors = parse_bundle(Source(text))
    assert [str(error) for error in errors] == []
    return [d.code for d in check_bundle(bundle) if d.code != "unused-name"]


NEVER = [
    'args.x == "a" and args.x == "b"',
    'args.x in ["a", "b"] and args.x in ["c", 1]',
    "args.n < 1 and args.n > 5",
    "args.n > 1 and args.n < 1.0",
    "args.x given and args.x missing",
    "args.x == 1 and args.x missing",
    "args.x is string and args.x == 1",
    'args.x starts with "a" and args.x like "b*"',
    'args.x == "a" and args.x != "a"',
    "(args.n < 1 or args.n == 2) and args.n == 5",
    "args.x in paid and not args.x in paid",
    "any args.l[] == 1 and no args.l[] == 1",
]
SOMETIMES = [
    'args.x == "a" and args.y == "b"',
    'any args.l[] == "a" and any args.l[] == "b"',
    "args.n >= 1 and args.n <= 1",
    'args.x starts with "a" and args.x ends with "b"',
    'args.x == "A" ignoring case and args.x == "a"',
    'args.x == "a" or args.x == "b"',
    "args.x in asked and args.x in paid",
]


@pytest.mark.parametrize(("condition", "never"), [*((c, True) for c in NEVER), *((c, False) for c in SOMETIMES)])
def test_conditions_that_never_hold(condition: str, never: bool) -> None:
    """Tests that contradict each other are told of once, in a rule and in a condition of its own."""
    expected = ["never-holds"] if never else []
    for text in (
        f'{START}rule r {{ allow tool "a" when {condition} }}',
        f'{START}condition c = {condition}\nrule r {{ allow tool "a" when c }}',
    ):
        assert [code for code in codes(text) if code not in ("any-in-allow", "read-by-facet")] == expected


RULES: list[tuple[str, str, str]] = [
    ("whole-domain", "one address of a domain admits all",
     'allow tool "a" when every domain of (args.to, args.cc) in asked'),
    ("whole-domain", "the input itself", 'allow tool "a" when host of args.u == host of input.url'),
    ("", "a known without input", 'allow tool "a" when domain of args.to in paid'),
    ("", "the address itself", 'allow tool "a" when args.to in asked'),
    ("read-by-facet", "a URL", r'allow tool "a" when args.u matches r"https://corp\.example/.*"'),
    ("read-by-facet", "an address", r'allow tool "a" when args.u matches r".*@corp\.example"'),
    ("read-by-facet", "a host", r'allow tool "a" when args.u matches r".*\.corp\.example"'),
    ("read-by-facet", "a path", r'allow tool "a" when args.u matches ["x", r"/srv/data/.*"]'),
    ("read-by-facet", "a command", 'deny tool "a" when args.u matches "rm .*" because "x"'),
    ("", "an identifier", r'allow tool "a" when args.u matches r"[A-Z]{2}[0-9]+"'),
    ("", "what a facet read", r'allow tool "a" when name of args.u matches r"[a-z]+\.com"'),
    ("", "the value is needed anyway", 'allow tool "a" when args.x starts with "a" unless args.x == "ab"'),
    ("optional-unless", "it may be left out", 'allow tool "a" when args.y == 1 unless args.x == "ab"'),
]  # fmt: skip


@pytest.mark.parametrize(("code", "why", "rule"), RULES, ids=[f"{code or 'quiet'}: {why}" for code, why, _ in RULES])
def test_rules(code: str, why: str, rule: str) -> None:
    """Each kind of condition that guards less than it seems has a warning of its own."""
    assert codes(f"{START}rule r {{ {rule} }}") == ([code] if code else [])


PROGRAMS = 'rule r { deny tool "sh" when any program of args.c in ["rm", "dd"] because "x" }'
PATHS = 'rule r { deny tool "rm" when args.p under "/etc" because "x" }'


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        (["deny-list"], f"default allow\n{PROGRAMS}"),
        ([], f"default deny\n{PROGRAMS}"),
        (["deny-list"], 'default allow\ncondition bad = any command of args.c like "rm *"\n'
         'rule r { deny tool "sh" when bad because "x" }'),
        ([], 'default allow\nrule r { deny tool "sh" unless every program of args.c in ["ls"] because "x" }'),
        (["no-workdir"], f"default deny\n{PATHS}"),
        ([], f'default deny\nworkdir "/srv"\n{PATHS}'),
        ([], 'default deny\nrule r { allow tool "rm" when args.p under "/tmp" }'),
    ],
)  # fmt: skip
def test_deny_rules(expected: list[str], text: str) -> None:
    """A list of bad programs, and paths that start nowhere, are told of where they matter."""
    assert codes(text) == expected
