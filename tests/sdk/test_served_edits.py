"""A call that an approver changes over HTTP runs so on a real server."""

from typing import Any

import pytest

import rebuno
from tests.sdk.served import Served, play

ASKS = """bundle asks
default allow
rule ceiling { deny tool "charge" when args.amount > 500 because "the ceiling" }
rule ask { require approval for tool "charge" edits args.amount because "money leaves the house" }
"""


@rebuno.tool("charge", idempotency="at_most_once")
async def charge(amount: int) -> str:
    return f"charged {amount}"


async def shop() -> list[Any]:
    return [await charge(amount=100), [one.ran_args for one in rebuno.execution().edited]]


def test_a_changed_call_runs_over_http() -> None:
    """`edits` of a grant, `edits` of a submission, `args` of `proceed`; the step shows both calls."""

    async def scenario(kernel: Served) -> None:
        async with kernel.agent("shop", shop, bundle=ASKS):
            made = await kernel.client.create("shop")
            await kernel.ended(made.id)
            [question] = await kernel.client.list_approvals(execution_id=made.id)
            assert question.edits == ["args.amount"]
            with pytest.raises(rebuno.ForbiddenError, match="ceiling"):
                await kernel.client.grant_approval(question.id, edits={"amount": 501})
            # Today's bundle judges, not the one that asked.
            await kernel.client.set_policy("shop", ASKS.replace("> 500", "== 90"))
            with pytest.raises(rebuno.ForbiddenError, match="ceiling"):
                await kernel.client.grant_approval(question.id, edits={"amount": 90})
            await kernel.client.grant_approval(question.id, edits={"amount": 70})
            ended = await kernel.ended(made.id)
            assert ended.output == ["charged 70", [{"amount": 70}]]
            [step] = await kernel.client.list_steps(made.id)
            assert (step.args, step.ran_args) == ({"amount": 100}, {"amount": 70})
            answered = await kernel.client.get_approval(question.id)
            assert (answered.edited_args, answered.status) == ({"amount": 70}, "granted")

    play(scenario)


def test_a_submission_without_edits_is_asked_about_as_it_is() -> None:
    """As a client of an earlier version submits it: nothing may be changed."""

    async def scenario(kernel: Served) -> None:
        async with kernel.agent("shop", shop, bundle=ASKS.replace(" edits args.amount", "")):
            made = await kernel.client.create("shop")
            await kernel.ended(made.id)
            [question] = await kernel.client.list_approvals(execution_id=made.id)
            assert question.edits is None
            with pytest.raises(rebuno.ForbiddenError, match="nothing may be changed"):
                await kernel.client.grant_approval(question.id, edits={"amount": 70})

    play(scenario)
