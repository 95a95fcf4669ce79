"""Where a value may come from: whole tokens and numbers of the input, lists, and what earlier steps left behind."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, overload

import pytest

from rebuno.policy.explain import provenance as explain_known
from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.matcher import provenance as known
from rebuno.policy.matcher import sources
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.matcher.sources import in_texts
from rebuno.policy.values import tokens
from rebuno.policy.values.json_values import Tri
from rebuno.policy.values.tokens import SearchableTexts, numbers, occurs
from tests.policy.bundles import again, policy_of

TOOL = "tool_call"


@pytest.mark.parametrize(
    ("text", "value", "found"),
    [
        ("bob", "bob", True),
        ("to bob, now", "bob", True),
        ("to (bob).", "bob", True),
        ("“bob”", "bob", True),
        ("a;bob;c", "bob", False),  # `;` is followed by more
        ("a;bob; c", "bob", True),
        ("bob?!", "bob", True),
        ("bob...\n", "bob", True),
        ("bob.smith", "bob", False),
        ("bobby", "bob", False),
        ("x-bob", "bob", False),
        ("bob@corp.example", "bob", False),
        ("=bob", "bob", False),
        ("bob bobby bob", "bobby", True),
        ("bobbob bob", "bob", True),  # a later occurrence counts
        ("New York, NY", "New York", True),
        ("a  b", " ", False),  # blank values never occur
        ("", "", False),
        ("bob" + "." * 9, "bob", False),
    ],
)
def test_whole_tokens(text: str, value: str, found: bool) -> None:
    """A value occurs only where it stands for itself."""
    assert occurs(text, value) is found


class Counted(Sequence[str]):
    """A text that counts how often one of its characters is looked at."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.looks = 0

    def __len__(self) -> int:
        return len(self.text)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> str: ...
    def __getitem__(self, index: int | slice) -> str:
        self.looks += 1
        return self.text[index]


@pytest.mark.parametrize(
    ("text", "value"),
    [("a" * 2000, "a" * 1000), ("ab" * 1000 + "c", "ab" * 500 + "c"), ("a " * 1000, "a " * 500 + "b"), ("x", "xy")],
)
def test_finding_what_overlaps_itself_is_linear(text: str, value: str) -> None:
    """However often a value begins in a text, each character is looked at a few times."""
    counted, sought = Counted(text), Counted(value)
    found = list(tokens.places(counted, sought, 0))
    assert found == [at for at in range(len(text)) if text.startswith(value, at)]
    assert counted.looks <= 2 * len(text)
    assert sought.looks <= 4 * (len(text) + len(value))


def test_a_search_turns_to_what_is_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Occurrences that are no tokens are tried until they have cost as much as the text is long, and no longer."""
    tried = []
    monkeypatch.setattr(tokens, "stands_alone", lambda text, start, end: tried.append(end - start))
    monkeypatch.setattr(tokens, "places", lambda text, value, start: [])
    for size in (1, 10, 1000, 5000):
        tried.clear()
        assert not occurs("a" * 10_000, "a" * size)
        assert sum(tried) <= 10_000 + 2 * size
    monkeypatch.undo()
    assert occurs("a" * 10_000 + " " + "a" * 5000, "a" * 5000)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("pay 50 to Bob", ["50"]),
        ("50.", ["50"]),
        ("$1,100.50 or 12€, (7)", ["1100.50", "12", "7"]),
        ("-3, +4, −5, -$6, $-7", ["-3", "4", "-5", "-6", "-7"]),
        ("--3 -+3", []),
        ("0.1 0", []),  # groups of digits side by side
        ("0.1; 0", ["0.1", "0"]),
        ("12,50 1'100 1.100,50", []),  # another country's way of writing is not guessed at
        ("1,10 1,1000 01 007", []),
        ("12\u2009500 12\u2007500", []),  # groups set apart by thin blanks
        ("5k 5% 5€x x5 #5 5-6 5/6 1e5 3rd", []),
        ("2024-05-15 11/01/2025 12:30 1.2.3", []),
        ("January 11th, 2025; 7 May; 3 of June 2024; in March 2023, Sept. 4", []),
        ("mayor 11", ["11"]),
        ("DE89 3704 0044 0532 0130 00", []),
        ("4111 1111 1111 1111", []),
        ("1,234,567", ["1234567"]),
        ("1\n2", ["1", "2"]),
    ],
)
def test_numbers_in_a_text(text: str, found: list[str]) -> None:
    """Numbers are read exactly; parts of dates, codes and digit groups are none."""
    assert numbers(text) == {Decimal(number) for number in found}


@pytest.mark.parametrize(
    ("given", "value", "answer"),
    [
        ("Pay Bob", "Bob", True),
        ("Pay BOB", "Bob", None),  # but for upper and lower case
        ({"a": ["x", {"b": "Bob"}]}, "Bob", True),
        ({"Bob": 1}, "Bob", False),  # keys are no words of the user's
        (50, 50.0, True),
        ("50", 50, True),
        (50, "50", False),  # a JSON number is no text
        ("0.1", 0.1, True),  # the decimal, not the double
        (2**53 + 1, float(2**53), False),
        (None, "Bob", False),
        ("\ud800", "Bob", None),  # cannot be read
        (b"Bob", "Bob", None),
        ({"a": "Bob", "b": b""}, "Bob", True),  # what cannot be read casts doubt on a miss only
        (float("nan"), 1, None),
        (True, 1, False),
    ],
)
def test_what_an_input_holds(given: Any, value: Any, answer: Tri) -> None:
    """Texts and numbers of the input are searched, wherever they stand."""
    assert SearchableTexts([given]).find(value) is answer


def test_many_searches_of_an_input_agree_with_few() -> None:
    """What an input holds does not depend on how often it was asked, and no value spans two of its texts."""
    given = ["pay Bob", "New York, now", "a.", ".b", "x ", " y", 'say "Straße"']
    values = ["Bob", "bob", "New York", "York", "Bob New", "a b", "a", "b", ".b", "x", "x ", " y", "y", "STRASSE", "ay"]
    few = [SearchableTexts([given]).find(value) for value in values]
    assert few == [True, None, True, True, False, False, True, False, True, True, True, True, True, None, False]
    many = SearchableTexts([given])
    for _ in range(10):
        assert [many.find(value) for value in values] == few


def test_beyond_the_bounds_of_an_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """What may stand beyond a bound is maybe, what stands before it is found."""
    assert SearchableTexts(["a", "x" * tokens.MAX_SEARCHED_TEXT, "b"]).find("b") is None
    assert SearchableTexts(["a", "x" * tokens.MAX_SEARCHED_TEXT, "b"]).find("a") is True
    monkeypatch.setattr(tokens, "MAX_VALUES", 10)
    assert SearchableTexts([[1] * 20]).find(2) is None
    endless: list[Any] = []
    endless.append(endless)
    assert SearchableTexts([endless]).find("a") is None


# ---------------------------------------------------------------- sets


def ask(source: str, value: Any, facts: Facts, predicate: str = "in k") -> Tri:
    """Whether `value` is in the set: by both evaluators, which must agree."""
    policy = policy_of(
        f"known k = {source}\nrule sure {{ allow any step when args.v {predicate} }}\n"
        f"rule perhaps {{ deny any step when args.v {predicate} }}"
    )
    facts.args = {"v": value}
    decided = policy.decide(facts).rule_id
    assert explain_decision(policy, again(facts)).decision.rule_id == decided
    return {"sure": True, "perhaps": None}.get(decided, False)


def listing(*items: Any, seq: int = 1, args: Any = None, target: str = "list") -> Evidence:
    return Evidence(seq, TOOL, target, args or {}, list(items))


@pytest.mark.parametrize(
    ("source", "value", "answer"),
    [
        ('["a", 1]', "a", True),
        ('["a"]', 1, False),  # no complaint about the type, unlike `in LIST`
        ('["A"]', "a", False),
        ("[1]", 1.0, True),
        ("[true]", True, True),
        ("[1]", True, False),
        ("input", True, None),  # a truth value cannot be looked for
        ('["a"]', ["a"], None),  # lists and objects are never members
        ('["a"]', {}, None),
        ('["a"]', "\ud800", None),
        ('["a"]', None, False),  # absent
        ('["x"] or input', "Bob", True),
        ('["x"] or input', "BOB", None),
        ("input.to", "Bob", False),
        ("input.who[]", "Bob", True),
        ("input.who.name", "Bob", None),  # cannot be reached
    ],
)
def test_lists_and_input(source: str, value: Any, answer: Tri) -> None:
    """A set is the Kleene or of its sources."""
    facts = Facts(TOOL, "t", input={"who": ["Bob", "pay Bob"]})
    assert ask(source, value, facts) is answer


@pytest.mark.parametrize(
    ("at", "result", "members", "strangers"),
    [
        ("[].to", [{"to": "a"}, {"to": "b"}, {}, 3, None], ["a", "b"], ["c"]),
        ("[].to", {"to": "a"}, ["a"], []),  # a single object counts as a list of one
        ("to", [{"to": "a"}], [], ["a"]),  # what does not fit gives nothing
        ("to", {"to": ["a"]}, [], ["a"]),  # nor do lists and objects
        ("to[]", {"to": ["a", 1.0, True]}, ["a", 1, True], ["1", 0]),
        ("to, cc[]", {"to": "a", "cc": ["b"]}, ["a", "b"], []),
        ("[0]", ["a", "b"], ["a"], ["b"]),
    ],
)
def test_results(at: str, result: Any, members: list[Any], strangers: list[Any]) -> None:
    """Values at the path of an earlier result are members, nothing else of it is."""
    facts = Facts(TOOL, "t", history=History([Evidence(1, TOOL, "list", {"to": "z"}, result)]))
    source = f'result of tool "list" at {at}'
    assert [ask(source, value, facts) for value in members] == [True] * len(members)
    assert [ask(source, value, facts) for value in strangers] == [False] * len(strangers)


@pytest.mark.parametrize(
    ("where", "value", "answer"),
    [
        ('item.by == "me"', "a", True),
        ('item.by == "me"', "b", False),
        ('item.by == "me"', "c", None),  # `by` is a number there
        ('item.by == "me"', "d", False),  # absent: no
        ('item.by != "me"', "d", None),  # absent and negated: maybe
        ('args.box == "in"', "a", True),  # the earlier step's arguments
        ('result[0].by == "me"', "b", True),  # the whole result
        ('target == "list"', "a", True),
        ('any item.tags in ["x"]', "a", True),
    ],
)
def test_where(where: str, value: str, answer: Tri) -> None:
    """`where` is asked for each item; a maybe makes a possible member."""
    rows = [{"v": "a", "by": "me", "tags": ["x"]}, {"v": "b", "by": "you"}, {"v": "c", "by": 1}, {"v": "d"}]
    facts = Facts(TOOL, "t", history=History([listing(*rows, args={"box": "in"})]))
    assert ask(f'result of tool "list" at [].v where ({where})', value, facts) is answer


def test_a_where_about_the_execution_follows_it() -> None:
    """What was indexed for one input does not answer for another."""
    policy = policy_of(
        'known k = result of tool "list" at [].v where (item.by == input.me and item.for == agent)\n'
        "rule sure { allow any step when args.v in k }"
    )
    history = History([listing({"v": "a", "by": "me", "for": "bot"})])

    def decided(given: Any, agent: str) -> str:
        facts = Facts(TOOL, "t", {"v": "a"}, input=given, agent=agent, history=history)
        return policy.decide(facts).rule_id

    answers = [decided({"me": "me"}, "bot"), decided({"me": "you"}, "bot"), decided({"me": "me"}, "other")]
    assert answers == ["sure", "default", "default"]


def test_another_input_is_read_anew() -> None:
    """One history serves one execution, but nothing breaks where it serves two inputs."""
    policy = policy_of("known k = input\nrule sure { allow any step when args.v in k }")
    history = History()
    answers = [
        policy.decide(Facts(TOOL, "t", {"v": "Bob"}, input=given, history=history)).rule_id
        for given in ("pay Bob", "pay Eve", "pay Bob")
    ]
    assert answers == ["sure", "default", "sure"]


def test_only_approved_arguments_of_approved_steps_count() -> None:
    """A result is evidence where the step succeeded, arguments where a person approved them."""
    evidence = [
        Evidence(1, TOOL, "send", {"to": "asked"}, {"to": "done"}),
        Evidence(2, TOOL, "send", {"to": "approved"}, {"to": "ignored"}, approved=True),
        Evidence(3, "local", "send", {"to": "local"}, approved=True),
    ]
    facts = Facts(TOOL, "t", history=History(evidence))
    values = ["asked", "done", "approved", "ignored", "local"]
    assert [ask('approved tool "send" at to', v, facts) for v in values] == [False, False, True, False, False]
    assert [ask('result of tool "send" at to', v, facts) for v in values] == [False, True, False, False, False]


def test_only_what_came_before_the_submission_counts() -> None:
    """`as_of` is exclusive, whatever the history has been read for before."""
    history = History([listing("a", seq=3), listing("b", "a", seq=5)])
    facts = Facts(TOOL, "t", history=history)
    source = 'result of tool "list" at []'
    for facts.as_of, known_values in [(None, "ab"), (3, ""), (4, "a"), (5, "a"), (6, "ab"), (0, "")]:
        assert "".join(v for v in "ab" if ask(source, v, facts)) == known_values


def test_a_set_that_overflows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound a hit is still yes, and a miss is maybe from the event on at which it overflowed."""
    for module in (known, sources, explain_known):
        monkeypatch.setattr(module, "MAX_KNOWN_VALUES", 3)
    facts = Facts(TOOL, "t", history=History([listing(1, 2, seq=1), listing(2, 3, seq=2), listing(4, 1, seq=5)]))
    source = 'result of tool "list" at []'
    assert [ask(source, value, facts) for value in (1, 3, 4, 9)] == [True, True, None, None]
    facts.as_of = 5
    assert [ask(source, value, facts) for value in (1, 3, 4, 9)] == [True, True, False, False]


def test_ignoring_case() -> None:
    """`in NAME ignoring case` folds every source."""
    facts = Facts(TOOL, "t", input="pay BOB", history=History([listing("Eve")]))
    source = '["Ann"] or input or result of tool "list" at []'
    for value in ("ann", "bob", "eve"):
        assert ask(source, value, facts) is not True
        assert ask(source, value, facts, "in k ignoring case") is True


def test_a_history_is_read_once() -> None:
    """A growing history costs what is new in it, not all of it at every step."""
    policy = policy_of('known k = result of tool "list" at []\nrule r { allow any step when args.v in k }')
    history = History()
    for seq in range(50):
        history.append(listing(seq, seq=seq))
        assert policy.decide(Facts(TOOL, "t", {"v": seq}, history=history)).rule_id == "r"
    (seen,) = history.indexes.values()
    assert (seen.read, len(seen.sure)) == (50, 50)


# ---------------------------------------------------------------- what facets give


@pytest.mark.parametrize(
    ("source", "predicate", "value", "answer"),
    [
        ("input", "date", "2025-01-11", True),
        ("input", "date", "January 11", True),
        ("input", "date", "2024-01-11", True),  # the user named no year
        ("input", "date", "2025-01-12", False),
        ("input", "date", "11/01/2025", None),
        ("input", "domain", "zoe@corp.example", True),  # one named address admits its whole domain
        ("input", "domain", "zoe@other.example", False),
        ("input", "host", "https://docs.example/other", True),
        ("input", "host", "https://docs.example.evil/", False),
        ("input", "number", "EUR 1,100", True),
        ("input", "number", 1100, True),
        ("input", "number", 11, False),  # part of the date
        ("input", "extension", "x.pdf", False),  # sought as the text that it is
        ("input", "path", "src/a.py", True),
        ("input", "path", "src/b/../a.py", True),
        ("input", "path", "SRC/a.py", None),  # the same place on some systems
        ("input.n", "number", 7, True),  # a number of the input
        ('["2025-01-11", "x"]', "date", "January 11, 2025", True),  # a list's values are read as literals
        ('["corp.example"]', "domain", "zoe@CORP.example", True),
        ('["ana@corp.example"]', "domain", "zoe@corp.example", True),  # and searched
        ('["x"]', "date", "2025-01-11", False),
        ('result of tool "list" at [].on', "date", "2025-03-01", True),
        ('result of tool "list" at [].on', "date", "2025-03-02", True),  # in a text, wherever it stands
        ('result of tool "list" at [].on', "date", "March 2", True),
        ('result of tool "list" at [].on', "date", "2025-03-03", False),
        ('result of tool "list" at date of [].on', "date", "2025-03-02", True),
        ('result of tool "list" at domain of [].by', "domain", "zoe@b.example", True),
        ('result of tool "list" at [].by', "domain", "zoe@b.example", True),
        ('result of tool "list" at host of link of [].say', "host", "https://c.example", True),
        ('result of tool "list" at [].say', "host", "https://c.example/y", True),
        ('approved tool "pay" at date of day', "date", "2025-05-05", True),
        ('approved tool "pay" at day', "date", "2025-05-06", False),
    ],
)
def test_values_are_sought_as_facets_read_them(source: str, predicate: str, value: Any, answer: Tri) -> None:
    """With a facet on the left, every source is searched for what the facet gives."""
    rows = [{"on": "2025-03-01", "by": "Bo <bo@b.example>"}, {"on": "on March 2nd, 2025", "by": "bo@b.example"}]
    evidence = [
        listing(*rows, {"say": "see https://c.example/x, or not"}),
        Evidence(2, TOOL, "pay", {"day": "2025-05-05"}, approved=True),
    ]
    text = "On January 11th pay 1,100 to ana@corp.example, see https://docs.example/a and src/a.py."
    facts = Facts(TOOL, "t", input={"say": text, "n": 7}, history=History(evidence))
    quick = facet_ask(predicate, source, value, facts)
    assert quick is answer


def facet_ask(facet: str, source: str, value: Any, facts: Facts) -> Tri:
    """Whether what the facet reads of `value` is in the set: by both evaluators, which must agree."""
    policy = policy_of(
        f"known k = {source}\nrule sure {{ allow any step when {facet} of args.v in k }}\n"
        f"rule perhaps {{ deny any step when {facet} of args.v in k }}"
    )
    facts.args = {"v": value}
    decided = policy.decide(facts).rule_id
    assert explain_decision(policy, again(facts)).decision.rule_id == decided
    return {"sure": True, "perhaps": None}.get(decided, False)


def test_what_a_facet_gave_is_not_compared_with_a_text() -> None:
    """A set of days cannot tell whether it holds a text: a miss is maybe, from the first day on."""
    history = History([listing({"d": "x"}, seq=1), listing({"d": "2025-01-11"}, seq=3)])
    facts = Facts(TOOL, "t", history=history)
    source = 'result of tool "list" at date of [].d'
    answers = []
    for facts.as_of in (3, 4):
        answers.append((ask(source, "2025-01-11", facts), facet_ask("path", source, "/a", facts)))
    assert answers == [(False, False), (None, None)]
    assert facet_ask("date", source, "2025-01-11", facts) is True


def test_a_where_is_asked_anew_for_every_item() -> None:
    """What facets read of one element is forgotten before the next."""
    rows = [{"v": "a", "by": "x@corp.example"}, {"v": "b", "by": "x@other.example"}, {"v": "c", "by": "x@corp.example"}]
    facts = Facts(TOOL, "t", history=History([listing(*rows)]))
    source = 'result of tool "list" at [].v where (domain of item.by == "corp.example")'
    assert [ask(source, value, facts) for value in "abc"] == [True, False, True]


def test_facets_of_the_input_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The input is searched once for each history, and again where the input is another."""
    policy = policy_of("known k = input\nrule r { allow any step when date of args.v in k }")
    history = History()
    reads = []

    def counted(*args: Any) -> Iterator[Any]:
        reads.append(args)
        return in_texts(*args)

    monkeypatch.setattr(sources, "in_texts", counted)
    given = "January 11"
    for _ in range(3):
        assert policy.decide(Facts(TOOL, "t", {"v": "2025-01-11"}, input=given, history=history)).rule_id == "r"
    other = Facts(TOOL, "t", {"v": "2025-01-11"}, input="January 12", history=history)
    assert policy.decide(other).rule_id == "default"
    assert len(reads) == 2


def test_an_input_with_too_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound a hit is yes and a miss is maybe, also of what facets find."""
    monkeypatch.setattr(sources, "MAX_KNOWN_VALUES", 3)
    facts = Facts(TOOL, "t", input="1, 2, 3, 4")
    assert [facet_ask("number", "input", value, facts) for value in (1, 3, 4, 9)] == [True, True, None, None]
