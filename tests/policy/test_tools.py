"""A bundle is held against the schemas of the tools that it speaks of."""

from typing import Any

import pytest

from rebuno.errors import ValidationError
from rebuno.policy.analysis.tool_schemas import ToolSchema, read_tools
from rebuno.policy.check.tools import check_tools
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import Source

PAY: dict[str, Any] = {
    "type": "object",
    "properties": {
        "to": {"type": "string"},
        "amount": {"type": "number"},
        "times": {"type": ["integer", "null"]},
        "fast": {"type": "boolean"},
        "currency": {"enum": ["EUR", "USD"]},
        "mode": {"anyOf": [{"const": "now"}, {"type": "null"}]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}},
        "payee": {"type": "object", "properties": {"iban": {"type": "string"}}, "additionalProperties": False},
        "extra": {"type": "object"},
        "loose": {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": True},
        "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "all": {"allOf": [{"type": "string"}]},
        "self": {"$ref": "#/properties/self"},
        "gone": {"$ref": "#/nothing"},
        "free": {},
    },
    "$defs": {"line": {"type": "object", "properties": {"price": {"type": "number"}}}},
}
TOOLS = [
    ToolSchema("pay", PAY),
    ToolSchema("get_balance", {"type": "object", "properties": {}}),
    ToolSchema("shell", None),
]


def found(text: str) -> list[tuple[str, str]]:
    bundle, errors = parse_bundle(Source(f'known asked = input\nknown paid = approved tool "pay" at to\n{text}'))
    assert [str(error) for error in errors] == []
    # What a rule leaves open has tests of its own.
    return [(d.code, d.help) for d in check_tools(bundle, TOOLS) if d.code != "open-arguments"]


def codes(test: str, tool: str = '"pay"') -> list[str]:
    return [code for code, _ in found(f"rule r {{ allow tool {tool} when {test} }}")]


SUBJECTS: list[tuple[list[tuple[str, str]], str]] = [
    ([("unknown-tool", "did you mean `pay`?")], 'rule r { allow tool "payy" }'),
    ([("unknown-tool", "")], 'rule r { deny tool "send_*" }'),
    ([("unknown-tool", "did you mean `shell`?")], 'let mine = ["pay", "shel"]\nrule r { deny tool mine }'),
    ([("unknown-tool", "did you mean `get_balance`?")], 'known k = result of tool "get_balanse" at x'),
    ([], 'rule r { allow tool "get_*", "pay" or llm "gpt" or local "payy" }'),
    ([], "rule r { allow any step }"),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "text"), SUBJECTS, ids=[text for _, text in SUBJECTS])
def test_tools_that_there_are(expected: list[tuple[str, str]], text: str) -> None:
    """Names that no tool has are told of, wherever a subject stands."""
    assert found(text) == expected


PATHS: list[tuple[bool, str]] = [
    (False, "args.too given"),
    (True, "args.to given"),
    (False, "args.payee.ibann == \"x\""),
    (True, "args.payee.iban == \"x\""),
    (False, "any args.lines[].cost > 5"),
    (True, "any args.lines[].price > 5"),
    (True, "args.extra.anything == 1"),  # nothing is said of what is in it
    (True, "args.loose.b == 1"),  # more is allowed
    (True, "args.free.x == 1"),
    (True, "args.self.x == 1"),  # a reference to itself
    (True, "args.gone.x == 1"),  # a reference to nothing
    (True, "args.all.x == 1"),  # not looked into
    (False, "args.to.x given"),  # a text has no parts
    (False, "args.to[0] given"),
    (True, "any args.to[] == \"x\""),  # a single value counts as a list of one
]  # fmt: skip


@pytest.mark.parametrize(("known", "test"), PATHS, ids=[test for _, test in PATHS])
def test_arguments_that_there_are(known: bool, test: str) -> None:
    """A path that the schema does not have is told of; where it leaves that open nothing is said."""
    assert codes(test) == ([] if known else ["unknown-argument"])


def test_an_argument_of_one_of_several_tools() -> None:
    """It is enough that one of the tools has it, or that the arguments of one are not described."""
    assert codes("args.to given", '"pay", "get_balance"') == []
    assert codes("args.command given", '"pay", "shell"') == []
    assert codes("args.command given", '"pay", "pay"') == ["unknown-argument"]
    assert found('rule r { allow tool "pay" when args.amont <= 5 }')[0][1] == "did you mean `amount`?"


FITS: list[tuple[bool, str]] = [
    (False, "args.to == 5"),
    (False, "args.to <= 5"),  # ordering a text
    (True, 'args.to == "x"'),
    (True, "args.to in asked"),
    (False, 'args.amount == "5"'),
    (False, 'args.amount in ["5", true]'),
    (True, 'args.amount in ["5", 5]'),
    (False, 'args.amount like "5*"'),
    (True, "args.times == 5 or args.times is null"),
    (False, "args.fast == 1"),
    (True, "args.fast == true"),
    (False, 'args.tags == "x"'),  # a list is no text
    (True, 'any args.tags == "x"'),
    (True, 'any args.tags[] == "x"'),
    (True, 'args.tags contains "x"'),
    (False, "any args.tags == 5"),
    (False, "any args.lines[].price == true"),
    (False, 'args.currency == "GBP"'),  # none of the values
    (False, 'args.currency in ["EUR", "EURO"]'),
    (True, 'args.currency in ["EUR", "USD"]'),
    (True, 'args.currency != "EUR"'),
    (False, 'args.mode == "later"'),
    (True, "args.mode is null"),
    (True, 'args.either == "x"'),
    (False, "args.either == true"),
    (False, 'host of args.amount == "x.example"'),
    (True, 'host of args.to == "x.example"'),
    (False, 'args.amount under "/srv"'),
    (True, "args.free == 5 or args.all == 5"),
    (True, "args.amount missing"),
    (False, "args.to is number"),
]


@pytest.mark.parametrize(("fits", "test"), FITS, ids=[test for _, test in FITS])
def test_tests_that_values_can_fulfil(fits: bool, test: str) -> None:
    """A test that is never yes by the argument's type, or by the values that it can have, is told of."""
    assert codes(test) == ([] if fits else ["never-fits"])


def test_a_value_that_was_probably_meant() -> None:
    """The values that there are give the hint."""
    ((code, hint),) = found('rule r { deny tool "pay" when args.currency == "EURO" }')
    assert (code, hint) == ("never-fits", "did you mean `EUR`?")


SHAPES: list[Any] = [
    {"tools": [{"name": "a", "inputSchema": PAY}]},
    {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "a", "inputSchema": PAY}]}},
    [{"type": "function", "function": {"name": "a", "parameters": PAY}}],
    [{"type": "function", "name": "a", "parameters": PAY}],
    [{"name": "a", "input_schema": PAY}],
    {"functions": [{"name": "a", "parameters": PAY}]},
]


@pytest.mark.parametrize("data", SHAPES)
def test_shapes_of_descriptions(data: Any) -> None:
    """Each common way of describing tools is read."""
    assert read_tools(data) == [ToolSchema("a", PAY)]


@pytest.mark.parametrize("data", [None, {}, [], "a", [1], [{}], [{"name": 1}], {"tools": {}}, [{"function": {}}]])
def test_what_is_no_description(data: Any) -> None:
    """Anything else is refused in a sentence."""
    with pytest.raises(ValidationError, match=r"no list of tools|has no `name`"):
        read_tools(data)


@pytest.mark.parametrize(
    "schema", [None, [], 5, {"properties": []}, {"properties": {"to": 1}}, {"type": 5}, {"type": []}, {"$ref": 5},
               {"anyOf": []}, {"type": "object", "properties": {"to": {"enum": []}}}, {"items": 5}]
)  # fmt: skip
def test_odd_schemas_say_nothing(schema: Any) -> None:
    """A schema that cannot be read is no reason to warn, and none to fail."""
    bundle, _ = parse_bundle(Source('rule r { allow tool "a" when args.to == "x" and any args.to[] == "y" }'))
    assert check_tools(bundle, [ToolSchema("a", schema)]) == []
