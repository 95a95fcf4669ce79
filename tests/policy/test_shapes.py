"""Which tests are taken for equal: those that differ by nothing but their places."""

import pytest

from rebuno.errors import BundleError
from rebuno.policy.compile import compile_text
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.shapes import shape
from rebuno.policy.syntax.source import Source


def read(text: str) -> s.Test:
    """The one test of a rule."""
    bundle, found = parse_bundle(Source(f'rule r {{ deny tool "t" when {text} because "b" }}', "b.rbp", "b"))
    rule = bundle.statements[0]
    assert found == []
    assert isinstance(rule, s.Rule)
    clause = rule.clauses[0]
    assert isinstance(clause, s.When)
    assert isinstance(clause.expr, s.Test)
    return clause.expr


def test_only_places_are_left_out() -> None:
    """Each other difference counts."""
    texts = ["{}", "any {}", "no {}", "any host of {}"]
    asked = [
        '== "a"',
        '== "b"',
        '!= "a"',
        '== "a" ignoring case',
        'in ["a"]',
        'in ["a", "b"]',
        'not in ["a"]',
        "is list",
    ]
    paths = ["args.a", 'args["a"]', "args.b", "args.a.b", "input.a"]
    written = [f"{text.format(path)} {ask}" for text in texts for ask in asked for path in paths]
    found = [shape(read(text)) for text in written]
    assert None not in found
    assert len(set(found)) == len(written)
    assert [shape(read(text.replace(" ", "  "))) for text in written] == found


@pytest.mark.parametrize(
    "text", ["args.a == 1", "args.a == true", "args.a in [1]", "args.a == args.b", "args.a in names"]
)
def test_what_is_not_a_text_has_no_shape(text: str) -> None:
    """1 and true are equal in Python, and what a name means is the bundle's."""
    assert shape(read(text)) is None


def test_each_of_two_equal_mistakes_is_found() -> None:
    """Only what is right is looked at once."""
    rule = 'rule r{} {{ deny tool "t{}" when args.a matches "(" because "b" }}\n'
    with pytest.raises(BundleError) as raised:
        compile_text(rule.format(1, 1) + rule.format(2, 2))
    assert [found.span.line for found in raised.value.diagnostics] == [1, 2]
