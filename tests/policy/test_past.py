"""`since`, `within`, `sum` and joins: the tables of the contract."""

import json
import sys
from typing import Any

import pytest

from rebuno.model.step import StepStatus
from rebuno.policy.check.bundle import check_bundle
from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.explain.trace import TraceNode
from rebuno.policy.matcher.dependencies import HistoryDependencies
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import Source
from rebuno.policy.values.json_values import Tri
from tests.policy import bundles as made

TOOL = "tool_call"
RAN, FAILED, STARTED = StepStatus.SUCCEEDED, StepStatus.FAILED, StepStatus.EXECUTING
ANSWERS = {True: "yes", False: "no", None: "maybe"}


def ran(seq: int, target: str, args: Any = None, status: StepStatus = RAN, **told: Any) -> Evidence:
    return Evidence(seq, TOOL, target, args, told.pop("result", None), status=status, **told)


def heard(test: str, facts: Facts) -> tuple[Tri, TraceNode]:
    """What a test comes to, live, read anew and explained, with its trace."""
    policy = made.policy_of(f"rule sure {{ allow any step when {test} }}\nrule perhaps {{ deny any step when {test} }}")
    rule = policy.decide(facts).rule_id
    counted = facts.tests
    again = made.again(facts)
    assert policy.decide(again).rule_id == rule
    assert again.tests == counted
    trace = explain_decision(policy, again)
    assert trace.decision.rule_id == rule
    assert again.tests == counted
    json.dumps(trace.to_json())
    found = {"sure": True, "perhaps": None}.get(rule, False)
    assert trace.rules[0].tests[0].answer == ANSWERS[found]
    return found, trace.rules[0].tests[0]


def check(test: str) -> list[str]:
    """The codes of the errors in a rule with this test."""
    text = f'default deny\nlet some = ["x"]\nrule r {{ deny any step when {test} because "no" }}'
    bundle, found = parse_bundle(Source(text))
    assert not found, found
    return [one.code for one in check_bundle(bundle) if one.severity == "error"]


# ---------------------------------------------------------------- the contract's tables

AGAIN = """count(tool "read_file" where (args == this.args)
           since tool "*" where (target != "read_file" or args != this.args)) >= 2"""


@pytest.mark.parametrize(
    ("steps", "answer"),
    [
        (["read_file a", "read_file a"], True),
        (["read_file a", "write_file a", "read_file a"], False),
        (["read_file a", "read_file b", "read_file a"], False),
        (["write_file a", "read_file a", "read_file a"], True),
        (["read_file a"], False),
        ([], False),
        (["read_file a", "read_file a", "read_file a failed"], True),
        (["read_file a", "read_file a failed"], None),
        (["read_file a", "read_file a", "write_file b failed"], None),
        (["read_file a", "read_file a", "write_file b running"], None),
    ],
)
def test_the_third_time_in_a_row(steps: list[str], answer: Tri) -> None:
    """A step that may have come between leaves it open."""
    past = []
    for number, step in enumerate(steps):
        target, path, *state = step.split()
        status = {"": RAN, "failed": FAILED, "running": STARTED}["".join(state)]
        past.append(ran(number, target, {"path": path}, status))
    facts = Facts(TOOL, "read_file", {"path": "a"}, history=History(past))
    assert heard(AGAIN, facts)[0] is answer


REFUND, DECLINED = {"charge": 1, "amount": 50}, {"type": "Declined", "message": ""}
PAID = [ran(1, "pay", {"amount": 300}), ran(2, "pay", {"amount": 150}, STARTED)]
CHARGED = (
    'count(tool "refund" where (args.charge == this.args.charge and (error missing or error.nothing_done != true))) < 1'
)
TWO = "sum is 300 to 450 (2 steps, 1 of them perhaps)"
UNBOUNDED = "sum has no bound: nothing can be added for `p (succeeded)`"
SPENT = 'sum(tool "refund", "pay" at args.amount within 24h) + args.amount <= 500'


@pytest.mark.parametrize(
    ("args", "past", "charged", "spent", "why"),
    [
        ({"charge": 2, "amount": 60}, PAID, True, None, f"{TWO}, with this one 360 to 510"),
        ({"charge": 2, "amount": 50}, PAID, True, True, f"{TWO}, with this one 350 to 500"),
        ({"charge": 2, "amount": 201}, PAID, True, False, f"{TWO}, with this one 501 to 651"),
        ({"charge": 2}, PAID, True, None, f"{TWO}, and this one has no amount"),
        ({"charge": 1, "amount": 5}, [], True, True, "sum is 0 (no steps), with this one 5"),
        ({"charge": 1, "amount": 0.5}, PAID[:1], True, True, "sum is 300 (1 step), with this one 300.5"),
        (REFUND, [ran(1, "refund", REFUND)], False, True, "sum is 50 (1 step), with this one 100"),
        (
            REFUND, [ran(1, "refund", REFUND, FAILED, error=DECLINED, nothing_done=True)],
            True, True, "sum is 0 to 50 (1 step, 1 of them perhaps), with this one 50 to 100",
        ),
    ],
)  # fmt: skip
def test_once_per_charge_and_money_per_day(args: Any, past: list[Evidence], charged: Tri, spent: Tri, why: str) -> None:
    """A refund that says that nothing was done may be tried again, and counts as perhaps spent."""
    for step in past:
        step.at = step.submitted_at = 1000.0
    facts = Facts(TOOL, "refund", args, history=History(past), now=2000.0)
    assert heard(CHARGED, facts)[0] is charged
    answer, trace = heard(SPENT, facts)
    assert answer is spent
    assert trace.why == why


# ---------------------------------------------------------------- since

ONE = 'count(tool "t" since tool "s") >= 1'


@pytest.mark.parametrize(
    ("past", "answer"),
    [
        ([ran(1, "t")], True),  # there was no s: all
        ([ran(1, "t"), ran(2, "s")], False),
        ([ran(1, "s"), ran(2, "t")], True),
        ([ran(1, "s"), ran(2, "t"), ran(3, "s")], False),
        ([ran(1, "t"), ran(2, "s", None, FAILED)], None),  # it may be an s
        ([ran(1, "s", None, FAILED), ran(2, "t")], True),  # after all that may be one
        ([ran(1, "s"), ran(2, "t", None, FAILED)], None),
        ([ran(1, "t"), ran(2, "s", None, STARTED)], None),
        ([ran(1, "s", None, STARTED), ran(2, "t")], None),  # the s still runs
        # The two overlapped.
        ([ran(1, "t", None, STARTED, step="t"), ran(2, "s"), ran(3, "t", step="t")], None),
        ([ran(1, "s", None, STARTED, step="s"), ran(2, "t"), ran(3, "s", step="s")], None),
        ([ran(1, "t", None, STARTED, step="t"), ran(2, "t", step="t"), ran(3, "s")], False),
        # It waited for a person while the s ran.
        ([ran(2, "s"), ran(4, "t", submitted=1)], None),
        ([ran(2, "s"), ran(4, "t", submitted=3)], True),
        # An s that surely was, then one that may have been, then the step: the possible number is from the sure one on.
        ([ran(1, "s"), ran(2, "t"), ran(3, "s", None, FAILED)], None),
        ([ran(1, "t"), ran(2, "s"), ran(3, "s", None, FAILED)], False),
        # It ran though nothing let it in.
        ([ran(1, "t"), ran(2, "s", let_in="")], None),
    ],
)
def test_since(past: list[Evidence], answer: Tri) -> None:
    """Sure after the last possible one, possible after the last sure one; what overlapped is perhaps."""
    assert heard(ONE, Facts(TOOL, "x", {"a": 1}, history=History(past)))[0] is answer
    asked_anew = 'count(tool "t" where (this.args.a == 1) since tool "s" where (this.args.a == 1)) >= 1'
    assert heard(asked_anew, Facts(TOOL, "x", {"a": 1}, history=History(past)))[0] is answer


def test_a_step_does_not_come_after_itself() -> None:
    """So nothing stands since the last step of all."""
    past = History([ran(1, "t"), ran(2, "t")])
    assert heard('count(tool "t" since any step) == 0', Facts(TOOL, "x", history=past))[0] is True


def test_explain_names_the_step_since_which_was_counted() -> None:
    """The last that may be one."""
    past = History([ran(1, "s"), ran(2, "t"), ran(3, "s", None, FAILED)])
    assert heard(ONE, Facts(TOOL, "x", history=past))[1].why == "1 earlier step counted, 1 perhaps, since `s (failed)`"


# ---------------------------------------------------------------- within


@pytest.mark.parametrize(
    ("at", "submitted_at", "now", "answer"),
    [
        (1000.0, None, 4600.0, True),  # both ends are inside
        (1000.0, None, 4600.5, False),
        (4600.0, None, 4600.0, True),
        (4601.0, None, 4600.0, None),  # clocks differ
        (None, None, 4600.0, None),
        (1000.0, None, None, None),
        (2000.0, 900.0, 4600.0, None),  # only the start lies inside
        (2000.0, 1000.0, 4600.0, True),
        (900.0, 800.0, 4600.0, False),
    ],
)
def test_within(at: float | None, submitted_at: float | None, now: float | None, answer: Tri) -> None:
    """From the start to the submission, in a joined step too."""
    past = [ran(1, "t", {"a": 1}, at=at, submitted_at=submitted_at)]
    facts = Facts(TOOL, "x", {"a": 1}, history=History(past), now=now)
    for test in (
        'after tool "t" within 1h',
        'after tool "t" where (args.a == this.args.a) within 1h',
        'sum(tool "t" at args.a within 1h) >= 1',
        'after tool "t" where (after tool "t" where (args.a == outer.args.a) within 1h)',
    ):
        assert heard(test, facts)[0] is answer, test


def test_time_passes() -> None:
    """A living history forgets what a clock has left behind, and finds it again where an earlier moment is asked."""
    policy = made.policy_of('rule r { allow any step when sum(tool "t" at args.a within 1m) <= 3 }\ndefault deny')
    past = History()
    for number in range(200):
        past.append(ran(number, "t", {"a": 1}, at=10.0 * number))
        for now, as_of in ((10.0 * number + 5, None), (10.0 * number, number), (10.0 * number + 41, number + 1)):
            rule = policy.decide(Facts(TOOL, "x", history=past, now=now, as_of=as_of)).rule_id
            inside = sum(1 for n in range(number + 1) if n < (as_of or 1000) and now - 60 <= 10.0 * n <= now)
            assert rule == ("r" if inside <= 3 else "default")


# ---------------------------------------------------------------- sum


@pytest.mark.parametrize(
    ("test", "past", "answer", "why"),
    [
        ('sum(tool "p" at args.n) == 0.3', [{"n": 0.1}, {"n": 0.2}], True, "sum is 0.3 (2 steps)"),
        ('sum(tool "p" at args.n) == 2', [{"n": 1}, {"n": 1.0}], True, "sum is 2 (2 steps)"),  # equal ones are not one
        ('sum(tool "p" at args.n, args.fee) == 5', [{"n": 1, "fee": 4}], True, "sum is 5 (1 step)"),
        ('sum(tool "p" at args.l[].n) == 5', [{"l": [{"n": 1}, {"n": 4}]}], True, "sum is 5 (1 step)"),
        ('sum(tool "p" at number of args.n) < 6', [{"n": "5 EUR"}], True, "sum is 5 (1 step)"),
        ('sum(tool "p" at args.n) >= 0', [], True, "sum is 0 (no steps)"),
        ('sum(tool "p" at args.n) != 0', [{"n": 1e-9}], True, "sum is 0.000000001 (1 step)"),
        *[
            (test, [{"n": 1}, bad], None, UNBOUNDED)
            for test in ('sum(tool "p" at args.n) <= 500', 'sum(tool "p" at args.n) > 0', 'sum(tool "p" at args.n) < 0')
            for bad in ({}, {"n": None}, {"n": "5"}, {"n": -1}, {"n": [5]}, {"n": True}, {"n": float("nan")}, "?")
        ],
        ('sum(tool "p" at args.n, args.fee) <= 5', [{"n": 1}], None, UNBOUNDED),
    ],
)  # fmt: skip
def test_sum(test: str, past: list[Any], answer: Tri, why: str) -> None:
    """In exact decimals; what is no amount leaves it without a bound, in both directions."""
    facts = Facts(TOOL, "x", history=History([ran(n, "p", args) for n, args in enumerate(past)]))
    found, trace = heard(test, facts)
    assert (found, trace.why) == (answer, why)
    opposite = heard(f"not ({test})", facts)[0]
    assert opposite is (None if answer is None else not answer)


@pytest.mark.parametrize(
    ("result", "status", "answer"),
    [({"cost": 5}, RAN, True), (None, RAN, None), ({"cost": 5}, FAILED, None), (None, STARTED, None)],
)
def test_a_sum_of_results(result: Any, status: StepStatus, answer: Tri) -> None:
    """What a step that did not succeed would have said is not known."""
    facts = Facts(TOOL, "x", history=History([ran(1, "p", {}, status, result=result)]))
    assert heard('sum(tool "p" at result.cost) <= 5', facts)[0] is answer


@pytest.mark.parametrize(
    ("sign", "number", "answer"),
    [
        ("<=", 510, True), ("<=", 509, None), ("<=", 359, False), ("<", 511, True), ("<", 510, None), ("<", 360, False),
        (">=", 360, True), (">=", 361, None), (">=", 511, False), (">", 359, True), (">", 360, None), (">", 510, False),
        ("==", 400, None), ("==", 359, False), ("==", 511, False), ("!=", 400, None), ("!=", 511, True),
    ],
)  # fmt: skip
def test_an_interval(sign: str, number: int, answer: Tri) -> None:
    """Yes where the whole interval passes, no where none of it does."""
    facts = Facts(TOOL, "x", {"amount": 60}, history=History(PAID))
    assert heard(f'sum(tool "pay" at args.amount) + args.amount {sign} {number}', facts)[0] is answer


# ---------------------------------------------------------------- joins

REBOOK = """after tool "get_booking" where (args.id == this.args.id
  and after tool "search_flights" where (args.origin == outer.result.origin
                                         and args.destination == outer.result.destination
                                         and this.args.flight in result.flights[].number))"""


def flights(origin: str = "A", destination: str = "B", status: StepStatus = RAN, number: str = "F1") -> Evidence:
    args = {"origin": origin, "destination": destination}
    return ran(2, "search_flights", args, status, result={"flights": [{"number": "F0"}, {"number": number}]})


@pytest.mark.parametrize(
    ("booking", "search", "answer"),
    [
        (RAN, flights(), True),
        (RAN, flights(destination="C"), False),
        (RAN, flights(number="F2"), False),
        (RAN, flights(status=STARTED), None),
        (STARTED, flights(), None),
        (FAILED, flights(), None),
    ],
)
def test_a_joined_step(booking: StepStatus, search: Evidence, answer: Tri) -> None:
    """Both steps are asked about together; one that did not succeed has no known result."""
    booked = ran(1, "get_booking", {"id": "b1"}, booking, result={"origin": "A", "destination": "B"})
    facts = Facts(TOOL, "change_flights", {"id": "b1", "flight": "F1"}, history=History([booked, search]))
    assert heard(REBOOK, facts)[0] is answer
    facts.args = {"id": "b2", "flight": "F1"}
    assert heard(REBOOK, facts)[0] is False
    facts.args = {"id": "b1"}  # whatever flight it is, a search of another route is none
    assert heard(f"not ({REBOOK})", facts)[0] is (None if search.args["destination"] == "B" else True)


@pytest.mark.parametrize(
    ("test", "codes"),
    [
        (REBOOK, []),
        ('after tool "a" where (count(tool "b" where (args.x == outer.args.x)) >= 2)', []),
        ('after tool "a" since tool "b" where (after tool "c" where (args.x == outer.target))', []),
        ('sum(tool "a" at args.n where (after tool "b" where (args.x == outer.args.x))) < 3', []),
        ('after tool "a" where (after tool "b" where (after tool "c"))', ["misplaced-test"]),
        ('after tool "a" where (after tool "b" since tool "d" where (after tool "c"))', ["misplaced-test"]),
        ('after tool "a" where (sum(tool "b" at args.n) < 3)', ["misplaced-test"]),
        ('after tool "a" where (during "Mon-Fri 09:00-17:00 UTC")', ["misplaced-test"]),
        ('after tool "a" where (args.x == outer.args.x)', ["misplaced-root"]),
        ('after tool "a" where (after tool "b" where (args.x == outer.error))', ["bad-path"]),
        ('after tool "a" where (after tool "b" where (outer given))', ["bad-path"]),
        ('sum(tool "a" at n) < 3', ["unknown-root"]),
        ('sum(tool "a" at input.n) < 3', ["misplaced-root"]),
        ('sum(tool "a" at args.n) + input.n < 3', ["misplaced-root"]),
        ('sum(tool "a" at args.n) + args.l[] < 3', ["bad-path"]),
        ('sum(tool "a" at nonsense of args.n) < 3', ["unknown-facet"]),
        ("after tool some since tool nobody", ["unknown-name"]),
        ("after tool some since tool some where (this.x given)", ["bad-path"]),
    ],
)
def test_what_check_says(test: str, codes: list[str]) -> None:
    """Two levels and no more, and each root where it stands for something."""
    assert check(test) == codes


def test_a_policy_depends_on_all_its_subjects() -> None:
    """What no test names may be left out of memory."""
    test = 'sum(tool "a" at args.n where (after tool "b") since tool "c" where (after tool "d")) < 3'
    needed = HistoryDependencies(made.policy_of(f"rule r {{ deny any step when {test} }}"))
    assert [needed.about(TOOL, name) for name in "abcde"] == [True, True, True, True, False]


# ---------------------------------------------------------------- an index


def test_an_equality_is_found_and_counted_as_if_looked_for() -> None:
    """Ten thousand steps count as ten thousand, though only those with the value are looked at."""
    test = 'count(tool "t" where (args.k == this.args.k)) >= 2'
    policy = made.policy_of(f"rule r {{ allow any step when {test} }}\ndefault deny")
    past = History([ran(n, "t", {"k": f"k{n % 5000}"}) for n in range(10_000)])
    facts = Facts(TOOL, "x", {"k": "k7"}, history=past)
    assert policy.decide(facts).rule_id == "r"
    assert facts.tests == 10_000
    facts.args = {"k": "other"}
    assert policy.decide(facts).rule_id == "default"
    assert facts.tests == 10_000


EQUALITIES = [
    'after tool "t" where (args.id == this.args.id)',
    'count(tool "t" where (args.id == this.args.id and args.n > 1)) >= 1',
    'sum(tool "t" at args.n where (args.id == this.args.id)) >= 1',
    'after approved tool "t" where (args.id == this.args.id and result.ok == true)',
    'after tool "t" where (this.args.id == args.id and after tool "u" where (args.id == outer.args.id))',
]


def _calls(test: str, steps: int) -> int:
    """How many functions a submission calls whose history is in memory."""
    policy = made.policy_of(f"rule r {{ allow any step when {test} }}\ndefault deny")
    past = [
        ran(n, "u" if n % 2 else "t", {"id": f"k{n // 2}", "n": n}, result={"ok": True}, let_in="approved")
        for n in range(steps)
    ]
    facts = Facts(TOOL, "x", {"id": "k0"}, history=History(past))
    policy.decide(facts)
    facts.args = {"id": "k7", "n": 1}
    calls = 0

    def counted(frame: Any, event: str, what: Any) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        decided = policy.decide(facts).rule_id
    finally:
        sys.setprofile(before)
    assert decided == "r"
    return calls


@pytest.mark.parametrize("test", EQUALITIES)
def test_an_equality_costs_the_same_after_many_steps(test: str) -> None:
    """Once the history is in memory: as much work after five thousand steps as after fifty."""
    assert _calls(test, 5_000) <= _calls(test, 50) + 10
