"""The same handlers as embedded, on a real server: interrupted, questioned, continued, and handed on to subagents."""

import asyncio
from typing import Any

import pytest

import rebuno
from rebuno.kernel import Settings
from tests.sdk.served import Served, play
from tests.server.support import TOKEN

ASKS = """\
bundle asks
default allow
rule ask { require approval for tool "ship" because "goods leave the house" }
"""

# Agents that name no lease of their own have this one, in seconds.
SHORT = Settings(poll=0.02, sweep=0.05, lease=1.2)


@rebuno.tool("pick")
async def pick(item: str) -> str:
    return f"picked {item}"


@rebuno.tool("ship", idempotency="at_most_once")
async def ship(item: str) -> str:
    return f"shipped {item}"


async def order(item: str) -> list[str]:
    return [await pick(item=item), await ship(item=item)]


def test_a_handler_gives_the_same_on_both_kernels() -> None:
    """Outputs, tools and steps do not depend on where the kernel is."""

    async def scenario(kernel: Served) -> None:
        async with kernel.agent("shop", order):
            made = await kernel.client.create("shop", {"item": "tea"})
            ended = await kernel.ended(made.id)
        async with rebuno.open(":memory:", policy=rebuno.PERMISSIVE) as embedded:
            assert (await embedded.run(order, {"item": "tea"})).output == ended.output == ["picked tea", "shipped tea"]

    play(scenario)


@pytest.mark.parametrize(
    ("granted", "shipped"), [(True, "shipped tea"), (False, "ship not allowed. reason: out of stock")]
)
def test_a_question_ends_the_attempt_and_its_answer_begins_the_next(granted: bool, shipped: str) -> None:
    """What was done before is replayed; a denial is told to the handler."""

    async def scenario(kernel: Served) -> None:
        async with kernel.agent("shop", order, bundle=ASKS):
            made = await kernel.client.create("shop", {"item": "tea"})
            waits = await kernel.ended(made.id)
            assert waits.status == "blocked"
            [question] = await kernel.client.list_approvals(execution_id=made.id)
            assert (question.target, question.args) == ("ship", {"item": "tea"})
            if granted:
                await kernel.client.grant_approval(question.id, decided_by="ana")
            else:
                await kernel.client.deny_approval(question.id, decided_by="ana", rationale="out of stock")
            ended = await kernel.ended(made.id)
            assert ended.output == ["picked tea", shipped]
            kinds = [event.type for event in await kernel.client.events(made.id)]
            assert (kinds.count("execution.started"), kinds.count("step.executing")) == (2, 2 if granted else 1)

    play(scenario)


def test_a_question_in_a_body_is_answered_without_waiting_for_the_lease() -> None:
    """The body that was given up is told, so that the next attempt may begin at once."""

    async def packs() -> Any:
        return await ship(item="tea")

    async def handler() -> Any:
        return await rebuno.step("pack", packs)

    async def scenario(kernel: Served) -> None:
        async with kernel.agent("shop", handler, bundle=ASKS):
            made = await kernel.client.create("shop")
            await kernel.ended(made.id)
            [question] = await kernel.client.list_approvals()
            await kernel.client.grant_approval(question.id)
            assert (await kernel.ended(made.id)).output == "shipped tea"

    play(scenario)


def test_a_cancelled_execution_stops_its_handler() -> None:
    """Within a heartbeat, a third of the lease."""
    stopped: list[str] = []
    begun = asyncio.Event()

    async def handler() -> None:
        try:
            begun.set()
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            stopped.append("stopped")
            raise

    async def scenario(kernel: Served) -> None:
        async with kernel.agent("sleeper", handler) as agent:
            made = await kernel.client.create("sleeper")
            async with asyncio.timeout(20):
                await begun.wait()
                await kernel.client.cancel(made.id)
                await agent.join()
        assert stopped == ["stopped"]
        assert (await kernel.client.get(made.id)).status == "cancelled"

    play(scenario, settings=SHORT)


def test_executions_of_a_session_go_on_from_each_other() -> None:
    """Each finds the state that the one before left, and a fresh session none."""

    async def turn(message: str) -> rebuno.Result:
        said = [*(await rebuno.previous() or []), message]
        return rebuno.Result(output=len(said), state=said)

    async def scenario(kernel: Served) -> None:
        async with kernel.agent("chat", turn):
            made = [await kernel.client.create("chat", {"message": text}, session="s") for text in ("a", "b", "c")]
            ended = [await kernel.ended(one.id) for one in made]
            assert [one.output for one in ended] == [1, 2, 3]
            assert await kernel.client.previous(made[2].id) == ["a", "b"]
            other = await kernel.client.create("chat", {"message": "a"}, session="other")
            assert (await kernel.ended(other.id)).output == 1

    play(scenario)


def test_agents_hand_work_to_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Side by side, each once; what fails comes back as the failure of the tool that asked."""
    monkeypatch.setenv("REBUNO_API_KEY", TOKEN)

    @rebuno.tool("delegate")
    async def delegate(number: int) -> Any:
        return await rebuno.subagent("clerk", {"number": number})

    async def boss() -> Any:
        found = await asyncio.gather(*(delegate(number=number) for number in range(3)), return_exceptions=True)
        return [one.reason if isinstance(one, rebuno.ToolError) else one for one in found]

    async def clerk(number: int) -> Any:
        if number == 2:
            raise ValueError("two is too many")
        return await rebuno.step("count", lambda: number * 10)

    async def scenario(kernel: Served) -> None:
        async with kernel.agent("boss", boss), kernel.agent("clerk", clerk):
            made = await kernel.client.create("boss")
            ended = await kernel.ended(made.id)
            assert ended.output == [0, 10, "subagent_failed"]
            children = (await kernel.client.list_executions(agent_id="clerk")).executions
            assert len(children) == 3
            assert {child.spawned_by.execution_id for child in children if child.spawned_by} == {made.id}

    play(scenario)


def test_a_subagent_is_waited_for_in_bodies_of_every_sort(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the tool may run at most once, and inside another step; its agent may die meanwhile."""
    monkeypatch.setenv("REBUNO_API_KEY", TOKEN)
    asked = asyncio.Event()

    @rebuno.tool("delegate_once", idempotency="at_most_once")
    async def once(number: int) -> Any:
        return await rebuno.subagent("clerk", {"number": number})

    async def boss() -> Any:
        return [await once(number=1), await rebuno.step("outer", lambda: once(number=2))]

    @rebuno.tool("await_person")
    async def await_person(number: int) -> int:
        return number * 10

    async def clerk(number: int) -> Any:
        asked.set()
        return await await_person(number=number)

    bundle = 'bundle clerk\ndefault allow\nrule ask { require approval for tool "await_person" because "slow" }\n'

    async def scenario(kernel: Served) -> None:
        async with kernel.agent("clerk", clerk, bundle=bundle):
            async with kernel.agent("boss", boss):
                made = await kernel.client.create("boss")
                await asyncio.wait_for(asked.wait(), 10)
            async with kernel.agent("boss", boss), asyncio.timeout(20):
                while not (ended := await kernel.client.get(made.id)).status.terminal:
                    for question in await kernel.client.list_approvals():
                        await kernel.client.grant_approval(question.id)
                    await asyncio.sleep(0.05)
                assert ended.output == [10, 20]
                assert len((await kernel.client.list_executions(agent_id="clerk")).executions) == 2

    play(scenario, settings=SHORT)


def test_an_input_that_does_not_fit_fails_the_execution() -> None:
    """With the word that clients look for."""

    async def scenario(kernel: Served) -> None:
        async with kernel.agent("shop", order):
            made = await kernel.client.create("shop", {"goods": "tea"})
            ended = await kernel.ended(made.id)
            assert ended.failure_reason == "input_invalid: the input lacks the field item"

    play(scenario)


def test_an_agent_that_died_is_told_again() -> None:
    """Its lease runs out, and another process of the agent goes on: what was done is not done again."""
    ran: list[str] = []
    dies = asyncio.Event()

    async def handler() -> list[int]:
        first = await rebuno.step("first", lambda: len(ran))
        ran.append("runs")
        if len(ran) == 1:
            dies.set()
            await asyncio.sleep(60)
        return [first, len(ran)]

    async def scenario(kernel: Served) -> None:
        async with kernel.agent("shop", handler):
            made = await kernel.client.create("shop")
            await asyncio.wait_for(dies.wait(), 10)
        async with kernel.agent("shop", handler), asyncio.timeout(25):
            ended = await kernel.client.wait(made.id, every=0.02)
        assert ended.output == [0, 2]

    play(scenario, settings=SHORT)
