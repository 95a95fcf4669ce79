"""The test that was maybe when a rule fired on doubt."""

from rebuno.model.decision import Decision
from rebuno.policy.explain.evaluator import Evaluator
from rebuno.policy.explain.explain import explain_rule
from rebuno.policy.explain.trace import BEYOND_BOUND, first_maybe
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.matcher.policy import Policy
from rebuno.policy.matcher.sessions import in_session
from rebuno.policy.syntax import tree


def doubt_of(policy: Policy, facts: Facts, decision: Decision) -> str:
    """The text of the first test of the deciding rule that was maybe, as written; empty where the rule fired on yes.
    `decision` is what the policy has just decided on these facts."""
    deciding = (decision.bundle, decision.rule_id)
    if deciding not in ((doubted.bundle, doubted.rule_id) for doubted in facts.doubted):
        return ""
    for bundle in policy.bundles:
        for rule in bundle.statements:
            if isinstance(rule, tree.Rule) and (bundle.name, rule.id.text) == deciding:
                facts.tests = 0
                evaluator = Evaluator(in_session(bundle, facts.workdir))
                trace = explain_rule(rule, facts, evaluator, reached=True)
                return first_maybe(trace.tests) or BEYOND_BOUND
    return BEYOND_BOUND
