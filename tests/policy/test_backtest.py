"""What another policy would have said of steps that were decided already."""

import pytest

from rebuno.model.decision import Verdict
from rebuno.policy.compile import compile_text
from rebuno.policy.interop.diff import BundleDiff, diff_bundles
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.testing.backtest import BacktestTally, RecordedStep, backtest_against_policy, backtest_against_record

HEAD = 'bundle b\ndefault deny because "no"\n'
READS = 'rule reads { allow tool "get_*" }\n'
NOW = compile_text(HEAD + READS + 'rule pay { require approval for tool "pay" because "ask" }\n')


def _step(target: str, verdict: Verdict, rule: str) -> RecordedStep:
    return RecordedStep(Facts("tool_call", target, {"n": 1}), verdict, rule, target, by_kernel=rule.startswith("__"))


@pytest.mark.parametrize(
    ("target", "verdict", "rule", "differs", "wider"),
    [
        ("get_x", Verdict.ALLOW, "reads", None, False),  # the same
        ("get_x", Verdict.ALLOW, "other", False, False),  # the same verdict by another rule
        ("get_x", Verdict.DENY, "default", True, True),
        ("pay", Verdict.DENY, "default", True, True),
        ("pay", Verdict.ALLOW, "reads", True, False),
        ("rm", Verdict.ALLOW, "reads", True, False),
        ("rm", Verdict.DENY, "no-rm", False, False),
    ],
)
def test_a_step_is_judged_again(target: str, verdict: Verdict, rule: str, differs: bool | None, wider: bool) -> None:
    """Another verdict differs; more than was allowed is called out; another rule alone is only told."""
    tally = BacktestTally()
    backtest_against_record(tally, NOW, [_step(target, verdict, rule)])
    result = tally.result()
    assert [(group.differs, group.wider) for group in result.groups] == ([] if differs is None else [(differs, wider)])
    assert (result.steps, result.differing, result.widened) == (1, int(bool(differs)), int(wider))


def test_groups_come_by_weight_and_keep_three_examples() -> None:
    """What got wider first, then what else differs, then other rules, the largest of each first."""
    steps = [
        *[_step("rm", Verdict.ALLOW, "reads")] * 5,
        *[_step("get_x", Verdict.ALLOW, "other")] * 9,
        *[_step("pay", Verdict.DENY, "default")] * 2,
        _step("pay", Verdict.ALLOW, "reads"),
        _step("pay", Verdict.DENY, "__nested_wait"),
    ]
    tally = BacktestTally()
    backtest_against_record(tally, NOW, steps)
    result = tally.result()
    assert [(group.old_rule, group.new_rule, group.count) for group in result.groups] == [
        ("default", "pay", 2),
        ("reads", "default", 5),
        ("reads", "pay", 1),
        ("other", "reads", 9),
    ]
    assert (len(result.groups[1].examples), result.steps, result.by_kernel) == (3, 17, 1)
    assert result.groups[0].examples[0].reason == "ask"


def test_two_policies_are_compared_on_the_same_facts() -> None:
    """Whatever was recorded."""
    then = compile_text(HEAD + 'rule all { allow tool "*" }\n')
    tally = BacktestTally()
    backtest_against_policy(tally, then, NOW, [(name, Facts("tool_call", name, {})) for name in ("get_x", "pay", "rm")])
    result = tally.result()
    assert (result.differing, result.widened, len(result.groups)) == (2, 0, 3)


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("", "# a comment\n\n", BundleDiff()),
        ('rule a { allow tool "x" }', 'rule a {\n  allow tool "x"\n}', BundleDiff()),
        ('rule a { allow tool "x" }', 'rule a { allow tool "y" }', BundleDiff(changed=("rule `a`",))),
        ('rule a { allow tool "x" }', 'rule b { allow tool "x" }', BundleDiff(("rule `b`",), ("rule `a`",))),
        ("", "known p = input", BundleDiff(added=("known `p`",))),
        ("let p = 1", "let p = 2", BundleDiff(changed=("let `p`",))),
        ("", 'workdir "/srv"', BundleDiff(added=("workdir",))),
        (
            'rule a { allow tool "x" }\nrule b { deny tool "y" }\nrule c { deny tool "z" }',
            'rule c { deny tool "z" }\nrule a { allow tool "x" }\nrule b { deny tool "y" }',
            BundleDiff(moved=("rule `c`",)),
        ),
    ],
)
def test_bundles_differ_by_what_they_say(old: str, new: str, found: BundleDiff) -> None:
    """Not by layout or comments; the order of rules counts."""
    assert diff_bundles(compile_text(HEAD + old).bundles[0], compile_text(HEAD + new).bundles[0]) == found
    assert bool(found) == (found != BundleDiff())
