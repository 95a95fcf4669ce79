"""`rebuno verify`: what it says of kernels that keep their promises, and of such that break one."""

import asyncio
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rebuno as kernel
from rebuno import embedded
from rebuno.errors import BundleError
from rebuno.journal.sqlite import SQLiteStore
from rebuno.journal.sqlite.file_watch import FileWatch
from rebuno.journal.sqlite.marks import Marks
from rebuno.kernel.core import budgets, grants, settle, stops
from rebuno.kernel.core.effects import Routed
from rebuno.kernel.core.settle import TABLE, State
from rebuno.kernel.history.audit import Audit
from rebuno.model.answer import Answer, AnswerKind
from rebuno.model.decision import Verdict
from rebuno_cli.verifying.outcome import PromiseOutcome
from rebuno_cli.verifying.prepare import prepare
from rebuno_cli.verifying.promises import PROMISES, verify
from tests.cli.support import Ran, rebuno

BUNDLE = """\
bundle shop
default deny because "not a tool of the shop"

limit daily = 500 of args.amount per 24h for all agents together

rule look { allow tool "look" }
rule search { allow tool "search" limit 2 per 1h for each agent }
rule pay { allow tool "pay" when args.amount > 0 limit daily else require approval }
rule mail { allow tool "mail" limit 3 per 1s else wait up to 10s }
rule refund { require approval for tool "refund" when args.amount <= 90 approvers "ana", "ben", "cy" quorum 2 }
rule think { allow llm "gpt-*" budget 1_000 tokens per execution }
"""
CASES = """\
cases:
  - {name: a payment, target: pay, args: {amount: 120}, expect: allow}
  - {name: a refund, target: refund, args: {amount: 20}, expect: require_approval}
  - {name: after a look, target: refund, args: {amount: 1}, history: [{target: look}], expect: require_approval}
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A bundle that allows, asks, denies, and counts in each way."""
    (tmp_path / "shop.rbp").write_text(BUNDLE, encoding="utf-8")
    (tmp_path / "shop.policytest.yaml").write_text(CASES, encoding="utf-8")
    return tmp_path


def recorded(folder: Path) -> Path:
    """A store with a run that looked, was refused a tool, and waits for a refund."""

    async def handler() -> None:
        await kernel.wrap_tool("look", lambda args: {"seen": args})(at="shoes")
        await kernel.wrap_tool("steal", lambda args: None)(what="shoes")
        await kernel.wrap_tool("refund", lambda args: None)(amount=20)

    async def made() -> None:
        async with kernel.open(folder / "agent.db", policy=folder / "shop.rbp") as opened:
            for number in range(3):
                await opened.run(handler, {"n": number}, id=f"run-{number}", agent="clerk")
            # In force where the promises are tried it would stop all of them.
            await opened.operator.stop(everything=True, by="ana")

    asyncio.run(made())
    return folder / "agent.db"


def told(ran: Ran) -> dict[str, dict[str, Any]]:
    """Of each promise what the JSON says."""
    return {one["id"]: one for one in json.loads(ran.out)["promises"]}


def test_all_promises_hold_on_a_bundle_and_a_copy_of_a_store(shop: Path) -> None:
    """Steps come from the cases, the store and the names in the rules. The store stays as it was, to the byte."""
    store = recorded(shop)
    before = {path.name: path.read_bytes() for path in shop.iterdir() if path.is_file()}
    ran = rebuno("verify", "--policy", "shop.rbp", "--db", str(store), "--json", within=shop)
    assert {path.name: path.read_bytes() for path in shop.iterdir() if path.is_file()} == before
    assert ran.code == 0, ran.out
    data = json.loads(ran.out)
    assert {one["id"]: one["outcome"] for one in data["promises"]} == dict.fromkeys(PROMISES, "holds")
    assert data["holds"] is True
    assert data["store"] == {"path": str(store), "database": False, "executions": 3}
    assert data["policy"]["name"] == "shop"
    assert all(one["tried"] and not one["faults"] and one["why"] is None for one in data["promises"])
    # `deny` is tried on the step that the store has recorded, `ask` on that of the case.
    promises = told(ran)
    assert any("`steal` (a step of execution " in step for step in promises["denied"]["tried"])
    assert any("`refund` (the case `a refund`)" in step for step in promises["asked"]["tried"])
    assert any("`pay` (the case `a payment`): 7 calls" in step for step in promises["limits"]["tried"])
    assert any("of execution " in change for change in promises["changed-row"]["tried"])
    assert ran.err == ""


def test_what_does_not_apply_says_why(tmp_path: Path) -> None:
    """A bundle that allows everything denies nothing, asks about nothing and has no limit; all else is tried."""
    (tmp_path / "all.rbp").write_text("bundle everything\ndefault allow\n", encoding="utf-8")
    ran = rebuno("verify", "--policy", "all.rbp", within=tmp_path)
    assert ran.code == 0
    assert "bundle everything" in ran.out
    assert "on an empty store" in ran.out
    assert "the bundle denies none of the 3 steps that were tried" in ran.out
    assert "the bundle has no limit" in ran.out
    assert "7 hold, 0 fail, 7 do not apply" in ran.out


def test_the_bundle_of_the_store(shop: Path) -> None:
    """Without --policy the bundle of the newest execution is taken from the store, its file may be gone."""
    store = recorded(shop)
    (shop / "shop.rbp").unlink()
    ran = rebuno("verify", "--only", "denied", "--only", "other-bundle", "--json", env={"REBUNO_DB_URL": str(store)})
    assert ran.code == 0, ran.err
    assert {one: promise["outcome"] for one, promise in told(ran).items()} == {
        "denied": "holds",
        "other-bundle": "holds",
    }


def test_a_store_that_others_write_to_is_copied_as_it_stands(shop: Path) -> None:
    """Another process has it open, and what it committed stands in the log of writes beside the file."""
    store = recorded(shop)
    program = (
        "import sqlite3, sys\n"
        "store = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "store.execute('PRAGMA wal_autocheckpoint = 0')\n"
        "store.execute('UPDATE executions SET updated_at = updated_at + 1')\n"
        "print('open', flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", program, str(store)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        log = store.with_name("agent.db-wal").read_bytes()
        assert log
        ran = rebuno("verify", "--policy", "shop.rbp", "--db", str(store), "--only", "chain", "--json", within=shop)
        assert store.with_name("agent.db-wal").read_bytes() == log
    assert ran.code == 0, ran.out
    assert json.loads(ran.out)["store"]["executions"] == 3


# ---------------------------------------------------------------- kernels that break a promise

Break = Callable[[pytest.MonkeyPatch], None]


def runs_what_is_denied(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(TABLE[State.ABSENT], Verdict.DENY, settle._start_new)


def takes_a_denial_for_a_question(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(TABLE[State.ABSENT], Verdict.DENY, settle._ask_new)


def runs_what_must_be_asked(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(TABLE[State.ABSENT], Verdict.APPROVAL, settle._start_new)


def stops_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(stops, "_stops", lambda stop, attempt, step: False)


def repeats_what_was_started(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(
        TABLE[State.STARTED],
        Verdict.ALLOW,
        lambda attempt, step, known, today: settle._executing(attempt, known, today),
    )


def replays_something_else(patch: pytest.MonkeyPatch) -> None:
    whole = settle._replay
    patch.setattr(embedded._Direct, "recorded", lambda self, key: None)
    patch.setitem(
        TABLE[State.ENDED],
        Verdict.ALLOW,
        lambda *asked: Routed(replace(whole(*asked).answer, result='"another"')),
    )


def forgets_what_was_done(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(embedded._Direct, "recorded", lambda self, key: None)
    done = Answer(AnswerKind.PROCEED)
    patch.setitem(
        TABLE[State.ENDED],
        Verdict.ALLOW,
        lambda attempt, step, known, today: Routed(replace(done, step_id=known.step_id)),
    )


def takes_old_grants(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(grants, "_good", lambda attempt, grant, wanted, lasts: grant.status == "granted")


def takes_any_grant(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(grants, "_covers", lambda attempt, grant, step, decision: grant.status == "granted")


def takes_grants_of_other_bundles(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(grants, "_covers", lambda attempt, grant, step, decision: grant.scope == "rule")


def counts_nothing(patch: pytest.MonkeyPatch) -> None:
    async def spend(self: SQLiteStore, step_id: str, wanted: object) -> None:
        return None

    patch.setattr(SQLiteStore, "spend", spend)


def counts_no_tokens(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(budgets, "over", lambda decision, tokens, others=0: iter(()))


def sees_no_fault(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Audit, "_wrong", lambda self, why: None)
    patch.setattr(Audit, "fault", "", raising=False)


def opens_without_a_bundle(patch: pytest.MonkeyPatch) -> None:
    whole = embedded.compiled

    def compiled(policy: Any) -> Any:
        try:
            return whole(policy)
        except BundleError:
            return whole(embedded.PERMISSIVE)

    patch.setattr(embedded, "compiled", compiled)


def does_not_look_at_its_file(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(FileWatch, "check", lambda self: None)
    patch.setattr(Marks, "begin", lambda self: None)


@pytest.mark.parametrize(
    ("promise", "broken", "fault"),
    [
        ("denied", runs_what_is_denied, "and its body ran"),
        ("denied", takes_a_denial_for_a_question, "is denied, and its call gave"),
        ("asked", runs_what_must_be_asked, "is asked about, and did not wait"),
        ("stopped", stops_nothing, "its tool was stopped, and"),
        ("at-most-once", repeats_what_was_started, "which ran 2 times"),
        ("replay", replays_something_else, "and its replay gave CallEnd(how='value', said='another')"),
        ("replay", forgets_what_was_done, "its three bodies ran"),
        ("expired-grant", takes_old_grants, "is too old, and its body ran"),
        ("foreign-grant", takes_any_grant, "let other arguments run"),
        ("other-bundle", takes_grants_of_other_bundles, "held under another bundle"),
        ("limits", counts_nothing, "calls at once against a limit of 500 let 7 run"),
        ("budgets", counts_no_tokens, "3 calls ran after it"),
        ("changed-row", sees_no_fault, "the payload of an event of a run of this command was changed"),
        ("broken-bundle", opens_without_a_bundle, "the kernel opened under the bundle with a rule without an end"),
        ("store-gone", does_not_look_at_its_file, "the store was moved away"),
    ],
)
def test_a_kernel_that_breaks_a_promise_is_found_out(
    promise: str, broken: Break, fault: str, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each promise, with the guard that keeps it taken out of the kernel."""
    broken(monkeypatch)
    ran = rebuno("verify", "--policy", "shop.rbp", "--only", promise, "--json", within=shop)
    found = told(ran)[promise]
    assert (ran.code, found["outcome"]) == (1, "fails"), ran.out
    assert any(fault in one for one in found["faults"]), found["faults"]
    assert json.loads(ran.out)["holds"] is False


def test_a_kernel_that_never_answers_is_found_out(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It starts what has ended again and again, which no store takes; the check is given up."""
    monkeypatch.setattr(embedded._Direct, "recorded", lambda self, key: None)
    monkeypatch.setitem(
        TABLE[State.ENDED], Verdict.ALLOW, lambda attempt, step, known, today: settle._executing(attempt, known, today)
    )

    async def tried() -> list[PromiseOutcome]:
        prepared = await prepare(shop, [shop / "shop.rbp"], None)
        return [one async for one in verify(prepared.bench, ["replay"], limit=5)]

    (found,) = asyncio.run(tried())
    assert (found.outcome, found.faults[-1]) == ("fails", "the check did not end within 5 seconds")


def test_a_chain_of_the_store_that_does_not_verify_is_named(shop: Path) -> None:
    """A row of the user's store was changed: the promise about chains fails with the execution and what is wrong."""
    store = recorded(shop)
    with closing(sqlite3.connect(store)) as opened:
        (changed,) = opened.execute("SELECT execution_id FROM steps WHERE result IS NOT NULL LIMIT 1").fetchone()
        opened.execute(
            "UPDATE steps SET result = '\"another\"' WHERE execution_id = ? AND result IS NOT NULL", (changed,)
        )
        opened.commit()
    ran = rebuno("verify", "--policy", "shop.rbp", "--db", str(store), "--only", "chain", within=shop)
    assert ran.code == 1
    assert "FAILS  The hash chain of every execution verifies." in ran.out
    assert f"execution {changed}: " in ran.out


# ---------------------------------------------------------------- wrong usage


def test_a_database_is_left_alone(shop: Path) -> None:
    """Nobody connects to it, and its URL, which may hold a password, is not shown."""
    url = "postgresql://ana:secret@127.0.0.1:1/agents"
    ran = rebuno("verify", "--policy", "shop.rbp", "--db", url, "--only", "denied", within=shop)
    assert ran.code == 0
    assert "on an empty store" in ran.out
    assert "a database is not copied; `rebuno exec verify` checks its executions one by one" in ran.out
    assert "secret" not in ran.out + ran.err
    ran = rebuno("verify", "--db", url, within=shop)
    assert (ran.code, "name a bundle with `--policy FILE`: a database is not copied" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        ((), 2, "name a bundle with `--policy FILE`, or a store with `--db PATH`"),
        (("--policy", "missing.rbp"), 2, "missing.rbp"),
        (("--policy", "broken.rbp"), 2, "broken.rbp:1:"),
        (("--policy", "shop.rbp", "--only", "nothing"), 2, "there is no promise `nothing`"),
        (("--policy", "shop.rbp", "--db", "missing.db"), 3, "missing.db"),
        (("--policy", "shop.rbp", "--db", "shop.rbp"), 3, "is not an SQLite file"),
        (("--policy", "shop.rbp", "--db", "mysql://x/y"), 3, "no store is known for URLs of `mysql`"),
        (("--db", "empty.db"), 2, "there is no store with an execution to take it from"),
    ],
)
def test_wrong_usage(argv: tuple[str, ...], code: int, said: str, shop: Path) -> None:
    """One sentence on standard error, and nothing is tried or made."""
    (shop / "broken.rbp").write_text("rule", encoding="utf-8")

    async def empty() -> None:
        await (await SQLiteStore.open(shop / "empty.db")).close()

    asyncio.run(empty())
    before = sorted(path.name for path in shop.iterdir())
    ran = rebuno("verify", *argv, within=shop)
    assert (ran.code, ran.out) == (code, ""), ran
    assert said in ran.err
    assert sorted(path.name for path in shop.iterdir()) == before
