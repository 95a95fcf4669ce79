"""What a running agent sees of its store's faults, and how it goes on when they are over."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

import rebuno
from rebuno.errors import StoreError, StoreUnreachable
from rebuno.journal.chain import verify
from tests.journal.builders import in_loop
from tests.journal.small_disk import SmallDisk, small_disk
from tests.journal.test_sqlite_faults import TAKEN
from tests.rows import rows

ran: list[str] = []


@rebuno.tool("pay", idempotency="at_most_once")
async def pay(n: int) -> str:
    return noted(f"pay {n}", "paid")


def noted(text: str, value: str) -> str:
    ran.append(text)
    return value


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    """Each test looks at what its own bodies did."""
    ran.clear()


async def journal(path: Path) -> tuple[str, list[str]]:
    """The state of the only execution and those of its steps; its log is whole."""
    async with rebuno.operate(path) as operator:
        (row,) = await operator.executions()
        steps, checked = await operator.steps(row.id), verify(rows(await operator.events(row.id)))
    assert (checked.fault, checked.hash.hex()) == ("", row.head_hash)
    return row.status, [f"{step.target} {step.status}" for step in steps]


def filling(disk: SmallDisk, idempotency: str) -> Callable[[], Coroutine[Any, Any, str]]:
    """An agent between whose payments a body fills the disk, once, so that its result does not fit."""

    async def body() -> str:
        if "body" not in ran:
            disk.fill()
        return noted("body", "x" * 400_000)

    async def agent() -> str:
        await pay(0)
        try:
            await rebuno.step("body", body, idempotency=idempotency)
        except rebuno.ToolError as error:
            return error.reason
        return str(await pay(1))

    return agent


@pytest.mark.parametrize("again", ["same kernel", "another kernel"])
@pytest.mark.parametrize(
    ("idempotency", "kept", "output", "then"),
    [
        # Its intent and outcome wait for the next submission, which has the error.
        ("safe_to_retry", ["pay succeeded"], "paid", ["body", "pay 1"]),
        # The outcome itself has the error, and nobody knows it any more.
        ("at_most_once", ["pay succeeded", "body executing"], "indeterminate", []),
    ],
)
@in_loop
async def test_a_disk_that_fills_up_during_an_outcome_stops_the_run_and_loses_nothing(
    tmp_path: Path, idempotency: str, kept: list[str], output: str, then: list[str], again: str
) -> None:
    """The run ends with the store's error; the execution has not failed, and the same line goes on from there once
    there is room."""
    with small_disk(tmp_path / "disk") as disk:
        path, agent = disk.folder / "store.db", filling(disk, idempotency)
        async with rebuno.open(path, policy=rebuno.PERMISSIVE) as kernel:
            with pytest.raises(StoreError, match="disk"):
                await kernel.run(agent, id="run")
            assert ran == ["pay 0", "body"], "nothing runs on what is not on the disk"
            disk.free()
            assert await journal(path) == ("running", kept)
            if again == "same kernel":
                ended = await kernel.run(agent, id="run")
        if again == "another kernel":
            async with rebuno.open(path, policy=rebuno.PERMISSIVE) as kernel:
                ended = await kernel.run(agent, id="run")
        assert (ended.status, ended.output) == ("completed", output)
        assert ran == ["pay 0", "body", *then]
        assert (await journal(path))[0] == "completed"


@pytest.mark.parametrize("take", TAKEN)
@in_loop
async def test_an_agent_whose_store_is_taken_away_is_stopped(tmp_path: Path, take: Callable[[Path], None]) -> None:
    """Within a moment one of its steps raises what happened, instead of going on with a journal that nobody keeps."""
    path = tmp_path / "store.db"

    async def agent() -> None:
        await pay(0)
        take(path)
        while True:
            await pay(1)

    async with rebuno.open(path, policy=rebuno.PERMISSIVE) as kernel:
        with pytest.raises(StoreUnreachable, match="moved or deleted while it was open"):
            await kernel.run(agent, id="run")
