"""Scenarios of resources: checkpoints, forks that begin with them, and an agent that is killed while it works."""

import os
import secrets
import signal
from typing import Any

import rebuno
from tests.conformance.published.world import SHORT_LEASE, World, free_ports, listens


async def _points(world: World, execution_id: str) -> Any:
    answer = await world.operator.get(f"/v0/executions/{execution_id}/fork-points")
    return answer.raise_for_status().json()


async def _events(world: World, execution_id: str, *types: str) -> list[rebuno.types.Event]:
    found: list[rebuno.types.Event] = []
    after = 0
    while page := await world.client.events(execution_id, after_seq=after, limit=1000):
        found += [event for event in page if event.type in types]
        after = page[-1].event_seq
    return found


def _input(world: World, *words: str) -> dict[str, Any]:
    return {"root": str(world.folder / secrets.token_hex(4)), "words": [*words], "go": str(world.folder / "never")}


async def forks_begin_with_checkpoints(world: World) -> None:
    """A fork at the end of each step finds the folder as it was then, in a copy of its own."""
    source = await world.client.create("drafting", _input(world, "a", "b", "c"))
    done = await world.completed(source.id)
    assert done.output == {"found": [[], ["a"], ["a", "b"]], "at last": ["a", "b", "c"]}
    points = await _points(world, source.id)
    ends = [event.event_seq for event in await _events(world, source.id, "step.succeeded")]
    assert [one["covered_seq"] for one in points["checkpoints"]][1:] == ends
    assert [one["generation"] for one in points["checkpoints"]] == [0, 1, 2, 3]
    assert ["invalidated_seq" in one for one in points["checkpoints"]] == [True, True, True, False]
    (registered,) = await _events(world, source.id, "resource.registered")
    assert points["resources"] == {"draft": registered.event_seq}
    for number, (at_seq, made) in enumerate(zip(ends, points["checkpoints"][1:], strict=True), 1):
        fork = await world.client.fork(source.id, at_seq=at_seq, session=f"draft-{secrets.token_hex(4)}")
        ref = made["checkpoint_ref"]
        assert fork.restoration == {"draft": {"checkpoint_ref": ref, "checkpoint_seq": at_seq, "covered": True}}
        assert (await world.completed(fork.id)).output == done.output
        assert [world.count(fork.id, f"write {word}") for word in "abc"] == [int(n >= number) for n in range(3)]
        assert [world.count(fork.id, what) for what in ("create True", "open", "checkpoint")] == [1, 0, 3 - number]
        assert (await world.client.get(fork.id)).restoration is None


async def forks_between_checkpoints_begin_before_them(world: World) -> None:
    """Where no checkpoint covers the point, the newest earlier one is restored, and a new one made at once."""
    source = await world.client.create("drafting", _input(world, "a", "b"))
    done = await world.completed(source.id)
    at_seq = (await _events(world, source.id, "step.executing"))[1].event_seq
    fork = await world.client.fork(source.id, at_seq=at_seq)
    assert fork.restoration is not None
    assert fork.restoration["draft"]["covered"] is False
    assert (await world.completed(fork.id)).output == done.output
    (begun,) = await _events(world, fork.id, "resource.initialized")
    # The baseline of the fork, and the checkpoint after its own step.
    made = await _events(world, fork.id, "resource.checkpointed")
    generation = begun.payload["generation"]
    own = [event.payload["generation"] for event in made if event.event_seq > begun.event_seq]
    assert own == [generation, generation + 1]
    first = await world.client.fork(source.id, at_seq=1)
    assert not first.restoration
    assert (await world.completed(first.id)).output == done.output
    assert world.count(first.id, "create False") == 1


async def failed_steps_are_captured(world: World) -> None:
    """A step that fails after it has changed the folder leaves a checkpoint too."""
    source = await world.client.create("drafting", _input(world, "fail", "a"))
    assert (await world.completed(source.id)).output == {"found": [["failed"], ["fail"]], "at last": ["a", "fail"]}
    assert [one["generation"] for one in (await _points(world, source.id))["checkpoints"]] == [0, 1, 2]
    (failed,) = await _events(world, source.id, "step.failed")
    fork = await world.client.fork(source.id, at_seq=failed.event_seq)
    assert (await world.completed(fork.id)).output["found"][1] == ["fail"]


async def sessions_keep_their_resources(world: World) -> None:
    """The next execution of a session opens what the one before was bound to."""
    session, input = f"draft-{secrets.token_hex(4)}", _input(world, "a")
    first = await world.client.create("drafting", input, session=session)
    await world.completed(first.id)
    second = await world.client.create("drafting", {**input, "words": ["b"]}, session=session)
    assert (await world.completed(second.id)).output == {"found": [["a"]], "at last": ["a", "b"]}
    assert [world.count(second.id, what) for what in ("create False", "create True", "open")] == [0, 0, 1]
    other = await world.client.create("drafting", {**input, "words": ["b"]}, session=f"{session}-other")
    assert (await world.completed(other.id)).output["found"] == [[]]


async def resources_outlive_killed_agents(world: World) -> None:
    """An agent is killed in the middle of a step; started again it opens the same folder, and the step that runs again
    leaves one checkpoint, of its second generation."""
    (port,) = free_ports(1)
    go = world.folder / secrets.token_hex(4)
    process = world.start({"mortal": port})
    await listens(port)
    await world.register("mortal", port, SHORT_LEASE)
    source = await world.client.create("mortal", {**_input(world, "a", "wait", "b"), "go": str(go)})
    await world.noted(source.id, "write wait")
    os.kill(process.pid, signal.SIGKILL)
    go.touch()
    world.start({"mortal": port})
    done = await world.completed(source.id)
    assert done.output == {"found": [[], ["a", "wait"], ["a", "wait"]], "at last": ["a", "b", "wait"]}
    assert [world.count(source.id, f"write {word}") for word in ("a", "wait", "b")] == [1, 2, 1]
    assert [world.count(source.id, what) for what in ("create False", "create True", "open")] == [1, 0, 1]
    points = await _points(world, source.id)
    assert [one["generation"] for one in points["checkpoints"]] == [0, 1, 3, 4]
    # While nobody knew what became of the step, there was no telling what a checkpoint would hold.
    refused = await _events(world, source.id, "resource.checkpoint_failed")
    assert [event.payload["error"] for event in refused] == ["writers_active"]
    fork = await world.client.fork(source.id, at_seq=points["checkpoints"][2]["covered_seq"])
    assert (await world.completed(fork.id)).output == done.output
