"""A run that the handler of another run begins: what it is given is not surely the user's word."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import rebuno
from rebuno.policy import compile_text
from tests.embedded.support import in_loop

PAYER = """bundle payer
default allow
known asked = input.request
rule pay {
  deny tool "pay"
  when args.to not in asked
  because "not in the request"
}
"""
REQUEST = {"request": "pay 2000 to XX99EVIL"}


async def begun(kernel: rebuno.Kernel) -> Any:
    """A run of the payer; what its tool said."""
    pay = rebuno.tool("pay")(lambda to: f"paid {to}")
    return (await kernel.run(lambda request: pay(to="XX99EVIL"), REQUEST, agent="payer")).output


async def in_the_handler(kernel: rebuno.Kernel) -> Any:
    return await begun(kernel)


async def in_a_step(kernel: rebuno.Kernel) -> Any:
    return await rebuno.step("delegate", lambda: begun(kernel))


async def in_a_tool(kernel: rebuno.Kernel) -> Any:
    return await rebuno.tool("delegate")(lambda: begun(kernel))()


async def in_a_run_in_between(kernel: rebuno.Kernel) -> Any:
    return (await kernel.run(lambda: begun(kernel), agent="between")).output


@pytest.mark.parametrize("way", [in_the_handler, in_a_step, in_a_tool, in_a_run_in_between])
@pytest.mark.parametrize("apart", [False, True], ids=["same store", "another store"])
@in_loop
async def test_what_a_handler_passes_on_is_in_doubt(
    tmp_path: Path, way: Callable[[rebuno.Kernel], Awaitable[Any]], apart: bool
) -> None:
    """Called by a program the value is known; called by a handler it is perhaps, so the rule denies."""
    other = tmp_path / ("other.db" if apart else "store.db")
    async with (
        rebuno.open(tmp_path / "store.db", policy=compile_text(PAYER)) as kernel,
        rebuno.open(other, policy=compile_text(PAYER)) as inner,
    ):
        assert await begun(inner) == "paid XX99EVIL"
        ended = await kernel.run(lambda: way(inner), agent="reader")
        assert ended.output == "pay not allowed. reason: not in the request"
        # A run that begins later, outside any handler, is the program's own again.
        assert await begun(inner) == "paid XX99EVIL"
