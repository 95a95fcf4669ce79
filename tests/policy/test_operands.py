"""How operands are read: facets and their chains, sets, blocks and their `it`, and the tests of what facets give."""

from typing import Any

import pytest

from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.matcher import operands, tests
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.matcher.operands import through
from rebuno.policy.values.json_values import Tri
from tests.policy.bundles import again, nested, policy_of

YES, NO, MAYBE = True, False, None
NAMES = """workdir "/proj"
let corp = "corp.example"
let people = ["ana@b.example"]
condition small = args.n <= 5
"""


def ask(expression: str, args: Any, prologue: str = NAMES, **fields: Any) -> Tri:
    """What both evaluators say, which must agree and count alike."""
    policy = policy_of(
        f"{prologue}rule sure {{ allow any step when {expression} }}\n"
        f"rule perhaps {{ deny any step when {expression} }}"
    )
    facts = Facts("tool_call", "t", args, **fields)
    decided, counted = policy.decide(facts).rule_id, facts.tests
    traced = again(facts)
    assert (explain_decision(policy, traced).decision.rule_id, traced.tests) == (decided, counted)
    return {"sure": True, "perhaps": None}.get(decided, False)


@pytest.mark.parametrize(
    ("expression", "args", "answer"),
    [
        ('host of args.u == "corp.example"', {"u": "https://CORP.example:8/x"}, YES),
        ('host of args.u == "Corp.Example."', {"u": "https://corp.example"}, YES),  # the literal is normalised too
        ('host of args.u == "corp.example"', {"u": "https://corp.example\\x"}, MAYBE),  # unreadable
        ('host of args.u == "corp.example"', {"u": ["https://corp.example"]}, MAYBE),  # a list is no URL
        ('every host of args.u == "corp.example"', {"u": ["https://corp.example"]}, YES),
        ('host of args.u == "corp.example"', {}, NO),  # absent stays absent
        ('host of args.u != "corp.example"', {}, MAYBE),
        ('host of args.u != "corp.example"', {"u": "https://a.example"}, YES),
        ("host of args.u given", {"u": 5}, MAYBE),
        ("host of args.u missing", {"u": None}, YES),
        ("extension of args.p missing", {"p": "/a/b"}, YES),  # a file without one has none
        ("size of args.l == 0", {"l": []}, YES),
        ("size of args.l == 0", {}, NO),
        ("every size of args.l == 1", {"l": [["x"], "y", []]}, NO),
        ("every size of args.l == 1", {"l": [["x"], "y"]}, YES),
        ("args.p under path of args.q", {"p": "/a/b", "q": "/a"}, YES),
        ("path of args.p == path of args.q", {"p": "x", "q": "/proj/./x"}, YES),  # each side has its own facet
        ("path of args.p == args.q", {"p": "/a", "q": "/a"}, MAYBE),  # a place is no text
        ("date of args.d <= date of args.e", {"d": "2025-01-11", "e": "January 12th, 2025"}, YES),
        ("date of args.d <= date of args.e", {"d": "2025-01-11", "e": "January 12"}, MAYBE),
        ("host of args.u == host of args.v", {"u": "http://a.example", "v": "https://A.example"}, YES),
        ("args.h == host of args.u", {"h": "a.example", "u": "https://a.example/x"}, YES),
        ("args.h in host of args.u", {"h": "a.example", "u": "https://a.example/x"}, MAYBE),  # no list
        ("args.h in host of args.u[]", {"h": "a.example", "u": ["https://a.example/x", "https://b"]}, YES),
        ("args.h in link of args.t", {"h": "https://a.example/x", "t": "see https://a.example/x."}, YES),
        ("host of args.u == host of args.v", {"u": "http://a.example"}, NO),
        ('host of args.u ends with ".EXAMPLE"', {"u": "https://a.example"}, YES),  # a part is lowered like the whole
        ('host of args.u like "*.Example"', {"u": "https://a.example"}, YES),
        ('host of args.u in ["A.example", "b.example"]', {"u": "https://a.example"}, YES),
        ("number of args.n <= 50", {"n": "EUR 50"}, YES),
        ('date of args.d in ["2025-01-11", "May 5"]', {"d": "5 May 2024"}, YES),
        ('path of args.p in ["/proj/a", "b"]', {"p": "/proj/b"}, YES),
        ('path of args.p in ["/proj/a", "b"]', {"p": "/proj/c"}, NO),
        ('path of args.p in ["a"] ignoring case', {"p": "/PROJ/A"}, YES),
        ('path of args.p not in ["a"]', {"p": "/PROJ/A"}, MAYBE),
    ],
)
def test_facets(expression: str, args: Any, answer: Tri) -> None:
    """A facet reads what is there; what is absent stays absent, and what cannot be read is maybe."""
    assert ask(expression, args) is answer


@pytest.mark.parametrize(
    ("quantified", "text", "answer"),
    [
        ("every link of args.t under corp", "no link here", YES),  # the empty set
        ("no link of args.t under corp", "no link here", YES),
        ("any link of args.t under corp", "no link here", NO),
        ("not any link of args.t under corp", "no link here", YES),
        ("not every link of args.t under corp", "no link here", NO),
        ("every link of args.t under corp", None, NO),  # an absent text is one absent element
        ("no link of args.t under corp", None, MAYBE),
        ("every link of args.t under corp", 5, MAYBE),
        ("link of args.t given", "no link here", NO),
        ("link of args.t missing", "no link here", YES),
        ("link of args.t given", "https://corp.example", YES),
        ("every host of link of args.t == corp", "see https://corp.example/a and http://corp.example", YES),
        ("every host of link of args.t == corp", "see https://corp.example/a and http://x.example", NO),
        ("every link of (args.t, args.u) under corp", "none", YES),  # the other path is left out
        ("every link of (args.t, args.u) under corp", None, NO),
        ('any text of args contains "secret"', {"a": [{"secret": 1}]}, YES),  # keys count
        ("any text of args.t == 50", 50, YES),
    ],
)
def test_sets(quantified: str, text: Any, answer: Tri) -> None:
    """A set that is found empty has no elements; an absent value is still one absent element."""
    assert ask(quantified, {"t": text}) is answer


@pytest.mark.parametrize(
    ("expression", "args", "answer"),
    [
        ('args.p under "/srv"', {"p": "/srv/a/../b"}, YES),
        ('args.p under "/srv"', {"p": "/srv/../etc"}, NO),
        ('args.p under "src"', {"p": "/proj/src/a"}, YES),  # both start at the workdir
        ('args.p under ["/srv", "src"]', {"p": "src/a"}, YES),  # one of them
        ('args.p not under "/srv"', {}, MAYBE),
        ('args.p under "/srv"', {"p": "/SRV/a"}, MAYBE),
        ("args.p under args.d", {"p": "/srv/a", "d": "/srv"}, YES),
        ("args.p under args.d", {"p": "/srv/a", "d": 5}, MAYBE),
        ("args.p under args.d", {"p": "/srv/a", "d": "a\\b"}, MAYBE),
        ("args.p not under args.d", {"p": "/srv/a"}, MAYBE),
        ("host of args.u under corp", {"u": "https://a.CORP.example"}, YES),
        ("host of args.u under corp", {"u": "https://notcorp.example"}, NO),
        ('address of args.u under "10.0.0.0/8"', {"u": "http://10.1.2.3/"}, YES),
        ('address of args.u under "10.0.0.0/8"', {"u": "http://167772161/"}, YES),  # another spelling of it
        ('address of args.u not under "10.0.0.0/8"', {"u": "http://a.example/"}, MAYBE),  # a name has none
        ("host of args.u under domain of args.to", {"u": "https://a.corp.example", "to": "x@corp.example"}, YES),
        ("host of args.u under path of args.p", {"u": "https://a.corp.example", "p": "/a"}, MAYBE),
        ("path of args.p under host of args.u", {"u": "https://srv", "p": "/proj/srv/a"}, YES),  # a relative path
    ],
)
def test_under(expression: str, args: Any, answer: Tri) -> None:
    """Below a directory, a domain or in a network, as the left side is read; a plain text is read as a path."""
    assert ask(expression, args) is answer


@pytest.mark.parametrize(
    ("expression", "args", "answer"),
    [
        ("every (args.to, args.cc) has (it in people or domain of it under corp)",
         {"to": "ana@b.example", "cc": ["x@a.corp.example"]}, YES),
        ("every (args.to, args.cc) has (it in people or domain of it under corp)",
         {"to": "ana@b.example", "cc": ["x@evil.example"]}, NO),
        ("every (args.to, args.cc) has (it in people or domain of it under corp)", {}, NO),
        ("not every args.to has (it in people)", {}, MAYBE),
        ("any args.to has (it missing)", {}, YES),  # one absent element
        ("no args.to has (it == 1 and it == 2)", {"to": [1, 2]}, YES),
        ("any args.l has (it.a == 1 and it.b == 2)", {"l": [{"a": 1}, {"b": 2}]}, NO),  # of one element
        ("any args.l has (it.a == 1 and it.b == 2)", {"l": [{"a": 1, "b": 2}]}, YES),
        ("any args.l has (any it.m has (it == 3))", {"l": [{"m": [1]}, {"m": [3]}]}, YES),  # the inner one
        ("any args.l has (any it.m has (it == 3) and it.n == 1)", {"l": [{"m": [3], "n": 1}]}, YES),  # and back
        ("every args.l has (it == args.n or small)", {"l": [7, 7], "n": 7}, YES),
        ("every args.l has (it > 3 and small)", {"l": [7, 8], "n": 5}, YES),
        ("every args.l has (it > 3 and not small)", {"l": [7, 8], "n": 5}, NO),
        ("any host of args.u has (it under corp)", {"u": ["https://x.example", "https://a.corp.example"]}, YES),
        ('any host of args.u has (it == "A.example")', {"u": "https://a.EXAMPLE"}, YES),
        ('any path of args.p has (it under "src" and it like "**/*.py")', {"p": "src/a.py"}, YES),
        ('any redirect of args.c has (extension of it == ".sh")', {"c": "ls > a.sh"}, YES),  # a path is read already
        ('any extension of redirect of args.c == ".sh"', {"c": "ls > a.sh"}, YES),
        ('any command of args.c has (it like "git *" and it contains "push")', {"c": "ls; git -C x push"}, YES),
        ('any command of args.c has (it like "git *" and it contains "push")', {"c": "ls push; git log"}, NO),
        ('any command of args.c has (any it like "-*f*")', {"c": "ls; rm -rf x"}, YES),  # through its words
        ('any command of args.c has (any it like "-*f*")', {"c": "rm $X"}, MAYBE),
        ('any command of args.c has (it[0] == "rm" and it[1] == "x")', {"c": "rm x"}, YES),
        ('any command of args.c has (it[2] == "x")', {"c": "rm x"}, NO),
        ("any date of args.d has (it <= date of args.e)", {"d": ["2025-01-01"], "e": "2025-01-02"}, YES),
        ("every link of args.t has (it under corp)", {"t": "none"}, YES),
        ("any args.to has (it == 1)", {"to": {"x": 1}}, MAYBE),
        ("every args.to.x has (it given)", {"to": 1}, MAYBE),  # out of reach
    ],
)  # fmt: skip
def test_blocks(expression: str, args: Any, answer: Tri) -> None:
    """A block asks of each element, and `it` is what the operand's facet gave."""
    assert ask(expression, args) is answer


def test_a_block_in_a_where() -> None:
    """Conditions on earlier steps may look through their lists, too."""
    assert ask("any args.l has (it.a == agent)", {"l": [{"a": "bot"}]}, agent="bot") is True


@pytest.mark.parametrize(
    ("expression", "args", "answer"),
    [
        ('args.t contains any ["pass", "secret"]', {"t": "a secret"}, YES),
        ('args.t contains any ["pass", "secret"]', {"t": "surpassed"}, YES),  # as `contains` would, not by words
        ('args.t contains any ["pass", "secret"]', {"t": "x"}, NO),
        ('args.t contains any ["PASS"] ignoring case', {"t": "a pass"}, YES),
        ("args.t contains any [1]", {"t": [2, 1]}, YES),  # a list's elements
        ("args.t contains any [1]", {"t": "1"}, MAYBE),
        ("args.t contains any args.l", {"t": "abc", "l": ["x", "b"]}, YES),
        ("args.t contains any args.l[].w", {"t": "abc", "l": [{"w": "x"}, {"w": "b"}]}, YES),
        ("args.t contains any args.l", {"t": "abc", "l": "b"}, MAYBE),  # no list
        ("args.t not contains any people", {}, MAYBE),
        ('any command of args.c contains any ["push", "-f"]', {"c": "git push"}, YES),
    ],
)
def test_contains_any_of_a_list(expression: str, args: Any, answer: Tri) -> None:
    """`contains any` with a list is `contains` for one of them."""
    assert ask(expression, args) is answer


def test_blocks_are_dual() -> None:
    """`not every X has E` is `any X has (not E)`, and `no X has E` is `every X has (not E)`, with absence and doubt."""
    inner = ["it == 1", "it given", "it != 1 and it.a == 1", "not (any it == 1)"]
    for block in inner:
        for value in (1, [1, 2], [], None, "x", [{"a": 1}], [1, None], [[1]]):
            args = {"l": value}
            assert ask(f"not every args.l has ({block})", args) is ask(f"any args.l has (not ({block}))", args)
            assert ask(f"no args.l has ({block})", args) is ask(f"every args.l has (not ({block}))", args)
            assert ask(f"not any args.l has ({block})", args) is ask(f"no args.l has ({block})", args)


def test_nested_quantifiers_multiply() -> None:
    """Every element that a block goes through counts, and so does every one that its tests go through for it."""
    # 200 and 200 times 200, and the two rules that `ask` makes.
    assert ask("any args.a has (any args.b == it)", {"a": [1] * 200, "b": [2] * 200}) is False
    assert ask("any args.a has (any args.b == it)", {"a": [1] * 400, "b": [2] * 400}) is None
    assert ask("every args.a has (it in args.b[])", {"a": [1] * 400, "b": [1] * 400}) is None


def test_in_a_block_large_values_count_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that is searched anew for every element counts by its length, so that work stays bounded."""
    monkeypatch.setattr(tests, "MAX_ELEMENT_TESTS", 1000)
    small = policy_of("rule r { allow any step when no args.l has (args.t contains it) }")

    def tests_for(args: Any) -> int:
        facts = Facts("tool_call", "t", args)
        small.decide(facts)
        return facts.tests

    assert tests_for({"l": ["x"] * 10, "t": "a" * 255}) == 10
    assert tests_for({"l": ["x"] * 10, "t": "a" * 2560}) == 110
    assert 1000 < tests_for({"l": ["x"] * 100, "t": "a" * 25600}) < 1300  # and stops there


def test_facets_of_arguments_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal operands share one reading a decision, and the next decision reads anew."""
    policy = policy_of(
        'rule a { deny any step when host of args.u == "a" or host of args.u == "b" }\n'
        "rule b { deny any step when any args.l has (host of args.u == it) }\n"
        'rule c { allow any step when host of args.u == "c.example" }'
    )
    reads = []

    def counted(chain: Any, values: list[Any], context: Any, **how: Any) -> list[Any]:
        if chain:
            reads.append(values)
        return through(chain, values, context, **how)

    monkeypatch.setattr(operands, "through", counted)
    facts = Facts("tool_call", "t", {"u": "https://c.example", "l": ["x", "y"]})
    assert policy.decide(facts).rule_id == "c"
    assert reads == [["https://c.example"]]
    facts.args = {"u": "https://d.example"}
    assert policy.decide(facts).rule_id == "default"


def test_deep_values_do_not_recurse() -> None:
    """Whatever depth a facet or a block meets, there is an answer."""
    for wide in (False, True):
        args = {"a": nested(5000, wide)}
        assert ask('any text of args.a == "1"', args) is True
        assert ask("any args.a has (size of it == 1)", args) is True


@pytest.mark.parametrize(
    ("listed", "found"),
    [
        (["/x", "~ann/x"], None),
        (["~ann/x"], None),
        (["/a", "~ann/x"], True),
        (["/x", "/y"], False),
        (["/x", 5], None),
        ([], False),
    ],
)
def test_in_a_list_that_cannot_be_read_whole(listed: list[Any], found: Tri) -> None:
    """A reading that is not in a list of the arguments is maybe in it where an element of that list cannot be read."""
    assert ask("path of args.a in path of args.b[]", {"a": "/a", "b": listed}) is found
