"""Claims (`never …`): what a bundle says that it must never do, and whether one step breaks it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from rebuno.model.dataclass import dataclass
from rebuno.model.decision import Decision, Verdict
from rebuno.policy.explain.wording import one_line
from rebuno.policy.matcher.build import names_of
from rebuno.policy.matcher.conditions import compile_expr
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.matcher.fast_tests import Check
from rebuno.policy.matcher.index import SubjectPattern, matches_any, subject_patterns
from rebuno.policy.matcher.policy import Policy
from rebuno.policy.matcher.sessions import in_session, of_session
from rebuno.policy.matcher.tests import MAX_ELEMENT_TESTS
from rebuno.policy.syntax import tree
from rebuno.policy.testing.cases import CaseSubmission
from rebuno.policy.values.json_values import Tri

# Of which conditions are kept.
_MOST_FOLDERS: Final = 16
_WORDS: Final = {"allow": "allow", "deny": "deny", "require_approval": "require approval for"}


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of a bundle: its text on one line without `because`, its line, and the reason it gives."""

    text: str
    line: int
    because: str = ""

    def to_json(self) -> dict[str, Any]:
        """The claim as JSON data."""
        out: dict[str, Any] = {"claim": self.text, "line": self.line}
        return out | ({"because": self.because} if self.because else {})


@dataclass(frozen=True, slots=True)
class Violation:
    """A step that breaks a claim, and the decision that the policy makes on it."""

    submission: CaseSubmission
    decision: Decision

    def to_json(self) -> dict[str, Any]:
        """The step as a case that passes as long as the claim is broken, as JSON data."""
        said = {"expect": self.decision.verdict.value, "expect_rule": self.decision.rule_id}
        step = {key: value for key, value in self.submission.to_json().items() if key != "agent_id" or value}
        if "history" in step:
            step["history"] = [_short(earlier) for earlier in step["history"]]
        return step | said


def _short(earlier: dict[str, Any]) -> dict[str, Any]:
    # What a case file says of an earlier step that says nothing.
    usual = {"result": None, "status": "succeeded", "approved": False}
    return {key: value for key, value in earlier.items() if key not in usual or value != usual[key]}


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """A claim after so many steps were tried. `violation` is the first step that breaks it, None where none does."""

    claim: Claim
    tried: int
    violation: Violation | None = None

    @property
    def passed(self) -> bool:
        """Whether no step broke the claim. That is no proof."""
        return self.violation is None

    def to_json(self) -> dict[str, Any]:
        """The result as JSON data."""
        out = {**self.claim.to_json(), "tried": self.tried, "pass": self.passed}
        return out | ({"case": self.violation.to_json()} if self.violation else {})


class CompiledClaim:
    """A claim that steps can be held against. `tree` is its statement."""

    __slots__ = ("_bundle", "_checks", "_subject", "_verdict", "claim", "tree")

    def __init__(self, bundle: tree.Bundle, statement: tree.Never) -> None:
        names = names_of(bundle)
        self.tree = statement
        self.claim = claim_of(bundle, statement)
        self._subject: Sequence[SubjectPattern] = subject_patterns(statement.subject, names.values)
        self._bundle = bundle
        # The condition for each folder of a session that steps came with.
        self._checks: dict[str, Check] = {}
        self._verdict = Verdict(statement.verdict)

    def about(self, submission: CaseSubmission) -> bool:
        """Whether the claim is about such a step at all."""
        return matches_any(self._subject, submission.kind.value, submission.target)

    def broken_by(self, decision: Decision, facts: Facts) -> bool:
        """Whether a step on which the policy decides so breaks the claim.

        The condition of `never allow` counts on yes and on maybe, as that of a deny rule does; the others on yes. What
        is maybe only because a bound of element tests was reached breaks no claim.
        """
        if decision.verdict is not self._verdict or not matches_any(self._subject, facts.kind, facts.target):
            return False
        if self.tree.when is None:
            return True
        facts.tests = 0
        # Other names number the readings of facets otherwise.
        facts.readings = None
        answer: Tri = self._check(self.tree.when, facts.workdir)(facts)
        if answer is None:
            return self._verdict is Verdict.ALLOW and facts.tests <= MAX_ELEMENT_TESTS
        return answer

    def _check(self, when: tree.Expr, folder: str) -> Check:
        folder = folder if of_session(self._bundle) else ""
        found = self._checks.get(folder)
        if found is None:
            if len(self._checks) >= _MOST_FOLDERS:
                self._checks.clear()
            found = self._checks[folder] = compile_expr(when, names_of(in_session(self._bundle, folder)))
        return found


def claim_of(bundle: tree.Bundle, statement: tree.Never) -> Claim:
    """A claim as it is shown."""
    reason = statement.because
    whole = replace(statement.span, end=reason.span.start) if reason else statement.span
    text = one_line(bundle, whole).removesuffix(" because")
    text = text or f"never {_WORDS[statement.verdict]} …"  # a tree without a text
    return Claim(text, statement.span.line, str(reason.value) if reason else "")


def compile_claims(bundle: tree.Bundle) -> tuple[CompiledClaim, ...]:
    """The claims of a linked bundle without errors, in the order of the file."""
    return tuple(CompiledClaim(bundle, one) for one in bundle.statements if isinstance(one, tree.Never))


def violation(policy: Policy, claim: CompiledClaim, submission: CaseSubmission) -> Violation | None:
    """The step as a violation of the claim, if the policy's own decision on it breaks the claim."""
    decision = policy.decide(submission.facts())
    return Violation(submission, decision) if claim.broken_by(decision, submission.facts()) else None


def try_claims(
    policy: Policy, claims: Sequence[CompiledClaim], submissions: Iterable[CaseSubmission]
) -> list[ClaimResult]:
    """Holds every step against every claim that is about it, up to the first step that breaks the claim."""
    waiting = list(claims)
    broken: dict[CompiledClaim, Violation] = {}
    tried = dict.fromkeys(claims, 0)
    for submission in submissions:
        about = [claim for claim in waiting if claim.about(submission)]
        if not about:
            if not waiting:
                break
            continue
        facts = submission.facts()
        decision = policy.decide(facts)
        for claim in about:
            tried[claim] += 1
            if claim.broken_by(decision, facts):
                broken[claim] = Violation(submission, decision)
                waiting.remove(claim)
    return [ClaimResult(claim.claim, tried[claim], broken.get(claim)) for claim in claims]
