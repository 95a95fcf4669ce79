"""A `known` in the `where` of a `known`, and its name as a source: sets that grow, whichever step came first."""

import gc
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebuno.policy.check.bundle import check_bundle
from rebuno.policy.explain import provenance as explain_known
from rebuno.policy.explain.explain import explain_decision, known_values
from rebuno.policy.matcher import growing
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.matcher.policy import Policy
from rebuno.policy.syntax.diagnostics import Severity
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.soft_roots import read_soft_roots
from rebuno.policy.syntax.source import Source
from rebuno.policy.values.json_values import Tri
from tests.policy.bundles import again, policy_of

TOOL = "tool_call"
LUNCH = """
default deny
known asked = input.request or turns
known named = result of tool "search_contacts" at [].email where (every word of item.name in asked)
known said = asked or result of tool "list_mail" words at [].body where (item.sender in named)

rule book {
  allow tool "create_event"
  when date of args.day in said and every args.guests in named
  because "whom the user named, on a day that the user or they wrote"
}
"""


def read(seq: int, target: str, *items: Any, **more: Any) -> Evidence:
    return Evidence(seq, TOOL, target, {}, list(items), step=f"s{seq}", **more)


def decided(policy: Policy, facts: Facts) -> str:
    """The rule that decides, for both evaluators."""
    rule = policy.decide(facts).rule_id
    assert explain_decision(policy, again(facts)).decision.rule_id == rule
    return rule


def contacts(seq: int) -> Evidence:
    return read(seq, "search_contacts", {"name": "Alice Miller", "email": "a@c.example"})


def mail(seq: int, sender: str = "a@c.example") -> Evidence:
    return read(seq, "list_mail", {"sender": sender, "body": "May 2nd 2026 is fine"})


@pytest.mark.parametrize(
    ("evidence", "guests", "rule"),
    [
        ([contacts(3), mail(5)], ["a@c.example"], "book"),
        ([mail(3), contacts(5)], ["a@c.example"], "book"),
        ([contacts(3), mail(5, "alice.office@evil.example")], ["a@c.example"], "default"),
        ([contacts(3), mail(5)], ["a@c.example", "x@evil.example"], "default"),
        ([contacts(3)], ["a@c.example"], "default"),
        ([mail(3)], ["a@c.example"], "default"),
    ],
)
def test_a_day_that_a_named_person_wrote(evidence: list[Evidence], guests: list[str], rule: str) -> None:
    """The address book ties a name to an address, and the address ties a mail to the name."""
    request = {"request": "Lunch with Alice Miller on the day she wrote"}
    args = {"day": "2026-05-02", "guests": guests}
    policy = policy_of(LUNCH)
    assert decided(policy, Facts(TOOL, "create_event", args, input=request, history=History(evidence))) == rule


def test_a_value_is_known_from_the_later_of_the_two_events() -> None:
    """The set of an earlier moment can be read off, whatever the history has been read for before."""
    policy = policy_of(LUNCH)
    history = History([mail(3), contacts(5)])
    request = {"request": "Lunch with Alice Miller"}
    args = {"day": "2026-05-02", "guests": ["a@c.example"]}
    for as_of in (None, 3, 4, 5, 6, 5, 4, None, 6):
        facts = Facts(TOOL, "create_event", args, input=request, history=history, as_of=as_of)
        assert decided(policy, facts) == ("default" if as_of is not None and as_of <= 5 else "book")


def test_a_turn_lets_earlier_items_in() -> None:
    """What the user writes later counts for steps submitted after it, and not for those before."""
    policy = policy_of(LUNCH)
    history = History([mail(3), contacts(5)])
    args = {"day": "2026-05-02", "guests": ["a@c.example"]}
    first, second = ["Hello"], ["Hello", "with Alice Miller"]
    for turns, as_of, rule in [
        (None, None, "default"),
        (first, None, "default"),
        (second, None, "book"),
        (second, 5, "default"),
        (first, None, "default"),
        (second, 6, "book"),
        (None, 6, "default"),
        (second, None, "book"),
    ]:
        facts = Facts(TOOL, "create_event", args, input={}, history=history, as_of=as_of, turns=turns)
        assert decided(policy, facts) == rule


def test_a_history_forgets_what_it_read_for_earlier_turns() -> None:
    """However often the user writes, only the last few lists of turns are kept, and only their items wait."""
    policy = policy_of(
        'known k = turns or result of tool "seed" at []\nknown m = result of tool "list" at [].v where (item.by in k)\n'
        "rule r { allow any step when args.v in m }"
    )
    history = History([read(1, "list", *({"v": n, "by": f"b{n}"} for n in range(20)))])
    turns: list[str] = []
    for number in range(12):
        turns = [*turns, f"ask b{number}"]
        facts = Facts(TOOL, "t", {"v": number}, history=history, turns=turns)
        assert decided(policy, facts) == "r"
    gc.collect()
    alive = [one for one in gc.get_objects() if isinstance(one, growing.GivenForTurns)]
    assert 1 <= len([one for one in alive if len(one.turns or ()) > 4]) <= 5
    history.append(read(4, "seed", "b15"))
    facts = Facts(TOOL, "t", {"v": 15}, history=history, turns=turns)
    assert decided(policy, facts) == "r"


def test_any_turn_with_a_positive_test() -> None:
    """A `where` may ask for what is in the turns."""
    policy = policy_of(
        'known k = result of tool "list" at [] where (any turns[] contains "go")\n'
        "rule r { allow any step when args.v in k }"
    )
    history = History([read(3, "list", "a")])
    said = ["wait", "go on"]
    for turns in (None, said[:1], said, said[:1]):
        facts = Facts(TOOL, "t", {"v": "a"}, history=history, turns=turns)
        assert decided(policy, facts) == ("r" if turns == said else "default")


# ------------------------------------------------ against a naive fixed point


CHAIN = """
known base = ["a"] or result of tool "seed" at [].v where (item.ok == true)
known one = result of tool "link" at [].to where (item.from in base)
known two = base or result of tool "link" at [].to where (item.by in one or item.by == "x")
known three = result of tool "link" at [].by where (any item.all in two and item.from in one)
known loud = result of tool "note" words at [].text where (item.by in two ignoring case)
known last = loud or result of tool "link" at [].from where (item.to in loud and item.by in base)
known told = result of tool "note" at [].by where (item.text contains any one)
"""
SETS = ["base", "one", "two", "three", "loud", "last", "told"]
NAMES = ["a", "b", "c", "d", "A", "x", 1]
names = st.sampled_from(NAMES)
links = st.fixed_dictionaries(
    {}, optional={"from": names, "to": names, "by": names, "all": st.lists(names, max_size=2)}
)
seeds = st.fixed_dictionaries({"v": names, "ok": st.sampled_from([True, True, False, 1])})
notes = st.fixed_dictionaries({"text": st.sampled_from(["a b", "c, d", "bcd", "A", "xab"]), "by": names})
kinds: Any = {"link": links, "seed": seeds, "note": notes}


@st.composite
def histories(draw: st.DrawFn) -> list[Evidence]:
    found = []
    seq = 0
    for _ in range(draw(st.integers(0, 8))):
        seq += draw(st.integers(0, 2))
        target = draw(st.sampled_from(list(kinds)))
        found.append(read(seq, target, *draw(st.lists(kinds[target], min_size=1, max_size=3))))
    return found


def bundle(known: str, names: Sequence[str] = SETS) -> Policy:
    rules = [
        f'rule {name}_sure {{ allow tool "{name}" when args.v in {name} }}\n'
        f'rule {name}_perhaps {{ deny tool "{name}" when args.v in {name} }}'
        for name in names
    ]
    return policy_of("\n".join([known, *rules]))


def tri(rule: str) -> Tri:
    return True if rule.endswith("_sure") else None if rule.endswith("_perhaps") else False


def members(policy: Policy, history: History | None, as_of: int | None, names: Sequence[str] = SETS) -> dict[Any, Tri]:
    found: dict[Any, Tri] = {}
    for name in names:
        for value in NAMES:
            facts = Facts(TOOL, name, {"v": value}, history=history, as_of=as_of)
            found[name, value] = tri(policy.decide(facts).rule_id)
    return found


def contains(known: dict[Any, set[Any]], name: str, value: Any) -> bool:
    # A value that is left out is in no set.
    return value is not None and any(type(one) is type(value) and one == value for one in known[name])


def least_fixed_point(evidence: Sequence[Evidence]) -> dict[str, set[Any]]:
    """What is known for sure in the sets `base` to `three`: every item is asked until nothing changes."""
    known: dict[str, set[Any]] = {name: set() for name in SETS}
    known["base"].add("a")
    before = -1
    while before != (before := sum(map(len, known.values()))):
        for step in evidence:
            for item in step.result:
                if step.target == "seed" and item["ok"] is True:
                    known["base"].add(item["v"])
                if step.target != "link":
                    continue
                if contains(known, "base", item.get("from")):
                    known["one"].add(item.get("to"))
                if contains(known, "one", item.get("by")) or item.get("by") == "x":
                    known["two"].add(item.get("to"))
                if any(contains(known, "two", one) for one in item.get("all", ())) and contains(
                    known, "one", item.get("from")
                ):
                    known["three"].add(item.get("by"))
        known["two"] |= known["base"]
    return known


@given(histories())
def test_sets_are_the_least_fixed_point(evidence: list[Evidence]) -> None:
    """What is known for sure at each moment is what a naive reading finds."""
    policy = bundle(CHAIN)
    history = History(evidence)
    for as_of in sorted({step.seq for step in evidence} | {step.seq + 1 for step in evidence}):
        expected = least_fixed_point([step for step in evidence if step.seq < as_of])
        found = members(policy, history, as_of, SETS[:4])
        assert {key for key, answer in found.items() if answer} == {
            (name, value) for name in SETS[:4] for value in NAMES if contains(expected, name, value)
        }


@given(histories())
@settings(max_examples=40)
def test_live_read_anew_forked_and_explained_agree(evidence: list[Evidence]) -> None:
    """A history that grows step by step, one read anew, a fork and `explain` give the same sets at each moment."""
    policy, fresh = bundle(CHAIN), bundle(CHAIN)
    live, whole = History(), History(evidence)
    for number, step in enumerate(evidence):
        live.append(step)
        after = evidence[number + 1] if number + 1 < len(evidence) else None
        if after is not None and after.seq == step.seq:
            continue  # one event, with more than one piece of evidence
        as_of = step.seq + 1
        expected = members(fresh, History(evidence[: number + 1]), None)
        assert members(policy, live, None) == expected
        assert members(policy, whole, as_of) == expected
        for (name, value), answer in list(expected.items())[number % 6 :: 6]:
            facts = Facts(TOOL, name, {"v": value}, history=whole, as_of=as_of)
            assert tri(explain_decision(policy, facts).decision.rule_id) is answer


RANK: dict[Tri, int] = {False: 0, None: 1, True: 2}


@given(histories())
def test_sets_only_grow(evidence: list[Evidence]) -> None:
    """No later moment takes anything back."""
    policy, history = bundle(CHAIN), History(evidence)
    before: dict[Any, Tri] = {}
    for as_of in [*sorted({step.seq for step in evidence}), None]:
        found = members(policy, history, as_of)
        assert all(RANK[found[key]] >= RANK[answer] for key, answer in before.items())
        before = found


@given(histories(), st.randoms(use_true_random=False))
def test_the_order_of_the_reads_does_not_matter(evidence: list[Evidence], chance: Any) -> None:
    """The same reads in another order give the same sets."""
    shuffled = list(evidence)
    chance.shuffle(shuffled)
    other = [read(number, step.target, *step.result) for number, step in enumerate(shuffled)]
    policy = bundle(CHAIN)
    assert members(policy, History(evidence), None) == members(policy, History(other), None)


@given(histories(), st.integers(0, 12), st.data())
@settings(max_examples=40)
def test_the_bound_is_reached_at_the_same_step(evidence: list[Evidence], most: int, data: st.DataObject) -> None:
    """Live, read anew, forked and explained: beyond the bound a miss is maybe from the same event on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growing, "MAX_ITEMS", most)
        patch.setattr(explain_known, "MAX_ITEMS", most)
        test_live_read_anew_forked_and_explained_agree.hypothesis.inner_test(evidence)  # type: ignore[attr-defined]
        policy, history = bundle(CHAIN), History(evidence)
        name, value = data.draw(st.sampled_from(SETS)), data.draw(names)
        last = max([step.seq for step in evidence], default=0)
        answers = [
            tri(policy.decide(Facts(TOOL, name, {"v": value}, history=history, as_of=as_of)).rule_id)
            for as_of in range(last + 2)
        ]
        assert sorted(answers, key=lambda answer: RANK[answer]) == answers


def test_the_bound_counts_what_a_set_stands_on() -> None:
    """The items of a set and of all below it count together, whether the `where` takes them or not."""
    known = (
        'known k = ["a"] or result of tool "seed" at []\nknown m = result of tool "list" at [].v where (item.by in k)'
    )
    policy = bundle(known, ["m", "k"])
    history = History([read(1, "seed", "b", "c"), read(2, "list", {"v": "d", "by": "b"}, {"v": "e", "by": "x"})])
    history.append(read(4, "seed", "f"))
    with pytest.MonkeyPatch.context() as patch:
        for most, expected in [(5, (True, False, False)), (4, (True, None, None)), (3, (None, None, None))]:
            patch.setattr(growing, "MAX_ITEMS", most)
            patch.setattr(explain_known, "MAX_ITEMS", most)
            for at, value in enumerate("def"):
                facts = Facts(TOOL, "m", {"v": value}, history=again_history(history))
                assert tri(decided(policy, facts)) is expected[at]
                facts.as_of = 2
                assert tri(decided(policy, facts)) is False


def again_history(history: History) -> History:
    return History(history.evidence)


# ------------------------------------------------ what a set says


def test_a_where_that_is_maybe_gives_a_possible_value() -> None:
    """A sender that differs in case is perhaps known, and what it wrote is so too."""
    known = 'known k = input\nknown m = result of tool "list" at [].v where (item.by in k)'
    policy = bundle(known, ["m"])
    facts = Facts(TOOL, "m", {"v": "a"}, input="from Bob", history=History([read(1, "list", {"v": "a", "by": "bob"})]))
    assert tri(decided(policy, facts)) is None


def test_what_a_subagent_was_told_is_perhaps_known() -> None:
    """Delegated input makes an item no more than possible, unless the root's user wrote it."""
    known = 'known k = input\nknown m = result of tool "list" at [].v where (item.by in k)'
    policy = bundle(known, ["m"])
    history = History([read(1, "list", {"v": "a", "by": "Bob"})])
    for more, answer in [({}, None), ({"root_input": "ask Bob"}, True), ({"root_input": "ask Ann"}, None)]:
        facts = Facts(TOOL, "m", {"v": "a"}, input="from Bob", history=history, parent="boss", **more)  # type: ignore[arg-type]
        assert tri(decided(policy, facts)) is answer


def test_a_set_that_another_names_is_listed() -> None:
    """The values of a named set are those of the set that names it."""
    policy = policy_of('known k = ["x"] or result of tool "list" at []\nknown m = k or ["y"] or k')
    assert known_values(policy, Facts(TOOL, "t", history=History([read(1, "list", "z")]))) == {
        "k": ["x", "z"],
        "m": ["x", "y", "z"],
    }


def test_a_history_asked_by_a_test_on_history() -> None:
    """`in` a set in the `where` of `after` sees the set of the submission."""
    policy = policy_of(
        'known k = ["b"]\nknown m = result of tool "list" at [].v where (item.by in k)\n'
        'rule r { allow any step when after tool "pay" where (args.to in m) }'
    )
    pay = Evidence(1, TOOL, "pay", {"to": "a"}, {})
    history = History([pay, read(3, "list", {"v": "a", "by": "b"})])
    assert decided(policy, Facts(TOOL, "t", history=history)) == "r"
    assert decided(policy, Facts(TOOL, "t", history=history, as_of=3)) == "default"


def test_two_executions_of_one_history_object_do_not_mix() -> None:
    """Another input is read anew, and so are the items that wait for it."""
    known = (
        'known k = input or result of tool "seed" at []\nknown m = result of tool "list" at [].v where (item.by in k)'
    )
    policy = bundle(known, ["m", "k"])
    history = History([read(1, "list", {"v": "a", "by": "Bob"}, {"v": "c", "by": "Eve"})])
    inputs = ["ask Bob", "ask Ann"]
    for number, target, value, answer in [
        (0, "m", "a", True),
        (1, "k", "Ann", True),
        (1, "m", "a", False),
        (0, "m", "a", True),
        (0, "m", "c", False),
        (1, "k", "Bob", False),
    ]:
        facts = Facts(TOOL, target, {"v": value}, input=inputs[number], history=history)
        assert tri(decided(policy, facts)) is answer
    history.append(read(3, "seed", "Eve"))
    for number in (1, 0):
        facts = Facts(TOOL, "m", {"v": "c"}, input=inputs[number], history=history)
        assert tri(decided(policy, facts)) is True


# ------------------------------------------------ checks


def codes(text: str) -> list[tuple[str, str]]:
    bundle = read_soft_roots(parse_bundle(Source("default deny\n" + text))[0])
    return [(str(one.code), one.message) for one in check_bundle(bundle) if one.severity is Severity.ERROR]


WHERE = 'known k = ["a"]\nknown m = result of tool "x" at [] where ({})\nrule r {{ allow any step when args.a in m }}'


@pytest.mark.parametrize(
    ("where", "allowed"),
    [
        ("item in k", True),
        ("not (item not in k)", True),
        ("not (no item in k)", True),
        ("any item.a in k or every item.b in k", True),
        ("any item.a has (it.x in k and it.y != 1)", True),
        ("no item.a has (it.x not in k)", True),
        ("item contains any k", True),
        ("item not in k", False),
        ("not item in k", False),
        ("no item.a in k", False),
        ("no item.a has (it in k)", False),
        ("not (item.a == 1 and item.b in k)", False),
        ("not every item.a in k", False),
        ('any turns[] contains "x"', True),
        ("any turns[] has (it like item.v)", True),
        ('not any turns[] contains "x"', False),
        ('any turns[] != "x"', False),
        ('every turns[] contains "x"', False),
        ('no turns[] contains "x"', False),
        ("turns given", False),
        ("item in turns", False),
        ('no turns[] not contains "x"', False),
    ],
)
def test_only_what_is_in_a_set_that_grows_may_be_asked_for(where: str, allowed: bool) -> None:
    """A set that grows stays grown, so no item may rest on what is not in another one."""
    found = codes(WHERE.format(where))
    assert [code for code, _ in found] == ([] if allowed else ["misplaced-test"])


def test_no_set_stands_on_itself() -> None:
    """A circle is reported once, through sources and through `where` alike."""
    assert codes("known k = k\nrule r { allow any step when args.a in k }") == [
        ("cycle", "the `known` stands on itself: `k` → `k`")
    ]
    text = (
        'known k = m or ["a"]\nknown m = result of tool "x" at [] where (item in n)\nknown n = k\n'
        "rule r { allow any step when args.a in k }"
    )
    assert codes(text) == [("cycle", "the `known` stands on itself: `k` → `m` → `n` → `k`")]


def test_eight_sets_in_a_line() -> None:
    """Deeper lines are refused, also very deep ones."""

    def line(length: int) -> str:
        names = "\n".join(
            f'known k{n} = result of tool "x" at [] where (item in k{n - 1})' if n % 2 else f"known k{n} = k{n - 1}"
            for n in range(2, length + 1)
        )
        return f'known k1 = ["a"]\n{names}\nrule r {{ allow any step when args.a in k{length} }}'

    assert codes(line(8)) == []
    policy_of(line(8))
    assert [code for code, _ in codes(line(9))] == ["too-deep"]
    assert [code for code, _ in codes(line(1000))] == ["too-deep"]


@pytest.mark.parametrize("source", ["input", "turns", "input.x"])
def test_a_named_set_with_texts_cannot_be_mentioned(source: str) -> None:
    """`contains any` is an error through a name, too; through a `where` it is none."""
    test = 'rule r { deny any step when args.t contains any m because "no" }'
    assert [code for code, _ in codes(f"known k = {source}\nknown m = k\n{test}")] == ["bad-source"]
    where = 'known m = result of tool "x" at [] where (item in k)'
    assert codes(f"known k = {source}\n{where}\n{test}") == []


# ------------------------------------------------ time


def test_ten_thousand_steps_are_read_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Items that wait are asked again for what they wait for, not at every step."""
    policy = policy_of(
        'known seeds = ["v0"] or result of tool "seed" at []\n'
        'known m = result of tool "link" at [].to where (item.from in seeds)\n'
        "rule r { allow any step when args.v in m }"
    )
    asked = []
    answer = growing.GivenForTurns._answer

    def counted(*args: Any, **more: Any) -> Tri:
        asked.append(args)
        return answer(*args, **more)

    monkeypatch.setattr(growing.GivenForTurns, "_answer", counted)
    history = History()
    size = 10_000
    for number in range(size // 2):
        history.append(read(2 * number, "link", {"from": f"v{size // 2 - number}", "to": f"t{number}"}))
        history.append(read(2 * number + 1, "seed", f"v{number}"))
        facts = Facts(TOOL, "t", {"v": f"t{number}"}, history=history)
        policy.decide(facts)
    assert len(asked) <= size
