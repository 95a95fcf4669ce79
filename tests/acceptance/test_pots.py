"""The program that pays from one limit runs, and no promise is broken; its counters see what is broken."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.paying.play import Count

PROGRAM = Path(__file__).with_name("pots.py")


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_many_payers_never_pay_more_than_the_limit(postgres_server: str, store: str) -> None:
    """The report is the only line on standard output, and nothing stands beside it."""
    assert postgres_server
    command = [sys.executable, str(PROGRAM), "--store", store, "--payments", "40", "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    report = json.loads(ran.stdout)
    assert (report["over"], report["lost"], report["left_refused"]) == ("0", 0, "0")
    assert report["paid"] + report["declined"] + report["refused"] == report["payments"] == 40
    assert report["taken"] == report["paid_amount"]


@pytest.mark.parametrize(
    "seen", [{"over": "0.01"}, {"lost": 1}, {"left_refused": "3"}, {"taken": "5", "paid_amount": "4"}]
)
def test_broken_promises_are_seen(seen: dict[str, object]) -> None:
    """Each of them."""
    assert Count("sqlite", 1, 1, **seen).broken  # type: ignore[arg-type]
    assert not Count("sqlite", 1, 1, taken="4.0", paid_amount="4").broken
