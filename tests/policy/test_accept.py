"""`# accept CODE: REASON` directly above a statement accepts the warnings of that code in it."""

import pytest

from rebuno.policy.analysis.tool_schemas import ToolSchema
from rebuno.policy.check.bundle import check_bundle
from rebuno.policy.check.tools import check_tools
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import Source

RULE = 'rule r {\n  allow tool "t"\n  when any args.to[] == "x"\n}\n'
OTHER = RULE.replace("rule r", "rule other").replace('"t"', '"u"')


def findings(text: str) -> list[tuple[str, str]]:
    """The code of each finding, and the reason for which it is accepted."""
    bundle, mistakes = parse_bundle(Source(f"default deny\n\n{text}"))
    assert mistakes == []
    return [(str(one.code), one.accepted) for one in check_bundle(bundle)]


@pytest.mark.parametrize(
    ("above", "found"),
    [
        ("", [("any-in-allow", "")]),
        ("# accept any-in-allow: one is enough\n", [("any-in-allow", "one is enough")]),
        ("#accept  any-in-allow :one is enough\n", [("any-in-allow", "one is enough")]),
        ("# accept any-in-allow: one\n# and why\n", [("any-in-allow", "one")]),
        ("# why\n# accept any-in-allow: one\n", [("any-in-allow", "one")]),
        # Without a reason, with another code, too far above
        ("# accept any-in-allow:\n", [("bad-accept", ""), ("any-in-allow", "")]),
        ("# accept any-in-allow\n", [("bad-accept", ""), ("any-in-allow", "")]),
        ("# accept late-deny: no\n", [("bad-accept", ""), ("any-in-allow", "")]),
        ("# accept any-in-alow: one\n", [("bad-accept", ""), ("any-in-allow", "")]),
        ("# accept wrong-type: an error\n", [("bad-accept", ""), ("any-in-allow", "")]),
        ("# accept any-in-allow: one\n\n", [("bad-accept", ""), ("any-in-allow", "")]),
        ("# accept any-in-allow: one\n# accept any-in-allow: two\n", [("bad-accept", ""), ("any-in-allow", "one")]),
        # Prose, and codes that other checks look for
        ("# accept orders of the desk\n", [("any-in-allow", "")]),
        ("# Accept any-in-allow: one\n", [("any-in-allow", "")]),
        ("# accept open-arguments: the tool ignores them\n", [("any-in-allow", "")]),
        ("# accept pointless: for now\n", [("any-in-allow", "")]),
        ("# accept read-by-facet: by the schema\n", [("any-in-allow", "")]),
    ],
)
def test_above_a_rule(above: str, found: list[tuple[str, str]]) -> None:
    """Accepted warnings stay listed, with the reason; what accepts nothing is a finding."""
    assert findings(above + RULE) == found


def test_only_the_statement_below_is_meant() -> None:
    """The same warning in another statement stands."""
    accepted = "# accept any-in-allow: one\n"
    assert findings(accepted + RULE + OTHER) == [("any-in-allow", "one"), ("any-in-allow", "")]
    assert findings(RULE + accepted) == [("any-in-allow", ""), ("bad-accept", "")]
    inside = RULE.replace("  when", f"  {accepted}  when")
    assert findings(inside) == [("bad-accept", ""), ("any-in-allow", "")]
    assert findings(RULE.replace("\n  when", f"  {accepted}  when")) == [("any-in-allow", "")]  # at the end of a line


def test_above_other_statements() -> None:
    """A definition that is not used yet, an order that is meant."""
    text = '# accept unused-name: for the next rule\nlet later = ["a"]\nrule t { allow tool "t" }\n'
    assert findings(text) == [("unused-name", "for the next rule")]
    late = 'rule a { allow tool "t" when args.x == 1 }\n# accept late-deny: meant\n'
    late += 'rule d { deny tool "t" when args.y == 1 because "x" }\n'
    assert findings(late) == [("late-deny", "meant")]


SCHEMAS = [
    ToolSchema("t", {"type": "object", "properties": {
        "to": {"type": "array", "items": {"type": "string", "format": "email"}},
        "site": {"type": "string", "format": "uri"}, "plain": {"type": "string"}, "more": {"type": "string"}},
        "required": ["to", "site", "plain"], "additionalProperties": False}),
]  # fmt: skip


def of_tools(above: str, test: str) -> list[tuple[str, str]]:
    bundle, mistakes = parse_bundle(Source(f'default deny\n\n{above}rule r {{\n  allow tool "t"\n  when {test}\n}}\n'))
    assert mistakes == []
    return [(str(one.code), one.accepted) for one in check_tools(bundle, SCHEMAS)]


def test_what_the_schemas_tell() -> None:
    """The warnings of `--tools` are accepted alike, and one of them that is not there is missed."""
    test = 'args.plain == "a"'
    assert of_tools("", test) == [("open-arguments", "")]
    assert of_tools("# accept open-arguments: ignored by the tool\n", test) == [
        ("open-arguments", "ignored by the tool")
    ]
    closed = f'{test} and every key of args in ["plain", "to"]'
    assert of_tools("# accept open-arguments: ignored by the tool\n", closed) == [("bad-accept", "")]
    assert of_tools("# accept late-deny: of the bundle\n", closed) == []


@pytest.mark.parametrize(
    ("test", "warns"),
    [
        ('args.site starts with "corp"', True),
        ('args.site like "corp*"', True),
        ('args.site like "corp"', False),  # a value without a wild card
        ('args.site == "corp"', False),
        ('host of args.site == "corp.example"', False),
        ('host of args.site == "corp.example" and args.site ends with "x"', False),
        ('args.plain starts with "corp"', False),
        ('every args.to ends with "x"', False),  # `check` warns by the name
    ],
)
def test_plain_tests_of_what_the_schema_gives_a_format(test: str, warns: bool) -> None:
    """A URL is one by its schema, whatever its name is."""
    assert (("read-by-facet", "") in of_tools("", test)) is warns


def test_an_error_hides_no_finding_of_another_statement() -> None:
    """Seven faulty rules give seven findings, and the warnings of the others."""
    rules = [
        'allow tool "a" when arg.x == 1', 'allow tool "b" when args.x[] == 1', 'allow tool "c" when args.x in nowhere',
        'deny tool "d" when args.x matches "(" because "x"', 'allow tool "e" limit 0 per 1h',
        'require approval for tool "f" approvers "x" quorum 2 because "x"',
        'allow tool "g" when hosts of args.u == "x"',
        'allow tool "h" when any args.to[] == "x"',
    ]  # fmt: skip
    text = "".join(f"rule r{number} {{ {rule} }}\n" for number, rule in enumerate(rules))
    assert [code for code, _ in findings(text)] == [
        "unknown-root", "missing-quantifier", "unknown-name", "bad-regex", "bad-limit", "bad-quorum", "unknown-facet",
        "any-in-allow",
    ]  # fmt: skip
