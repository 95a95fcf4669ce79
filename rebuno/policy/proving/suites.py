"""Proves the claims of several bundles, each with the cases beside it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from rebuno.errors import BundleError
from rebuno.model.dataclass import dataclass
from rebuno.policy.compile import compile_policy
from rebuno.policy.proving.prove import SECONDS, ProofReport, prove_claims
from rebuno.policy.proving.solving import Proof
from rebuno.policy.syntax import tree
from rebuno.policy.syntax.source import Source
from rebuno.policy.testing.runner import SuiteCheck


@dataclass(frozen=True, slots=True)
class SuiteProof:
    """What became of the claims of one bundle. `report` is None where the bundle or its case file has errors; it has no
    results where the bundle claims nothing."""

    checked: SuiteCheck
    report: ProofReport | None

    @property
    def passed(self) -> bool:
        """Whether the bundle has no error, and every claim was proved."""
        return self.report is not None and self.report.passed


@dataclass(frozen=True, slots=True)
class ProofsReport:
    """What became of the claims of several bundles, in the order of the bundles."""

    suites: tuple[SuiteProof, ...]
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether no bundle has an error, and every claim was proved."""
        return all(one.passed for one in self.suites)

    @property
    def sound(self) -> bool:
        """Whether no bundle and no case file has an error."""
        return all(one.report is not None for one in self.suites)

    def count(self, proof: Proof | None = None) -> int:
        """The number of claims with this answer, or of all claims."""
        results = [result for one in self.suites if one.report is not None for result in one.report.results]
        return sum(proof is None or result.proof is proof for result in results)

    def to_json(self) -> dict[str, Any]:
        """`{"claims": [{"bundle", …}], "proved": n, "refuted": n, "not_shown": n, "seconds": s}`; each claim has the
        path of its bundle, and what `ProofReport.to_json` says of it."""
        return {
            "claims": [
                {"bundle": one.checked.path, **result.to_json()}
                for one in self.suites
                if one.report is not None
                for result in one.report.results
            ],
            **{proof.name.lower(): self.count(proof) for proof in Proof},
            "seconds": round(self.seconds, 2),
        }


def claims_in(checked: SuiteCheck) -> int:
    """The number of claims that a bundle has; 0 where it has errors."""
    if not checked.sound or checked.tree is None:
        return 0
    return sum(isinstance(one, tree.Never) for one in checked.tree.statements)


def prove_suites(
    checked: Sequence[SuiteCheck],
    *,
    layers: Sequence[Source] = (),
    seconds: float = SECONDS,
    done: Callable[[], None] | None = None,
) -> ProofsReport:
    """Proves or refutes the claims of bundles that `check_suite` has read, each under the outer `layers`. `seconds` is
    the time for one claim, and `done` is called after each claim.

    Raises:
        BundleError: a layer has errors.
    """
    began = time.monotonic()
    if layers:
        compile_policy(layers)
    proved = tuple(_proved(one, layers, seconds, done) for one in checked)
    return ProofsReport(proved, time.monotonic() - began)


def _proved(
    checked: SuiteCheck, layers: Sequence[Source], seconds: float, done: Callable[[], None] | None
) -> SuiteProof:
    if not checked.sound or checked.source is None:
        return SuiteProof(checked, None)
    if not claims_in(checked):
        return SuiteProof(checked, ProofReport((), 0.0))
    try:
        policy = compile_policy([*layers, checked.source])
    except BundleError as error:  # an error of the layers together, such as a name that two of them have
        return SuiteProof(replace(checked, diagnostics=(*checked.diagnostics, *error.diagnostics)), None)
    cases = [case.submission for case in checked.cases.cases] if checked.cases else []
    return SuiteProof(checked, prove_claims(policy, cases, seconds=seconds, done=done))
