"""What a decision may look at, rebuilt from the journal's rows."""

import asyncio

from rebuno.kernel.core import facts
from rebuno.kernel.core.loading import load
from tests.kernel.support import bench, policy


def test_the_evidence_stands_in_the_order_of_outcomes_and_a_step_sees_what_came_before_it() -> None:
    """Starts, ends and grants count from the event that recorded them."""

    async def scenario() -> None:
        async with bench() as b:
            await b.begin(policy("ask", also='rule rest { allow tool "*" }\n'))
            slow, fast, broken, _ = [await b.submit(target=t) for t in ("slow", "fast", "broken", "open")]
            await b.succeed(fast, {"id": 1})
            await b.fail(broken)
            late = await b.submit(target="late")
            await b.succeed(slow, {"id": 2})
            question = await b.submit()
            await b.answer(question.approval_id, granted=True)
            steps, approvals = await load(b.store, b.attempt.execution.id)
            history = facts.history(steps.values(), approvals.values())
            evidence = history.evidence
            assert [(e.target, "approved" if e.approved else e.status, e.result) for e in evidence] == [
                ("slow", "executing", None),
                ("fast", "executing", None),
                ("broken", "executing", None),
                ("open", "executing", None),
                ("fast", "succeeded", {"id": 1}),
                ("broken", "failed", None),
                ("late", "executing", None),
                ("slow", "succeeded", {"id": 2}),
                ("act", "approved", None),
            ]
            judged = facts.of_known(steps[late.step_id], agent="agent", input={}, past=history)
            assert judged.as_of is not None
            assert [e.target for e in evidence if e.seq < judged.as_of and e.succeeded] == ["fast"]
            assert (judged.kind, judged.target, judged.now) == ("tool_call", "late", b.clock.now())

    asyncio.run(scenario())
