"""Laws of provenance and history: indexes, moments, submissions, agents and spellings make no difference."""

import itertools
from collections.abc import Sequence

import pytest

from rebuno.model.step import StepStatus
from rebuno.policy.explain.explain import explain
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.values.json_values import Tri
from tests.policy.bundles import again, policy_of

TOOL = "tool_call"


def tri(rule: str) -> Tri:
    return {"sure": True, "perhaps": None}.get(rule, False)


def bundle(test: str, known: str) -> str:
    """Two rules that tell the three answers of a test apart."""
    return f"{known}\nrule sure {{ allow any step when {test} }}\nrule perhaps {{ deny any step when {test} }}"


def paid(seq: int, to: object, **more: object) -> Evidence:
    args = {"to": to, "lines": [{"to": to, "tags": [to]}], "id": seq}
    return Evidence(seq, TOOL, "pay", args, {"to": to, "rows": [{"to": to}]}, step=f"s{seq}", **more)  # type: ignore[arg-type]


# ------------------------------------------------ one history, many submissions

THIS = [
    "args.to == this.args.to",
    "any args.lines[] has (it.to == this.args.to)",
    "any args.lines[].to == this.args.to",
    "any args.lines[] has (any it.tags has (it == this.args.to))",
    "any args.lines[].tags[] in this.args.all",
    "this.args.to == args.to",
    "this.args.to in result.rows[].to",
    "any this.args.all has (it == args.to)",
    "not (args.to != this.args.to)",
    "args.id given and (args.to missing or result.to == this.args.to)",
    "any result.rows[] has (it.to == this.args.to and it.to given)",
    "args.to in k",
    "any args.lines[] has (it.to in k)",
]


@pytest.mark.parametrize("where", THIS)
@pytest.mark.parametrize("form", ["after {}", "count({}) >= 1", "not after {}", "count({}) == 0", "count({}) < 2"])
def test_another_submission_gets_its_own_answer(where: str, form: str) -> None:
    """The same policy and history asked about one submission and then another: as if each were the first."""
    test = form.format(f'tool "pay" where ({where})')
    policy = policy_of(bundle(test, "known k = input"))
    history = History([paid(1, "bob"), paid(2, "ann", status=StepStatus.FAILED)])
    given = {"request": "Pay bob"}
    for order in itertools.permutations(["eve", "bob", "ann"]):
        for who in (*order, *order):
            facts = Facts(TOOL, "pay", {"to": who, "all": [who]}, input=given, history=history)
            fresh = again(facts)
            assert policy.decide(facts).rule_id == policy.decide(fresh).rule_id
            assert explain(policy, again(facts)).decision.rule_id == policy.decide(facts).rule_id


@pytest.mark.parametrize("where", ["", 'where (any result[].by == "me")', *(f"where ({where})" for where in THIS)])
def test_without_a_history_nothing_was_before(where: str) -> None:
    """A test with `this` or without it and no history, or an empty one: no earlier step is meant."""
    for history in (None, History()):
        for test, answer in (
            (f'after tool "pay" {where}', False),
            (f'count(tool "pay" {where}) < 1', True),
        ):
            policy = policy_of(bundle(test, "known k = input"))
            facts = Facts(TOOL, "pay", {"to": "bob", "all": ["bob"]}, input="bob", history=history)
            assert tri(policy.decide(facts).rule_id) is answer
            assert tri(explain(policy, facts).decision.rule_id) is answer


# ------------------------------------------------ moments

DOUBTFUL = 'result of tool "list" at [].v where (item.by == "me")'
MOMENTS = [
    ("args.v in k", DOUBTFUL),
    ("args.v not in k", DOUBTFUL),
    ("args.v in k ignoring case", DOUBTFUL),
    ("date of args.day in k", 'result of tool "list" at date of [].day where (item.by == "me")'),
    ("args.t contains any k", DOUBTFUL),
    ("args.v contains any k", DOUBTFUL),
    ("args.hidden contains any k", DOUBTFUL),
    # Too short to be looked for inside of words: found as a word or a number only.
    ("args.t contains any k", 'result of tool "list" at [].short where (item.by == "me")'),
    ("args.t contains any k", 'result of tool "list" at [].number where (item.by == "me")'),
    ('after tool "list" where (any result[].by == "me")', "input"),
    ('count(tool "list" where (any result[].v == this.args.v)) >= 2', "input"),
    ('count(tool "list" where (any result[].by == "me")) == 1', "input"),
]


def listed(seq: int, by: object, status: StepStatus = StepStatus.SUCCEEDED) -> Evidence:
    rows = [{"v": "alice", "by": by, "day": "2025-05-05", "short": "ann", "number": 417}]
    return Evidence(seq, TOOL, "list", {}, rows, status=status, step=f"s{seq}")


@pytest.mark.parametrize(("test", "known"), MOMENTS)
@pytest.mark.parametrize(
    "order", [*itertools.permutations(["me", 5, "you"]), (5, 5, "me"), (5, "me", 5), ("me", 5, "me")]
)
def test_a_history_read_further_answers_like_one_cut_there(test: str, known: str, order: Sequence[object]) -> None:
    """As of each moment, whatever has been read before, and however doubtful the value was each time."""
    policy = policy_of(bundle(test, f"known k = {known}"))
    evidence = [listed(2 * n + 1, by) for n, by in enumerate(order)]
    evidence.insert(1, listed(2, "me", StepStatus.FAILED))
    args = {"v": "alice", "t": "417 to alice or ann, now", "hidden": "k=alice1", "day": "May 5, 2025"}
    read = History(evidence)
    for moment in (None, 8, 1, 4, 2, 7, 3, 6, 5):
        cut = History([one for one in evidence if moment is None or one.seq < moment])
        here = policy.decide(Facts(TOOL, "t", args, history=cut)).rule_id
        assert policy.decide(Facts(TOOL, "t", args, history=read, as_of=moment)).rule_id == here
        assert explain(policy, Facts(TOOL, "t", args, history=read, as_of=moment)).decision.rule_id == here


@pytest.mark.parametrize(("test", "known"), MOMENTS)
def test_a_growing_history_is_read_on(test: str, known: str) -> None:
    """Asked after each step, the answers are those of a fresh history."""
    policy = policy_of(bundle(test, f"known k = {known}"))
    args = {"v": "alice", "t": "417 to alice or ann, now", "hidden": "k=alice1", "day": "May 5, 2025"}
    history = History()
    for seq, by in enumerate(["you", 5, "me", 5, "me"], 1):
        history.append(listed(seq, by))
        facts = Facts(TOOL, "t", args, history=history)
        assert policy.decide(facts).rule_id == policy.decide(again(facts)).rule_id


# ------------------------------------------------ agents and inputs that share a history


@pytest.mark.parametrize(
    "test", ["args.v in k", "args.t contains any k", 'after tool "list" where (any result[].by == {})']
)
@pytest.mark.parametrize("changed", ["agent", "input.me"])
def test_agents_that_share_a_history_have_their_own_values(test: str, changed: str) -> None:
    """A `where` about the agent follows the agent, no matter who asked before; one about the input the input."""
    known = f'known k = result of tool "list" at [].v where (item.by == {changed})'
    policy = policy_of(bundle(test.format(changed), known))
    history = History([listed(1, "me")])
    # One object for all: the indexes of a history are known by the input's identity.
    shared = {"me": "me"}
    for who in ("me", "you", "me"):
        # Only one of the two changes, so that a look at the other one does not stand in for it.
        agent, input = (who, shared) if changed == "agent" else ("me", {"me": who})
        facts = Facts(TOOL, "t", {"v": "alice", "t": "to alice"}, history=history, agent=agent, input=input)
        answer = policy.decide(facts).rule_id
        assert tri(answer) is (who == "me")
        assert policy.decide(again(facts)).rule_id == answer


# ------------------------------------------------ spellings

SPELLINGS = [
    ("address of args.v like {}", ['"fd00:*"', '"FD00:*"', '"Fd00:*"'], "https://[FD00::1]/", True),
    ("address of args.v == {}", ['"fd00::1"', '"FD00:0:0::1"', '"fd00:0000::0001"'], "https://[fd00::1]/", True),
    ("address of args.v under {}", ['"10.0.0.0/8"', '"::ffff:10.0.0.0/104"'], "http://10.1.2.3/", True),
    ("host of args.v == {}", ['"corp.example"', '"CORP.Example"', '"corp.example."'], "https://Corp.Example./", True),
    ("host of args.v under {}", ['"corp.example"', '"CORP.EXAMPLE"'], "https://a.corp.example/", True),
    ("host of args.v ends with {}", ['".example"', '".EXAMPLE"'], "https://corp.Example/", True),
    ("host of args.v starts with {}", ['"corp"', '"CORP"'], "https://corp.example/", True),
    ("host of args.v contains {}", ['"rp.ex"', '"RP.Ex"'], "https://corp.example/", True),
    ("host of args.v like {}", ['"*.example"', '"*.EXAMPLE"'], "https://corp.example/", True),
    ("scheme of args.v == {}", ['"https"', '"HTTPS"'], "HttpS://corp.example/", True),
    ("domain of args.v == {}", ['"corp.example"', '"Corp.EXAMPLE"'], "a@CORP.example", True),
    ("domain of args.v under {}", ['"corp.example"', '"CORP.example"'], "a@x.corp.example", True),
    ("extension of args.v == {}", ['".py"', '".PY"'], "a.Py", True),
    ("date of args.v == {}", ['"2025-05-05"', '"May 5th, 2025"', '"5 MAY 2025"'], "May 5, 2025", True),
    ("number of args.v == {}", ["1100", "1_100", '"1,100"', '"$1,100"', "1100.0"], "1,100", True),
    ("args.n == {}", ["1100", "1_100", "1100.0", "1.1e3"], "x", True),
    ("path of args.v == {}", ['"/a/b"', '"/a//b"', '"/a/./b/"', '"/a/c/../b"'], "/a/b", True),
    ("args.v under {}", ['"/a"', '"/a/"', '"//a"', '"/b/../a"'], "/a/b", True),
    ("program of args.v == {}", ['"ls"'], "ls -l", True),
]  # fmt: skip


@pytest.mark.parametrize(("test", "literals", "value", "answer"), SPELLINGS)
def test_ways_of_writing_a_literal_mean_one_thing(test: str, literals: list[str], value: str, answer: Tri) -> None:
    """A literal is read as the value is: case, dots, zeros and names of months make no difference."""
    quantifier = "every " if test.startswith("program") else ""
    for literal in literals:
        asked = quantifier + test.format(literal)
        try:
            policy = policy_of(bundle(asked, "known k = input"))
        except ValueError:
            pytest.fail(f"`{asked}` cannot be compiled")
        facts = Facts(TOOL, "t", {"v": value, "n": 1100})
        assert tri(policy.decide(facts).rule_id) is answer, asked
        assert tri(explain(policy, facts).decision.rule_id) is answer, asked


# The last two are long enough to be looked for inside of words, the others as words only.
@pytest.mark.parametrize("blank", ["", " ", "\t", "\u00a0", "\u2003", "   ", "\n", " " * 4, "\u00a0\t" * 4])
def test_a_blank_value_is_never_in_a_text(blank: str) -> None:
    """A blank value of a list, of a result or of an argument occurs nowhere, though each text has blanks."""
    history = History([Evidence(1, TOOL, "list", {}, [blank])])
    for test, known, answer in (
        ("args.t contains any k", 'result of tool "list" at []', False),
        ("args.v in k", "input", False),
        ("args.v in k ignoring case", "input", False),
        ("args.v in k", 'result of tool "list" at []', True),
    ):
        policy = policy_of(bundle(test, f"known k = {known}"))
        text = f"a{blank}b {blank} \u00a0\u2003\t\n   c"
        # A text that was searched often is searched by an index.
        for other in range(80):
            policy.decide(Facts(TOOL, "t", {"v": f"no{other}", "t": text}, input=text, history=history))
        facts = Facts(TOOL, "t", {"v": blank, "t": text}, input=text, history=history)
        assert tri(policy.decide(facts).rule_id) is answer
        assert tri(explain(policy, again(facts)).decision.rule_id) is answer
