"""Inputs that attacks on the second edition of the rule language found."""

from typing import Any

import pytest

from rebuno.policy.check.bundle import check_bundle
from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.matcher import mentions
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.soft_roots import read_soft_roots
from rebuno.policy.syntax.source import Source
from rebuno.policy.values.readings import readings
from tests.policy.naive.reading import policy_of

SECRETS = 'known secrets = result of tool "read_vault" at [].password'


def answer(prologue: str, test: str, facts: Facts) -> str:
    """yes, maybe or no, by `decide` and `explain` alike."""
    rules = (("yes", "allow"), ("maybe", "deny"))
    text = "\n".join([prologue, *(f"rule {name} {{ {verdict} any step when {test} }}" for name, verdict in rules)])
    policy = policy_of(text)
    decided = policy.decide(facts).rule_id
    assert explain_decision(policy, facts).decision.rule_id == decided
    return decided.replace("default", "no")


def past(*steps: Evidence) -> History:
    """A history of these steps."""
    return History(steps)


@pytest.mark.parametrize(
    ("password", "body"),
    [("A+B+C", "A + B + C"), ("a+bc", "a\n+\nb\nc"), ("a+bc", "%61 %2B %62 %63"), ("A+B+C", "A+B+C")],
)
def test_a_plus_sign_is_part_of_a_value(password: str, body: str) -> None:
    """A value with `+` is found in a text with blanks between its characters."""
    read = past(Evidence(1, "tool_call", "read_vault", {}, [{"password": password}]))
    asked = Facts("tool_call", "send_mail", {"body": body}, history=read)
    assert answer(SECRETS, "args.body contains any secrets", asked) in ("maybe", "yes")


@pytest.mark.parametrize("test", ['count(tool "pay" within 1h) < 1', 'sum(tool "pay" at args.n within 1h) < 1'])
@pytest.mark.parametrize(("start", "now"), [(float("nan"), 50.0), (50.0, float("nan")), (100.0, 50.0)])
def test_a_time_that_is_none_is_perhaps_inside(test: str, start: float, now: float) -> None:
    """`within` of a clock that gives no number, or a number that lies behind the step."""
    paid = past(Evidence(1, "tool_call", "pay", {"n": 5}, at=start))
    assert answer("", test, Facts("tool_call", "pay", {"n": 5}, history=paid, now=now)) == "maybe"


@pytest.mark.parametrize("unit", ["'", "'\u200b", "a'", '"', "\u2019\u00ad"])
def test_a_long_run_of_quotes_is_no_word(unit: str) -> None:
    """A value of quotes in a text of quotes. It took a time that grew with the square of the text."""
    said: Any = {"request": (unit * 100_000)[:100_000]}
    asked = Facts("tool_call", "pay", {"to": (unit * 50)[:50]}, input=said)
    policy = policy_of("known asked = input.request\nrule r { allow any step when args.to in asked }")
    assert policy.decide(asked).rule_id == "default"


@pytest.mark.parametrize(
    ("test", "code"),
    [
        ('turns.x == "a"', "bad-path"),
        ('any turns[].x == "a"', "bad-path"),
        ('turns[0][1] == "a"', "bad-path"),
        ('any turns.* == "a"', "bad-path"),
        ('any turns[] == "a"', ""),
        ('turns[0] == "a"', ""),
        ("args.x in said", "bad-path"),
        ('sum(tool "a" at host of args.x) < 5', "wrong-type"),
        ('sum(tool "a" at text of args.x) < 5', "wrong-type"),
        ('sum(tool "a" at amount of args.x) < 5', ""),
        ('count(tool "a") >= 0', "always-holds"),
        ('count(tool "a" where (args.x == this.args.x)) < 0', "never-holds"),
        ('sum(tool "a" at args.x) < 0', "never-holds"),
        ('sum(tool "a" at args.x) != -1', "always-holds"),
        ('args.y == 1 and (count(tool "a") >= 0 or args.x == 1)', "always-holds"),
        ('count(tool "a") < 1', ""),
        ('sum(tool "a" at args.x) <= 0', ""),
    ],
)
def test_nonsense_is_named(test: str, code: str) -> None:
    """What `check` says of a condition that has no meaning."""
    known = "known said = turns.x\n" if "said" in test else ""
    text = f'default deny because "x"\n{known}rule r {{ allow tool "x" when {test} because "x" }}'
    bundle, broken = parse_bundle(Source(text))
    assert not broken
    assert {one.code for one in check_bundle(read_soft_roots(bundle))} == ({code} if code else set())


def test_one_text_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block that asks for the same long text again and again."""
    read: list[str] = []

    def counted(text: str) -> Any:
        read.append(text)
        return readings(text)

    monkeypatch.setattr(mentions, "readings", counted)
    asked = Facts("tool_call", "x", {"a": ["x"] * 500, "b": "x%25" * 25_000})
    test = "rule r { allow any step when every args.a[] has (not args.b contains any secrets) }"
    policy = policy_of(f'known secrets = ["hunter2-77"]\n{test}')
    policy.decide(asked)
    assert read.count(asked.args["b"]) == 1


def test_a_search_that_is_kept_follows_the_history() -> None:
    """The same text, asked before and after a step gave what it holds, and as of both moments."""
    policy = policy_of(f"{SECRETS}\nrule r {{ deny any step when args.b contains any secrets }}\ndefault allow")
    history = past(Evidence(1, "tool_call", "read_vault", {}, [{"password": "other-pw"}]))
    asked = Facts("tool_call", "x", {"b": "it is hunter2-77"}, history=history)
    assert policy.decide(asked).rule_id == "default"
    history.append(Evidence(5, "tool_call", "read_vault", {}, [{"password": "hunter2-77"}]))
    assert policy.decide(asked).rule_id == "r"
    asked.as_of = 3
    assert policy.decide(asked).rule_id == "default"
    asked.as_of = None
    assert policy.decide(asked).rule_id == "r"
