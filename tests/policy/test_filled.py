"""`f"…"` in `message` and `because`: filled once at the decision, the same in `explain`."""

from typing import Any

import pytest
from hypothesis import given

from rebuno.errors import BundleError
from rebuno.policy.compile import compile_policy, compile_text
from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.matcher.filled import value_told
from rebuno.policy.matcher.policy import FillingLayer, Layer
from rebuno.policy.syntax.source import Source
from rebuno.policy.values.invisible import blank, ignorable
from tests.policy.bundles import values

TOOL = "tool_call"
PAY = """default deny because "no"

rule pay {
  require approval for tool "pay"
  message f"Pay {args.amount} to {args.to}? {{of {agent}, {target}}}"
  because f"{args.to} is no known payee of {input.who[0].name}"
}

rule plain {
  deny tool "plain"
  because "a plain {text}"
}
"""


def texts(args: Any, **fields: Any) -> tuple[str, str]:
    policy = compile_text(PAY)
    facts = Facts(TOOL, "pay", args, agent="bot", **fields)
    decision = policy.decide(facts)
    shown = explain_decision(policy, facts).decision
    assert (shown.reason, shown.message, shown.obligations) == (decision.reason, decision.message, decision.obligations)
    (obligation,) = decision.obligations
    assert obligation.asking is not None
    assert obligation.asking.message == decision.message
    return decision.message, decision.reason


def test_values_are_quoted() -> None:
    """Texts as JSON, what cannot be seen as an escape, braces as they are doubled."""
    given_input = {"who": [{"name": "Ana"}]}
    assert texts({"to": "X\u202e", "amount": 5}, input=given_input) == (
        'Pay 5 to "X\\u202e"? {of "bot", "pay"}',
        '"X\\u202e" is no known payee of "Ana"',
    )


def test_absent_and_out_of_reach() -> None:
    """A value that is not there is told, and so is one below another type."""
    assert texts({"to": None}) == (
        'Pay (left out) to (left out)? {of "bot", "pay"}',
        "(left out) is no known payee of (left out)",
    )
    assert texts({"to": []}, input={"who": "x"})[1] == "(left out) is no known payee of (out of reach)"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (5, "5"),
        (0.5, "0.5"),
        (True, "true"),
        ("a", '"a"'),
        ("", '""'),
        ("a\"b\\c", '"a\\"b\\\\c"'),
        ("a\nb\tc", '"a\\u000ab\\u0009c"'),
        ("é 東", '"é 東"'),
        ("a\u00a0b\u200bc\ufe0f\u3164", '"a\\u00a0b\\u200bc\\ufe0f\\u3164"'),
        ("\U000e0041", '"\\udb40\\udc41"'),
        ("\ud800", '"\\ud800"'),
        ("\ue000", '"\\ue000"'),
        ("a" * 200, '"' + "a" * 200 + '"'),
        ("a" * 201, '"' + "a" * 200 + '…" (1 character left out)'),
        ("\u202e" * 40, '"' + "\\u202e" * 33 + '…" (7 characters left out)'),
        ("x" * 5000, '"' + "x" * 200 + '…" (4,800 characters left out)'),
        ({"b": [1, None], "a": "\u202e"}, '{"b": [1, null], "a": "\\u202e"}'),
        (["a" * 300], '["' + "a" * 198 + "… (104 characters left out)"),
        ({}, "{}"),
        (None, "(left out)"),
        ([], "(left out)"),
        (b"a", "(out of reach)"),
        (float("nan"), "(out of reach)"),
    ],
)  # fmt: skip
def test_one_value(value: Any, told: str) -> None:
    """How each value is told."""
    assert value_told(value) == told


@given(values)
def test_what_is_told_can_be_seen_and_is_short(value: Any) -> None:
    """No value makes it fail, hides a character, or fills the screen."""
    told = value_told(value)
    assert len(told) < 300
    assert all(one == " " or (one.isprintable() and not ignorable(one) and not blank(one)) for one in told)


def test_plain_texts_stay() -> None:
    """Without `f` braces mean nothing, and a bundle without `f` is decided as before."""
    policy = compile_text(PAY)
    assert policy.decide(Facts(TOOL, "plain", {"text": "x"})).reason == "a plain {text}"
    assert policy.decide(Facts(TOOL, "other")).reason == "no"
    assert type(policy) is FillingLayer
    assert type(compile_text('default deny\nrule r { deny tool "t" because "{args.x}" }')) is Layer


def test_layers() -> None:
    """The strictest decision is told with its values, and every question with those of its rule."""
    other = 'bundle other\ndefault allow\nrule r { require approval for tool "pay" message f"{args.n}!" because "x" }\n'
    policy = compile_policy([Source(other, "other.rbp"), Source(PAY, "pay.rbp")])
    for amount in (1, 2, 1):
        facts = Facts(TOOL, "pay", {"amount": amount, "to": "a", "n": amount}, agent="bot")
        decision = policy.decide(facts)
        asked = [one.asking.message for one in decision.obligations if one.asking is not None]
        assert decision.message == f"{amount}!"
        assert asked == [f"{amount}!", f'Pay {amount} to "a"? {{of "bot", "pay"}}']
        shown = explain_decision(policy, facts).decision
        assert (shown.message, shown.obligations) == (decision.message, decision.obligations)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("it.x", "`it` is no value of the submission"),
        ("result.x", "`result` is no value of the submission"),
        ("item", "`item` is no value"),
        ("this.args.x", "`this` is no value"),
        ("arg.x", "did you mean `args`?"),
        ("args.x[]", "no path stands in these braces"),
        ("args.*", "no path stands in these braces"),
        ("target.x", "`target` is a string"),
    ],
)
@pytest.mark.parametrize("clause", ["because", "message"])
def test_paths_that_cannot_be_told(path: str, words: str, clause: str) -> None:
    """A path gives one value of the submission."""
    other = "" if clause == "because" else '  because "x"\n'
    text = f'default deny\nrule r {{\n  require approval for tool "t"\n{other}  {clause} f"a {{{path}}}"\n}}\n'
    with pytest.raises(BundleError) as error:
        compile_text(text)
    assert [str(one.code) for one in error.value.diagnostics] == ["bad-path"]
    assert words in str(error.value.diagnostics[0])
