"""What limits and budgets did, as the story of an execution tells it."""

import pytest

from rebuno.kernel import CountedLimit, read_timeline
from rebuno.model.answer import AnswerKind
from rebuno_cli.render import console, timeline
from tests.embedded.support import in_loop
from tests.kernel.support import bench
from tests.kernel.test_budgets import budget, call, used
from tests.kernel.test_limits import act, limited, says


@in_loop
async def test_the_story_tells_what_limits_did(capsys: pytest.CaptureFixture[str]) -> None:
    """Which limit counted a step, and what was refused or had to wait, in each attempt as often as it was."""
    async with bench() as b:
        waits = limited("1 per 1h for each agent else wait up to 2h")
        await b.begin(waits)
        assert await says(b, 2) == [AnswerKind.PROCEED, AnswerKind.PARKED]
        await b.begin(limited("1 per 1h for each agent"))
        assert [(await act(b, 1)).kind for _ in range(2)] == [AnswerKind.RATE_LIMITED] * 2
        told = await read_timeline(b.store, b.attempt.execution.id)
        assert [step.limits for step in told.steps] == [(CountedLimit("b", "r", "agent"),)]
        kept_out = [(one.attempt, one.target, one.rule_id, one.parked, one.times) for one in told.kept_out]
        assert kept_out == [(1, "act", "r", True, 1), (2, "act", "r", False, 2)]
        console.write(timeline.story(told))
        shown = capsys.readouterr().out
        assert "counted in the limit of r for this agent" in shown
        assert "tool_call act: had to wait by r: rate_limit_exceeded" in shown
        assert "tool_call act: refused by r: rate_limit_exceeded, 2 times" in shown
        data = told.to_json()
        assert data["steps"][0]["limits"] == [{"bundle": "b", "rule_id": "r", "scope": "agent"}]
        assert data["kept_out"][1]["reason"] == "rate_limit_exceeded"


@in_loop
async def test_the_story_tells_what_model_calls_used(capsys: pytest.CaptureFixture[str]) -> None:
    """And where nobody knows."""
    async with bench() as b:
        await b.begin(budget("budget 5000 tokens per execution"))
        await used(b, await call(b, 0), 1200, 34)
        await used(b, await call(b, 1))
        told = await read_timeline(b.store, b.attempt.execution.id)
        assert [step["tokens"] for step in told.to_json()["steps"]] == [[1200, 34], None]
        console.write(timeline.story(told))
        shown = capsys.readouterr().out
        assert "used 1,200 tokens of input and 34 of output" in shown
        assert "used nobody knows how many tokens" in shown
