"""`after` and `count`: which earlier steps are meant, for sure or perhaps, as of the submission."""

import json
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from rebuno.model.step import StepStatus
from rebuno.policy.explain import history as explain_history
from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.matcher import fresh, history, runs, since
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.values.json_values import Tri
from tests.policy import bundles as made

TOOL = "tool_call"
RAN, FAILED, STARTED = StepStatus.SUCCEEDED, StepStatus.FAILED, StepStatus.EXECUTING
CANCELLED, DENIED = StepStatus.CANCELLED, StepStatus.DENIED
NAMES = 'let webs = ["web_*", "http"]\nknown asked = input\n'


def ran(
    seq: int, target: str, status: StepStatus = RAN, args: Any = None, result: Any = None, step: str = ""
) -> Evidence:
    return Evidence(seq, TOOL, target, args, result, status=status, step=step)


def both(test: str, facts: Facts) -> Tri:
    """What the test comes to, once both evaluators and the opposite test have been heard."""
    found = made.answer(NAMES, test, facts)
    trace = explain_decision(made.policy_of(f"{NAMES}rule r {{ deny any step when {test} }}"), facts)
    (node,) = trace.rules[0].tests
    assert node.answer == {True: "yes", False: "no", None: "maybe"}[found]
    opposite = made.answer(NAMES, f"not ({test})", facts)
    assert opposite is (None if found is None else not found) or "this.args.other" in test
    return found


WEB = [ran(1, "web_get")]
MIXED = [ran(1, "web_get"), ran(2, "web_get", FAILED), ran(3, "mail", STARTED), ran(4, "http")]


@pytest.mark.parametrize(
    ("test", "evidence", "answer"),
    [
        ('after tool "web_*"', WEB, True),
        ('after tool "mail"', WEB, False),
        ('after llm "web_*"', WEB, False),  # another kind
        ("after any step", WEB, True),
        ("after any step", [], False),
        ("after tool webs", [ran(1, "http")], True),
        ('after tool "x" or llm "y"', [Evidence(1, "llm_call", "y", {})], True),
        # It may have done what it was meant to.
        ('after tool "web_*"', [ran(1, "web_get", FAILED)], None),
        ('after tool "web_*"', [ran(1, "web_get", STARTED)], None),
        ('after tool "web_*"', [ran(1, "web_get", CANCELLED)], None),
        ('after tool "web_*"', [ran(1, "web_get", DENIED)], None),
        ('after tool "web_*"', [ran(1, "web_get", FAILED), ran(2, "web_get")], True),
        # That a person approved it is no start.
        ('after tool "web_*"', [Evidence(1, TOOL, "web_get", {}, approved=True)], False),
        # One step is one step, however much is told of it, and however often it was started.
        ('count(tool "a") == 1', [ran(1, "a", STARTED, step="s"), ran(2, "a", step="s")], True),
        ('count(tool "a") == 1', [ran(n, "a", STARTED, step="s") for n in (1, 2)], None),
        ('count(tool "a") <= 1', [ran(n, "a", STARTED, step="s") for n in (1, 2)], True),
        ('count(tool "a") <= 1', [ran(1, "a", STARTED, step="s"), ran(2, "a", FAILED, step="s")], True),
        ('count(tool "a") == 2', [ran(n, "a", step=s) for n, s in ((1, "s"), (2, "t"))], True),
        # Two for sure, one more perhaps.
        ("count(tool webs) >= 2", MIXED, True),
        ("count(tool webs) >= 3", MIXED, None),
        ("count(tool webs) >= 4", MIXED, False),
        ("count(tool webs) > 1", MIXED, True),
        ("count(tool webs) > 2", MIXED, None),
        ("count(tool webs) < 4", MIXED, True),
        ("count(tool webs) < 3", MIXED, None),
        ("count(tool webs) < 2", MIXED, False),
        ("count(tool webs) <= 2", MIXED, None),
        ("count(tool webs) <= 3", MIXED, True),
        ("count(tool webs) == 1", MIXED, False),
        ("count(tool webs) == 2", MIXED, None),
        ("count(tool webs) != 3", MIXED, None),
        ("count(tool webs) != 4", MIXED, True),
        # It lies between what is sure and what is possible, though it is neither.
        ("count(any step) == 3", [*MIXED, ran(5, "a", STARTED)], None),
        ("count(any step) >= 0", [], True),
        ("count(any step) == 0", [], True),
    ],
)
def test_earlier_steps(test: str, evidence: list[Evidence], answer: Tri) -> None:
    """A success counts for sure, every other start perhaps, and nothing else at all."""
    assert both(test, Facts(TOOL, "t", history=History(evidence))) is answer


SENT = [
    ran(1, "send", args={"to": "ana", "n": 1}, result={"id": 7, "ok": True}),
    ran(2, "send", FAILED, args={"to": "bob", "n": 5}),
    ran(3, "send", args={"to": "bob", "n": 2}, result={"id": 8, "ok": False}),
    ran(4, "send", args="?", result=None),
]


@pytest.mark.parametrize(
    ("test", "answer"),
    [
        ('after tool "send" where (args.to == "ana")', True),
        ('after tool "send" where (args.to == "eve")', None),  # the last one's arguments cannot be read
        ('count(tool "send" where (args.n >= 5)) == 0', None),  # a failed step and an unreadable one
        ('count(tool "send" where (args.to given and args.n >= 5)) <= 1', None),
        ('count(tool "send" where (args.to is string and args.to == "ana")) == 1', None),
        ('count(tool "*" where (target == "send")) == 4', None),
        # What a step that did not succeed would have said is not known.
        ('after tool "send" where (result.ok == false)', True),
        ('after tool "send" where (result.id == 9)', None),
        ('after tool "send" where (args.n == 5 and result.id == 9)', None),
        ('after tool "send" where (args.n == 9 and result.id == 9)', False),  # it does not matter
        ('after tool "send" where (result.id == 7 and args.n == 1)', True),
        ('after tool "send" where (result.id == 7 and args.n == 2)', False),  # no single step has both
        ('after tool "send" where (args.n == 5 and result missing)', None),
        ('count(tool "send" where (result missing)) >= 1', True),  # null is a result
        # The step that is judged.
        ('after tool "send" where (args.to == this.args.to)', True),
        ('after tool "send" where (args.to == this.args.other)', False),  # an absent side settles it
        ('count(tool "send" where (args.to == this.args.to)) >= 2', None),
        ('count(tool "send" where (args.n < this.args.n)) >= 2', True),
        ('after tool "send" where (any this.args.all has (it == args.to))', True),
        ('after tool "send" where (any text of args == this.args.to)', True),  # each step is read by itself
        ('after tool "send" where (any text of result == this.args.id)', True),
        # What the execution knows.
        ('after tool "send" where (args.to in asked)', True),
        ('after tool "send" where (args.to not in asked)', None),
        ('after tool "send" where (input contains "ana")', True),
        ('after tool "send" where (agent == "bot")', True),
        ('after tool "send" where (agent == "other")', False),
    ],
)
def test_where(test: str, answer: Tri) -> None:
    """In `where`, `args`, `result` and `target` are the earlier step's, and `this` is the one that is judged."""
    args = {"to": "bob", "n": 3, "all": ["x", "ana"], "id": "8"}
    facts = Facts(TOOL, "t", args, agent="bot", input="for ana and bob", history=History(SENT))
    assert both(test, facts) is answer


@pytest.mark.parametrize(
    ("test", "answer"),
    [
        ("after {}", False),
        ("not after {}", None),
        ("count({}) >= 1", False),
        ("count({}) > 0", False),
        ("count({}) < 1", None),
        ("count({}) <= 0", None),
        ("count({}) == 0", None),
        ("count({}) != 0", False),
        ("not count({}) < 1", False),
        ("not count({}) == 0", False),
        ("not count({}) >= 1", None),
        ("count({}) < 9", True),  # whatever is left out
        ("count({}) >= 9", False),
    ],
)
def test_what_the_submission_leaves_out_might_have_been_meant(test: str, answer: Tri) -> None:
    """No allow rule matches because an argument was left out: "fewer than" is a negation."""
    test = test.format('tool "send" where (args.to == this.args.other)')
    facts = Facts(TOOL, "t", {"to": "bob"}, history=History(SENT))
    assert both(test, facts) is answer
    trace = explain_decision(made.policy_of(f"rule r {{ deny any step when {test} }}"), facts)
    assert trace.rules[0].tests[0].why.endswith("4 may be meant, as this step leaves out what is asked of it")


LOG = [
    ran(2, "a", STARTED, {"x": 1}, step="s"),
    ran(4, "a", STARTED, {"x": 2}, step="t"),
    ran(5, "a", RAN, {"x": 1}, {"y": 1}, step="s"),
    ran(7, "a", STARTED, {"x": 2}, step="t"),  # again, after a crash
    ran(9, "a", FAILED, {"x": 2}, step="t"),
]


@pytest.mark.parametrize("where", ["", " where (args.x == this.args.x)"], ids=["counted", "asked anew"])
@pytest.mark.parametrize(
    ("as_of", "sure", "possible"),
    [(2, 0, 0), (3, 0, 1), (5, 0, 1), (6, 1, 1), (None, 1, 1)],
)
def test_a_step_is_seen_as_it_stood_then(where: str, as_of: int | None, sure: int, possible: int) -> None:
    """What happened later is not seen: a step that succeeded since had only started."""
    facts = Facts(TOOL, "t", {"x": 1}, history=History([e for e in LOG if e.step == "s"]), as_of=as_of)
    assert both(f'count(tool "a"{where}) >= 1', facts) is (True if sure else None if possible else False)


@pytest.mark.parametrize(("as_of", "most"), [(2, 0), (4, 1), (5, 2), (8, 2), (None, 2)])
def test_a_step_that_was_started_again_is_one(as_of: int | None, most: int) -> None:
    """It counts from its first start, once."""
    facts = Facts(TOOL, "t", history=History(LOG), as_of=as_of)
    assert both(f'count(tool "a") <= {most}', facts) is True
    assert both(f'count(tool "a") < {most}', facts) is (False if not most else None)


def test_a_result_can_rule_a_step_out() -> None:
    """What may have been meant while it ran is not, once its result says so."""
    past = History([ran(1, "a", STARTED, step="s")])
    policy = made.policy_of('rule r { deny any step when after tool "a" where (result.x == 1) }\ndefault allow')
    assert policy.decide(Facts(TOOL, "t", history=past)).rule_id == "r"
    past.append(ran(3, "a", result={"x": 2}, step="s"))
    assert policy.decide(Facts(TOOL, "t", history=past)).rule_id == "default"
    assert policy.decide(Facts(TOOL, "t", history=past, as_of=3)).rule_id == "r"


def test_what_was_asked_before_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A history of ten thousand steps is read as it grows; a decision costs no more at its end."""
    looked = 0
    meant = runs.counts_step

    def counting(*args: Any) -> bool:
        nonlocal looked
        looked += 1
        return meant(*args)

    monkeypatch.setattr(history, "counts_step", counting)
    policy = made.policy_of('rule r { allow any step when count(tool "a" where (args.n > 5)) >= 2 }')
    past = History()
    for number in range(10_000):
        past.append(ran(number, "a", args={"n": number % 7}))
        policy.decide(Facts(TOOL, "t", history=past))
    assert looked == 10_000
    assert policy.decide(Facts(TOOL, "t", history=past, as_of=13)).rule_id == "default"
    assert policy.decide(Facts(TOOL, "t", history=past, as_of=14)).rule_id == "r"


def test_another_input_is_another_question() -> None:
    """What was counted for one input does not answer for another."""
    past = History([ran(1, "a", args={"x": "ana"})])
    policy = made.policy_of('rule r { allow any step when after tool "a" where (args.x == input.who) }')
    for who, rule in [("ana", "r"), ("bob", "default"), ("ana", "r")]:
        assert policy.decide(Facts(TOOL, "t", input={"who": who}, history=past)).rule_id == rule


def test_a_known_that_grows_is_asked_anew() -> None:
    """What was in no set when a step ran may be in it by now."""
    names = 'known listed = result of tool "list" at []'
    policy = made.policy_of(f'{names}\nrule r {{ allow any step when after tool "send" where (args.to in listed) }}')
    past = History([ran(1, "send", args={"to": "ana"})])
    assert policy.decide(Facts(TOOL, "t", history=past)).rule_id == "default"
    past.append(ran(2, "list", result=["ana"]))
    assert policy.decide(Facts(TOOL, "t", history=past)).rule_id == "r"
    assert policy.decide(Facts(TOOL, "t", history=past, as_of=2)).rule_id == "default"


@pytest.mark.parametrize(
    ("steps", "length", "rule"),
    [
        (1000, 1, "allowed"),
        (1001, 1, "doubt"),
        (9, 25_600, "allowed"),  # a long text is looked at anew for every step
        (10, 25_600, "doubt"),
    ],
)
def test_what_is_asked_anew_is_bounded(steps: int, length: int, rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound of element tests the answer is maybe, in both evaluators."""
    for module in (fresh, since, explain_history):
        monkeypatch.setattr(module, "MAX_ELEMENT_TESTS", 1000)
    text = "rule allowed { allow any step when %s }\nrule doubt { deny any step when %s }"
    test = 'count(tool "a" where (this.args.x contains args.x)) >= 1'
    policy = made.policy_of(text % (test, test))
    past = History([ran(n, "a", args={"x": "b"}) for n in range(steps)])
    facts = Facts(TOOL, "t", {"x": "b" * length}, history=past)
    assert policy.decide(facts).rule_id == rule
    counted = facts.tests
    assert explain_decision(policy, facts).decision.rule_id == rule
    assert facts.tests == counted


def test_explain_shows_the_steps_that_counted() -> None:
    """At most eight of them, each with its state and how it counted."""
    evidence = [ran(0, "web_put", args={"n": "?"})]
    evidence += [ran(n, "web_get", FAILED if n % 2 else RAN, {"n": n}) for n in range(1, 12)]
    policy = made.policy_of('rule r { deny any step when count(tool "web_*" where (args.n < 11)) > 3 }')
    (node,) = explain_decision(policy, Facts(TOOL, "t", history=History(evidence))).rules[0].tests
    assert node.why == "11 earlier steps counted, 5 for sure and 6 perhaps"
    assert len(node.seen) == 8
    assert node.seen[:3] == ("web_put (succeeded, perhaps meant)", "web_get (failed)", "web_get (succeeded)")
    (node,) = explain_decision(policy, Facts(TOOL, "t")).rules[0].tests
    assert (node.why, node.seen) == ("no earlier step is meant", ())


# ---------------------------------------------------------------- what holds for every history

IN_WHERE = st.sampled_from(
    ["args.x", "args.a", "args.l", "args", "result", "result.x", "result[0].x", "target", "agent", "input",
     "this.args.a", "this.args.b", "this.args.l", "definition.server", "definition"]
)  # fmt: skip
SUBJECTS = st.sampled_from(['tool "*"', 'tool "pay*"', 'tool "read", "pay"', "any step", 'tool some or local "*"'])


@st.composite
def pasts(draw: st.DrawFn) -> History:
    """Steps in every state, some of them told in several pieces, some started again."""
    seq = 0
    open_steps: list[Evidence] = []
    evidence = []
    for number in range(draw(st.integers(0, 7))):
        seq += draw(st.integers(0, 2))
        goes_on = draw(st.booleans())
        if open_steps and goes_on:
            start = draw(st.sampled_from(open_steps))
            status = draw(st.sampled_from([RAN, RAN, FAILED, CANCELLED, DENIED, STARTED]))
            result = draw(made.results) if status is RAN else None
            one = Evidence(
                seq,
                start.kind,
                start.target,
                start.args,
                result,
                status=status,
                step=start.step,
                definition=start.definition,
            )
            if status is not STARTED:
                open_steps.remove(start)
        else:
            status = draw(st.sampled_from([STARTED, STARTED, RAN, FAILED]))
            kind, target = draw(st.sampled_from([(TOOL, "pay"), (TOOL, "read"), ("local", "a")]))
            args, result = draw(made.row), draw(made.results)
            told = st.just(f"s{number}") if status is STARTED else st.just("")
            one = Evidence(
                seq, kind, target, args, result, status=status, step=draw(told), definition=draw(made.definitions)
            )
            if status is STARTED:
                open_steps.append(one)
        evidence.append(one)
        if draw(st.integers(0, 5)) == 0:
            evidence.append(Evidence(seq, TOOL, "pay", draw(made.row), approved=True))
    return History(evidence)


@st.composite
def asked(draw: st.DrawFn, presence: bool = True) -> str:
    """A test on history."""
    where = made.expressions(named=draw(st.booleans()), single=IN_WHERE, depth=1, presence=presence)
    steps = draw(SUBJECTS) + draw(st.one_of(st.just(""), where.map(lambda expression: f" where ({expression})")))
    if draw(st.booleans()):
        return f"after {steps}"
    return f"count({steps}) {draw(st.sampled_from(['==', '!=', '<', '<=', '>', '>=']))} {draw(st.integers(0, 3))}"


@settings(max_examples=120, deadline=None)
@given(made.prologues(), asked(), pasts(), made.facts(), st.booleans())
def test_both_evaluators_agree_while_a_history_grows(
    prologue: str, test: str, whole: History, facts: Facts, inside: bool
) -> None:
    """At every moment, and as of every event, what was counted answers as a look at the whole history does."""
    test = f"any args has (it given and {test})" if inside else test
    rules = f"rule sure {{ allow any step when {test} }}\nrule perhaps {{ deny any step when {test} }}"
    policy = made.policy_of(f"{prologue}\n{rules}")
    facts.history = History()
    for evidence in whole.evidence:
        facts.history.append(evidence)
        for facts.as_of in (None, evidence.seq, evidence.seq + 1, 2):
            decided, counted = policy.decide(facts).rule_id, facts.tests
            trace = explain_decision(policy, made.again(facts))
            assert trace.decision.rule_id == decided
            assert policy.decide(fresh := made.again(facts)).rule_id == decided
            assert fresh.tests == counted
            assert json.dumps(trace.to_json())
            event(f"{decided}")


@settings(max_examples=40, deadline=None)
@given(made.prologues(), asked(), pasts(), made.facts())
def test_a_failure_changes_nothing(prologue: str, test: str, whole: History, facts: Facts) -> None:
    """A step that failed counts as it did while it ran; and of a test and its negation at most one is yes."""
    facts.history = whole
    plain = made.answer(prologue, test, facts)
    assert made.answer(prologue, f"not (not ({test}))", facts) is plain
    opposite = made.answer(prologue, f"not ({test})", facts)
    assert opposite is None or plain is None or opposite is not plain
    if "this" not in test:
        assert opposite is (None if plain is None else not plain)
    facts.history = History([*whole.evidence, *_failed(whole)])
    assert made.answer(prologue, test, facts) is plain


@settings(max_examples=80, deadline=None)
@given(
    made.prologues(presence=False),
    asked(presence=False),
    pasts(),
    made.facts(st.fixed_dictionaries({}, optional=dict.fromkeys(made.KEYS[:3], made.plain))),
)
def test_no_allow_rests_on_absence(prologue: str, test: str, past: History, facts: Facts) -> None:
    """A yes with an argument left out is a yes with every value of it, `missing`, `is` and several paths aside."""
    facts.history, facts.as_of = past, None
    policy = made.policy_of(f"{prologue}\nrule only {{ allow any step when {test} }}")
    if policy.decide(facts).rule_id != "only":
        return
    for key in made.KEYS[:3]:
        if key not in facts.args:
            event("a yes without an argument")
            for value in made.POOL:
                facts.args[key] = value
                assert policy.decide(facts).rule_id == "only"
            del facts.args[key]


def _failed(whole: History) -> list[Evidence]:
    last = {one.step: one for one in whole.evidence if one.step and not one.approved}
    end = whole.evidence[-1].seq + 1 if whole.evidence else 0
    return [
        Evidence(end, one.kind, one.target, one.args, status=FAILED, step=one.step, definition=one.definition)
        for one in last.values()
        if one.status is STARTED
    ]
