"""`rebuno policy test --execution` and `rebuno policy diff` on recorded steps and on cases."""

import json
from pathlib import Path

import pytest

import rebuno as library
from tests.cli.support import Ran, payments, rebuno

RECORDED = """\
bundle shop
default deny because "not listed"
rule look { allow tool "look" }
rule pay { require approval for tool "pay" because "money" }
rule after-look { allow tool "ship" when after tool "look" }
"""


@library.tool("look")
async def look(n: int) -> int:
    return n


@library.tool("pay", idempotency="at_most_once")
async def pay(n: int) -> int:
    return n


@library.tool("ship")
async def ship(to: str) -> str:
    return to


@library.tool("wipe")
async def wipe() -> None:
    """Denied."""


async def agent() -> None:
    """A step before and one after what makes the second one allowed, one denied, one asked about."""
    await ship("\x1b[31mearly")
    for n in range(5):
        await look(n)
    await ship("late")
    await wipe()
    await pay(1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a bundle and a store in which it has decided."""
    (tmp_path / "shop.rbp").write_text(RECORDED)
    library.run_sync(agent, path=tmp_path / "agent.db", policy=tmp_path / "shop.rbp", id="run")
    return tmp_path


def _ask(folder: Path, *argv: str) -> Ran:
    ran = rebuno(*argv, "--db", "agent.db", within=folder)
    assert "Traceback" not in ran.err
    assert "\x1b" not in ran.out + ran.err
    return ran


def _other(folder: Path, old: str, new: str) -> None:
    assert RECORDED.count(old) == 1
    (folder / "new.rbp").write_text(RECORDED.replace(old, new))


def test_the_bundle_that_decided_decides_the_same(folder: Path) -> None:
    """On the facts of each step's first submission: what came later does not count for the first `ship`."""
    for argv in (("--execution", "run"), ("--since", "1h")):
        ran = _ask(folder, "policy", "test", "shop.rbp", *argv)
        assert (ran.code, ran.out) == (0, "9 recorded steps of 1 execution: 0 decided differently\n")


def test_what_is_decided_differently_is_grouped_by_rule(folder: Path) -> None:
    """With counts, examples, and a word for what may do more than before."""
    _other(folder, '{ allow tool "look" }', '{ allow tool "loo" }\nrule wiping { allow tool "wipe" because "tidy" }')
    ran = _ask(folder, "policy", "test", "new.rbp", "--execution", "run")
    assert ran.code == 1
    assert "WIDER deny by default -> allow by wiping: 1" in ran.out
    assert "allow by look -> deny by default: 5" in ran.out
    assert "and 2 more" in ran.out
    assert "9 recorded steps of 1 execution: 6 decided differently, 1 of them wider" in ran.out
    data = json.loads(_ask(folder, "policy", "test", "new.rbp", "--execution", "run", "--json").out)
    assert (data["steps"], data["differing"], data["widened"], len(data["groups"])) == (9, 6, 1, 2)
    assert data["groups"][1]["examples"][0]["args"] == {"n": 0}


def test_two_bundles_are_compared_on_recorded_steps(folder: Path) -> None:
    """Their rules are told apart first; a changed rule that decides nothing else is no difference there."""
    _other(folder, 'require approval for tool "pay" because "money"', 'deny tool "pay"')
    ran = _ask(folder, "policy", "diff", "shop.rbp", "new.rbp", "--since", "2d")
    assert (ran.code, "~ rule `pay` is changed" in ran.out) == (1, True)
    assert "require approval by pay -> deny by pay: 1" in ran.out
    _other(folder, '{ allow tool "look" }', '{ allow tool "look", "never" }')
    ran = _ask(folder, "policy", "diff", "shop.rbp", "new.rbp", "--execution", "run")
    assert (ran.code, "0 decided differently" in ran.out) == (0, True)
    data = json.loads(_ask(folder, "policy", "diff", "shop.rbp", "new.rbp", "--execution", "run", "--json").out)
    assert data["bundle"] == {"added": [], "removed": [], "changed": ["rule `look`"], "moved": []}


def test_two_bundles_are_compared_on_their_cases(tmp_path: Path) -> None:
    """Where no store is asked, each question of the cases beside them counts once."""
    old = payments(tmp_path)
    new = tmp_path / "new.rbp"
    new.write_text(old.read_text().replace("<= 2500", "<= 10"))
    (tmp_path / "new.policytest.yaml").write_text((tmp_path / "pay.policytest.yaml").read_text())
    ran = rebuno("policy", "diff", str(old), str(new))
    assert (ran.code, "3 cases: 1 decided differently" in ran.out) == (1, True)
    assert "[a payee from the list]" in ran.out
    same = rebuno("policy", "diff", str(old), str(old))
    assert (same.code, same.out) == (0, "the two say the same\n3 cases: 0 decided differently\n")


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (("test", "shop.rbp", "--since", "yesterday"), 2, "is not a duration"),
        (("test", "shop.rbp", "--since", "1h", "--execution", "run"), 2, "leave one out"),
        (("test", "shop.rbp", "shop.rbp", "--since", "1h"), 2, "by one bundle"),
        (("test", "shop.rbp", "--since", "1h", "--watch"), 2, "by one bundle"),
        (("test", "shop.rbp", "--execution", "nothing"), 4, "no execution"),
        (("test", "none.rbp", "--execution", "run"), 2, "none.rbp"),
        (("diff", "shop.rbp", "none.rbp"), 2, "none.rbp"),
    ],
)
def test_a_wrong_question_is_told(folder: Path, argv: tuple[str, ...], code: int, said: str) -> None:
    """In a sentence, with the code of its kind."""
    ran = _ask(folder, "policy", *argv)
    assert (ran.code, said in ran.err) == (code, True)
