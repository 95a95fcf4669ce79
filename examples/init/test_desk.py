"""The agent under its policy: what runs by itself, what waits, and that nothing runs twice."""

import asyncio
from pathlib import Path

import pytest
import rebuno
from desk import desk


def test_a_large_refund_waits_and_is_paid_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def story() -> None:
        db = tmp_path / "desk.db"
        async with rebuno.open(db, policy=Path(__file__).with_name("desk.rbp")) as kernel:
            small = await kernel.run(desk, {"order": "A17"}, id="small")
            assert (small.status, small.output) == ("completed", "order A17: done")
            large = await kernel.run(desk, {"order": "B42"}, id="large")
            assert large.status == "blocked"
            async with rebuno.operate(db) as operator:
                await operator.grant(large.approvals[0].id, decided_by="ana")
            for _ in range(2):  # the second time everything replays
                large = await kernel.run(desk, {"order": "B42"}, id="large")
                assert (large.status, large.output) == ("completed", "order B42: done")

    asyncio.run(story())
    assert capsys.readouterr().out.splitlines() == ["paid 12 back for order A17", "paid 80 back for order B42"]
