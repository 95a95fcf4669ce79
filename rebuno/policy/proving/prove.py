"""Asks for a step that breaks a claim, and says that there is none, which one, or that neither was shown."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from rebuno.model.dataclass import dataclass
from rebuno.policy.matcher.build import names_of
from rebuno.policy.matcher.index import KINDS
from rebuno.policy.matcher.policy import Policy
from rebuno.policy.proving.decisions import LayerModel, ModelTarget, combined
from rebuno.policy.proving.model import ModelStep
from rebuno.policy.proving.past import patterns
from rebuno.policy.proving.solving import Outcome, Proof, solve
from rebuno.policy.proving.values import readable
from rebuno.policy.proving.witness import Witness
from rebuno.policy.syntax import tree
from rebuno.policy.testing.cases import CaseSubmission
from rebuno.policy.testing.claims import Claim, CompiledClaim, Violation, compile_claims, try_claims, violation
from rebuno.policy.testing.tries import steps_to_try
from rebuno.policy.values.globs import glob

# Seconds for one claim.
SECONDS: Final = 30.0
# Steps that are tried before the solver is asked.
MOST_TRIES: Final = 4_000
# Targets of a claim that are asked about one by one.
_MOST_TARGETS: Final = 40


@dataclass(frozen=True, slots=True)
class ProofResult:
    """What became of a claim. `violation` is the step that refutes it; `reason` says why nothing was shown."""

    claim: Claim
    proof: Proof
    seconds: float
    violation: Violation | None = None
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """The result as JSON data."""
        out: dict[str, Any] = {**self.claim.to_json(), "answer": self.proof.value, "seconds": round(self.seconds, 2)}
        if self.violation is not None:
            out["case"] = self.violation.to_json()
        return out | ({"reason": self.reason} if self.reason else {})


@dataclass(frozen=True, slots=True)
class ProofReport:
    """What became of all claims of a bundle."""

    results: tuple[ProofResult, ...]
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether every claim was proved."""
        return all(result.proof is Proof.PROVED for result in self.results)

    def to_json(self) -> dict[str, Any]:
        """`{"claims": […], "proved": n, "refuted": n, "not_shown": n, "seconds": s}`."""
        counts = {proof.name.lower(): sum(result.proof is proof for result in self.results) for proof in Proof}
        return {
            "claims": [result.to_json() for result in self.results],
            **counts,
            "seconds": round(self.seconds, 2),
        }


def prove_claims(
    policy: Policy,
    cases: Sequence[CaseSubmission] = (),
    *,
    seconds: float = SECONDS,
    most_tries: int = MOST_TRIES,
    done: Callable[[], None] | None = None,
) -> ProofReport:
    """Proves or refutes the claims of a policy's last bundle, under all of its layers. `cases` are steps to begin with;
    `seconds` is the time for one claim, `most_tries` are the steps that are tried before the solver is asked, and
    `done` is called after each claim."""
    began = time.monotonic()
    bundle = policy.bundles[-1]
    claims = compile_claims(bundle)
    tried = try_claims(policy, claims, steps_to_try(bundle, cases, most_tries)) if claims else []
    results = []
    for claim, first in zip(claims, tried, strict=True):
        at = time.monotonic()
        if first.violation is not None:
            results.append(ProofResult(claim.claim, Proof.REFUTED, 0.0, first.violation))
        else:
            proof, found, reason = _prove(policy, claim, cases, at + seconds)
            results.append(ProofResult(claim.claim, proof, time.monotonic() - at, found, reason))
        if done:
            done()
    return ProofReport(tuple(results), time.monotonic() - began)


def _prove(policy: Policy, claim: CompiledClaim, cases: Sequence[CaseSubmission], until: float) -> Outcome:
    open_reason = ""
    for known in _targets(policy, claim.tree):
        proof, found, reason = _of_target(policy, claim, known, cases, until)
        if proof is Proof.REFUTED:
            return proof, found, reason
        if proof is Proof.NOT_SHOWN and not open_reason:
            open_reason = reason
    return (Proof.NOT_SHOWN, None, open_reason) if open_reason else (Proof.PROVED, None, "")


def _targets(policy: Policy, claim: tree.Never) -> Iterable[tuple[str, str] | None]:
    """The steps that a claim is about, one by one if it names them; None for any."""
    lists = names_of(policy.bundles[-1]).values
    named = [(KINDS[group.kind], text) for group in claim.subject.groups for text in patterns(group, lists)]
    texts = [(kind, glob(text).literal) for kind, text in named]
    if not named or len(named) > _MOST_TARGETS:
        return [None]
    found = [(kind, text) for kind, text in texts if text is not None and readable(text)]
    return found if len(found) == len(named) else [None]


def _of_target(
    policy: Policy, claim: CompiledClaim, known: tuple[str, str] | None, cases: Sequence[CaseSubmission], until: float
) -> Outcome:
    step = ModelStep()
    target = ModelTarget(step, known)
    layers = [LayerModel(step, bundle, target) for bundle in policy.bundles]
    mine = layers[-1].model
    asked = [combined(layers, claim.tree.verdict), target.matches(claim.tree.subject, mine.values)]
    if claim.tree.when is not None:
        answer = mine.expr(claim.tree.when, False)
        asked.append(answer.possible if claim.tree.verdict == "allow" else answer.yes)
    step.settle()
    witness = Witness(step, target, layers)

    def replay(model: Any) -> Violation | None:
        found = (violation(policy, claim, submission) for submission in witness.steps(model, cases))
        return next((one for one in found if one is not None), None)

    return solve(step, asked, until, replay)
