"""What one policy allows that another does not, for every step."""

import time
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, Final

import z3

from rebuno.model.dataclass import dataclass
from rebuno.model.decision import Verdict
from rebuno.policy.matcher.build import names_of
from rebuno.policy.matcher.index import KINDS
from rebuno.policy.matcher.policy import Policy
from rebuno.policy.proving.decisions import NUMBERS, LayerModel, ModelTarget, combined
from rebuno.policy.proving.model import ModelStep
from rebuno.policy.proving.past import patterns
from rebuno.policy.proving.solving import Outcome, Proof, solve
from rebuno.policy.proving.values import readable, text_value
from rebuno.policy.proving.witness import Witness
from rebuno.policy.syntax import tree
from rebuno.policy.testing.cases import CaseSubmission
from rebuno.policy.testing.claims import Violation
from rebuno.policy.testing.tries import steps_to_try
from rebuno.policy.values.globs import glob

# Seconds for each of the two questions.
SECONDS: Final = 60.0
# Targets that are asked about one by one.
_MOST_TARGETS: Final = 200
# Steps of each bundle that are tried before the solver is asked.
_MOST_TRIES: Final = 2_000


@dataclass(frozen=True, slots=True)
class Difference:
    """Whether one policy allows a step that the other does not: `proved` says that there is none. `violation` is such a
    step, with the decision of the policy that allows it."""

    proof: Proof
    violation: Violation | None = None
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """`{"answer": "none", "some" or "not shown"}`, with the step as a case, or the reason."""
        out: dict[str, Any] = {"answer": _SAID[self.proof]}
        if self.violation is not None:
            out["case"] = self.violation.to_json()
        return out | ({"reason": self.reason} if self.reason else {})


_SAID: Final = {Proof.PROVED: "none", Proof.REFUTED: "some", Proof.NOT_SHOWN: "not shown"}


@dataclass(frozen=True, slots=True)
class AllowedMore:
    """What two policies allow: `wider` is about what the new one allows and the old one does not, `narrower` the
    reverse."""

    wider: Difference
    narrower: Difference

    def __bool__(self) -> bool:
        """Whether a difference was found, or could not be excluded."""
        return any(one.proof is not Proof.PROVED for one in (self.wider, self.narrower))

    def to_json(self) -> dict[str, Any]:
        """`{"wider", "narrower"}`."""
        return {"wider": self.wider.to_json(), "narrower": self.narrower.to_json()}


def compare_allowed(
    old: Policy,
    new: Policy,
    cases: Sequence[CaseSubmission] = (),
    *,
    seconds: float = SECONDS,
    done: Callable[[], None] | None = None,
) -> AllowedMore:
    """What the policies allow, compared for every step. `cases` are steps to begin with; `done` is called after each
    of the two questions."""
    found = []
    for one, other in ((new, old), (old, new)):
        found.append(Difference(*_more(one, other, cases, time.monotonic() + seconds)))
        if done:
            done()
    return AllowedMore(*found)


def _more(one: Policy, other: Policy, cases: Sequence[CaseSubmission], until: float) -> Outcome:
    for policy in (one, other):
        for submission in islice(steps_to_try(policy.bundles[-1], cases, _MOST_TRIES), _MOST_TRIES + len(cases)):
            if (found := _allowed(one, other, submission)) is not None:
                return Proof.REFUTED, found, ""
    named = _named(one, other)
    open_reason = ""
    for known in (*named, None):
        proof, found, reason = _of_target(one, other, known, named, cases, until)
        if proof is Proof.REFUTED:
            return proof, found, reason
        open_reason = open_reason or reason
    return (Proof.NOT_SHOWN, None, open_reason) if open_reason else (Proof.PROVED, None, "")


def _named(one: Policy, other: Policy) -> list[tuple[str, str]]:
    """The steps that the policies name without a wildcard. Of each of them only the rules about it need be asked."""
    found: dict[tuple[str, str], None] = {}
    for bundle in (*one.bundles, *other.bundles):
        lists = names_of(bundle).values
        for rule in (line for line in bundle.statements if isinstance(line, tree.Rule)):
            for group in rule.subject.groups:
                texts = [glob(text).literal for text in patterns(group, lists)]
                found.update(((KINDS[group.kind], text), None) for text in texts if text is not None and readable(text))
    return list(found) if len(found) <= _MOST_TARGETS else []


def _of_target(
    one: Policy,
    other: Policy,
    known: tuple[str, str] | None,
    named: Sequence[tuple[str, str]],
    cases: Sequence[CaseSubmission],
    until: float,
) -> Outcome:
    """The question for one step that is named, or for every other one."""
    step = ModelStep()
    target = ModelTarget(step, known)
    if known is None:
        for kind, text in named:
            step.add(z3.Not(z3.And(target.kind == NUMBERS[kind], step.target == text_value(text))))
    mine, theirs = ([LayerModel(step, bundle, target) for bundle in policy.bundles] for policy in (one, other))
    allow = Verdict.ALLOW.value
    asked = [combined(mine, allow), z3.Not(combined(theirs, allow))]
    step.settle()
    witness = Witness(step, target, [*mine, *theirs])

    def replay(model: Any) -> Violation | None:
        found = (_allowed(one, other, submission) for submission in witness.steps(model, cases))
        return next((one for one in found if one is not None), None)

    return solve(step, asked, until, replay)


def _allowed(one: Policy, other: Policy, submission: CaseSubmission) -> Violation | None:
    decision = one.decide(submission.facts())
    if decision.verdict is not Verdict.ALLOW or other.decide(submission.facts()).verdict is Verdict.ALLOW:
        return None
    return Violation(submission, decision)
