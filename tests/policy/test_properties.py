"""What holds for every bundle and every submission."""

import json
from typing import Any

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from rebuno.model.decision import Decision, Verdict
from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.matcher.facts import Facts, History
from tests.policy import bundles as made


def fields(decision: Decision) -> tuple[Any, ...]:
    return tuple(getattr(decision, name) for name in Decision.__slots__)


@settings(max_examples=110, deadline=None)
@given(made.bundles(), st.lists(made.facts(), min_size=1, max_size=2))
def test_explain_and_decide_agree(text: str, submissions: list[Facts]) -> None:
    """Both evaluators give the same decision and count the same element tests, and neither raises."""
    policy = made.policy_of(text)
    for facts in (varied for one in submissions for varied in made.variants(one)):
        decision = policy.decide(facts)
        counted = facts.tests
        trace = explain_decision(policy, facts)
        assert fields(decision) == fields(trace.decision)
        assert counted == facts.tests
        assert json.dumps(trace.to_json())
        answers = {rule.answer for rule in trace.rules}
        event(f"by {decision.rule_id[:1]}, {sorted(str(a) for a in answers)}")


@settings(max_examples=120, deadline=None)
@given(
    st.sampled_from(
        ["args.a", "args.a", "args.a", "every args.a", "any args.a", "no args.a[]", "args.a.x", "args.a[0]"]
    ),
    made.predicates(made.SINGLE, True, True),
    st.booleans(),
    made.facts(),
)
def test_each_test_agrees_on_every_value(operand: str, predicate: tuple[str, str], negated: bool, facts: Facts) -> None:
    """The short cuts of a compiled test give the plain answer for plain and for hostile values."""
    names = 'let some = ["a", "é"]\nlet none = []\nlet figures = [1, "b"]\nknown asked = input\nknown paid = some'
    for form in predicate:
        if form:
            test = f"not ({operand} {form})" if negated else f"{operand} {form}"
            text = f"{names}\nknown grown = figures\nknown told = some\nrule sure {{ allow any step when {test} }}\n"
            policy = made.policy_of(f"{text}rule perhaps {{ deny any step when {test} }}")
            for value in [*made.POOL, *made.WORDS, *made.NUMBERS, *made.HOSTILE]:
                facts.args = {"a": value, "b": "a"}
                assert explain_decision(policy, facts).decision.rule_id == policy.decide(facts).rule_id
            event(form.split()[0])


@settings(max_examples=60, deadline=None)
@given(
    made.prologues(),
    st.sampled_from(["asked", "paid", "paid", "grown", "paid ignoring case"]),
    made.facts(),
    made.histories(),
    st.lists(made.inputs, min_size=1, max_size=2),
)
def test_a_growing_history_is_read_as_a_fresh_one(
    prologue: str, name: str, facts: Facts, whole: History, inputs: list[Any]
) -> None:
    """What a policy has indexed of a history never shows: at any moment it answers as from a fresh start."""
    tests = (
        f"rule sure {{ allow any step when args.v in {name} }}\nrule perhaps {{ deny any step when args.v in {name} }}"
    )
    policy = made.policy_of(f"{prologue}\n{tests}")
    facts.history = History()
    for evidence in whole.evidence:
        facts.history.append(evidence)
        for facts.as_of in (None, evidence.seq, evidence.seq + 1, 2):
            for facts.input in inputs:
                for value in made.KNOWABLE:
                    facts.args = {"v": value}
                    decided = policy.decide(facts).rule_id
                    assert explain_decision(policy, made.again(facts)).decision.rule_id == decided
                    event(f"{name}: {decided}")


@settings(max_examples=35, deadline=None)
@given(made.prologues(), made.expressions(conditions=True), made.expressions(), made.facts())
def test_negation_obeys_its_laws(prologue: str, one: str, other: str, facts: Facts) -> None:
    """Double negation and De Morgan's laws hold, with absence and doubt as without."""
    submissions = list(made.variants(facts))

    def ask(expression: str) -> list[bool | None]:
        return made.answers(prologue, expression, submissions)

    plain = ask(one)
    event(f"{sorted(map(str, set(plain)))}")
    assert ask(f"not (not {one})") == plain
    assert ask(f"not ({one} and {other})") == ask(f"(not {one}) or (not {other})")
    assert ask(f"not ({one} or {other})") == ask(f"(not {one}) and (not {other})")


@settings(max_examples=40, deadline=None)
@given(made.prologues(), made.operands(), made.predicates(made.SINGLE, True, True), made.facts())
def test_quantifiers_are_dual(prologue: str, operand: str, predicate: tuple[str, str], facts: Facts) -> None:
    """`not every P` is `any not P`, `no P` is `every not P`, `not any P` too, and `not no P` is `any P`."""
    holds, fails = predicate
    submissions = list(made.variants(facts))

    def ask(expression: str) -> list[bool | None]:
        return made.answers(prologue, expression, submissions)

    assert ask(f"not (no {operand} {holds})") == ask(f"any {operand} {holds}")
    assert ask(f"no {operand} {holds}") == ask(f"not (any {operand} {holds})")
    if fails:
        assert ask(f"not (every {operand} {holds})") == ask(f"any {operand} {fails}")
        assert ask(f"no {operand} {holds}") == ask(f"every {operand} {fails}")
        event("with a negation of its own")


@settings(max_examples=40, deadline=None)
@given(
    made.prologues(),
    made.operands(),
    made.expressions(single=made.IN_BLOCK, depth=1),
    made.facts(),
)
def test_blocks_are_dual(prologue: str, operand: str, block: str, facts: Facts) -> None:
    """`not every X has (E)` is `any X has (not (E))`, `no X has (E)` is `every X has (not (E))` and `not any` too."""
    submissions = list(made.variants(facts))

    def ask(expression: str) -> list[bool | None]:
        return made.answers(prologue, expression, submissions)

    some = ask(f"any {operand} has (not ({block}))")
    event(f"{sorted(map(str, set(some)))}")
    assert ask(f"not every {operand} has ({block})") == some
    assert ask(f"no {operand} has ({block})") == ask(f"every {operand} has (not ({block}))")
    assert ask(f"not any {operand} has ({block})") == ask(f"no {operand} has ({block})")


@settings(max_examples=35, deadline=None)
@given(made.bundles(), made.rules("added"), made.facts())
def test_an_appended_rule_changes_only_what_was_open(text: str, rule: str, facts: Facts) -> None:
    """A rule at the end decides nothing that an earlier rule decided."""
    before = made.policy_of(text).decide(made.again(facts))
    after = made.policy_of(f"{text}\n{rule}").decide(made.again(facts))
    event(f"{before.rule_id[:1]} then {after.rule_id[:1]}")
    if before.rule_id not in ("default", "local"):
        assert (after.verdict, after.rule_id) == (before.verdict, before.rule_id)
    else:
        assert after.rule_id in (before.rule_id, "added")


@settings(max_examples=35, deadline=None)
@given(made.prologues(), made.expressions(conditions=True), made.facts())
def test_doubt_falls_on_the_strict_side(prologue: str, expression: str, facts: Facts) -> None:
    """On yes every rule fires, on maybe all but an allow, on no none."""
    answer = made.answer(prologue, expression, facts)
    event(f"{answer}")
    for verdict, word in [(Verdict.ALLOW, "allow"), (Verdict.DENY, "deny"), (Verdict.APPROVAL, "require approval for")]:
        text = f"{prologue}\nrule only {{ {word} any step when {expression} }}"
        fired = made.policy_of(text).decide(made.again(facts)).rule_id == "only"
        assert fired is (answer is True or (answer is None and verdict is not Verdict.ALLOW))


@settings(max_examples=100, deadline=None)
@given(
    made.prologues(presence=False),
    made.expressions(presence=False),
    made.facts(st.fixed_dictionaries({}, optional=dict.fromkeys(made.KEYS, made.plain))),
)
def test_no_allow_rests_on_absence(prologue: str, expression: str, facts: Facts) -> None:
    """A yes with an argument absent is a yes with every value of it, `missing`, `is` and several paths aside; so are
    all arguments together, to which another one is one more element."""
    assume("args.*" not in prologue + expression)
    policy = made.policy_of(f"{prologue}\nrule only {{ allow any step when {expression} }}")
    for varied in made.variants(facts):
        if policy.decide(varied).rule_id == "only":
            event("a yes")
            for key in made.KEYS:
                if key not in varied.args:
                    event("a yes without an argument")
                    for value in made.POOL:
                        varied.args[key] = value
                        assert policy.decide(varied).rule_id == "only"
                    del varied.args[key]
