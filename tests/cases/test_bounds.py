"""No input makes evaluation raise, recurse without end, or run past its bounds."""

import time
from collections.abc import Callable
from typing import Any, Final

import pytest

from rebuno.errors import NotJSON, ValidationError
from rebuno.model import identity
from rebuno.policy import Facts, Policy, compile_text, explain_decision

# Far above what is needed: a machine that is busy is no failure.
GENEROUS: Final = 20.0

# A rule a test; all of them deny, so that each is asked until one is yes or maybe.
TESTS: Final = {
    "equal": 'args.v == "x"',
    "in": 'args.v in ["x", 1, true]',
    "every": 'every args.v in ["x"]',
    "nested": 'any args.v[] has (any it has (it == "x"))',
    "contains": 'args.v contains "x" ignoring case',
    "regex": r'args.v matches r"(a+)+b|(a|a)*c|(.*a){20}d|(a?){20}a{20}e"',
    "glob": 'args.v like "*a*a*a*a*a*a*a*a*a*a*a*b"',
    "path": 'args.v under "/proj"',
    "path_glob": 'path of args.v like "**/a/**/a/**/a/**/a/**/b"',
    "name": 'name of args.v == "x"',
    "host": 'host of args.v under "corp.example"',
    "address": 'address of args.v under "10.0.0.0/8"',
    "domain": 'domain of args.v under "corp.example"',
    "link": 'any link of args.v under "corp.example"',
    "email": 'any email of args.v under "corp.example"',
    "command": 'any command of args.v like "git * push *"',
    "program": 'any program of args.v == "rm"',
    "redirect": 'any redirect of args.v under "/etc"',
    "date": 'date of args.v == "2025-01-11"',
    "number": "number of args.v > 5",
    "text": 'any text of args contains "x!"',
    "size": "size of args.v > 100_000_000",
    "asked": "args.v in asked",
    "mentions": "any text of args contains any told",
    "chain": 'any host of link of args.v == "x"',
}
HEAD: Final = 'default allow\nknown asked = input\nknown told = ["hunter2", "s3cret"]\n'

WIDE: Final[dict[str, Callable[[], Any]]] = {
    "letters": lambda: "a" * 10_000_000,
    "blanks": lambda: " " * 300_000,
    "quotes": lambda: '"' * 500_000,
    "brackets": lambda: "(" * 200_000,
    "substitutions": lambda: "$(" * 30_000,
    "backticks": lambda: "`" * 60_000,
    "here_documents": lambda: "cat <<E\n" * 8_000,
    "braces": lambda: "{a,b}" * 12_000,
    "redirects": lambda: "a" + " > f" * 12_000,
    "pipes": lambda: "a | " * 15_000 + "a",
    "slashes": lambda: "/" * 300_000,
    "ups": lambda: "../" * 100_000,
    "segments": lambda: "/a" * 32_000,
    "at_signs": lambda: "a@" * 300_000,
    "addresses": lambda: "a@b.example " * 20_000,
    "dots": lambda: "." * 300_000,
    "labels": lambda: "https://" + "a." * 100_000,
    "urls": lambda: "https://a.example/ " * 20_000,
    "url_in_url": lambda: "https://a.example/?u=" * 15_000,
    "schemes": lambda: "http:" * 60_000,
    "percent": lambda: "https://a.example/" + "%" * 500_000,
    "colons": lambda: "https://" + ":" * 500_000,
    "months": lambda: "January " * 30_000,
    "ordinals": lambda: "11th of " * 30_000,
    "digits": lambda: "1" * 300_000,
    "commas": lambda: "1," * 200_000,
    "accents": lambda: "e" + "\u0301" * 500_000,
    "wide": lambda: "ｅ" * 200_000,
    "emoji": lambda: "\U0001f600" * 250_000,
    "list": lambda: ["a"] * 30_000,
    "long_list": lambda: ["a"] * 300_000,
    "list_of_lists": lambda: [["a"] * 500] * 500,
    "mixed": lambda: [1, "a", None, True, [], {}] * 20_000,
    "object": lambda: {f"k{n}": n for n in range(60_000)},
    "huge_number": lambda: 10**20_000,
    "near_number": lambda: 1e308,
}


@pytest.fixture(scope="module")
def policies() -> dict[str, Policy]:
    """A policy for each test."""
    return {
        name: compile_text(f'{HEAD}rule r {{\n  deny any step when {test}\n  because "x"\n}}\n')
        for name, test in TESTS.items()
    }


@pytest.mark.parametrize("name", WIDE)
def test_large_values_are_judged_by_every_test(name: str, policies: dict[str, Policy]) -> None:
    """Both evaluators end soon, without raising, and agree, whatever fills up to ten megabytes."""
    value = WIDE[name]()
    for test, policy in policies.items():
        facts = Facts("tool_call", "t", {"v": value}, input={"request": "pay DE1"})
        start = time.process_time()
        decision = policy.decide(facts)
        counted = facts.tests
        assert explain_decision(policy, facts).decision.rule_id == decision.rule_id, test
        assert counted == facts.tests, test
        assert time.process_time() - start < GENEROUS, test


@pytest.mark.parametrize("name", ["letters", "quotes", "addresses", "urls", "digits", "months", "segments", "list"])
def test_large_inputs_are_judged_by_every_test(name: str, policies: dict[str, Policy]) -> None:
    """The same holds where the large value is the input of the execution."""
    value = WIDE[name]()
    for test in ("asked", "mentions"):
        facts = Facts("tool_call", "t", {"v": "a"}, input={"request": value})
        start = time.process_time()
        decision = policies[test].decide(facts)
        assert explain_decision(policies[test], facts).decision.rule_id == decision.rule_id
        assert time.process_time() - start < GENEROUS


@pytest.mark.parametrize("depth", [129, 10_000, 200_000])
@pytest.mark.parametrize("pair", ["[]", '{"a":}'])
def test_deep_arguments_are_refused(depth: int, pair: str) -> None:
    """The refusal names the limit; as a text and, where Python can build it, as a value."""
    text = pair[:-1] * depth + "1" + pair[-1] * depth
    with pytest.raises(ValidationError, match=r"128 levels|10,485,760"):
        identity.parse(text)
    value: Any = 1
    for _ in range(depth):
        value = [value] if pair == "[]" else {"a": value}
    with pytest.raises(NotJSON, match="128 levels"):
        identity.canonical(value)
    while isinstance(value, list | dict):  # taken apart by hand: deep values end badly by themselves
        value = value[0] if isinstance(value, list) else value["a"]


def test_large_arguments_are_refused() -> None:
    """More than 10 MiB of JSON, counted in bytes."""
    for text in ("x" * (10 * 1024 * 1024), "é" * (5 * 1024 * 1024)):
        with pytest.raises(NotJSON, match="10,485,760"):
            identity.canonical({"v": text})
        with pytest.raises(ValidationError, match="10,485,760"):
            identity.parse(f'{{"v":"{text}"}}')


@pytest.mark.parametrize("depth", [1, 100, 128])
def test_as_deep_as_is_taken_is_judged(depth: int, policies: dict[str, Policy]) -> None:
    """No test recurses on what it looks at."""
    value: Any = "x!"
    for level in range(depth):
        value = [value] if level % 2 else {"v": value}
    for test, policy in policies.items():
        facts = Facts("tool_call", "t", {"v": value})
        assert explain_decision(policy, facts).decision.rule_id == policy.decide(facts).rule_id, test
    assert policies["text"].decide(Facts("tool_call", "t", {"v": value})).rule_id == "r"


@pytest.mark.parametrize(("elements", "rule"), [(100_000, "r"), (100_001, "default")])
def test_a_list_is_looked_at_up_to_the_bound(elements: int, rule: str) -> None:
    """A hundred thousand elements are judged one by one; of more nothing is said, which allows nothing."""
    policy = compile_text('default deny\nrule r { allow any step when every args.v in ["a"] }')
    facts = Facts("tool_call", "t", {"v": ["a"] * elements})
    assert policy.decide(facts).rule_id == explain_decision(policy, facts).decision.rule_id == rule


def test_quantifiers_in_each_other_end_at_the_bound() -> None:
    """A thousand lists of a thousand elements are more than a decision looks at: maybe, a match for a deny."""
    test = 'every args.v[] has (every it has (it == "a"))'
    allows = compile_text(f"default deny\nrule r {{ allow any step when {test} }}")
    denies = compile_text(f'default allow\nrule r {{ deny any step when not ({test}) because "x" }}')
    facts = Facts("tool_call", "t", {"v": [["a"] * 1000] * 1000})
    assert allows.decide(facts).rule_id == "default"
    assert denies.decide(facts).rule_id == "r"
