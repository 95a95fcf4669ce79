"""What the bundles that are tried beside a policy say of a submission."""

from typing import Any

from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.explain.trace import RuleOutcome, TraceAnswer, TraceNode
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.matcher.policy import Layer, Policy

# Characters of a test that are recorded.
_LONGEST = 200


def shadow_verdicts(policy: Policy, facts: Facts) -> list[dict[str, Any]]:
    """For each shadow of a policy `{"bundle", "digest", "rule_id", "verdict"}` as JSON data.

    With them stand `doubt`, the test that was maybe, where the rule fired on doubt, and `limited` where a limit or a
    budget of the rule would have been asked as well: no shadow takes a place of one.
    """
    return [_verdict(shadow, facts) for shadow in policy.shadows]


def _verdict(shadow: Layer, facts: Facts) -> dict[str, Any]:
    decision, answer = shadow.answered(facts)
    said: dict[str, Any] = {
        "bundle": decision.bundle,
        "digest": decision.digest,
        "rule_id": decision.rule_id,
        "verdict": decision.verdict.value,
    }
    if answer is None:
        said["doubt"] = _doubt(shadow, facts)
    if any(one.limit is not None or one.budget is not None for one in decision.obligations):
        said["limited"] = True
    return said


def _doubt(shadow: Layer, facts: Facts) -> str:
    for rule in explain_decision(shadow, facts).rules:
        if rule.outcome is RuleOutcome.DECIDED:
            waiting: list[TraceNode] = list(reversed(rule.tests))
            while waiting:
                node = waiting.pop()
                if node.answer is not TraceAnswer.MAYBE or not node.counted:
                    continue
                if node.label:
                    waiting += reversed(node.children)
                else:
                    return node.text[:_LONGEST]
    return ""
