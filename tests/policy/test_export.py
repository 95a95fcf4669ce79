"""The tree as JSON: it says everything, it can be read back, and what is no tree is refused with its place."""

import json
from dataclasses import fields, is_dataclass
from typing import Any

import pytest
from hypothesis import given, settings

from rebuno.errors import ValidationError
from rebuno.policy.interop import json_ast
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.nodes import DEEPEST_TREE
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import Source
from tests.policy import grammar_texts

TEXT = """\
# A shop.
bundle shop
rule refund {
  allow tool "refund"
  when args.amount <= 5_0.5  # euros
}
"""


def bundle_of(text: str) -> s.Bundle:
    """The tree of a text without errors."""
    bundle, found = parse_bundle(Source(text, "shop.rbp"))
    assert not found
    return bundle


def places(bundle: s.Bundle) -> list[tuple[Any, ...]]:
    """Every node with its places, which trees leave out when they compare."""
    found = []
    stack: list[Any] = [bundle.statements, bundle.comments]
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            stack.extend(node)
        elif is_dataclass(node):
            children = [getattr(node, field.name) for field in fields(node)]
            found.append((node, *[child for child in children if isinstance(child, s.Span)]))
            stack.extend(child for child in children if not isinstance(child, s.Span))
    return found


@settings(max_examples=100)
@given(grammar_texts.layouts())
def test_a_tree_comes_back_from_json_as_it_was(text: str) -> None:
    """Content, comments and places survive, and writing them again gives the same text."""
    bundle = bundle_of(text)
    written = json.dumps(json_ast.dump_ast(bundle))
    loaded = json_ast.load_ast(written)
    assert loaded == bundle
    assert loaded.path == bundle.path
    assert places(loaded) == places(bundle)
    assert json.dumps(json_ast.dump_ast(loaded)) == written


def test_the_shape_is_stable() -> None:
    """Programs rely on the names and on the order of the six numbers of a place."""
    data = json_ast.dump_ast(bundle_of(TEXT))
    assert data["version"] == 1
    assert list(data["bundle"]) == ["node", "name", "statements", "comments", "path"]
    rule = data["bundle"]["statements"][1]
    assert rule["node"] == "Rule"
    assert rule["id"] == {"node": "Name", "text": "refund", "span": [3, 6, 3, 12, 27, 33]}
    assert rule["clauses"][0]["expr"] == {
        "node": "Test",
        "operand": {
            "node": "Operand",
            "quantifier": None,
            "facets": [],
            "paths": [
                {
                    "node": "Path",
                    "root": "args",
                    "parts": [{"node": "Key", "name": "amount", "quoted": False}],
                    "span": [5, 8, 5, 19, 65, 76],
                }
            ],
            "span": [5, 8, 5, 19, 65, 76],
        },
        "op": "<=",
        "right": {"node": "Literal", "value": 50.5, "span": [5, 23, 5, 28, 80, 85], "raw": False},
        "span": [5, 8, 5, 28, 65, 85],
        "negated": False,
        "ignoring_case": False,
        "block": None,
    }
    assert data["bundle"]["comments"][1] == {
        "node": "Comment", "text": " euros", "own_line": False, "span": [5, 30, 5, 37, 87, 94],
    }  # fmt: skip


def _changed(find: str, replace: str) -> str:
    text = json.dumps(json_ast.dump_ast(bundle_of(TEXT)))
    assert find in text
    return text.replace(find, replace, 1)


REFUSED = [
    ("{", "this is not JSON", "a torn text"),
    ("[1]", 'a tree is `{"version": 1', "another shape"),
    ('{"version": 2, "bundle": {}}', "version 2; only 1", "a later version"),
    ('{"version": 1, "bundle": {}}', "no node `Bundle`", "no tree inside"),
    ('{"version": 1, "bundle": NaN}', "`NaN` is no JSON number", "what JSON does not know"),
    (f'{{"version": 1, "bundle": {"9" * 5000}}}', "too long", "a number beyond what Python reads"),
    (f'{{"version": 1, "bundle": {"[" * 100_000}', "too deeply", "hostile nesting"),
    (_changed('"Literal"', '"Litral"'), 'no node `"Litral"` (did you mean `Literal`?)', "a misspelt node"),
    (_changed('"negated"', '"negatd"'), 'no field `"negatd"` (did you mean `negated`?)', "a misspelt field"),
    (_changed('"negated": false, ', ""), "a `Test` needs the field `negated`", "a field left out"),
    (_changed('"op": "<="', '"op": "=<"'), '`op` of a `Test` cannot be `"=<"`', "a sign that there is not"),
    (_changed('"negated": false', '"negated": 0'), "`negated` of a `Test` cannot be `0`", "a number is no truth value"),
    (_changed('"version": null', '"version": true'), "`version` of a `BundleLine`", "a truth value is no number"),
    (_changed("[3, 6, 3, 12, 27, 33]", "[3, 6, 3, 12, 27]"), "`span` of a `Name` is no list of 6", "half a place"),
    (_changed('"facets": []', '"facets": [[]]'), "`facets` of a `Operand` cannot be `[]`", "a list of another thing"),
    (_changed('" euros"', '"\\ud800"'), "`text` of a `Comment`", "half a surrogate pair"),
]


@pytest.mark.parametrize(("text", "message", "reason"), REFUSED, ids=[case[2] for case in REFUSED])
def test_what_is_no_tree_is_refused(text: str, message: str, reason: str) -> None:
    """The message says which node and field, and what may have been meant."""
    with pytest.raises(ValidationError) as caught:
        json_ast.load_ast(text)
    assert message in str(caught.value), reason


def test_no_tree_is_deeper_than_a_parsed_one() -> None:
    """What walks trees need not mind their depth, and the deepest that is parsed comes back."""
    deep = bundle_of(f"condition a = {'not (b and ' * (DEEPEST_TREE // 2)}c{')' * (DEEPEST_TREE // 2)}")
    assert json_ast.load_ast(json.dumps(json_ast.dump_ast(deep))) == deep
    expr: s.Expr = s.ConditionRef(s.Name("c"))
    for _ in range(3 * DEEPEST_TREE):
        expr = s.Not(expr)
    made = s.Bundle("made", (s.Condition(s.Name("a"), expr),))
    with pytest.raises(ValidationError, match="too deeply"):
        json_ast.load_ast(json.dumps(json_ast.dump_ast(made)))
