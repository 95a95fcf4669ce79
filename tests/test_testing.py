"""The helpers that users' own tests stand on."""

import asyncio

import pytest

from rebuno import Execution
from rebuno.policy import compile_text
from rebuno.sdk.tool import tool
from rebuno.testing import Evidence, FixedClock, History, assert_decision, memory_kernel

BUNDLE = compile_text(
    """bundle payments
default deny
known payees = result of tool "payees" at [].name
rule pay { allow tool "pay-in-test" when args.to in payees }
rule ask { require approval for tool "pay-in-test" because "a new payee" }
"""
)


@tool("pay-in-test")
async def pay(to: str) -> str:
    return f"paid {to}"


async def handler(to: str) -> str:
    return str(await pay(to))


def test_a_decision_that_is_as_expected_is_returned() -> None:
    """Facts can be given as an agent would have gathered them."""
    history = History([Evidence(1, "tool_call", "payees", {}, [{"name": "ana"}])])
    assert assert_decision(BUNDLE, "allow", "pay-in-test", {"to": "ana"}, history=history, rule="pay").rule_id == "pay"


@pytest.mark.parametrize(
    ("expect", "rule", "tells"),
    [
        ("allow", None, "it is require_approval by `ask`"),
        ("require_approval", "pay", "should be require_approval by `pay`"),
    ],
)
def test_a_decision_that_is_not_as_expected_tells_why(expect: str, rule: str | None, tells: str) -> None:
    """The message names what decided, and what became of every rule."""
    with pytest.raises(AssertionError) as failed:
        assert_decision(BUNDLE, expect, "pay-in-test", {"to": "ana"}, rule=rule)
    assert tells in str(failed.value)
    assert "pay (line 4): no match" in str(failed.value)


def test_a_grant_grows_old_by_the_clock_that_was_given() -> None:
    """A test moves the clock instead of waiting."""

    async def scenario() -> list[Execution]:
        clock = FixedClock()
        async with memory_kernel(BUNDLE, clock=clock) as kernel:
            first = await kernel.run(handler, {"to": "ana"}, id="pay-ana")
            await kernel.operator.grant(first.approvals[0].id, decided_by="bo")
            clock.advance(15 * 60 + 1)
            second = await kernel.run(handler, {"to": "ana"}, id="pay-ana")
            await kernel.operator.grant(second.approvals[0].id, decided_by="bo")
            clock.advance(15 * 60)
            return [first, second, await kernel.run(handler, {"to": "ana"}, id="pay-ana")]

    assert [execution.status for execution in asyncio.run(scenario())] == ["blocked", "blocked", "completed"]
