"""F23 on the command line, embedded and over HTTP: `once`, `execution` and `agent` cover what they say."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import rebuno
from tests.cli.support import rebuno as command
from tests.sdk.served import Served, play

POLICY = """bundle house
default deny
known payees = result of tool "list_payees" at []
rule list { allow tool "list_payees" }
rule send { require approval for tool "send" because "money leaves the house" }
"""


@rebuno.tool("list_payees")
async def list_payees() -> list[str]:
    return ["DE75", "DE76"]


@rebuno.tool("send", idempotency="at_most_once")
async def send(to: str, amount: int) -> str:
    return f"sent {amount} to {to}"


async def payer(to: str, amount: int) -> str:
    await list_payees()
    return str(await send(to=to, amount=amount))


def test_where_grants_are_looked_up_no_sibling_overtakes_the_question(tmp_path: Path) -> None:
    """F15 for an agent that has a grant which does not cover the call: what follows the question waits for its answer,
    and each note is made once."""
    (tmp_path / "house.rbp").write_text(POLICY + 'rule note { allow tool "standing_note" }\n')
    place: dict[str, Any] = {"path": tmp_path / "a.db", "policy": tmp_path / "house.rbp", "agent": "payer"}
    made: list[str] = []
    note = rebuno.tool("standing_note", idempotency="at_most_once")(made.append)

    async def siblings() -> None:
        await asyncio.gather(note("first"), send("XX", 41), note("second"))

    [asked] = rebuno.run_sync(payer, {"to": "DE75", "amount": 40}, id="given", **place).approvals
    how = ("--scope", "agent", "--for", "7d", "--db", str(tmp_path / "a.db"))
    assert command("approval", "grant", asked.id, *how).code == 0
    for _ in range(2):
        blocked = rebuno.run_sync(siblings, id="siblings", **place)
        assert (blocked.status, made) == ("blocked", ["first"])
    assert command("approval", "grant", blocked.approvals[0].id, "--db", str(tmp_path / "a.db")).code == 0
    assert rebuno.run_sync(siblings, id="siblings", **place).status == "completed"
    assert sorted(made) == ["first", "second"]


def test_the_command_gives_lists_and_takes_back(tmp_path: Path) -> None:
    """It says what is covered before it is given; later runs go on without a question until it is revoked."""
    (tmp_path / "house.rbp").write_text(POLICY)
    db = ("--db", str(tmp_path / "a.db"))

    def run(key: str, to: str = "DE75", amount: int = 40) -> rebuno.Execution:
        call = {"to": to, "amount": amount}
        return rebuno.run_sync(payer, call, path=tmp_path / "a.db", policy=tmp_path / "house.rbp", id=key)

    [asked] = run("first").approvals
    for more, code, words in (
        (("--scope", "agent"), 2, "needs an end"),
        (("--for", "7d"), 2, "only a grant of the scope `agent`"),
        (("--scope", "agent", "--for", "long"), 2, "`--for long`"),
        (("--scope", "agent", "--for", "7d", "--known", "to"), 2, "ARG=NAME"),
        (("--scope", "agent", "--for", "7d", "--known", "to=people"), 2, "no `known` of the name"),
        (("--scope", "agent", "--for", "7d", "--edit", '{"amount": 1}'), 2, "given alone"),
    ):
        ran = command("approval", "grant", asked.id, *more, *db)
        assert (ran.code, words in ran.err) == (code, True), ran
    how = ("--scope", "agent", "--for", "7d", "--known", "to=payees", "--as", "ana")
    ran = command("approval", "grant", asked.id, *how, *db)
    assert ran.code == 0, ran
    said = " ".join(ran.out.split())
    assert "with amount = 40, to in the known set payees, in every run of its agent for 7d" in said
    assert run("first").output == "sent 40 to DE75"
    assert run("second", "DE76").output == "sent 40 to DE76"
    assert [run(key, *args).status for key, args in (("x", ("XX", 40)), ("y", ("DE75", 41)))] == ["blocked", "blocked"]
    told = " ".join(command("exec", "trace", "second", *db).out.split())
    assert "let in by the standing grant" in told
    assert "of ana, until" in told
    listed = command("grant", "ls", *db)
    assert (listed.code, "payees" in listed.out) == (0, True), listed
    [one] = json.loads(command("grant", "ls", "--json", *db).out)["grants"]
    assert (one["agent_id"], one["matches"]["known"], one["granted_by"]) == ("payer", {"to": "payees"}, ["ana"])
    assert command("grant", "rm", one["id"], "--as", "eva", *db).code == 0
    assert command("grant", "rm", one["id"], "--as", "eva", *db).code == 4
    assert command("grant", "rm", "nothing", *db).code == 4
    assert "no grants" in command("grant", "ls", *db).out
    assert "revoked by eva" in " ".join(command("grant", "ls", "--all", *db).out.split())
    assert run("third", "DE76").status == "blocked"


def test_it_is_given_listed_and_revoked_over_http() -> None:
    """By the key's name, for the runs of that agent alone."""

    async def scenario(kernel: Served) -> None:
        async with kernel.agent("payer", payer, bundle=POLICY), kernel.agent("other", payer, bundle=POLICY):
            call = {"to": "DE75", "amount": 40}
            made = await kernel.client.create("payer", call)
            await kernel.ended(made.id)
            [question] = await kernel.client.list_approvals(execution_id=made.id)
            with pytest.raises(rebuno.ValidationError, match="needs an end"):
                await kernel.client.grant_approval(question.id, scope="agent")
            await kernel.client.grant_approval(question.id, scope="agent", for_seconds=3600.0, free=["amount"])
            assert (await kernel.ended(made.id)).output == "sent 40 to DE75"
            again = await kernel.client.create("payer", {"to": "DE75", "amount": 41})
            assert (await kernel.ended(again.id)).output == "sent 41 to DE75"
            other = await kernel.client.create("other", call)
            assert (await kernel.ended(other.id)).status == "blocked"
            [grant] = await kernel.client.list_grants()
            assert grant.matches == {"args": {"to": "DE75"}, "known": {}, "free": ["amount"]}
            assert (await kernel.client.revoke_grant(grant.id)).revoked_by
            assert await kernel.client.list_grants() == []
            last = await kernel.client.create("payer", call)
            assert (await kernel.ended(last.id)).status == "blocked"

    play(scenario)
