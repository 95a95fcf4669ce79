"""A call that is cancelled at any moment: its body ran and the journal says so, or it never runs unrecorded."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import rebuno
from tests.embedded.support import bundle, in_loop, journal, run
from tests.sdk.support import Crash

OPEN = bundle("allow")


@pytest.mark.parametrize("kind", ["tool", "local"])
@pytest.mark.parametrize("idempotency", ["safe_to_retry", "at_most_once"])
@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 8, 13, 40])
@in_loop
async def test_a_call_that_is_cancelled_at_a_moment(tmp_path: Path, turns: int, idempotency: str, kind: str) -> None:
    """After so many turns of the loop. A body that began leaves its end, or none where it died. A once-only one that
    was let in and did not begin is cancelled too, since its caller has seen that, and does not begin later."""
    path = tmp_path / "store.db"
    ran: list[str] = []
    first = iter([True])

    async def body() -> str:
        ran.append("ran")
        for _ in range(10):
            await asyncio.sleep(0)
        return "done"

    async def call() -> Any:
        if kind == "tool":
            return await rebuno.tool(f"act_{idempotency}", idempotency=idempotency)(body)()
        return await rebuno.step("act", body, idempotency=idempotency)

    async def handler() -> str:
        if not next(first, False):
            try:
                async with asyncio.timeout(0.2):
                    return str(await call())
            except TimeoutError:
                return "cancelled"
            except rebuno.ToolError as error:
                return error.reason
        task = asyncio.create_task(call())
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        raise Crash

    with pytest.raises(Crash):
        await run(path, OPEN, handler)
    steps, _ = await journal(path)
    status = steps[0].status if steps else "absent"
    began = len(ran)
    assert began == 0 or status != "absent"
    if status == "failed":
        assert steps[0].error["reason"] == "cancelled"
        assert began == 1 or (began == 0 and idempotency == "at_most_once")
    ended = await run(path, OPEN, handler)
    assert (
        ended.output
        == {
            "absent": "done",
            "succeeded": "done",
            "failed": "cancelled",
            "executing": "done" if idempotency == "safe_to_retry" else "indeterminate",
        }[status]
    )
    assert len(ran) == began + (ended.output == "done" and status != "succeeded")
    assert len(ran) <= 1 or idempotency == "safe_to_retry"
