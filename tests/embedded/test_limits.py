"""Limits as an agent meets them, and as several processes share them."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import rebuno
from rebuno.errors import RateLimited
from rebuno.kernel.core import limits
from rebuno.policy import compile_text
from rebuno.testing import FixedClock, memory_kernel
from tests.embedded import limited
from tests.embedded.agents import notes
from tests.embedded.support import ROOT, in_loop


def limit(text: str) -> str:
    """A bundle that limits the tool `act`."""
    return f'default allow\nrule r {{ allow tool "act" limit {text} }}\n'


@rebuno.tool("act")
async def act(n: int) -> int:
    """A tool."""
    return n


@in_loop
async def test_a_handler_may_try_again_or_give_up() -> None:
    """It gets `RateLimited`, which names the rule; the next try is the same step, and the journal holds no other."""
    clock = FixedClock()

    async def handler() -> list[object]:
        seen: list[object] = []
        for _ in range(3):
            try:
                seen.append(await act(1))
            except RateLimited as error:
                seen.append((error.reason, error.rule_id))
                clock.advance(10)
        return [str(one) for one in seen]

    async with memory_kernel(compile_text(limit("1 per 10s")), clock=clock) as kernel:
        ended = await kernel.run(handler)
        steps = await kernel.operator.steps(ended.id)
    assert ended.output == ["1", "('rate_limit_exceeded', 'r')", "1"]
    assert [step.occurrence for step in steps] == [0, 1]


@pytest.mark.parametrize(
    ("otherwise", "ended_as"),
    [
        # Let pass, the refusal is the reason of the failure.
        ("", ("failed", "rate_limit_exceeded", None)),
        # A denial is what any denial is: a text for the model.
        (" else deny", ("completed", None, "act not allowed. reason: rate_limit_exceeded")),
    ],
)
@in_loop
async def test_what_a_handler_is_told(otherwise: str, ended_as: tuple[object, ...]) -> None:
    """A refusal is raised, a denial comes as denials come."""

    async def handler() -> object:
        await act(1)
        return await act(2)

    async with memory_kernel(compile_text(limit(f"1 per 1h{otherwise}"))) as kernel:
        ended = await kernel.run(handler)
    assert (ended.status, ended.failure_reason, ended.output) == ended_as


@in_loop
async def test_a_handler_waits_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """It notices nothing but the time, and what it does beside goes on."""
    monkeypatch.setattr(limits, "LOOK", 0.005)
    clock = FixedClock()

    async def handler() -> list[int]:
        both = asyncio.gather(act(1), act(2))
        while not both.done():
            await asyncio.wait({both}, timeout=0.005)
            clock.advance(1)
        return list(await both)

    async with memory_kernel(compile_text(limit("1 per 10s else wait up to 1h")), clock=clock) as kernel:
        ended = await asyncio.wait_for(kernel.run(handler), 10)
    assert (ended.status, ended.output, ended.attempt) == ("completed", [1, 2], 1)


@in_loop
async def test_a_timeout_around_a_wait_records_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The step was not there yet."""
    monkeypatch.setattr(limits, "LOOK", 0.005)

    async def handler() -> str:
        await act(1)
        try:
            await asyncio.wait_for(act(2), 0.03)
        except TimeoutError:
            return "gave up"
        return "ran"

    async with memory_kernel(compile_text(limit("1 per 1h else wait up to 2h"))) as kernel:
        ended = await asyncio.wait_for(kernel.run(handler), 10)
        steps = await kernel.operator.steps(ended.id)
    assert (ended.output, len(steps)) == ("gave up", 1)


@in_loop
async def test_a_run_that_blocks_beside_a_wait_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not stay until the window has room; the next run waits for what is left."""
    monkeypatch.setattr(limits, "LOOK", 0.005)
    rules = limit("1 per 1h else wait up to 2h") + 'rule p { require approval for tool "pay" }'

    @rebuno.tool("pay")
    async def pay() -> None:
        raise AssertionError("nobody granted it")

    async def handler() -> None:
        await act(1)
        await asyncio.gather(act(2), pay())

    async with memory_kernel(compile_text(rules)) as kernel:
        ended = await asyncio.wait_for(kernel.run(handler), 10)
    assert (ended.status, [asked.target for asked in ended.approvals]) == ("blocked", ["pay"])


def _process(store: str, path: Path, deed: str, *keys: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.embedded.limited", store, str(path), deed, *keys]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


async def _steps(store: str) -> list[str]:
    """What the journal knows of the execution `run`."""
    async with rebuno.operate(store) as operator:
        return [step.target for step in await operator.steps((await operator.execution("run")).id)]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_processes_share_a_limit(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Two processes at once and one that was killed between its place and its record: together they come to the number
    that the rule says, and not over it."""
    path = tmp_path / "store.db"
    store = str(path) if kind == "sqlite" else request.getfixturevalue("postgres")
    with _process(store, path, "die", "run") as dead:
        assert dead.wait(20) == -signal.SIGKILL
    assert (notes(path), asyncio.run(_steps(store))) == ([], [])
    first, second = ("a", "b", "c", "d", "e"), ("f", "g", "h", "i")
    with _process(store, path, "live", *first) as one, _process(store, path, "live", *second) as two:
        said = [word for other in (one, two) for word in other.communicate(timeout=30)[0].split()]
    # The dead one holds a place.
    assert (said.count("completed"), said.count("rate_limit_exceeded"), len(notes(path))) == (4, 5, 4)
    assert asyncio.run(limited.run(store, path, "run", "z")) == ["completed", "rate_limit_exceeded"]
    assert len(notes(path)) == 5
