"""Which rule decides, and what the policy answers, as formulas."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import z3

from rebuno.model.decision import Verdict
from rebuno.policy.matcher.index import KINDS, Lists
from rebuno.policy.proving.model import BundleModel, ModelStep
from rebuno.policy.proving.past import patterns
from rebuno.policy.proving.values import ModelAnswer, all_of, glob_formula
from rebuno.policy.syntax import tree
from rebuno.policy.values.globs import glob

# The kinds of steps by their numbers in the model.
NUMBERS: Final = {kind: number for number, kind in enumerate(KINDS.values())}
LOCAL: Final = NUMBERS[KINDS["local"]]


class ModelTarget:
    """The kind and the target of the step: one of which both are known, or any."""

    def __init__(self, step: ModelStep, known: tuple[str, str] | None = None) -> None:
        self.known = known
        self.kind = z3.Int("kind")
        self._text = step.target
        step.add(z3.And(self.kind >= 0, self.kind < len(NUMBERS)))
        if known is not None:
            from rebuno.policy.proving.values import text_value

            step.add(self.kind == NUMBERS[known[0]])
            step.add(step.target == text_value(known[1]))

    def matches(self, subject: tree.Subject, lists: Lists) -> Any:
        """A formula: the subject means the step. A pattern that the solver cannot read may match or not."""
        if not subject.groups:
            return z3.BoolVal(True)
        parts = []
        for group in subject.groups:
            kind = KINDS[group.kind]
            for pattern in patterns(group, lists):
                if self.known is not None:
                    if self.known[0] == kind and glob(pattern).matches(self.known[1]):
                        return z3.BoolVal(True)
                    continue
                found = glob_formula(pattern, self._text)
                found = z3.Bool(f"target like {pattern}") if found is None else found
                parts.append(z3.And(self.kind == NUMBERS[kind], found))
        return z3.Or(parts)


class LayerModel:
    """One bundle over a step: the verdicts of its first rule that matches."""

    def __init__(self, step: ModelStep, bundle: tree.Bundle, target: ModelTarget) -> None:
        self.model = BundleModel(step, bundle)
        verdicts: dict[str, list[Any]] = {verdict.value: [] for verdict in Verdict}
        open_so_far: Any = z3.BoolVal(True)
        self.rules: list[tuple[str, Any]] = []
        for rule in bundle.statements:
            if not isinstance(rule, tree.Rule):
                continue
            meant = target.matches(rule.subject, self.model.values)
            if z3.is_false(z3.simplify(meant)):
                continue
            answer = self.condition(rule)
            fires = z3.And(meant, answer.yes if rule.verdict == "allow" else answer.possible)
            verdicts[Verdict(rule.verdict).value].append(z3.And(open_so_far, fires))
            open_so_far = z3.And(open_so_far, z3.Not(fires))
        default = next((one.verdict for one in bundle.statements if isinstance(one, tree.Default)), "deny")
        local = target.kind == LOCAL
        verdicts["allow"].append(z3.And(open_so_far, z3.Or(local, z3.BoolVal(default == "allow"))))
        verdicts["deny"].append(z3.And(open_so_far, z3.Not(local), z3.BoolVal(default == "deny")))
        self.verdicts: Mapping[str, Any] = {verdict: z3.Or(found) for verdict, found in verdicts.items()}

    def condition(self, rule: tree.Rule) -> ModelAnswer:
        """What a rule asks besides its subject."""
        return all_of(
            self.model.expr(clause.expr, isinstance(clause, tree.Unless))
            for clause in rule.clauses
            if isinstance(clause, tree.When | tree.Unless)
        )


def combined(layers: Sequence[LayerModel], verdict: str) -> Any:
    """A formula: the strictest of the layers' verdicts is this one."""
    allows = z3.And([layer.verdicts["allow"] for layer in layers])
    denies = z3.Or([layer.verdicts["deny"] for layer in layers])
    if verdict == Verdict.ALLOW.value:
        return allows
    return denies if verdict == Verdict.DENY.value else z3.And(z3.Not(allows), z3.Not(denies))
