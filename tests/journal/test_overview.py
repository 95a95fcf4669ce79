"""Short rows of many executions, and of long ones, on every store."""

from typing import Any, cast

import pytest

from rebuno.journal.overview import RunFilter, StepCount
from rebuno.journal.records import ApprovalWrite, StepWrite
from rebuno.journal.served import ServedStore
from rebuno.model.step import Kind, StepStatus
from tests.journal.builders import Opener, approval, batch, event, execution, in_loop, started, starting, step, written


async def filled(store: ServedStore) -> None:
    """Three executions: one with an open question, one that a person answered, a subagent."""
    await started(store, "e1", input='{"text":"' + "x" * 5000 + '"}', session="s", on_behalf_of="ann")
    made = step("s1", "e1", StepStatus.AWAITING, verdict="require_approval", rule_id="pay", args='"' + "a" * 1000 + '"')
    await written(
        store,
        batch(
            "e1",
            event(step_id="s1"),
            event("approval.requested"),
            steps=(StepWrite(made, 0),),
            approvals=(ApprovalWrite(approval(), requested=1),),
        ),
    )
    await started(store, "e2", agent_id="other", created_by="key")
    await written(store, starting(step("s2", "e2")))
    await written(store, batch("e2", event(), steps=(StepWrite(step("s2", "e2", StepStatus.SUCCEEDED), settled=0),)))
    await written(store, starting(step("s3", "e2", parent_id="s2")))
    answered = approval("a2", "e2", "s2", "granted")
    await written(store, batch("e2", event(), approvals=(ApprovalWrite(_by(answered, "ben"), requested=0),)))
    child = execution("e3", None, spawned_execution_id="e2", spawned_step_id="s3", served=True)
    assert await store.create(child, [event("execution.created")])


def _by(made: Any, name: str) -> Any:
    from dataclasses import replace

    return replace(made, decided_by=name)


FILTERS: list[tuple[RunFilter, list[str]]] = [
    (RunFilter(), ["e3", "e2", "e1"]),
    (RunFilter(agents=("other", "none")), ["e2"]),
    (RunFilter(agents=()), []),
    (RunFilter(status="running"), ["e3", "e2", "e1"]),
    (RunFilter(status="failed"), []),
    (RunFilter(session="s"), ["e1"]),
    (RunFilter(person="ann"), ["e1"]),
    (RunFilter(person="key"), ["e2"]),
    (RunFilter(person="ben"), ["e2"]),
    (RunFilter(verdict="require_approval"), ["e1"]),
    (RunFilter(rule_id="pay"), ["e1"]),
    (RunFilter(rule_id="pay", verdict="allow"), []),
    (RunFilter(since=1e11), []),
    (RunFilter(until=1.0), []),
    (RunFilter(agents=('a" OR 1=1 --', "[", "é")), []),
]


@pytest.mark.parametrize("wanted", FILTERS, ids=lambda one: repr(one[0]))
@in_loop
async def test_a_filter_takes_what_fits_it(opener: Opener, wanted: tuple[RunFilter, list[str]]) -> None:
    """Newest first."""
    async with opener() as opened:
        store = cast("ServedStore", opened)
        await filled(store)
        assert [line.id for line in await store.run_lines(wanted[0])] == wanted[1]


@in_loop
async def test_the_lines_of_executions_leave_their_large_texts_out(opener: Opener) -> None:
    """And come a page at a time."""
    async with opener() as opened:
        store = cast("ServedStore", opened)
        await filled(store)
        [newest] = await store.run_lines(RunFilter(), limit=1)
        [second] = await store.run_lines(RunFilter(), before=newest.id, limit=1)
        [last] = await store.run_lines(RunFilter(), before=second.id)
        assert [newest.id, second.id, last.id] == ["e3", "e2", "e1"]
        assert await store.run_lines(RunFilter(), before="none") == []
        assert len(last.input) == 300
        assert (last.asked, last.session, last.on_behalf_of, last.status) == (1, "s", "ann", "running")
        assert (second.asked, second.ended_at) == (0, 0.0)
        assert [line.id for line in await store.child_lines("e2")] == ["e3"]
        assert await store.child_lines("e1") == []


@in_loop
async def test_the_lines_of_steps_come_a_page_at_a_time(opener: Opener) -> None:
    """With their counts, and where a step stands."""
    async with opener() as opened:
        store = cast("ServedStore", opened)
        await filled(store)
        [line] = await store.step_lines("e1")
        assert (line.step_id, line.rule_id, len(line.args), line.error) == ("s1", "pay", 300, None)
        first, second = await store.step_lines("e2")
        assert [first.step_id, second.step_id, second.parent_id] == ["s2", "s3", "s2"]
        assert await store.step_lines("e2", offset=1, limit=1) == [second]
        assert await store.steps_before("e2", second.decided_seq) == 1
        assert await store.steps_before("e2", 0) == 0
        assert await store.step_counts("e2") == [
            StepCount("executing", "allow", 1),
            StepCount("succeeded", "allow", 1),
        ]
        assert [one.type for one in await store.attempt_events("e2")] == ["execution.created"]
        assert await store.attempt_events("none") == []


@in_loop
async def test_what_rules_decided_people_answered_and_models_used_is_counted(opener: Opener) -> None:
    """Since a time, by agent and day where that is asked."""
    async with opener() as opened:
        store = cast("ServedStore", opened)
        await filled(store)
        call = step("s9", "e1", kind=Kind.LLM, target="model", input_tokens=7, output_tokens=2)
        await written(store, starting(call))
        assert [(one.agent_id, one.status, one.count) for one in await store.agent_counts()] == [
            ("agent", "running", 2),
            ("other", "running", 1),
        ]
        counts = {(one.rule_id, one.verdict): one.count for one in await store.rule_counts(0.0)}
        assert counts == {("pay", "require_approval"): 1, ("r", "allow"): 3}
        answers = {(one.status, one.decided_by): one.count for one in await store.answer_counts(0.0)}
        assert answers == {("pending", ""): 1, ("granted", "ben"): 1}
        [usage] = await store.usage_counts(0.0)
        assert (usage.agent_id, usage.model, usage.calls, usage.input_tokens, usage.output_tokens) == (
            "agent",
            "model",
            1,
            7,
            2,
        )
        assert usage.day == int(store.now() // 86400)
        assert [*await store.rule_counts(1e11), *await store.answer_counts(1e11)] == []
        assert await store.usage_counts(1e11) == []
        assert await store.dispatch_lines() == []
        assert [one.id for one in await store.answers_before("", "r")] == ["a2"]
        assert await store.answers_before("", "none") == []
