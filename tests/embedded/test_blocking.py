"""Runs that wait for a person: what goes on meanwhile, and what becomes of them under other bundles."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import rebuno
from rebuno.policy import compile_text
from tests.embedded.support import answer, bundle, in_loop, journal, process, run
from tests.sdk.support import Crash

ran: list[str] = []


@rebuno.tool
async def act(n: int = 0) -> str:
    ran.append("act")
    return f"acted {n}"


def noted(text: str) -> str:
    ran.append(text)
    return text


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    """Each test looks at what its own bodies did."""
    ran.clear()


async def acts() -> str:
    return str(await act())


async def acts_or_says_why() -> str:
    try:
        return str(await act())
    except rebuno.RebunoError as error:
        ran.append(f"raised {error}")
        raise


def statuses(steps: list[Any]) -> dict[str, str]:
    """The steps by target."""
    return {step.target: step.status for step in steps}


# ---------------------------------------------------------------- beside each other


async def first_question(operator: rebuno.Operator) -> str:
    """The approval that is asked for, as soon as it is."""
    for _ in range(1000):
        if asked := await operator.approvals(status="pending"):
            return asked[0].id
        await asyncio.sleep(0.005)
    raise TimeoutError


@in_loop
async def test_a_grant_from_another_process_reaches_a_run_whose_body_is_still_running(tmp_path: Path) -> None:
    """The slow body ends and reports, and the run goes on by itself with what was granted meanwhile."""
    path = tmp_path / "store.db"

    async def slow() -> str:
        async with rebuno.operate(path) as operator:
            approval_id = await first_question(operator)
        with process("grant", path, approval_id) as other:
            assert await asyncio.to_thread(other.wait, 20) == 0
        return noted("slow")

    async def handler() -> tuple[Any, Any]:
        return await asyncio.gather(rebuno.step("slow", slow), act())

    ended = await run(path, bundle("ask"), handler)
    assert (ended.status, ended.output) == ("completed", ["slow", "acted 0"])
    assert ran == ["slow", "act"]
    _, events = await journal(path)
    assert [event.type for event in events if event.type.startswith("execution.")] == [
        "execution.created",
        "execution.started",
        "execution.resumed",
        "execution.started",
        "execution.completed",
    ]


@in_loop
async def test_a_run_without_an_id_goes_on_as_the_same_execution(tmp_path: Path) -> None:
    """Answered while a body still ran, it is run again, and not begun anew; the id that it got resumes it too."""

    async def slow() -> None:
        await kernel.operator.grant(await first_question(kernel.operator), decided_by="ana")

    async def handler() -> None:
        await asyncio.gather(rebuno.step("slow", slow), act())

    async with rebuno.open(tmp_path / "store.db", policy=compile_text(bundle("ask"))) as kernel:
        ended = await kernel.run(handler)
        assert (ended.status, ended.attempt) == ("completed", 2)
        assert [row.id for row in await kernel.operator.executions()] == [ended.id]
        assert (await kernel.run(handler, id=ended.id)).id == ended.id


async def gathered(*branches: Awaitable[Any]) -> None:
    await asyncio.gather(*branches)


async def grouped(*branches: Any) -> None:
    async with asyncio.TaskGroup() as group:
        for branch in branches:
            group.create_task(branch)


@pytest.mark.parametrize("together", [gathered, grouped])
@pytest.mark.parametrize("delay", [0, 0.02])
@in_loop
async def test_a_branch_inside_an_at_most_once_body_finishes_when_another_blocks(
    tmp_path: Path, together: Callable[..., Awaitable[None]], delay: float
) -> None:
    """Its body and its inner steps run to their end and are recorded; nothing of it runs again."""
    path = tmp_path / "store.db"

    async def outer() -> list[object]:
        first = await rebuno.step("inner 1", noted, {"text": "inner 1"})
        await asyncio.sleep(0.03)
        return [first, await rebuno.step("inner 2", noted, {"text": "inner 2"}, idempotency="at_most_once")]

    async def blocks() -> None:
        await asyncio.sleep(delay)
        await act()

    async def handler() -> None:
        await together(rebuno.step("outer", outer, idempotency="at_most_once"), blocks())

    ended = await run(path, bundle("ask"), handler)
    assert ended.status == "blocked"
    steps, _ = await journal(path)
    assert statuses(steps) == {
        "outer": "succeeded",
        "inner 1": "succeeded",
        "inner 2": "succeeded",
        "act": "awaiting_approval",
    }
    await answer(path, ended.approvals[0].id, granted=True)
    assert (await run(path, bundle("ask"), handler)).status == "completed"
    assert ran == ["inner 1", "inner 2", "act"]


@in_loop
async def test_a_step_that_would_wait_inside_an_at_most_once_body_is_denied(tmp_path: Path) -> None:
    """The body sees the refusal and may end; the run does not block."""

    async def outer() -> str:
        return str(await act())

    ended = await run(
        tmp_path / "store.db", bundle("ask"), lambda: rebuno.step("outer", outer, idempotency="at_most_once")
    )
    assert ended.output == (
        "act not allowed. reason: a step inside the body of an at_most_once step cannot wait for a person"
    )


@in_loop
async def test_every_question_of_a_run_must_be_answered(tmp_path: Path) -> None:
    """Two branches ask at once; after one answer the run still waits, and no handler runs."""
    path = tmp_path / "store.db"

    async def handler() -> tuple[Any, Any]:
        ran.append("handler")
        return await asyncio.gather(act(1), act(2))

    ended = await run(path, bundle("ask"), handler)
    assert [question.args for question in ended.approvals] == [{"n": 1}, {"n": 2}]
    await answer(path, ended.approvals[1].id, granted=True)
    ended = await run(path, bundle("ask"), handler)
    assert (ended.status, [question.args for question in ended.approvals]) == ("blocked", [{"n": 1}])
    await answer(path, ended.approvals[0].id, granted=False, rationale="one is enough")
    ended = await run(path, bundle("ask"), handler)
    assert ended.output == ["act not allowed. reason: one is enough", "acted 2"]
    assert ran == ["handler", "handler", "act"]


# ---------------------------------------------------------------- under another bundle


async def waiting(path: Path) -> str:
    ended = await run(path, bundle("ask"), acts)
    return ended.approvals[0].id


@in_loop
async def test_what_a_bundle_denied_after_the_grant_stays_denied(tmp_path: Path) -> None:
    """Granted, then denied by the bundle before the resume: the grant is void, and back at allow it stays so."""
    path = tmp_path / "store.db"
    await answer(path, await waiting(path), granted=True)
    assert (await run(path, bundle("deny"), acts)).output == "act not allowed. reason: deny it"
    (step,), _ = await journal(path)
    assert step.status == "denied"
    assert ran == []


@pytest.mark.parametrize("then", ["allow", "ask", "deny"])
@in_loop
async def test_a_denial_is_replayed_by_a_run_that_did_not_end(tmp_path: Path, then: str) -> None:
    """A run that stops after the denial sees it again under every bundle."""
    path = tmp_path / "store.db"
    stops = iter([True])

    async def handler() -> str:
        said = await act()
        if next(stops, False):
            raise Crash
        return str(said)

    await answer(path, await waiting(path), granted=True)
    with pytest.raises(Crash):
        await run(path, bundle("deny"), handler)
    assert (await run(path, bundle(then), handler)).output == "act not allowed. reason: deny it"
    assert ran == []


@in_loop
async def test_a_loosened_bundle_answers_no_question(tmp_path: Path) -> None:
    """The person who was asked still has to answer; no handler runs before."""
    path = tmp_path / "store.db"
    approval_id = await waiting(path)
    ended = await run(path, bundle("allow"), acts)
    assert (ended.status, [question.id for question in ended.approvals]) == ("blocked", [approval_id])
    assert ran == []
    await answer(path, approval_id, granted=False, rationale="no")
    assert (await run(path, bundle("allow"), acts)).output == "act not allowed. reason: no"


async def done_then_denied(path: Path) -> rebuno.Execution:
    """A run whose one step succeeded, and is denied by the bundle when the run is taken up again."""
    stops = iter([True])

    async def handler() -> str:
        said = await acts_or_says_why()
        if next(stops, False):
            raise Crash
        return said

    with pytest.raises(Crash):
        await run(path, bundle("allow"), handler)
    return await run(path, bundle("deny"), handler)


@pytest.mark.parametrize(
    ("granted", "then", "status", "output", "reason"),
    [
        (True, "deny", "completed", "acted 0", None),  # the person says that the run may go on
        (False, "deny", "failed", None, "policy_revoked: stop it"),  # what is done is done; the run is not
        (None, "allow", "completed", "acted 0", None),  # the bundle no longer denies it
        (None, "deny", "blocked", None, None),
    ],
)
@in_loop
async def test_a_done_step_that_the_bundle_denies_asks_a_person(
    tmp_path: Path, granted: bool | None, then: str, status: str, output: str | None, reason: str | None
) -> None:
    """One `step.revoked`, and nothing but `Blocked` is raised into the handler, which would believe it refused."""
    path = tmp_path / "store.db"
    blocked = await done_then_denied(path)
    assert (blocked.status, [question.cause for question in blocked.approvals]) == ("blocked", ["revoked"])
    if granted is not None:
        await answer(path, blocked.approvals[0].id, granted=granted, rationale="stop it")
    ended = await run(path, bundle(then), acts_or_says_why)
    assert (ended.status, ended.output, ended.failure_reason) == (status, output, reason)
    _, events = await journal(path)
    assert [event.type for event in events].count("step.revoked") == 1
    assert ran.count("act") == 1
    assert set(ran) <= {"act", "raised the execution waits for an approval"}


@pytest.mark.parametrize("idempotency", ["safe_to_retry", "at_most_once"])
@in_loop
async def test_a_step_that_was_cut_off_and_is_denied_now_stays_denied(tmp_path: Path, idempotency: str) -> None:
    """Nobody knows whether it happened, and it may not happen again: not today, and not when it is allowed again."""
    path = tmp_path / "store.db"

    def dies() -> None:
        ran.append("dies")
        raise Crash

    tool = rebuno.tool(f"cut-off-{idempotency}", idempotency=idempotency)(dies)
    stops = iter([True])

    async def handler() -> object:
        said = await tool()
        if next(stops, False):
            raise Crash
        return said

    denies = f'bundle tests\ndefault allow\nrule no {{ deny tool "cut-off-{idempotency}" because "no more" }}\n'
    for text in (bundle("allow"), denies):
        with pytest.raises(Crash):
            await run(path, text, handler)
    ended = await run(path, bundle("allow"), handler)
    assert ended.output == f"cut-off-{idempotency} not allowed. reason: no more"
    (step,), _ = await journal(path)
    assert (step.status, step.error["reason"]) == ("failed", "policy_revoked")
    assert ran == ["dies"]


HISTORY = """bundle tests
default allow
known seen = result of tool "list" at [].id
rule once-only { deny tool "use" when args.id in seen because "it was listed already" }
"""


@in_loop
async def test_steps_are_judged_by_what_was_known_when_they_were_submitted(tmp_path: Path) -> None:
    """The same rules under a new digest: a step that was allowed before another one ended is not revoked by its end."""
    path = tmp_path / "store.db"
    stops = iter([True])

    async def slow_list() -> list[dict[str, int]]:
        await asyncio.sleep(0.03)
        return [{"id": 1}]

    listing = rebuno.tool("list")(slow_list)
    use = rebuno.tool("use")(lambda id: noted(f"use {id}"))

    async def handler() -> list[Any]:
        both = await asyncio.gather(listing(), use(id=1))
        again = await use(1)
        if next(stops, False):
            raise Crash
        return [*both, again]

    with pytest.raises(Crash):
        await run(path, HISTORY, handler)
    ended = await run(path, HISTORY + "# the same rules\n", handler)
    assert ended.output == [[{"id": 1}], "use 1", "use not allowed. reason: it was listed already"]
    assert ran == ["use 1"]
