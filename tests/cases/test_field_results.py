"""F18 of `field.yaml`: a result that is too large to record, on both kernels."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import rebuno
from rebuno.model import identity
from tests.embedded.support import in_loop
from tests.sdk.served import served

MIB: Final = 1024 * 1024
SIZES: Final = [3, 9, 30]
# What of them is kept: a step records 10 MiB.
KEPT: Final = [3, 9]
NAMED: Final = r"`result` takes [\d,]+ bytes as JSON( or more)?, and at most 10,485,760 are taken.*\(the body has run"


def effect(size: int, idempotency: str) -> tuple[Callable[..., Any], list[int]]:
    """A handler whose only tool gives back so many MiB and more, and what its body did."""
    bodies: list[int] = []

    @rebuno.tool("dump", idempotency=idempotency)
    def dump() -> str:
        bodies.append(size)
        return "x" * (size * MIB)

    async def handler() -> str:
        return f"{len(await dump()):,}"

    return handler, bodies


def test_the_limit_is_the_one_that_is_named() -> None:
    """The sizes lie on both sides of it."""
    assert max(KEPT) * MIB < identity.MAX_BYTES < 30 * MIB
    assert f"{identity.MAX_BYTES:,}" in NAMED


@pytest.mark.parametrize("idempotency", ["safe_to_retry", "at_most_once"])
@pytest.mark.parametrize("size", SIZES)
@in_loop
async def test_a_result_that_is_too_large_embedded(tmp_path: Path, size: int, idempotency: str) -> None:
    """The body runs once in two runs of the same line. What is too large fails with the limit in words, in the first
    run and in the second."""
    handler, bodies = effect(size, idempotency)
    ends = []
    for _ in range(2):
        async with rebuno.open(tmp_path / "a.db", policy=rebuno.PERMISSIVE) as kernel:
            ended = await kernel.run(handler, id="run", agent="agent")
            ends.append((ended.status, ended.output, ended.failure_reason))
            steps = await kernel.operator.steps(ended.id)
    assert bodies == [size]
    assert len(steps) == 1
    assert ends[0] == ends[1]
    check(size, *ends[0])


def check(size: int, status: str, output: Any, reason: str | None) -> None:
    """Kept, or refused by name."""
    if size in KEPT:
        assert (status, output, reason) == ("completed", f"{size * MIB:,}", None)
    else:
        assert status == "failed"
        assert reason is not None
        assert re.search(NAMED, reason), reason


@pytest.mark.parametrize("size", SIZES)
@in_loop
async def test_a_result_that_is_too_large_served(tmp_path: Path, size: int) -> None:
    """One delivery and one body; the same key again gives the same end, and delivers nothing."""
    handler, bodies = effect(size, "at_most_once")
    async with served(str(tmp_path / "a.db")) as kernel, kernel.agent("agent", handler):
        ends = []
        for _ in range(2):
            made = await kernel.client.create("agent", idempotency_key="run")
            ended = await kernel.ended(made.id)
            ends.append((ended.id, ended.status, ended.output, ended.failure_reason))
        kinds = [event.type for event in await kernel.client.events(made.id)]
    assert bodies == [size]
    assert ends[0] == ends[1]
    assert (kinds.count("execution.started"), kinds.count("step.executing")) == (1, 1)
    check(size, *ends[0][1:])


@in_loop
async def test_a_result_that_only_its_request_makes_too_large(tmp_path: Path) -> None:
    """A step could record it, and the body of the request that brings it is longer than a server takes."""
    bodies: list[int] = []

    @rebuno.tool("dump", idempotency="at_most_once")
    def dump() -> str:
        bodies.append(1)
        return "x" * (identity.MAX_BYTES - 2)

    async def handler() -> str:
        return f"{len(await dump()):,}"

    async with served(str(tmp_path / "a.db")) as kernel, kernel.agent("agent", handler):
        made = await kernel.client.create("agent")
        ended = await kernel.ended(made.id)
    assert bodies == [1]
    assert ended.status == "failed"
    assert "at most 10,485,760 bytes" in str(ended.failure_reason)
