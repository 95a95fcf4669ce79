"""Scenarios of lives: subagents, cancellation, killed agents and replaced attempts."""

import asyncio
import os
import secrets
import signal
from pathlib import Path

import rebuno
from tests.conformance.published.world import SHORT_LEASE, World, free_ports, listens


async def subagents_work_side_by_side(world: World) -> None:
    """Subagents run at once while their parent is suspended, and their outputs are its steps' results."""
    parent = await world.client.create("leading", {"tasks": [["doubling", {"n": 4}], ["doubling", {"n": 5}]]})
    assert (await world.completed(parent.id)).output == [8, 10]
    steps = await world.steps(parent.id)
    assert sorted(step.result for step in steps) == [8, 10]
    children = await world.operator.get("/v0/executions", params={"agent_id": "doubling", "limit": 200})
    spawned = {one["spawned_by"]["step_id"] for one in children.json()["executions"] if one["spawned_by"]}
    assert {step.step_id for step in steps} <= spawned


async def subagents_fail_and_are_asked(world: World) -> None:
    """A subagent's failure is an error of the tool that called it; one that waits for a person keeps its parent."""
    parent = await world.client.create("leading", {"tasks": [["failing", {"why": "rain"}], ["paying", {"amount": 2}]]})
    child = await _child(world, parent.id, "paying")
    await world.grant(child)
    done = await world.completed(parent.id)
    assert done.output[1] == "paid 2"
    assert done.output[0].startswith("delegate: ")
    failed = next(step for step in await world.steps(parent.id) if step.status == "failed")
    assert failed.error["reason"] == "subagent_failed"
    assert failed.error["failure_reason"] == "agent_error: KeyError: 'rain'"


async def a_parents_end_is_its_subagents(world: World) -> None:
    """Cancelling a parent cancels the subagent that it waits for."""
    parent = await world.client.create("leading", {"tasks": [["paying", {"amount": 3}]]})
    child = await _child(world, parent.id, "paying")
    await world.asked(child)
    await world.status(parent.id, "blocked")
    await world.client.cancel(parent.id)
    ended = await world.ended(child)
    assert (ended.status, ended.failure_reason) == ("cancelled", "parent_terminal")
    assert child not in [one.execution_id for one in await world.client.list_approvals()]


async def _child(world: World, parent_id: str, agent_id: str) -> str:
    async def look() -> str | None:
        found = (await world.operator.get("/v0/executions", params={"agent_id": agent_id, "limit": 200})).json()
        mine = (one for one in found["executions"] if (one["spawned_by"] or {}).get("execution_id") == parent_id)
        return next((one["id"] for one in mine), None)

    return await world.until(f"{parent_id} to have a subagent", look)


async def cancelled_handlers_stop(world: World) -> None:
    """A cancelled execution ends at once, and its handler within one heartbeat; its step is cancelled too."""
    id, _, _, _ = await _mortal(world, once=False)
    await world.client.cancel(id)
    assert (await world.client.get(id)).status == "cancelled"
    await asyncio.wait_for(world.noted(id, "stopped by CancelledError"), SHORT_LEASE / 3 + 2)
    (step,) = await world.steps(id, "linger")
    assert step.status == "cancelled"
    try:
        await world.client.cancel(id)
    except rebuno.ConflictError:
        return
    raise AssertionError("what has ended was cancelled")


async def _mortal(world: World, once: bool) -> tuple[str, Path, int, int]:
    """An agent in a process of its own, in the middle of a body: execution, the file that lets it go, port, pid."""
    name = "lingering"
    (port,) = free_ports(1)
    go = world.folder / secrets.token_hex(4)
    process = world.start({name: port})
    await listens(port)
    await world.register(name, port, SHORT_LEASE)
    execution = await world.client.create(name, {"path": str(go), "once": once})
    await world.noted(execution.id, "hold" if once else "linger")
    return execution.id, go, port, process.pid


async def killed_agents_are_resumed(world: World) -> None:
    """An agent is killed in the middle of two bodies; started again it goes on, and only the safe one runs again."""
    id, go, port, pid = await _mortal(world, once=False)
    second_go = world.folder / secrets.token_hex(4)
    once = await world.client.create("lingering", {"path": str(second_go), "once": True})
    await world.noted(once.id, "hold")
    os.kill(pid, signal.SIGKILL)
    go.touch()
    second_go.touch()
    world.start({"lingering": port})
    assert (await world.completed(id)).output == {"sum": 5, "said": "let go", "kept": "kept to the end"}
    assert [world.count(id, what) for what in ("add", "linger", "keep")] == [1, 2, 1]
    unknown = (await world.completed(once.id)).output
    assert unknown["said"].startswith("hold: ")
    assert unknown["kept"] == "kept to the end"
    assert [world.count(once.id, what) for what in ("add", "hold", "keep")] == [1, 1, 1]
    (step,) = await world.steps(once.id, "hold")
    assert step.error["reason"] == "indeterminate"


async def replaced_attempts_are_fenced(world: World) -> None:
    """An agent that hangs beyond its lease is replaced; what it says after it wakes up is refused, and it stops."""
    id, go, _, pid = await _mortal(world, once=False)
    os.kill(pid, signal.SIGSTOP)
    (port,) = free_ports(1)
    other = world.start({"lingering": port})
    await listens(port)
    await world.register("lingering", port, SHORT_LEASE)

    async def replaced() -> bool | None:
        return world.count(id, "linger") == 2 or None

    await world.until("the second attempt", replaced)
    os.kill(pid, signal.SIGCONT)
    await world.noted(id, "stopped by CancelledError")
    go.touch()
    assert (await world.completed(id)).output["said"] == "let go"
    assert [world.count(id, what) for what in ("add", "linger", "after", "keep")] == [1, 2, 1, 1]
    assert (await world.noted(id, "after")).pid == other.pid
