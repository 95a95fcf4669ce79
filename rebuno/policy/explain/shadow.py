"""What the bundles that are tried beside a policy say of a submission."""

from typing import Any

from rebuno.policy.explain.doubt import doubt_of
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
    # INVARIANT: the facts keep what the policy itself found in doubt.
    before = facts.doubted
    facts.doubted = before[:0]
    decision = shadow.decide(facts)
    doubt = doubt_of(shadow, facts, decision) if facts.doubted else ""
    facts.doubted = before
    said: dict[str, Any] = {
        "bundle": decision.bundle,
        "digest": decision.digest,
        "rule_id": decision.rule_id,
        "verdict": decision.verdict.value,
    }
    if doubt:
        said["doubt"] = doubt[:_LONGEST]
    if any(one.limit is not None or one.budget is not None for one in decision.obligations):
        said["limited"] = True
    return said
