"""`option "-n" of`: how it is parsed, written as JSON, laid out and proved; and `option` as a name of one's own."""

import json

import pytest

from rebuno.policy import Proof, compile_text, explain_decision, prove_claims
from rebuno.policy.format.format import format_bundle
from rebuno.policy.interop.json_ast import dump_ast, load_ast
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.matcher.read_ahead import facets_in
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import Source
from tests.policy.naive.reading import tree_of


def operand(test: str) -> s.Operand:
    """The operand of a condition."""
    condition = tree_of(f"condition c = {test}\n").statements[0]
    assert isinstance(condition, s.Condition)
    assert isinstance(condition.expr, s.Test)
    return condition.expr.operand


def test_a_facet_with_a_text() -> None:
    """It has the name and the text, and where they stand."""
    [facet] = operand('any option "-n --namespace" of args.x == "dev"').facets
    assert isinstance(facet, s.FacetWithText)
    assert (facet.name, facet.argument) == (s.Name("option"), s.Literal("-n --namespace"))
    assert facet.text == 'option "-n --namespace"'
    assert (facet.span.column, facet.span.end_column) == (19, 42)
    assert [one.text for one in operand('any path of option "-n" of command of args.x under "/a"').facets] == [
        "path",
        'option "-n"',
        "command",
    ]
    assert operand('any option of args.x == "-n"').facets == (s.Name("option"),)


def test_texts_written_alike_are_one_facet() -> None:
    """Raw or not; other texts are other facets."""
    written = [operand(f"any option {text} of args.x given").facets[0].text for text in ('"-n"', 'r"-n"', '"\\u002dn"')]
    assert len(set(written)) == 1
    assert operand('any option "-N" of args.x given').facets[0].text not in written
    assert facets_in([tree_of('condition c = any path of option "-n" of args.x under "/a"')]) == {"path", 'option "-n"'}


@pytest.mark.parametrize(
    "text",
    [
        'condition c = any option "-n" of args.x == "dev" and args.y in option r"-n" of args.x',
        'known k = result of tool "t" at option "-n" of [].line, option of x',
    ],
)
def test_the_tree_as_json(text: str) -> None:
    """There and back, and laid out as it is."""
    bundle, found = parse_bundle(Source(text + "\n"))
    assert found == []
    dumped = json.dumps(dump_ast(bundle))
    assert load_ast(dumped) == bundle
    assert '"node": "FacetWithText"' in dumped
    assert "FacetWithText" not in json.dumps(dump_ast(tree_of("condition c = any option of args.x given")))


def test_the_layout() -> None:
    """One blank between words; a comment stays."""
    text = 'bundle b\n\ncondition c = any   option\n  "-n --ns"   of  args.x ==   "a"\n'
    assert format_bundle(Source(text)) == 'bundle b\n\ncondition c = any option "-n --ns" of args.x == "a"\n'


@pytest.mark.parametrize(
    "text",
    [
        'option "-n" args.x given',
        'option "-n" "-m" of args.x given',
        '"-n" of args.x given',
        "option -n of args.x given",
    ],
)
def test_what_is_no_facet_with_a_text(text: str) -> None:
    """A text stands between a name and `of` alone."""
    _, found = parse_bundle(Source(f"condition c = {text}\n"))
    assert [one.code for one in found] == ["syntax"]


def test_the_word_is_not_reserved() -> None:
    """A bundle may use it as a name, a key and an id, as in the first edition."""
    text = """
bundle option
default deny
let option = ["a"]
condition of_option = args.option in option
rule option { allow tool "option", option when of_option and any option of args.c == "-n" because "x" }
"""
    policy = compile_text(text)
    assert policy.decide(Facts("tool_call", "option", {"option": "a", "c": "ls -n"})).rule_id == "option"
    assert policy.decide(Facts("tool_call", "option", {"option": "a", "c": "ls -m"})).rule_id == "default"


CLOSED = 'every command of args.c has (every option of it in ["-n"] and every option "-n" of it == "dev")'
HEAD = f"""bundle a
default deny because "no"
rule r {{
  allow tool "sh"
  when {CLOSED} and any option "-m" of args.c == "x"
  because "x"
}}
"""


@pytest.mark.parametrize(
    ("claim", "proved"),
    [
        ('not any option "-m" of args.c == "x"', True),
        (f"not ({CLOSED})", True),
        ('any option "-m" of args.c == "x"', False),
        # An element that may not be there says one thing to `any` and another to `every`.
        ('not every option "-m" of args.c == "x"', False),
        ('not any option "-k" of args.c == "x"', False),
        ('option "-m" of args.c missing', False),
    ],
)
def test_what_is_proved_of_options(claim: str, proved: bool) -> None:
    """Equal tests have equal answers, and no more is known."""
    policy = compile_text(f'{HEAD}never allow tool "sh" when {claim} because "y"\n')
    [result] = prove_claims(policy).results
    assert (result.proof is Proof.PROVED) is proved


@pytest.mark.parametrize(
    ("args", "verdict"),
    [
        ({"c": "k -n dev"}, "allow"),
        ({"c": ["k -n dev", "k"]}, "allow"),
        ({"c": "k"}, "deny"),
        ({"c": "k -n dev", "cwd": "/x"}, "allow"),
    ],
)
def test_a_block_over_the_options_of_a_command(args: dict[str, object], verdict: str) -> None:
    """A command is read whole, wherever it begins, by the decision and by its explanation."""
    test = 'any command of args.c has (any option "-n" of it has (it == "dev"))'
    policy = compile_text(f'default deny\nrule r {{ allow tool "t" when {test} }}')
    facts = Facts("tool_call", "t", args)
    assert policy.decide(facts).verdict.value == verdict
    assert explain_decision(policy, facts).decision.verdict.value == verdict
