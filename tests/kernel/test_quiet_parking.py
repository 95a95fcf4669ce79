"""What a parked step costs while it waits: counted, on a clock that only its own sleeps move."""

import asyncio

import pytest

from rebuno.kernel.core import limits
from rebuno.model.answer import AnswerKind, Submission
from rebuno.policy.compile import compile_text
from tests.embedded.support import in_loop
from tests.kernel.support import Opener, bench

WINDOW, WAIT = 3600.0, 5400.0
LIMITED = compile_text('default allow\nrule r { allow tool "act" limit 1 per 1h else wait up to 90m }')


@in_loop
async def test_a_parked_step_looks_once_a_second_and_asks_once(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """It sleeps until its place is free, and is no spinning loop: sleeps, looks, questions and events are counted."""
    async with bench(opener) as b:
        await b.begin(LIMITED)
        counts = {"sleeps": 0, "looks": 0, "asks": 0}
        least = [WAIT]
        execution, spend, sleep = b.store.execution, b.store.spend, asyncio.sleep

        async def slept(seconds: float) -> None:
            counts["sleeps"] += 1
            least[0] = min(least[0], seconds)
            b.clock.advance(seconds)
            await sleep(0)

        async def looked(id: str) -> object:
            counts["looks"] += 1
            return await execution(id)

        async def asked(*args: object) -> object:
            counts["asks"] += 1
            return await spend(*args)  # type: ignore[arg-type]

        first = await b.kernel.submit(b.attempt, Submission("tool_call", "act", "{}", "safe_to_retry", ""))
        assert first.kind is AnswerKind.PROCEED
        began = b.store.now()
        monkeypatch.setattr("rebuno.kernel.core.limits.asyncio.sleep", slept)
        monkeypatch.setattr(b.store, "execution", looked)
        monkeypatch.setattr(b.store, "spend", asked)
        second = await b.kernel.submit(b.attempt, Submission("tool_call", "act", "{}", "safe_to_retry", ""))
        monkeypatch.undo()
        assert second.kind is AnswerKind.PROCEED
        waited = b.store.now() - began
        assert WINDOW <= waited <= WINDOW + 2
        assert counts["sleeps"] <= waited / limits.LOOK + 3
        assert counts["looks"] <= counts["sleeps"]
        assert counts["asks"] <= 4
        assert least[0] >= limits._LEAST_SLEEP
        assert (await b.events()).count("step.rate_limited") == 1
