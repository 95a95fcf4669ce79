"""Served forks: what their source settled is replayed by their own first attempt, once."""

import asyncio

from rebuno.model.answer import AnswerKind
from tests.kernel.served import Scenario, World

ASKS = 'bundle asks\ndefault allow\nrule pay { require approval for tool "pay" because "money" }\n'


def test_a_fork_of_several_attempts_replays_in_its_first(serve: Scenario) -> None:
    """Which attempts of the source came to a step counts for nothing in the fork: its own attempts begin at one."""

    async def scenario(w: World) -> None:
        await w.agent(
            policy='bundle asks\ndefault allow\nrule pay { require approval for tool "pay" because "money" }\n'
        )
        run = await w.begin()
        await run.act("look", value=1)
        asked = await run.submit("pay")
        await w.serving.resolve(asked.approval_id, granted=True, decided_by="ana")
        again = await w.run()
        assert (await again.submit("look")).kind is AnswerKind.REPLAY
        await again.done(await again.submit("pay"), "paid")
        await again.complete("over")
        head = (await w.row(again)).head_seq
        forked = await w.serving.fork(again.id, at_seq=head)
        live = await w.run()
        assert live.id == forked.id
        async with asyncio.timeout(5):
            first, second = await live.submit("look"), await live.submit("look")
            paid = await live.submit("pay")
        assert (first.kind, first.result, paid.kind, paid.result) == (
            AnswerKind.REPLAY,
            "1",
            AnswerKind.REPLAY,
            '"paid"',
        )
        assert (second.kind, second.step_id != first.step_id) == (AnswerKind.PROCEED, True)

    serve(scenario)
