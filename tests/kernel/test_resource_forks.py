"""What forks, sessions and imports take over of resources: each begins with the checkpoint that fits."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from rebuno.errors import StoreCorrupt
from rebuno.journal.resource_records import ResourceRows
from rebuno.journal.served import ServedStore
from rebuno.journal.sqlite import SQLiteStore
from rebuno.kernel.history import archive
from rebuno.kernel.lifecycle.fork import fork
from rebuno.kernel.lifecycle.fork_resources import with_restoration
from rebuno.kernel.operator import shown
from rebuno.model.answer import AnswerKind
from rebuno.model.resource import Capture
from tests.kernel.resourceful import Works, begun, works
from tests.kernel.served import Scenario, World, sound


async def forked(w: World, source: Works, at_seq: int) -> tuple[Works, dict[str, Any]]:
    """A fork that is delivered, and what the answer to its making says of resources."""
    row = await w.serving.fork(source.id, at_seq=at_seq)
    shown = await w.serving.with_restoration(await w.serving.shown(row))
    run = works(await w.run())
    assert run.id == row.id
    assert (await w.serving.shown(row)).restoration is None
    return run, shown.restoration or {}


@asynccontextmanager
async def other_store() -> AsyncIterator[ServedStore]:
    """A store in memory."""
    store = await SQLiteStore.open(":memory:")
    try:
        yield store
    finally:
        await store.close()


async def seqs(run: Works, w: World, type: str) -> list[int]:
    """The numbers of the events of a type."""
    return [event.event_seq for event in await run.told(w, type)]


def test_a_fork_begins_with_the_newest_checkpoint_that_covers_its_point(serve: Scenario) -> None:
    """And replays its steps up to there; the copy is created anew, without a checkpoint of its own being due."""

    async def scenario(w: World) -> None:
        run = await begun(w)
        await run.register()
        await run.bind()
        for number in range(3):
            await run.work("box", ref=f"r{number}", args={"n": number})
        ends = await seqs(run, w, "step.succeeded")
        for number, at in enumerate(ends):
            copy, restoration = await forked(w, run, at)
            assert restoration == {"box": {"checkpoint_ref": f"r{number}", "checkpoint_seq": at, "covered": True}}
            view = await copy.view()
            assert (view.binding, view.checkpoint_ref, view.covered) == (None, f"r{number}", True)
            assert (view.generation, view.count) == (number + 1, number + 1)
            (begins,) = await copy.told(w, "resource.initialized")
            assert begins.payload == {"key": "box", "generation": number + 1, "checkpoint_ref": f"r{number}"}
            (made,) = await copy.told(w, "execution.forked")
            assert made.payload["restoration"] == restoration
            for earlier in range(number + 1):
                assert (await copy.change("box", args={"n": earlier})).kind is AnswerKind.REPLAY
            live = await copy.change("box", args={"n": number + 1})
            assert (live.resources[0].generation, live.resources[0].due) == (number + 2, True)
            await copy.after(live, Capture("box", number + 2, "own"))

    serve(scenario)


def test_a_fork_in_the_middle_of_a_step_begins_before_it(serve: Scenario) -> None:
    """No checkpoint covers that point: the newest one before it is taken, and a new one is due."""

    async def scenario(w: World) -> None:
        run = await begun(w)
        await run.register()
        await run.work("box", ref="r1", args={"n": 1})
        await run.work("box", ref="r2", args={"n": 2})
        at = (await seqs(run, w, "step.executing"))[1]
        copy, restoration = await forked(w, run, at)
        covered = (await seqs(run, w, "step.succeeded"))[0]
        assert restoration == {"box": {"checkpoint_ref": "r1", "checkpoint_seq": covered, "covered": False}}
        view = await copy.view()
        # The generation of the step that had begun, and one more.
        assert (view.checkpoint_ref, view.covered, view.generation, view.count) == ("r1", False, 3, 1)
        assert (await copy.change("box", args={"n": 1})).kind is AnswerKind.REPLAY
        again = await copy.change("box", args={"n": 2})
        assert (again.kind, again.resources[0].generation) == (AnswerKind.PROCEED, 4)

    serve(scenario)


def test_a_fork_without_a_checkpoint(serve: Scenario) -> None:
    """It has nothing to begin with, and says so."""

    async def scenario(w: World) -> None:
        run = await begun(w)
        await run.register(every_steps=0)
        await run.after(await run.change("box"))
        copy, restoration = await forked(w, run, (await w.row(run)).head_seq)
        assert restoration == {"box": {"covered": False}}
        view = await copy.view(every_steps=0)
        assert (view.checkpoint_ref, view.covered, view.generation, view.count) == ("", False, 2, 1)
        (begins,) = await copy.told(w, "resource.initialized")
        assert begins.payload == {"key": "box", "generation": 2}

    serve(scenario)


def test_a_fork_of_an_uncovered_fork(serve: Scenario) -> None:
    """Goes back to the same checkpoint, in a generation of its own."""

    async def scenario(w: World) -> None:
        run = await begun(w)
        await run.register()
        await run.work("box", ref="r1", args={"n": 1})
        await run.after(await run.change("box", args={"n": 2}))
        first, restoration = await forked(w, run, (await w.row(run)).head_seq)
        assert restoration["box"]["covered"] is False
        second, restoration = await forked(w, first, (await w.row(first)).head_seq)
        ((_, covered, ref, invalidated),) = await first.checkpoints(w)
        assert invalidated is not None
        assert restoration == {"box": {"checkpoint_ref": "r1", "checkpoint_seq": covered, "covered": False}}
        assert ref == "r1"
        view = await second.view()
        assert (view.checkpoint_ref, view.covered, view.generation, view.count) == ("r1", False, 4, 2)
        for number in (1, 2):
            assert (await second.change("box", args={"n": number})).kind is AnswerKind.REPLAY

    serve(scenario)


def test_the_newest_of_several_at_one_copied_event(serve: Scenario) -> None:
    """Checkpoints between whose events nothing is copied stand at one event of the fork, where the newest stays."""

    async def scenario(w: World) -> None:
        run = await begun(w)
        await run.register()
        await run.publish(Capture("box", 0, "one"))
        await run.publish(Capture("box", 0, "two"))
        await run.publish(Capture("box", 0, "three"))
        copy, restoration = await forked(w, run, (await w.row(run)).head_seq - 1)
        assert restoration["box"]["checkpoint_ref"] == "three"
        view = await copy.view()
        assert (view.checkpoint_ref, view.covered, view.generation) == ("three", True, 0)
        assert [one[2] for one in await copy.checkpoints(w)] == ["three"]
        (registered,) = await seqs(copy, w, "resource.registered")
        assert (await w.serving.fork_points(copy.id)).resources == {"box": registered}

    serve(scenario)


def test_each_resource_has_its_own_checkpoint_and_later_ones_are_left_out(serve: Scenario) -> None:
    """One is covered, one is not, and one was registered after the point."""

    async def scenario(w: World) -> None:
        run = await begun(w)
        await run.register("a", coverage_reuse=True)
        await run.register("b", coverage_reuse=True)
        await run.publish(Capture("a", 0, "a0"), Capture("b", 0, "b0"))
        await run.after(await run.change("b"))
        at = (await w.row(run)).head_seq
        await run.register("c")
        copy, restoration = await forked(w, run, at)
        assert {key: (one["checkpoint_ref"], one["covered"]) for key, one in restoration.items()} == {
            "a": ("a0", True),
            "b": ("b0", False),
        }
        assert set((await w.serving.fork_points(copy.id)).resources) == {"a", "b"}
        assert (await copy.view("a", coverage_reuse=True)).covered
        assert not (await copy.view("b", coverage_reuse=True)).covered
        new = await copy.view("c")
        assert (new.generation, new.checkpoint_ref) == (0, "")

    serve(scenario)


def test_what_is_invalidated_later_still_covers_an_earlier_point(serve: Scenario) -> None:
    """By the time of the fork's point."""

    async def scenario(w: World) -> None:
        run = await begun(w)
        await run.register()
        await run.work("box", ref="r1", args={"n": 1})
        at = (await w.row(run)).head_seq
        await run.work("box", ref="r2", args={"n": 2})
        copy, restoration = await forked(w, run, at)
        assert restoration["box"]["covered"] is True
        assert [one[2:] for one in await copy.checkpoints(w)] == [("r1", None)]

    serve(scenario)


def test_a_retry_begins_with_the_checkpoint_before_the_failure(serve: Scenario) -> None:
    """As a fork at that point does."""

    async def scenario(w: World) -> None:
        run = await begun(w)
        await run.register()
        await run.work("box", ref="r1", args={"n": 1})
        await run.failed(await run.change("box", args={"n": 2}), Capture("box", 2, "broken"))
        await w.serving.fail(run.agent, run.id, run.dispatch, "tool_error: no")
        row = await w.serving.retry(run.id)
        shown = await w.serving.with_restoration(await w.serving.shown(row))
        assert shown.restoration is not None
        assert (shown.restoration["box"]["checkpoint_ref"], shown.restoration["box"]["covered"]) == ("r1", False)

    serve(scenario)


def test_a_session_goes_on_with_its_resources(serve: Scenario) -> None:
    """With what they are bound to, in a first generation of its own; also where it had to wait for its turn. Another
    session, another agent and an execution that continues it elsewhere begin with none."""

    async def scenario(w: World) -> None:
        await w.agent()
        await w.agent("other")
        run = works(await w.begin(session="s"))
        await run.register(coverage_reuse=True)
        await run.register("unbound")
        await run.bind(binding={"at": "here"})
        await run.work("box", ref="r1")
        waiting = await w.create(session="s")
        await run.complete()
        second = works(await w.run())
        assert second.id == waiting.id
        for turn in (second, None):
            if turn is None:
                await second.complete()
                turn = works(await w.begin(session="s"))
            points = await w.serving.fork_points(turn.id)
            assert set(points.resources) == {"box", "unbound"}
            assert points.checkpoints == []
            assert points.resources["box"] == (await seqs(turn, w, "resource.registered"))[0]
            view = await turn.view(coverage_reuse=True)
            assert (view.binding, view.generation, view.count, view.covered) == ('{"at":"here"}', 0, 0, False)
            assert (await turn.view("unbound")).binding is None
            last = turn
        await last.complete()
        elsewhere = works(await w.begin(session="t"))
        assert (await w.serving.fork_points(elsewhere.id)).resources == {}
        of_other = works(await w.begin("other", session="s"))
        assert (await w.serving.fork_points(of_other.id)).resources == {}
        goes_on = works(await w.begin(session="u", parent_execution_id=run.id))
        assert (await w.serving.fork_points(goes_on.id)).resources == {}

    serve(scenario)


def test_an_exported_execution_brings_its_resources(serve: Scenario) -> None:
    """One that ended as it stands; one that goes on elsewhere is created anew, for its source may go on too."""

    async def scenario(w: World) -> None:
        run = await begun(w)
        await run.register(configuration='{"é":"\\u0000"}')
        await run.bind(binding="here")
        await run.work("box", ref="r1", args={"n": 1})
        live = await archive.record(w.store, run.id)
        text = [line.encode() for line in archive.lines(live)]
        assert archive.read(text) == live
        await run.complete()
        ended = await archive.record(w.store, run.id)
        assert archive.read([line.encode() for line in archive.lines(ended)]) == ended
        for recording, binding, types in ((ended, '"here"', 0), (live, None, 1)):
            async with other_store() as store:
                row = await archive.restore(store, recording)
                ((found,), checkpoints) = await store.resources(row.id), await store.checkpoints(row.id)
                assert (found.binding, found.generation, found.count, found.covered) == (binding, 1, 1, True)
                assert [one.checkpoint_ref for one in checkpoints] == ["r1"]
                told = [event.type for event in await store.events(row.id)]
                assert told.count("resource.initialized") == types
                await sound(store)
                copy = await with_restoration(store, await shown(store, await fork(store, row, row.head_seq)))
                assert copy.restoration is not None
                assert copy.restoration["box"]["checkpoint_ref"] == "r1"
                await sound(store)

    serve(scenario)


def test_a_changed_row_is_found_out(serve: Scenario) -> None:
    """`verify` holds resources and checkpoints against the log."""

    async def scenario(w: World) -> None:
        run = await begun(w)
        await run.register()
        await run.work("box", ref="r1")
        recording = await archive.record(w.store, run.id)
        ((resource,), (checkpoint,)) = recording.external.resources, recording.external.checkpoints
        for external in (
            ResourceRows((replace(resource, binding='"mine"'),), (checkpoint,)),
            ResourceRows((replace(resource, count=0),), (checkpoint,)),
            ResourceRows((), (checkpoint,)),
            ResourceRows((resource, replace(resource, key="more")), (checkpoint,)),
            ResourceRows((resource,), ()),
            ResourceRows((resource,), (replace(checkpoint, checkpoint_ref="other"),)),
            ResourceRows((resource,), (checkpoint, replace(checkpoint, covered_seq=1))),
        ):
            changed = [line.encode() for line in archive.lines(replace(recording, external=external))]
            with pytest.raises(StoreCorrupt):
                archive.read(changed)

    serve(scenario)
