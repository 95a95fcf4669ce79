"""What is proved of claims, what is refuted, and that every refutation is real."""

import pytest

from rebuno.policy import (
    Proof,
    Source,
    compare_allowed,
    compile_claims,
    compile_policy,
    compile_text,
    prove_claims,
    violation,
)

HEAD = 'bundle a\ndefault deny because "no"\nlet paying = ["pay", "order"]\nknown asked = input.request\n'
PAYS = (
    HEAD
    + 'known payees = input.request or result of tool "list" at [].to\n'
    + "rule big { deny tool paying when not args.amount <= 10_000 }\n"
    + 'rule pay { allow tool "pay" when args.to in payees and args.amount <= 500 and count(tool paying) < 5 }\n'
    + 'rule order { allow tool "order" when args.to in asked and number of args.amount <= 2500 }\n'
    + "rule ask { require approval for tool paying }\n"
)
PROVED, REFUTED, NOT_SHOWN = Proof.PROVED, Proof.REFUTED, Proof.NOT_SHOWN
CASES = [
    ("never allow tool paying when not args.amount <= 10_000", PROVED),
    ('never allow tool "pay" when not args.amount <= 500', PROVED),
    ('never allow tool "pay" when not args.amount < 500', REFUTED),
    # A text is no number that is at most 500: the condition is maybe, which breaks a claim about what is allowed.
    ('never allow tool "order" when not args.amount <= 2500', PROVED),
    ('never allow tool "order" when not args.amount <= 2499', REFUTED),
    ("never allow tool paying when args.to not in payees", PROVED),
    ('never allow tool "pay" when args.to not in asked', REFUTED),
    ('never allow tool "pay" when args.to is not string', REFUTED),  # the request holds numbers, too
    ('never allow tool "pay" when args.to is list', PROVED),
    ("never allow tool paying when args.to missing", PROVED),
    ('never allow tool "pay" when count(tool paying) >= 5', PROVED),
    ('never allow tool "pay" when count(tool paying) >= 4', REFUTED),
    ('never allow tool "pay" when after tool paying', REFUTED),
    ('never allow tool "*"', REFUTED),
    ('never allow tool "p*" when args.amount > 500', PROVED),
    ('never allow llm "*"', PROVED),
    ("never allow any step", REFUTED),  # a local step is allowed where no rule says otherwise
    ('never deny tool "pay" when args.amount <= 10_000', PROVED),
    ("never deny tool paying", REFUTED),
    ('never deny tool "pay" when args.amount given', REFUTED),
    ('never require approval for tool "list"', PROVED),
    ('never require approval for tool "pay" when args.amount <= 500', REFUTED),
    ('never deny tool "list"', REFUTED),
]


@pytest.mark.parametrize(("claim", "expected"), CASES, ids=[claim for claim, _ in CASES])
def test_a_claim_is_proved_or_refuted_by_a_real_step(claim: str, expected: Proof) -> None:
    """A refutation is a step that the compiled policy itself decides so."""
    policy = compile_text(PAYS + claim + "\n")
    [result] = prove_claims(policy).results
    assert (result.proof, result.reason) == (expected, "")
    if expected is REFUTED:
        assert result.violation is not None
        [compiled] = compile_claims(policy.bundles[0])
        again = violation(policy, compiled, result.violation.submission)
        assert again is not None
        assert again.decision is result.violation.decision
    else:
        assert result.violation is None


ELEMENTS = [
    ("every args.to in asked", "any args.to not in asked", PROVED),
    ("every args.to in asked", "args.to not in asked", REFUTED),  # of a list that is maybe
    ("every (args.to, args.cc) in asked", "any args.cc not in asked", REFUTED),  # left out it is maybe
    ("every (args.to, args.cc) in asked", "args.cc given and any args.cc not in asked", PROVED),
    ("every args.to has (it in asked and size of it < 9)", "any size of args.to >= 9", PROVED),
    ('every args.to has (it in asked or it == "x")', "any args.to not in asked", REFUTED),
    ('no args.to == "x"', 'any args.to == "x"', PROVED),
    ('any args.to == "x"', 'any args.to != "x"', REFUTED),
    ("every args.l[].k == 1", "any args.l[].k != 1", PROVED),
    ("every args.l[].k == 1", "args.l[0].k != 1", REFUTED),  # an object is a list of one, without positions
    ("every args.l[].k == 1", "args.l is list and args.l[0].k != 1", NOT_SHOWN),  # no element has a place
    ('every host of args.u == "x.example"', 'any host of args.u != "x.example"', PROVED),
    ("port of args.u in [80, 443]", "port of args.u >= 1024", PROVED),
    ('args.a starts with "ab"', 'not args.a like "a*"', PROVED),
    ('args.a in ["x", "y"]', 'args.a contains "z"', PROVED),
    ('args.a matches r"[0-9]+"', 'args.a not matches r"[0-9]+"', PROVED),
    ('args.a matches r"[0-9]+"', 'args.a == "x"', NOT_SHOWN),  # what a regular expression matches is not known
    ("args.a == args.b", "args.a != args.b", PROVED),
    ("size of args.a <= 3", 'args.a is string and args.a == "abcd"', PROVED),
    # Two places are two values, whatever they are called.
    ('args["o.k"] == 1', "args.o.k != 1", REFUTED),
    ('args["o.k"] == 1', 'args["o.k"] != 1', PROVED),
    # Of the second edition, what a proof needs is there, or any answer.
    (
        'sum(tool "pay" at args.amount within 24h) + args.amount <= 500',
        'sum(tool "pay" at args.amount within 24h) + args.amount > 500',
        PROVED,
    ),
    ('sum(tool "pay" at args.amount) <= 500.5', 'sum(tool "pay" at args.amount) > 600', PROVED),
    ('count(allowed tool "x" since tool "y") < 2', 'count(allowed tool "x" since tool "y") >= 2', PROVED),
    ('count(tool "x") < 2', 'count(allowed tool "x") >= 2', NOT_SHOWN),
    # What asks more of a step matches no step that what asks less does not.
    (
        'after tool "x" where (args.o == this.args.o and result.by == "a")',
        'not after tool "x" where (args.o == this.args.o)',
        PROVED,
    ),
    (
        'after tool "x" where (args.o == this.args.o)',
        'not after tool "x" where (args.o == this.args.o and result.by == "a")',
        NOT_SHOWN,
    ),
    ('count(tool "x", "y") < 3', 'count(tool "y" where (args.o == "a")) >= 3', PROVED),
    ('after tool "x" within 1h', 'not after tool "x"', NOT_SHOWN),
    ("amount of args.amount <= 5", "amount of args.amount > 6", PROVED),
    ("amount of args.amount <= 5", "args.amount is number and args.amount > 6", PROVED),
    ('every word of args.a == "yes"', 'any word of args.a in ["no"]', PROVED),
    ('any mailbox of args.a starts with "an"', 'no mailbox of args.a like "a*"', PROVED),
    ('every key of args in ["a", "b"]', 'any key of args == "c"', PROVED),
    ('every key of args in ["a", "b"]', 'any key of args not in ["a", "b"]', PROVED),
    ("every args.o.* in asked", "any args.o.* not in asked", PROVED),
    ("every word of args.a in asked", "any word of args.a not in asked", PROVED),
    ('definition.server == "bank"', 'definition.server != "bank"', PROVED),
    ('any turns[] contains "x"', 'no turns[] contains "x"', PROVED),
    ("parent missing", "parent given", PROVED),
    ('during "Mon-Fri 09:00-17:00 UTC"', 'not during "Mon-Fri 09:00-17:00 UTC"', PROVED),
]


@pytest.mark.parametrize(("rule", "claim", "expected"), ELEMENTS, ids=[f"{a} / {b}" for a, b, _ in ELEMENTS])
def test_elements_facets_and_what_is_not_known(rule: str, claim: str, expected: Proof) -> None:
    """Quantifiers have witnesses; what the model does not know is any answer, the same for the same value."""
    policy = compile_text(f'{HEAD}rule r {{ allow tool paying when {rule} }}\nnever allow tool "pay" when {claim}\n')
    [result] = prove_claims(policy, seconds=10).results
    assert result.proof is expected


def test_a_claim_is_proved_under_its_outer_layers() -> None:
    """What the bundle alone allows, a layer before it may deny."""
    inner = Source(
        f'{HEAD}rule r {{ allow tool paying when args.to in asked }}\nnever allow tool "pay" when args.x == 1\n'
    )
    outer = Source('bundle outer\ndefault allow\nrule x { deny tool "pay" when args.x == 1 }\n', stem="outer")
    assert prove_claims(compile_policy([inner])).results[0].proof is REFUTED
    assert prove_claims(compile_policy([outer, inner])).results[0].proof is PROVED


def test_without_time_nothing_is_shown() -> None:
    """A bound on the time is no proof."""
    policy = compile_text(PAYS + 'never allow tool "pay" when not args.amount <= 500\n')
    [result] = prove_claims(policy, seconds=0).results
    assert (result.proof, result.reason) == (NOT_SHOWN, "there was no time left")


def test_a_report_counts_its_answers() -> None:
    """As JSON for programs."""
    policy = compile_text(PAYS + 'never allow llm "*" because "none"\nnever deny tool paying\n')
    report = prove_claims(policy).to_json()
    assert {key: report[key] for key in ("proved", "refuted", "not_shown")} == {
        "proved": 1,
        "refuted": 1,
        "not_shown": 0,
    }
    assert [claim["answer"] for claim in report["claims"]] == ["proved", "refuted"]
    assert report["claims"][0]["because"] == "none"
    assert report["claims"][1]["case"]["expect"] == "deny"


COMPARED = [
    ("args.amount <= 500", "args.amount <= 400", PROVED, REFUTED),
    ("args.amount <= 500", "not args.amount > 500", PROVED, PROVED),
    ("args.to in asked", "args.to in asked and args.amount < 5", PROVED, REFUTED),
    ('args.to == "a" or args.to == "b"', 'args.to in ["b", "a"]', PROVED, PROVED),
]


@pytest.mark.parametrize(("old", "new", "wider", "narrower"), COMPARED, ids=[f"{a} / {b}" for a, b, _, _ in COMPARED])
def test_two_bundles_are_compared_for_every_step(old: str, new: str, wider: Proof, narrower: Proof) -> None:
    """Both directions are asked; names with one definition mean the same in both."""
    one, other = (compile_text(f"{HEAD}rule r {{ allow tool paying when {test} }}\n") for test in (old, new))
    found = compare_allowed(one, other)
    assert (found.wider.proof, found.narrower.proof) == (wider, narrower)
    assert bool(found) is ((wider, narrower) != (PROVED, PROVED))


def test_a_name_with_two_definitions_is_two_things() -> None:
    """`asked` of one bundle is the input, of the other a list."""
    one = compile_text(f"{HEAD}rule r {{ allow tool paying when args.to in asked }}\n")
    text = HEAD.replace("known asked = input.request", 'known asked = ["x"]')
    other = compile_text(f"{text}rule r {{ allow tool paying when args.to in asked }}\n")
    found = compare_allowed(one, other)
    assert found.wider.proof is REFUTED
    assert found.narrower.proof is not PROVED


RULES = [
    ('allow tool "pay", "p*" when args.a == 1', 'allow tool "p*" when args.a == 1', PROVED, PROVED),
    ('allow tool "pay" when args.a == 1', 'allow tool "p*" when args.a == 1', REFUTED, PROVED),
    ('allow tool "p*" when args.a == 1', 'allow tool paying, "p*" when args.a in [1, 2]', REFUTED, PROVED),
    ('allow tool "x" or llm "x"', 'allow tool "x"', PROVED, REFUTED),
    ('allow tool "*"', 'allow tool "*" when target != "x"', PROVED, REFUTED),
]


@pytest.mark.parametrize(("old", "new", "wider", "narrower"), RULES, ids=[f"{a} / {b}" for a, b, _, _ in RULES])
def test_targets_that_are_named_and_all_others_are_asked_about(
    old: str, new: str, wider: Proof, narrower: Proof
) -> None:
    """Each on its own; together they are every step."""
    one, other = (compile_text(f"{HEAD}rule r {{ {rule} }}\n") for rule in (old, new))
    found = compare_allowed(one, other)
    assert (found.wider.proof, found.narrower.proof) == (wider, narrower)
