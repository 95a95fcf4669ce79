"""The short way of a replay: what was recorded and stands comes back at once, and everything else asks the kernel."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import rebuno
from rebuno.errors import StoreCorrupt
from rebuno.kernel.core import recorded_steps as recorded_pages
from rebuno.kernel.core import stops
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.replay import recorded as recorded_answer
from rebuno.kernel.kernel import Kernel
from rebuno.model.answer import Answer, AnswerKind, Submission
from rebuno.model.identity import parse
from rebuno.policy import compile_text
from tests.kernel.support import Bench, Play, policy
from tests.sdk.support import OPEN, Crash


async def crashed(kernel: rebuno.Kernel, handler: Callable[[], Any]) -> None:
    """Runs a handler that ends its attempt by a crash."""
    with suppress(Crash):
        await kernel.run(handler, id="run")


def test_a_replay_asks_the_whole_way_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first step waits for the log to be read; the others have their answers at once, as all do of a new run."""
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
    # What is stopped is not read again meanwhile, however slow the machine is.
    monkeypatch.setattr(stops, "FRESH", float("inf"))

    async def scenario() -> None:
        async with rebuno.open(tmp_path / "a.db", policy=compile_text(OPEN)) as kernel:
            await crashed(kernel, handler)
            ended = await kernel.run(handler, id="run")
            assert (ended.output, ended.replayed) == (19900, 200)

    asyncio.run(scenario())
    assert (asked.count(1), asked.count(2)) == (0, 1)


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
            assert ended.output == [steps[0], steps[1], steps[2]]

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
        act = ("", "tool_call", "act", "{}")
        assert recorded_answer(b.attempt, act) is None, "nothing is read yet"
        await b.attempt.all_known()
        at_once = recorded_answer(b.attempt, act)
        assert (at_once is not None, b.attempt.replayed) == (short, int(short))
        if short:
            await b.begin(policy(today, also=ALSO))
            answer = await b.submit()
            assert at_once == (answer if answer.error else (parse(answer.result or ""),))
        else:
            assert (await b.submit()).kind is not AnswerKind.REPLAY

    play(scenario)


def test_an_attempt_that_may_not_go_on_answers_nothing(play: Play) -> None:
    """A caller that asks the whole way is told why."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("allow"))
        await succeeded(b)
        await b.begin(policy("allow"))
        await b.attempt.all_known()
        b.attempt.ended = True
        assert recorded_answer(b.attempt, ("", "tool_call", "act", "{}")) is None
        with pytest.raises(rebuno.Terminated):
            await b.submit()
        b.attempt.ended = False

    play(scenario)


DAMAGE = [
    # A success's texts are not looked at when they are read, only when they are used.
    ("result", ""),
    ("result", "["),
    # The arguments are not those that were submitted: who the step is says its id.
    ("args", '{"n":'),
]


@pytest.mark.parametrize(("column", "value"), DAMAGE)
def test_a_damaged_text_ends_the_attempt(tmp_path: Path, column: str, value: str) -> None:
    """The error says that the store is damaged; the step does not run again and the execution does not fail."""
    ran: list[int] = []

    async def handler() -> None:
        for n in range(3):
            await rebuno.step("n", lambda n: ran.append(n), {"n": n})
        raise Crash

    async def scenario() -> None:
        async with rebuno.open(tmp_path / "a.db", policy=compile_text(OPEN)) as kernel:
            await crashed(kernel, handler)
        other = sqlite3.connect(tmp_path / "a.db")
        other.execute(f"UPDATE steps SET {column} = ? WHERE args = ?", (value, '{"n":1}'))
        other.commit()
        other.close()
        async with rebuno.open(tmp_path / "a.db", policy=compile_text(OPEN)) as kernel:
            with pytest.raises(StoreCorrupt, match="a row cannot be read: not JSON"):
                await kernel.run(handler, id="run")
            assert (await kernel.operator.execution("run")).status == "running"

    asyncio.run(scenario())
    assert ran == [0, 1, 2]


def test_a_page_that_was_read_meanwhile_is_taken_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A handler that comes to its first step waits for the store, and that gives the turns to have the next page."""
    monkeypatch.setattr(recorded_pages, "PAGE", 10)
    asked: list[int] = []
    whole = Kernel.submit

    async def counted(self: Kernel, attempt: Attempt, submission: Submission) -> Answer:
        asked.append(attempt.lease.attempt)
        return await whole(self, attempt, submission)

    async def handler() -> None:
        for n in range(100):
            # The same three times, so that what was said does not tell which step it is.
            await rebuno.step("n", lambda n: n, {"n": n // 3})
            await asyncio.sleep(0.001)
        raise Crash

    monkeypatch.setattr(Kernel, "submit", counted)
    # What is stopped is not read again meanwhile, however slow the machine is.
    monkeypatch.setattr(stops, "FRESH", float("inf"))

    async def scenario() -> None:
        async with rebuno.open(tmp_path / "a.db", policy=compile_text(OPEN)) as kernel:
            await crashed(kernel, handler)
            await crashed(kernel, handler)

    asyncio.run(scenario())
    assert asked.count(1) == 0
    assert 1 <= asked.count(2) < 5
