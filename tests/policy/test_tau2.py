"""What the shipped bundle is worth on a company's written policy, and whether the scorer tells the truth."""

import json
from typing import Any

import pytest

from benchmarks import tau2
from benchmarks.tau2 import BUNDLE, DATA, Result, play
from rebuno.policy.compile import compile_bundle, compile_text, permissive_policy
from rebuno.policy.matcher.policy import Policy
from rebuno.policy.syntax.source import read_source

ROWS: list[dict[str, Any]] = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
# In some tasks the customer gets nothing done.
BUSY = sum(bool(row["calls"]) for row in ROWS)
FORBIDDEN = sum(len(row["forbidden"]) for row in ROWS)
ASK_ALL = 'bundle all\ndefault deny\nrule ask { require approval for any step because "asks" }\n'


@pytest.fixture(scope="module")
def shipped() -> Result:
    """How the shipped bundle does on all tasks."""
    return play(compile_bundle(read_source(BUNDLE)), ROWS)


def test_every_task_but_one_is_allowed(shipped: Result) -> None:
    """The one that is refused exchanges an item for one that is not available."""
    assert shipped.tasks == 114
    assert shipped.refused == {"64": ["exchange_delivered_order_items: deny"]}


def test_what_the_policy_forbids_is_stopped(shipped: Result) -> None:
    """Of each kind all are stopped, but for pairs of two lists and a change whose first try failed."""
    tried = {what: count.tried for what, count in shipped.by.items()}
    left = {what: count.tried - count.stopped for what, count in shipped.by.items() if count.tried > count.stopped}
    assert sum(tried.values()) == FORBIDDEN == 1102
    assert left == {"a second time": 1, "another product, looked up": 2, "another product, not looked up": 2}
    assert len(shipped.passed) == 5


@pytest.mark.parametrize(
    ("policy", "refused", "stopped"),
    [
        (permissive_policy(), 0, 0),
        (compile_text("bundle none\ndefault deny\n"), BUSY, FORBIDDEN),
        # A question counts as not allowed: nobody is there to answer.
        (compile_text(ASK_ALL), BUSY, FORBIDDEN),
    ],
    ids=["allow all", "deny all", "ask all"],
)
def test_the_scorer_counts_constant_policies_right(policy: Policy, refused: int, stopped: int) -> None:
    """Three policies whose score is known beforehand."""
    found = play(policy, ROWS).to_json()
    assert (len(found["refused"]), found["stopped"], found["forbidden"]) == (refused, stopped, FORBIDDEN)


# Each leaves one demand of the policy out: (text of the bundle, what stands there instead, what then gets through).
HOLES = [
    ('and result.status == "pending"', "", "order in the wrong state"),
    ("args.reason in reasons and ", "", "reason not accepted"),
    ("args.payment_method_id in methods and delivered", "delivered", "payment method of somebody else"),
    ("\n   and (args.payment_method_id in gift_cards or paid_with_it)", "", "refund to another card"),
    ("where (item.available == true)", "", "new item not available"),
]


@pytest.mark.parametrize(("demand", "instead", "what"), HOLES, ids=[what for _, _, what in HOLES])
def test_a_bundle_without_a_demand_lets_that_kind_through(demand: str, instead: str, what: str) -> None:
    """The scorer sees each hole where it is."""
    # The claims at the end say what the rules demand once more.
    rules, never, claims = BUNDLE.read_text(encoding="utf-8").partition("\nnever ")
    assert rules.count(demand) == 1
    count = play(compile_text(rules.replace(demand, instead) + never + claims), ROWS).by[what]
    assert count.stopped < count.tried


def test_the_command_prints_only_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """With `--json` standard output is one JSON object."""
    monkeypatch.setattr("sys.argv", ["tau2.py", "--json"])
    assert tau2.main() == 0
    out = json.loads(capsys.readouterr().out)
    assert (out["tasks"], out["allowed"], out["forbidden"], out["stopped"]) == (114, 113, 1102, 1097)
    assert out["by"]["not authenticated"] == {"n": 176, "stopped": 176}


@pytest.mark.parametrize("option", ["--data", "--bundle"])
def test_the_command_says_what_is_missing(
    option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that is not there is wrong usage, and nothing is printed as a result."""
    monkeypatch.setattr("sys.argv", ["tau2.py", option, "/nowhere"])
    with pytest.raises(SystemExit) as end:
        tau2.main()
    printed = capsys.readouterr()
    assert (end.value.code, printed.out) == (2, "")
    assert "there is no file `/nowhere`" in printed.err
