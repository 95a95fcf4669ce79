"""The program that upgrades replicas runs, and says where it cannot; its counters see what is broken."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import rebuno
from rebuno.policy import compile_text
from tests.acceptance.replicating.job import LEDGER
from tests.acceptance.upgrading.count import Tally, look_through
from tests.acceptance.upgrading.service import BUNDLE

PROGRAM = Path(__file__).with_name("upgrade.py")
ROOT = PROGRAM.parents[2]


def test_a_few_executions_outlive_an_upgrade(postgres_server: str) -> None:
    """From this version to itself; the report is the only line on standard output, and nothing stands beside it."""
    assert postgres_server
    command = [sys.executable, str(PROGRAM), "--executions", "6", "--built", sys.executable, str(ROOT), "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert json.loads(ran.stdout) == {
        "executions": 6,
        "completed": 6,
        "lost": 0,
        "doubled": 0,
        "replicas": 2,
        "old_restarts": 1,
        "agents": 1,
    }


def test_what_cannot_be_built_is_told() -> None:
    """In one line, and the program does not claim that anything was upgraded."""
    command = [sys.executable, str(PROGRAM), "--commit", "0" * 40, "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("the earlier version cannot be built: `git archive 0000")
    assert len(ran.stderr.splitlines()) == 1


def nothing(tally: Tally, ledger: list[str]) -> None:
    """All is as it was told."""


def another_output(tally: Tally, ledger: list[str]) -> None:
    """The caller was told something else than the journal has."""
    ((id, told),) = tally.told.items()
    tally.told[id] = (*told[:2], {"paid": 0})


def gone(tally: Tally, ledger: list[str]) -> None:
    """An execution that ended is not there."""
    tally.told["another"] = (2, "completed", None)


def paid_twice(tally: Tally, ledger: list[str]) -> None:
    """A payment began twice."""
    ledger.append(next(line for line in ledger if '"pay"' in line))


def looked_twice(tally: Tally, ledger: list[str]) -> None:
    """What is safe may run again."""
    ledger.append(next(line for line in ledger if '"look"' in line))


@pytest.mark.parametrize(
    ("breaks", "lost", "doubled"),
    [(nothing, 0, 0), (looked_twice, 0, 0), (another_output, 1, 0), (gone, 1, 0), (paid_twice, 0, 1)],
)
def test_a_broken_promise_is_counted(
    breaks: Callable[[Tally, list[str]], None], lost: int, doubled: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an execution that ended as it must."""
    # It registers tools.
    from tests.acceptance.replicating.agent import work

    store, notes = tmp_path / "store.db", tmp_path / "ledger"
    monkeypatch.setenv(LEDGER, str(notes))

    async def body() -> Tally:
        tally = Tally(1)
        async with rebuno.open(store, policy=compile_text(BUNDLE)) as kernel:
            ended = await kernel.run(work, {"n": 1}, id="order-1")
            for question in ended.approvals:
                await kernel.operator.grant(question.id, decided_by="ana")
            ended = await kernel.run(work, {"n": 1}, id="order-1")
        tally.ends(ended.id, 1, ended.status.value, ended.output, ended.failure_reason)
        ledger = notes.read_text(encoding="utf-8").splitlines()
        breaks(tally, ledger)
        async with rebuno.operate(store) as operator:
            await look_through(operator, ledger, tally)
        return tally

    tally = asyncio.run(body())
    assert (tally.completed, tally.lost, tally.doubled, tally.broken) == (1, lost, doubled, lost + doubled > 0)
