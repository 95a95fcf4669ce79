"""Claims (`never …`): what they may say, that they decide nothing, and what breaks them."""

from dataclasses import replace

import pytest

from rebuno.model.step import Kind
from rebuno.policy import (
    CaseSubmission,
    Evidence,
    Facts,
    History,
    HistoryDependencies,
    Source,
    check_bundle,
    compile_claims,
    compile_text,
    diff_bundles,
    format_bundle,
    parse_bundle,
    parse_cases,
    reads_texts,
    steps_to_try,
    try_claims,
    violation,
)

HEAD = 'bundle a\ndefault deny because "no"\nlet paying = ["pay", "order"]\n'
RULE = "rule pay { allow tool paying when args.amount <= 500 }\n"


def found(claim: str) -> list[str]:
    """The codes of what `check` says of a claim."""
    tree, mistakes = parse_bundle(Source(f"{HEAD}{RULE}{claim}\n"))
    return [str(one.code) for one in (*mistakes, *check_bundle(tree))]


@pytest.mark.parametrize(
    ("claim", "codes"),
    [
        ('never allow tool "pay" when args.amount > 9', []),
        ("never allow tool nobody", ["unknown-name"]),
        ('never allow tool "pay" when args.to in nobody', ["unknown-name"]),
        ('never allow tool "pay" when item.x == 1', ["misplaced-root"]),
        ('never allow tool "pay" when args.l[].x == 1', ["missing-quantifier"]),
        ('never deny tool "pay" when args.a < "b"', ["wrong-type"]),
    ],
)
def test_a_claim_is_checked_as_a_rule_is(claim: str, codes: list[str]) -> None:
    """Names, places and tests; without a reason there is no warning."""
    assert found(claim) == codes


def test_a_name_that_only_a_claim_uses_is_used() -> None:
    """It is there for the claim."""
    assert "unused-name" not in found('known people = input.people\nnever allow tool "pay" when args.to not in people')


def test_a_claim_decides_nothing() -> None:
    """The same answers, the same history to remember and nothing to read ahead; its text counts into the digest."""
    plain = compile_text(HEAD + RULE)
    claim = 'never allow tool "pay" when after tool "x" or any command of args.c like "rm *" or args.amount > 9\n'
    claiming = compile_text(HEAD + RULE + claim)
    for amount in (5, 50, 5000, "5"):
        facts = Facts("tool_call", "pay", {"amount": amount})
        assert plain.decide(facts).verdict is claiming.decide(facts).verdict
    assert not HistoryDependencies(claiming)
    assert not reads_texts(claiming)
    assert plain.digest != claiming.digest


@pytest.mark.parametrize(
    ("claim", "args", "broken"),
    [
        ("never allow tool paying when args.amount > 100", {"amount": 200}, True),
        ("never allow tool paying when args.amount > 100", {"amount": 20}, False),
        ("never allow tool paying when args.amount > 100", {"amount": "900"}, False),  # it is not allowed
        # Maybe breaks what must not be allowed, and not what must not be denied.
        ("never allow tool paying when not args.to == 1", {"amount": 20}, True),
        ("never allow tool paying when args.to == 1", {"amount": 20}, False),
        ("never allow tool paying when args.to == 1", {"amount": 20, "to": "x"}, True),
        ("never deny tool paying when args.to == 1", {"amount": 900, "to": "x"}, False),
        ("never deny tool paying when args.to == 1", {"amount": 900, "to": 1}, True),
        ("never deny tool paying when args.to == 1", {"amount": 9, "to": 1}, False),
        ('never allow tool "order"', {"amount": 20}, False),
        ('never allow llm "*"', {"amount": 20}, False),
        ("never allow any step", {"amount": 20}, True),
    ],
)
def test_what_breaks_a_claim(claim: str, args: object, broken: bool) -> None:
    """The condition of `never allow` counts on yes and on maybe, that of the others on yes."""
    policy = compile_text(f"{HEAD}{RULE}{claim}\n")
    [compiled] = compile_claims(policy.bundles[0])
    step = CaseSubmission(Kind.TOOL, "pay", args)
    assert (violation(policy, compiled, step) is not None) is broken


@pytest.mark.parametrize(("path", "broken"), [("/work/a", False), ("/etc/a", True), ("/work/../etc/a", True)])
def test_a_claim_is_held_in_the_folder_of_the_session(path: str, broken: bool) -> None:
    """Its relative paths start where those of the rules do."""
    text = 'bundle b\nworkdir session\ndefault allow\nnever allow tool "write" when not args.path under "."\n'
    policy = compile_text(text)
    (claim,) = compile_claims(policy.bundles[0])
    step = CaseSubmission(Kind.TOOL, "write", {"path": path}, workdir="/work")
    assert (violation(policy, claim, step) is not None) is broken
    assert violation(policy, claim, replace(step, workdir="/")) is not None


def test_a_bound_of_a_decision_breaks_no_claim() -> None:
    """What is maybe only because there are too many elements is left aside."""
    policy = compile_text(f'{HEAD}rule pay {{ allow tool paying }}\nnever allow tool "pay" when any args.l == 1\n')
    [compiled] = compile_claims(policy.bundles[0])
    for values, broken in (([2] * 100_001, False), ([2], False), ([2, 1], True)):
        step = CaseSubmission(Kind.TOOL, "pay", {"l": values})
        assert (violation(policy, compiled, step) is not None) is broken


def test_steps_are_made_of_cases_and_of_the_bundle() -> None:
    """The mistake is found without any case: the ceiling stands in the rule, and nothing stops it above."""
    policy = compile_text(f"{HEAD}{RULE}never allow tool paying when args.amount >= 500\n")
    [result] = try_claims(policy, compile_claims(policy.bundles[0]), steps_to_try(policy.bundles[0], []))
    assert result.violation is not None
    assert result.violation.submission.args["amount"] == 500
    shown = result.to_json()
    assert (shown["pass"], shown["case"]["expect"], shown["case"]["expect_rule"]) == (False, "allow", "pay")


def test_the_same_steps_are_tried_every_time() -> None:
    """A run finds what the last run found."""
    bundle = compile_text(f'{HEAD}{RULE}never allow tool paying when count(tool "pay") > 3\n').bundles[0]
    seed = [CaseSubmission(Kind.TOOL, "pay", {"amount": 5, "to": ["x"]}, input={"request": "pay 5"})]
    first, second = (list(steps_to_try(bundle, seed)) for _ in range(2))
    assert first == second
    assert len(first) > 1000
    assert first[0] == seed[0]
    assert any(len(step.history) == 4 for step in first)


def test_a_violation_is_a_case() -> None:
    """What is shown can be put into a case file, and passes as long as the claim is broken."""
    policy = compile_text(f"{HEAD}{RULE}never allow tool paying when args.amount > 100\n")
    [result] = try_claims(policy, compile_claims(policy.bundles[0]), steps_to_try(policy.bundles[0], []))
    assert result.violation is not None
    [case] = parse_cases({"cases": [{"name": "x", **result.violation.to_json()}]}).cases
    assert case.submission == result.violation.submission
    assert case.expect is policy.decide(case.submission.facts()).verdict


def test_claims_tell_bundles_apart() -> None:
    """By their heads; of two with one head the second has a number."""
    one = compile_text(f'{HEAD}{RULE}never allow tool "x" when args.a == 1\nnever allow tool "x" when args.b == 1\n')
    other = compile_text(f'{HEAD}{RULE}never allow tool "x" when args.a == 1\nnever allow tool "x" when args.b == 2\n')
    found = diff_bundles(one.bundles[0], other.bundles[0])
    assert (found.changed, found.added, found.removed) == (('claim `never allow tool "x"` (2)',), (), ())


def test_a_claim_is_laid_out() -> None:
    """On one line where it fits."""
    text = f'{HEAD}\n{RULE}\nnever   allow tool "pay"   when  args.amount>9 because "x"\n'
    assert 'never allow tool "pay" when args.amount > 9 because "x"\n' in format_bundle(Source(text))


def test_a_claim_looks_at_history() -> None:
    """As a rule does."""
    policy = compile_text(f'{HEAD}{RULE}never allow tool "pay" when after tool "stop"\n')
    [compiled] = compile_claims(policy.bundles[0])
    history = History([Evidence(1, "tool_call", "stop", {}, None)])
    facts = Facts("tool_call", "pay", {"amount": 5}, history=history)
    assert compiled.broken_by(policy.decide(facts), facts)


def test_other_folders_are_tried() -> None:
    """Commands with a `cwd` beside them, and sessions in another folder or in none."""
    head = "bundle a\nworkdir session\ndefault deny\n"
    rule = 'rule run { allow tool "run" when every program of args.c in ["make"] and args.path under "." }\n'
    claim = 'never allow tool "run" when any redirect of args.c under "/"\n'
    tree, _ = parse_bundle(Source(head + rule + claim))
    tried = list(steps_to_try(tree, []))
    assert {"/work", "", "/"} == {one.workdir for one in tried}
    assert {"src", "..", "/"} <= {one.args.get("cwd") for one in tried if isinstance(one.args.get("cwd"), str)}
    plain, _ = parse_bundle(
        Source((head + rule).replace("workdir session\n", "").replace("program of args.c", "args.c"))
    )
    assert {one.workdir for one in steps_to_try(plain, [])} == {""}
    assert not any("cwd" in one.args for one in steps_to_try(plain, []) if isinstance(one.args, dict))
