"""The short way of a replay: what was recorded and stands comes back at once, and everything else asks the kernel."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import rebuno
from rebuno.kernel.attempt import Attempt
from rebuno.kernel.kernel import Kernel
from rebuno.kernel.replay import recorded as recorded_answer
from rebuno.model.answer import Answer, Say, Submission
from rebuno.policy.compile import compile_text
from tests.kernel.support import Bench, Play, policy
from tests.sdk.support import OPEN, Crash


async def crashed(kernel: rebuno.Kernel, handler: Callable[[], Any]) -> None:
    """Runs a handler that ends its attempt by a crash."""
    with suppress(Crash):
        await kernel.run(handler, id="run")


def test_a_replay_asks_the_whole_way_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first step waits for the log to be read; the others have their answers at once."""
    asked: list[int] = []
    whole = Kernel.submit

    async def counted(self: Kernel, attempt: Attempt, submission: Submission) -> Answer:
        asked.append(attempt.lease.attempt)
        return await whole(self, attempt, submission)

    async def handler() -> int:
        total = 0
        for n in range(200):
            total += int(await rebuno.step("n", lambda n: n, {"n": n}))
        if 2 not in asked:
            raise Crash
        return total

    monkeypatch.setattr(Kernel, "submit", counted)

    async def scenario() -> None:
        async with rebuno.open(tmp_path / "a.db", policy=compile_text(OPEN)) as kernel:
            await crashed(kernel, handler)
            ended = await kernel.run(handler, id="run")
            assert (ended.output, ended.replayed) == (19900, 200)

    asyncio.run(scenario())
    assert (asked.count(1), asked.count(2)) == (200, 1)


def test_identical_parallel_steps_keep_their_numbers(tmp_path: Path) -> None:
    """Some replay, the rest run: each call of the resumed run has the step that the same call had before."""
    given = count()
    outputs: list[list[int]] = []
    gate = asyncio.Event()

    async def body() -> int:
        number = next(given)
        if number == 1 and not gate.is_set():
            raise Crash
        return number

    async def handler() -> list[int]:
        outputs.append(await asyncio.gather(*(rebuno.step("n", body) for _ in range(3))))
        return outputs[-1]

    async def scenario() -> None:
        async with rebuno.open(tmp_path / "a.db", policy=compile_text(OPEN)) as kernel:
            await crashed(kernel, handler)
            gate.set()
            ended = await kernel.run(handler, id="run")
            steps = {step.occurrence: step.result for step in await kernel.operator.steps(ended.id)}
            assert [str(n) for n in ended.output] == [steps[0], steps[1], steps[2]]

    asyncio.run(scenario())


async def succeeded(b: Bench) -> None:
    await b.succeed(await b.submit())


async def failed(b: Bench) -> None:
    await b.fail(await b.submit())


async def started(b: Bench) -> None:
    await b.submit()


async def revoked(b: Bench) -> None:
    await b.submit()
    await b.begin(policy("deny", also=ALSO))
    await b.submit()


async def absent(b: Bench) -> None:
    await b.succeed(await b.submit(target="other"))


ALSO = 'rule other { allow tool "other" }\n'
ANSWERED: list[tuple[str, Callable[[Bench], Awaitable[None]], str, bool]] = [
    ("a success under the same bundle", succeeded, "allow", True),
    ("a success that would be asked about today", succeeded, "ask", True),
    ("a success that is denied today", succeeded, "deny", False),
    ("a failure", failed, "allow", True),
    ("a start without an end", started, "allow", False),
    ("a start whose policy was revoked", revoked, "allow", False),
    ("a step that is not known", absent, "allow", False),
]


@pytest.mark.parametrize(
    ("recorded", "today", "short"), [case[1:] for case in ANSWERED], ids=[case[0] for case in ANSWERED]
)
def test_only_what_ended_and_stands_goes_the_short_way(
    play: Play, recorded: Callable[[Bench], Awaitable[None]], today: str, short: bool
) -> None:
    """It answers what the whole way answers, and leaves no trace where it does not answer."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("allow", also=ALSO))
        await recorded(b)
        await b.begin(policy(today, also=ALSO))
        act = Submission("tool_call", "act", "{}", "safe_to_retry")
        assert recorded_answer(b.attempt, act) is None, "nothing is read yet"
        await b.attempt.all_known()
        at_once = recorded_answer(b.attempt, act)
        assert (at_once is not None, b.attempt.replayed) == (short, int(short))
        if short:
            await b.begin(policy(today, also=ALSO))
            assert at_once == await b.submit()
        else:
            assert (await b.submit()).say is not Say.REPLAY

    play(scenario)


def test_an_attempt_that_may_not_go_on_answers_nothing(play: Play) -> None:
    """Whoever asks the whole way is told why."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("allow"))
        await succeeded(b)
        await b.begin(policy("allow"))
        await b.attempt.all_known()
        b.attempt.ended = True
        assert recorded_answer(b.attempt, Submission("tool_call", "act", "{}", "safe_to_retry")) is None
        with pytest.raises(rebuno.Terminated):
            await b.submit()
        b.attempt.ended = False

    play(scenario)
