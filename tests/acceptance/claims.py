"""Tries to break what was proved: random steps against the claims of the shipped bundles, and bundles made worse.

    .venv/bin/python tests/acceptance/claims.py --steps 60000 --json

Each claim of each shipped bundle is proved first. Then every case of the bundle and as many random steps (made of its
cases and of the values that stand in it) are decided, and held against the claims that were proved: none may be broken.

After that each bundle is made worse, one rule at a time: without the rule, and with the rule's conditions left out. Of
each such bundle the claims are proved anew. A refutation must be a step that the real decision allows and the claim
forbids, and what is still proved is held against random steps, too.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from random import Random

# Beside the packages of the tests this one is a program.
sys.path.insert(0, str(Path(__file__).parents[2]))

from rebuno.errors import BundleError
from rebuno.packaged import policies
from rebuno.policy import (
    CASES_SUFFIX,
    CaseSubmission,
    CompiledClaim,
    Policy,
    Proof,
    compile_bundle,
    compile_claims,
    compile_text,
    inline_bundle,
    prove_claims,
    random_steps,
    read_cases,
    steps_to_try,
    tree,
)
from rebuno.policy import read_source as read

# Steps that are tried on a bundle that was made worse, before the solver is asked.
TRIES_OF_WORSE = 200


@dataclass
class Counts:
    """What was done, and what went wrong. `broken` names proved claims that a step broke."""

    bundles: int = 0
    claims: int = 0
    proved: int = 0
    not_proved: list[str] = field(default_factory=list)
    steps: int = 0
    variants: int = 0
    refuted: int = 0
    refutations_replayed: int = 0
    not_shown: int = 0
    broken: list[str] = field(default_factory=list)
    seconds: float = 0.0


def bundles(names: Sequence[str]) -> list[Path]:
    """The shipped bundles with claims, or those of these names."""
    found = sorted(policies().rglob("*.rbp"))
    return [path for path in found if "lib" not in path.parts and (not names or path.stem in names)]


def cases_of(path: Path) -> list[CaseSubmission]:
    """The submissions of a bundle's cases."""
    file = path.with_name(path.stem + CASES_SUFFIX)
    return [case.submission for case in read_cases(read(file)).cases] if file.exists() else []


def hold(
    policy: Policy, claims: Sequence[CompiledClaim], steps: Iterator[CaseSubmission], name: str, counts: Counts
) -> None:
    """Holds steps against claims that were proved."""
    for submission in steps:
        counts.steps += 1
        facts = submission.facts()
        decision = policy.decide(facts)
        counts.broken += [
            f"{name}: {claim.claim.text}: {submission.to_json()}"
            for claim in claims
            if claim.broken_by(decision, facts)
        ]


def steps_of(policy: Policy, cases: Sequence[CaseSubmission], number: int, seed: int) -> Iterator[CaseSubmission]:
    """Every case, half of the steps as `policy test` makes them, and the rest at random."""
    bundle = policy.bundles[-1]
    yield from steps_to_try(bundle, cases, number // 2)
    yield from islice(random_steps(bundle, cases, Random(seed)), number - number // 2)


def proved(
    policy: Policy, cases: Sequence[CaseSubmission], name: str, counts: Counts, most_tries: int = 4_000
) -> list[CompiledClaim]:
    """Proves the claims of a policy; replays each refutation. The claims that were proved."""
    report = prove_claims(policy, cases, most_tries=most_tries)
    found = []
    for claim, result in zip(compile_claims(policy.bundles[-1]), report.results, strict=True):
        if result.proof is Proof.PROVED:
            found.append(claim)
        elif result.proof is Proof.REFUTED:
            counts.refuted += 1
            assert result.violation is not None
            facts = result.violation.submission.facts()
            if claim.broken_by(policy.decide(facts), facts):
                counts.refutations_replayed += 1
            else:
                counts.broken.append(f"{name}: {claim.claim.text}: refuted by what does not break it")
        else:
            counts.not_shown += 1
    return found


def worse(path: Path) -> Iterator[tuple[str, Policy]]:
    """The bundle without each rule, and with each rule's conditions left out."""
    text = inline_bundle(path)
    [bundle] = compile_text(text, name=path.stem).bundles
    for rule in bundle.statements:
        if not isinstance(rule, tree.Rule):
            continue
        tests = [clause.span for clause in rule.clauses if isinstance(clause, tree.When | tree.Unless)]
        for how, spans in (("without", [rule.span]), ("with bare", tests)):
            changed = text
            for span in reversed(spans):
                changed = changed[: span.start] + changed[span.end :]
            if changed != text:
                with suppress(BundleError):  # what stands behind such a rule is never reached
                    yield f"{how} {rule.id.text}", compile_text(changed, name=path.stem)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program; the exit code is 1 where a claim is not proved, or is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--steps", type=int, default=60_000, help="random steps, over all bundles")
    parser.add_argument("--worse", type=int, default=100, help="steps for each bundle that was made worse; 0: none is")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bundle", action="append", default=[], help="only this one")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    counts, began = Counts(), time.monotonic()
    paths = bundles(options.bundle)
    for path in paths:
        policy, cases = compile_bundle(read(path)), cases_of(path)
        claims = compile_claims(policy.bundles[0])
        held = proved(policy, cases, path.stem, counts)
        counts.bundles += 1
        counts.claims += len(claims)
        counts.proved += len(held)
        counts.not_proved += [f"{path.stem}: {claim.claim.text}" for claim in claims if claim.claim not in _texts(held)]
        hold(policy, held, steps_of(policy, cases, options.steps // len(paths) + 1, options.seed), path.stem, counts)
        for named, variant in worse(path) if options.worse else ():
            counts.variants += 1
            name = f"{path.stem} {named}"
            still = proved(variant, cases, name, counts, TRIES_OF_WORSE)
            hold(variant, still, steps_of(variant, cases, options.worse, options.seed), name, counts)
        if not options.json:
            print(f"{path.stem}: {len(held)} of {len(claims)} proved, {counts.steps:,} steps so far", file=sys.stderr)
    counts.seconds = round(time.monotonic() - began, 1)
    print(json.dumps(vars(counts), indent=None if options.json else 2))
    return int(bool(counts.broken or counts.not_proved))


def _texts(claims: Sequence[CompiledClaim]) -> list[object]:
    return [claim.claim for claim in claims]


if __name__ == "__main__":
    sys.exit(main())
