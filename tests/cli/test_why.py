"""What a person who is asked sees of why, and how a decision and its rules are explained afterwards."""

import json
from pathlib import Path
from typing import Any

import pytest

import rebuno as library
from tests.cli.support import rebuno
from tests.sdk.served import Served, play

POLICY = """bundle house
default deny
known payees = result of tool "list_payees" at []
rule list { allow tool "list_payees" }
rule known { allow tool "pay" when args.to in payees and args.amount <= 50 because "known" }
rule pay { require approval for tool "pay" because "money leaves the house" message "Pay?" }
rule never_used { deny tool "nothing" because "n" }
"""


@library.tool("list_payees")
async def list_payees() -> list[str]:
    return ["DE75", "DE76"]


@library.tool("pay", idempotency="at_most_once")
async def pay(to: str, amount: int, note: str) -> str:
    return f"paid {amount} to {to}"


async def payer(to: str, amount: int) -> str:
    await list_payees()
    return str(await pay(to=to, amount=amount, note="for the cat"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store in which a payment was granted, and another one waits."""
    (tmp_path / "house.rbp").write_text(POLICY)
    [asked] = run(tmp_path, "first", "DE75", 60).approvals
    assert rebuno("approval", "grant", asked.id, "--as", "ana", "--rationale", "known", *db(tmp_path)).code == 0
    run(tmp_path, "first", "DE75", 60)
    run(tmp_path, "second", "XX99", 40)
    run(tmp_path, "third", "DE75", 40)
    return tmp_path


def run(folder: Path, key: str, to: str, amount: int) -> library.Execution:
    """One run of the payer."""
    call = {"to": to, "amount": amount}
    return library.run_sync(payer, call, path=folder / "a.db", policy=folder / "house.rbp", id=key)


def db(folder: Path) -> tuple[str, str]:
    """Where the store is."""
    return "--db", str(folder / "a.db")


def test_a_question_says_why_it_is_asked(folder: Path) -> None:
    """The tests that were not yes, where each argument stands, what was done before, what was answered last time."""
    [row] = json.loads(rebuno("approval", "ls", "--json", *db(folder)).out)["approvals"]
    told: dict[str, Any] = json.loads(rebuno("approval", "get", row["id"], "--json", *db(folder)).out)["why"]
    assert (told["rule"], told["reason"], told["done_before"]) == ("pay", "money leaves the house", 1)
    assert ("known", "args.to in payees", "no") in [(one["rule"], one["test"], one["answer"]) for one in told["tests"]]
    assert all(one["answer"] in ("no", "maybe") for one in told["tests"])
    stands = {one["path"]: [place["from"] for place in one["stands"]] for one in told["origins"]}
    assert stands == {"args.amount": ["request"], "args.note": ["nowhere"], "args.to": ["request"]}
    assert [(one["target"], one["status"]) for one in told["before"]] == [("list_payees", "succeeded")]
    assert (told["last"]["status"], told["last"]["decided_by"], told["last"]["rationale"]) == (
        "granted",
        "ana",
        "known",
    )
    shown = " ".join(rebuno("approval", "get", row["id"], *db(folder)).out.split())
    for words in ("args.to in payees", "args.note: nowhere", "args.amount: the request", "granted by ana at"):
        assert words in shown, words


def test_a_value_of_a_result_is_said_to_come_from_it(folder: Path) -> None:
    """It stands in the request too here: both are told."""
    [asked] = run(folder, "fourth", "DE76", 70).approvals
    told = json.loads(rebuno("approval", "get", asked.id, "--json", *db(folder)).out)["why"]
    [to] = [one["stands"] for one in told["origins"] if one["path"] == "args.to"]
    assert [(one["from"], one.get("target")) for one in to] == [("request", None), ("result", "list_payees")]


def test_a_decision_is_explained_then_and_today(folder: Path) -> None:
    """On the facts of then: under its own bundle, and under that of the newest run."""
    steps = json.loads(rebuno("exec", "trace", "third", "--json", *db(folder)).out)["steps"]
    paid = steps[1]["step_id"]
    told = json.loads(rebuno("exec", "explain", "third", paid[:12], "--json", *db(folder)).out)
    assert (told["recorded"]["rule_id"], told["then"]["rule"], told["then"]["decision"]) == ("known", "known", "allow")
    assert told["today"] == told["then"]
    shown = " ".join(rebuno("exec", "explain", "third", paid, *db(folder)).out.split())
    assert "which is today's" in shown
    assert "yes: args.to in payees" in shown
    (folder / "house.rbp").write_text(POLICY.replace("<= 50", "<= 30"))
    [asked] = json.loads(rebuno("approval", "ls", "--json", *db(folder)).out)["approvals"]
    assert rebuno("approval", "grant", asked["id"], *db(folder)).code == 0
    run(folder, "second", "XX99", 40)
    other = json.loads(rebuno("exec", "trace", "second", "--json", *db(folder)).out)["steps"][1]["step_id"]
    told = json.loads(rebuno("exec", "explain", "second", other, "--json", *db(folder)).out)
    assert told["then"]["rule"] == told["today"]["rule"] == "pay"
    assert told["today_digest"] != told["recorded"]["digest"]
    assert rebuno("exec", "explain", "third", "ffffffffffff", *db(folder)).code == 4


def test_rules_are_counted_zeros_included(folder: Path) -> None:
    """By verdict, on yes and on maybe, with how questions were answered."""
    told = json.loads(rebuno("policy", "stats", "--since", "7d", "--json", *db(folder)).out)
    rows = {(one["rule_id"], one["verdict"]): one for one in told["rules"]}
    assert (told["executions"], told["steps"]) == (3, 6)
    assert [rows[key]["yes"] for key in (("list", "allow"), ("known", "allow"), ("pay", "require_approval"))] == [
        3,
        1,
        2,
    ]
    assert (rows["pay", "require_approval"]["granted"], rows["never_used", "deny"]["yes"]) == (1, 0)
    assert "never_used" in rebuno("policy", "stats", *db(folder)).out
    assert json.loads(rebuno("policy", "stats", "--since", "0s", "--json", *db(folder)).out)["executions"] == 0
    assert rebuno("policy", "stats", "--since", "long", *db(folder)).code == 2


def test_an_answer_is_shown_as_a_rule(folder: Path) -> None:
    """The narrowest one, in front of the rule that asked; the bundle with it allows the call. Nothing is changed."""
    [asked] = json.loads(rebuno("approval", "ls", "--json", *db(folder)).out)["approvals"]
    before = (folder / "house.rbp").read_text()
    made = json.loads(rebuno("approval", "grant", asked["id"], "--as-rule", "--json", *db(folder)).out)
    shown = rebuno("approval", "grant", asked["id"], "--as-rule", *db(folder))
    assert (shown.code, "+  when args.amount == 40" in shown.out, "expect: allow" in shown.out) == (0, True, True)
    assert (folder / "house.rbp").read_text() == before
    assert json.loads(rebuno("approval", "get", asked["id"], "--json", *db(folder)).out)["status"] == "pending"
    place = before.index("rule pay")
    (folder / "new.rbp").write_text(f"{before[:place]}{made['rule']}\n\n{before[place:]}")
    (folder / "new.policytest.yaml").write_text(f"cases:\n{made['case']}")
    assert rebuno("policy", "check", str(folder / "new.rbp")).code == 0
    assert rebuno("policy", "test", str(folder / "new.rbp")).code == 0
    for args, decision in (
        ({"to": "XX99", "amount": 40, "note": "for the cat"}, "allow"),
        ({"to": "XX99", "amount": 41, "note": "for the cat"}, "require_approval"),
        ({"to": "XX99", "amount": 40, "note": "for the cat", "bcc": 1}, "require_approval"),
        ({"to": "XX99", "amount": 40}, "require_approval"),
    ):
        asks = ("--target", "pay", "--args", json.dumps(args), "--expect", decision)
        assert rebuno("policy", "explain", str(folder / "new.rbp"), *asks).code == 0, args


def test_the_same_over_http() -> None:
    """`why` of one question, and `explain` of a step."""

    async def scenario(kernel: Served) -> None:
        async with kernel.agent("payer", payer, bundle=POLICY):
            made = await kernel.client.create("payer", {"to": "XX99", "amount": 40})
            await kernel.ended(made.id)
            [listed] = await kernel.client.list_approvals(execution_id=made.id)
            question = await kernel.client.get_approval(listed.id)
            assert (listed.why, question.why["rule"], question.why["last"]) == (None, "pay", None)
            made_rule = await kernel.client.allowing_rule(question.id)
            assert 'args.to == "XX99"' in made_rule["diff"]
            told = await kernel.client.explain(made.id, question.step_id)
            assert (told["then"]["rule"], told["today"]["rule"]) == ("pay", "pay")
            await kernel.client.set_policy("payer", POLICY.replace("<= 50", "<= 30"))
            told = await kernel.client.explain(made.id, question.step_id)
            assert told["today_digest"] != told["recorded"]["digest"]
            with pytest.raises(library.NotFoundError):
                await kernel.client.explain(made.id, "f" * 64)

    play(scenario)
