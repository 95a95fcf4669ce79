"""The compiled policy, its explanation and the plain evaluator in `naive` give one answer.

`naive` is written from the contract of the language alone, without a look at the matcher.
"""

from copy import copy
from typing import Any, Final

from hypothesis import event, given, settings
from hypothesis import strategies as st

from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.values.json_values import Tri
from tests.policy.naive import bundle_texts as texts
from tests.policy.naive import command_texts
from tests.policy.naive.constructs import in_full
from tests.policy.naive.reading import policy_of, tree_of
from tests.policy.naive.rules import Judgement, judge
from tests.policy.naive.submissions import NAMES, NUMBERS, afresh, described, submissions

# The moments at which one history is looked at, and the values that are looked for.
MOMENTS: Final = (None, 3, 9, 6)
ARGUMENTS: Final = ("to", "n", "t", "l", "m", "rows")
VALUES: Final[list[Any]] = ["ann", "bob", "Ann", "ann bob", 1, 50, 2.0]


def told(judgement: Judgement, reached: list[str]) -> dict[str, Any]:
    """The answers of the rules that `explain` tells of."""
    return {rule: judgement.answers[rule] for rule in reached}


def agree(text: str, asked: list[Facts]) -> set[str]:
    """All three evaluators give the verdict, the rule, and where told the answer of each rule."""
    bundle, policy = tree_of(text), policy_of(text)
    rules = set()
    for facts in asked:
        plain = judge(bundle, facts)
        decided = policy.decide(facts)
        assert (decided.verdict.value, decided.rule_id) == (plain.verdict, plain.rule), described(facts)
        trace = explain_decision(policy, afresh(facts))
        assert (trace.decision.verdict.value, trace.decision.rule_id) == (plain.verdict, plain.rule), described(facts)
        answers = {rule.rule_id: rule.answer.value for rule in trace.rules if rule.answer is not None}
        words = {True: "yes", False: "no", None: "maybe"}
        assert answers == {rule: words[answer] for rule, answer in told(plain, list(answers)).items()}, described(facts)
        rules.add(plain.rule[:1])
    return rules


@settings(max_examples=100, deadline=None)
@given(texts.bundles(), st.lists(submissions(), min_size=1, max_size=4))
def test_three_evaluators_agree_on_bundles(text: str, asked: list[Facts]) -> None:
    """Of whole bundles, for several submissions."""
    event(f"decided by {sorted(agree(text, asked))}")


def agree_on(prologue: str, condition: str, asked: list[Facts]) -> set[str]:
    """They agree on a condition and on its negation, and tell yes, no and maybe apart."""
    rules: set[str] = set()
    for test in (condition, f"not ({condition})"):
        sure, perhaps = f"rule sure {{ allow any step when {test} }}", f"rule perhaps {{ deny any step when {test} }}"
        rules |= agree(f"{prologue}\n{sure}\n{perhaps}", asked)
    return rules


@settings(max_examples=100, deadline=None)
@given(texts.prologues(), texts.expressions(texts.RULE, "rule"), st.lists(submissions(), min_size=2, max_size=6))
def test_three_evaluators_agree_on_conditions(prologue: str, condition: str, asked: list[Facts]) -> None:
    """Of one condition."""
    event(f"{sorted(agree_on(prologue, condition, asked))}")


@settings(max_examples=100, deadline=None)
@given(texts.prologues(), texts.history_tests(), st.lists(submissions(), min_size=2, max_size=6))
def test_three_evaluators_agree_on_the_past(prologue: str, test: str, asked: list[Facts]) -> None:
    """Of tests on earlier steps, at several moments of one history."""
    moments = [at(facts, moment) for facts in asked for moment in (facts.as_of, 4)]
    event(f"{sorted(agree_on(prologue, test, moments))}")


@settings(max_examples=60, deadline=None)
@given(texts.prologues(), st.lists(submissions(), min_size=1, max_size=2))
def test_three_evaluators_agree_on_sets(prologue: str, asked: list[Facts]) -> None:
    """Of what each set holds at several moments of one history, read in any order."""
    for name in ("said", "grown", "listed"):
        test = f"args.v in {name}"
        sure, perhaps = f"rule sure {{ allow any step when {test} }}", f"rule perhaps {{ deny any step when {test} }}"
        moments = [variant(facts, moment, value) for facts in asked for moment in MOMENTS for value in VALUES]
        event(f"{name}: {sorted(agree(f'{prologue} {sure} {perhaps}', moments))}")


@settings(max_examples=400, deadline=None)
@given(command_texts.conditions(), st.lists(command_texts.submissions(), min_size=2, max_size=6))
def test_three_evaluators_agree_on_options(condition: str, asked: list[Facts]) -> None:
    """Of the options of commands, of a text and of one command in a block."""
    event(f"{sorted(agree_on('', condition, asked))}")


def at(facts: Facts, moment: int | None) -> Facts:
    """The submission at another moment; the history is the same object."""
    other = copy(facts)
    other.as_of = moment
    return other


def variant(facts: Facts, moment: int | None, value: Any) -> Facts:
    """The submission at another moment, with one argument."""
    other = at(facts, moment)
    other.kind, other.args = "tool_call", {"v": value}
    return other


# ---------------------------------------------------------------- what holds for the contract itself


def answer_of(prologue: str, condition: str, facts: Facts) -> Tri:
    """What a condition comes to by the plain evaluator."""
    return judge(tree_of(f"{prologue}\nrule r {{ allow any step when {condition} }}"), facts).answers["r"]


@settings(max_examples=60, deadline=None)
@given(in_full(texts.bundles()), in_full(st.lists(submissions(), min_size=1, max_size=3)))
def test_every_construct_is_written_and_judged(text: str, asked: list[Facts]) -> None:
    """All generators of constructs give bundles that can be parsed, and the plain evaluator judges them."""
    for facts in asked:
        event(f"decided by {judge(tree_of(text), facts).rule[:1]}")


@settings(max_examples=60, deadline=None)
@given(in_full(texts.prologues()), in_full(st.lists(submissions(), min_size=1, max_size=2)))
def test_sets_only_grow(prologue: str, asked: list[Facts]) -> None:
    """A value that is known for sure at a moment is known for sure at every later one."""
    for facts in asked:
        for name in ("said", "grown", "listed"):
            for value in [*NAMES, *NUMBERS]:
                facts.args, before = {"v": value}, False
                for facts.as_of in range(1, 12):
                    now = answer_of(prologue, f"args.v in {name}", facts)
                    assert now or not before, (name, value, described(facts))
                    before = now is True


@settings(max_examples=100, deadline=None)
@given(
    in_full(texts.prologues()), in_full(texts.history_tests()), in_full(st.lists(submissions(), min_size=1, max_size=3))
)
def test_a_test_and_its_negation_are_not_both_sure(prologue: str, test: str, asked: list[Facts]) -> None:
    """Only what the submission leaves out makes a negation more doubtful than its test."""
    for facts in asked:
        answer, opposite = answer_of(prologue, test, facts), answer_of(prologue, f"not ({test})", facts)
        event(f"{answer}")
        assert opposite is None or opposite is (not answer if answer is not None else None)
        assert "this" in test or (answer is None) is (opposite is None)


@settings(max_examples=100, deadline=None)
@given(in_full(texts.prologues()), in_full(texts.history_tests()), in_full(submissions()), st.sampled_from(ARGUMENTS))
def test_no_yes_rests_on_absence(prologue: str, test: str, facts: Facts, left_out: str) -> None:
    """A test of the past that is yes with an argument left out is yes with every value of it, presence aside."""
    # The keys of an object are there to close a rule, so they do change with an argument.
    if type(facts.args) is not dict or any(word in test for word in (" given", " missing", " is ", "key of")):
        return
    for condition in (test, f"not ({test})"):
        rest = {name: value for name, value in facts.args.items() if name != left_out}
        if answer_of(prologue, condition, with_args(facts, rest)):
            event("a yes")
            for value in ("ann", "bob", 1, 50, ["ann"], {"ann": "bob"}, [{"to": "ann", "n": 1}]):
                other = with_args(facts, {**rest, left_out: value})
                assert answer_of(prologue, condition, other), (condition, value, described(other))


def with_args(facts: Facts, args: dict[str, Any]) -> Facts:
    """The submission with other arguments."""
    other = copy(facts)
    other.args = args
    return other
