"""A row that is settled has the event that settled it: one that was written without is found."""

from dataclasses import replace

import pytest

from rebuno.journal.records import Batch, NewEvent, Step, StepWrite
from rebuno.kernel.core import events
from rebuno.kernel.history.verify import check
from rebuno.model.answer import AnswerKind
from rebuno.model.step import StepStatus
from tests.kernel.support import Bench, Play, policy

UNRELATED = events.execution("resumed")


async def running(b: Bench) -> Step:
    """A step whose body runs."""
    await b.begin(policy("allow"))
    answer = await b.submit()
    return await b.store.step(answer.step_id)


async def granted(b: Bench) -> Step:
    """A step that a person has granted, and that has not started."""
    await b.begin(policy("ask"))
    asked = await b.submit()
    await b.suspend()
    await b.answer(asked.approval_id, granted=True)
    return await b.store.step(asked.step_id)


@pytest.mark.parametrize("beside", [(), (UNRELATED,)], ids=["no event", "another event"])
@pytest.mark.parametrize("numbered", [False, True])
@pytest.mark.parametrize("status", [status for status in StepStatus if status.terminal])
@pytest.mark.parametrize("state", [running, granted])
def test_a_row_that_was_settled_without_its_event_is_found(
    play: Play, state: object, status: StepStatus, numbered: bool, beside: tuple[NewEvent, ...]
) -> None:
    """Whatever it was settled as, and whether the row names an event or none."""

    async def scenario(b: Bench) -> None:
        step = await (running(b) if state is running else granted(b))
        assert (await check(b.store, step.execution_id)).fault == ""
        result = "1" if status is StepStatus.SUCCEEDED else None
        error = '{"message":"no"}' if status in (StepStatus.FAILED, StepStatus.DENIED) else None
        row = replace(step, status=status, result=result, error=error)
        batch = Batch(step.execution_id, beside, (StepWrite(row, settled=0 if numbered else None),))
        b.store.write(batch)
        await batch.committed
        assert (await b.store.step(step.step_id)).status is status
        fault = (await check(b.store, step.execution_id)).fault
        assert step.step_id in fault

    play(scenario)


def test_a_granted_step_that_todays_bundle_denies_leaves_its_denial(play: Play) -> None:
    """With the rule of today, after the grant; without that event the log would be found wanting."""

    async def scenario(b: Bench) -> None:
        await granted(b)
        await b.begin(policy("deny"))
        assert (await b.submit()).kind is AnswerKind.DENIED
        log = await b.store.events(b.attempt.execution.id)
        (denial,) = [event for event in log if event.type == "step.denied"]
        assert (denial.payload["rule_id"], denial.payload["digest"]) == ("deny-act", policy("deny").digest)
        (step,) = await b.store.steps(b.attempt.execution.id)
        assert (step.status, step.outcome_seq) == (StepStatus.DENIED, denial.event_seq)
        assert (await check(b.store, step.execution_id)).fault == ""

    play(scenario)
