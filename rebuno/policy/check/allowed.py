"""Whether a policy may ever let a tool be called, told from its bundles alone.

A no is certain; a yes only means that it could not be ruled out.
"""

from rebuno.model.step import Kind
from rebuno.policy.analysis.formulas import Formulas
from rebuno.policy.analysis.implication import CountedCondition
from rebuno.policy.matcher.index import matches_any, subject_patterns
from rebuno.policy.matcher.policy import Policy
from rebuno.policy.syntax import tree as s


def may_allow(policy: Policy, tool: str) -> bool:
    """False where every call of the tool is denied, whatever its arguments and whatever came before: each bundle of the
    policy must allow or ask about some call of it."""
    return all(_may(bundle, tool) for layer in policy.layers for bundle in layer.bundles)


def _may(bundle: s.Bundle, tool: str) -> bool:
    formulas = Formulas(bundle)
    lists = {name: value if isinstance(value, list) else [value] for name, value in formulas.values.items()}
    for rule in bundle.statements:
        if not isinstance(rule, s.Rule):
            continue
        if not matches_any(subject_patterns(rule.subject, lists), Kind.TOOL.value, tool):
            continue
        if rule.verdict != "deny":
            if not CountedCondition(formulas.rule(rule), sure=rule.verdict == "allow").never():
                return True
        elif not any(isinstance(clause, s.When | s.Unless) for clause in rule.clauses):
            return False
    return any(isinstance(line, s.Default) and line.verdict != "deny" for line in bundle.statements)
