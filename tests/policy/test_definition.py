"""`definition`: the tool as its server describes it, of the submission and, in a `where`, of an earlier step."""

from typing import Any

import pytest

from rebuno.errors import BundleError
from rebuno.policy.compile import compile_text
from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.matcher.facts import Evidence, Facts, History
from tests.policy.bundles import policy_of

TOOL = "tool_call"
BANK = {"server": "bank", "name": "pay", "digest": "aa"}
BUNDLE = """default allow
let reviewed = ["aa"]
known payees = result of tool "*.list_payees" at [].account where (definition.server == "bank")

rule changed {
  deny tool "bank.*"
  when definition.digest not in reviewed
  because "nobody has looked at this tool as it is now"
}

rule payee {
  allow tool "pay"
  when args.to in payees
}

rule same {
  allow tool "again"
  when after tool "*" where (definition.server == "bank" and this.args.x == args.x)
}

rule rest {
  deny tool "pay", "again"
  because "x"
}
"""


def decide(target: str, args: Any = None, **fields: Any) -> str:
    policy, facts = policy_of(BUNDLE), Facts(TOOL, target, args, **fields)
    decided = policy.decide(facts).rule_id
    assert explain_decision(policy, facts).decision.rule_id == decided
    return decided


@pytest.mark.parametrize(
    ("definition", "rule"),
    [
        (BANK, "default"),
        ({**BANK, "digest": "bb"}, "changed"),
        ({"server": "bank", "name": "pay"}, "changed"),  # a host that shows no description
        (None, "changed"),
    ],
)
def test_of_the_submission(definition: Any, rule: str) -> None:
    """The reviewed digest passes; without a definition the answer is maybe."""
    assert decide("bank.pay", definition=definition) == rule


@pytest.mark.parametrize(("server", "rule"), [("bank", "payee"), ("other", "rest"), (None, "rest")])
def test_of_the_step_that_a_known_value_comes_from(server: str | None, rule: str) -> None:
    """Another server's tool of the same name gives no payee."""
    definition = None if server is None else {"server": server, "name": "list_payees"}
    step = Evidence(1, TOOL, "x.list_payees", {}, [{"account": "DE75"}], definition=definition)
    assert decide("pay", {"to": "DE75"}, history=History([step]), definition=BANK) == rule


@pytest.mark.parametrize(("server", "rule"), [("bank", "same"), ("other", "rest"), (None, "rest")])
def test_of_an_earlier_step(server: str | None, rule: str) -> None:
    """In the `where` of a test on history it is the earlier step's, whatever the submission's is."""
    definition = None if server is None else {"server": server, "name": "t"}
    steps = [Evidence(1, TOOL, "t", {"x": 1}, {}, definition=definition), Evidence(2, TOOL, "u", {"x": 1}, {})]
    assert decide("again", {"x": 1}, history=History(steps), definition=BANK) == rule


@pytest.mark.parametrize(
    ("test", "code"),
    [
        ('definition.serve == "a"', "bad-path"),
        ('definition.server.x == "a"', "bad-path"),
        ("any definition[] given and args.x == 1", "bad-path"),
        ("args.x == definition.version", "bad-path"),
        ("definition missing", ""),
        ("definition.name given", ""),
        ('definition.server like "project:*"', ""),
        ("args.x == definition.name", ""),
    ],
)
def test_its_parts(test: str, code: str) -> None:
    """It has a server, a name and a digest."""
    text = f'default deny\nrule r {{\n  deny tool "t"\n  when {test}\n  because "x"\n}}\n'
    if not code:
        compile_text(text)
        return
    with pytest.raises(BundleError) as error:
        compile_text(text)
    assert code in {str(one.code) for one in error.value.diagnostics}


def test_a_name_of_the_bundle() -> None:
    """A bundle of the first edition may define the word; on the right side of a test it means that."""
    text = 'default deny\nlet definition = ["a"]\nrule r { allow tool "t" when args.x in definition }\n'
    facts = Facts(TOOL, "t", {"x": "a"}, definition=BANK)
    assert compile_text(text).decide(facts).rule_id == "r"
