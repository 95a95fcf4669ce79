"""Resources of served executions: which steps may change one, and which checkpoints of it hold. Each scenario runs on
one replica over SQLite, and on two over PostgreSQL that answer in turns."""

import pytest

from rebuno.errors import ConflictError, LeaseSuperseded, NotFoundError, Terminated, ValidationError
from rebuno.model.answer import AnswerKind
from rebuno.model.resource import Capture, CaptureFailure, StepResource
from tests.kernel.resourceful import begun, works
from tests.kernel.served import Scenario, World

ASKS = 'bundle asks\ndefault allow\nrule pay { require approval for tool "pay" because "money" }\n'


def test_a_resource_is_registered_once(serve: Scenario) -> None:
    """Again it is found as it is; what would make another resource of it is refused; checkpoints can be added, and
    are not changed."""

    async def scenario(w: World) -> None:
        run = await begun(w)
        first = await run.register(configuration='{"a":1}', every_steps=0)
        assert (first.generation, first.count, first.binding, first.checkpoint_ref, first.covered) == (
            0,
            0,
            None,
            "",
            False,
        )
        (event,) = await run.told(w, "resource.registered")
        assert first.registered_seq == event.event_seq
        assert event.payload == {
            "key": "box",
            "driver_id": "test",
            "configuration": {"a": 1},
            "coverage_reuse": False,
            "every_steps": 0,
            "on_completion": False,
        }
        other = works(run.on(w.replicas[-1]))
        assert await other.register(configuration='{"a":1}', every_steps=0) == first
        for more in ({"driver_id": "x"}, {"configuration": '{"a":2}'}, {"coverage_reuse": True}):
            with pytest.raises(ConflictError):
                await other.register("box", **{"configuration": '{"a":1}', **more})
        enabled = await other.register(configuration='{"a":1}', every_steps=3, on_completion=False)
        assert (enabled.registration.every_steps, enabled.registration.on_completion) == (3, False)
        assert enabled.registered_seq == first.registered_seq
        assert await run.register(configuration='{"a":1}', every_steps=7) == enabled
        assert len(await run.told(w, "resource.registered")) == 2

    serve(scenario)


@pytest.mark.parametrize("key", ["", "a b", "x" * 129, "é", "a/b", "box\n"])
def test_a_key_is_a_name(serve: Scenario, key: str) -> None:
    """Nothing is registered under another one."""

    async def scenario(w: World) -> None:
        run = await begun(w)
        with pytest.raises(ValidationError):
            await run.register(key)
        assert not await run.told(w, "resource.registered")

    serve(scenario)


def test_what_a_registration_must_say(serve: Scenario) -> None:
    """A driver, and no number below 0."""

    async def scenario(w: World) -> None:
        run = await begun(w)
        for more in ({"driver_id": ""}, {"every_steps": -1}, {"every_steps": 2**40}):
            with pytest.raises(ValidationError):
                await run.register(**more)

    serve(scenario)


def test_a_binding_stays(serve: Scenario) -> None:
    """Equal JSON is no other binding; another one, none at all and an unknown resource are refused."""

    async def scenario(w: World) -> None:
        run = await begun(w)
        with pytest.raises(NotFoundError):
            await run.bind()
        await run.register()
        with pytest.raises(ValidationError):
            await run.bind(binding=None)
        await run.bind(binding={"a": 1, "b": [2]})
        other = works(run.on(w.replicas[-1]))
        await other.bind(binding={"b": [2], "a": 1})
        with pytest.raises(ConflictError):
            await other.bind(binding={"a": 1})
        assert (await other.view()).binding == '{"a":1,"b":[2]}'
        assert [event.payload for event in await run.told(w, "resource.bound")] == [
            {"key": "box", "binding": {"a": 1, "b": [2]}}
        ]

    serve(scenario)


def test_a_step_ends_what_was_covered(serve: Scenario) -> None:
    """It begins a generation of what it declares, and its checkpoint covers the event of its outcome."""

    async def scenario(w: World) -> None:
        run = await begun(w)
        await run.register()
        await run.publish(Capture("box", 0, "at-first"))
        assert (await run.view()).covered
        (made,) = await run.told(w, "resource.checkpointed")
        assert made.payload == {
            "key": "box",
            "generation": 0,
            "checkpoint_ref": "at-first",
            "covered_seq": made.event_seq - 1,
        }
        answer = await run.change("box")
        assert answer.resources == (StepResource("box", 1, True),)
        other = works(run.on(w.replicas[-1]))
        view = await other.view()
        assert (view.generation, view.count, view.covered) == (1, 0, False)
        (started,) = await run.told(w, "step.executing")
        assert (started.payload["resources"], started.payload["generations"]) == (["box"], {"box": 1})
        await other.after(answer, Capture("box", 1, "after-one"))
        (ended,) = await run.told(w, "step.succeeded")
        assert await run.checkpoints(w) == [
            ("box", made.event_seq - 1, "at-first", started.event_seq),
            ("box", ended.event_seq, "after-one", None),
        ]
        view = await run.view()
        assert (view.generation, view.count, view.covered) == (1, 1, True)

    serve(scenario)


def test_a_failed_step_counts_and_is_captured(serve: Scenario) -> None:
    """So that every second one of all steps is due, however they ended."""

    async def scenario(w: World) -> None:
        run = await begun(w)
        await run.register(every_steps=2)
        due = []
        for number in range(4):
            answer = await run.change("box", target=f"act-{number}")
            due.append(answer.resources[0].due)
            made = [Capture("box", number + 1, f"r{number}")] if answer.resources[0].due else []
            await (run.failed(answer, *made) if number % 2 else run.after(answer, *made))
        assert due == [False, True, False, True]
        assert [one[2] for one in await run.checkpoints(w)] == ["r1", "r3"]
        assert (await run.view()).count == 4

    serve(scenario)


def test_what_is_refused_is_recorded_and_the_outcome_stays(serve: Scenario) -> None:
    """One word says why, for each checkpoint in its order; a driver's own failures come first."""

    async def scenario(w: World) -> None:
        run = await begun(w)
        await run.register()
        answer = await run.change("box")
        await run.after(
            answer,
            Capture("none", 1, "r"),
            Capture("box", 1, ""),
            Capture("box", 1, "again"),
            CaptureFailure("box", 1, "the disk is full"),
        )
        assert await run.refusals(w) == [
            "the disk is full",
            "unknown_resource",
            "missing_checkpoint_ref",
            "duplicate_capture",
        ]
        assert (await w.store.step(answer.step_id)).status.value == "succeeded"
        await run.publish(Capture("box", 0, "old"), Capture("box", 1, "twice"))
        assert (await run.refusals(w))[-2:] == ["stale_generation", "duplicate_capture"]
        assert await run.checkpoints(w) == []
        await run.publish(Capture("box", 1, "good"))
        assert [one[2] for one in await run.checkpoints(w)] == ["good"]

    serve(scenario)


def test_nothing_is_captured_while_somebody_writes(serve: Scenario) -> None:
    """Beside a step that has declared the resource, on whichever replica; its own outcome may bring a checkpoint."""

    async def scenario(w: World) -> None:
        run = await begun(w)
        await run.register()
        other = works(run.on(w.replicas[-1]))
        first = await run.change("box", target="one")
        second = await other.change("box", target="two")
        await run.publish(Capture("box", 2, "early"))
        await other.after(first, Capture("box", 2, "too early"))
        assert await run.refusals(w) == ["writers_active", "writers_active"]
        await run.after(second, Capture("box", 2, "at last"))
        assert [one[2] for one in await run.checkpoints(w)] == ["at last"]

    serve(scenario)


def test_a_model_call_ends_coverage_only_without_reuse(serve: Scenario) -> None:
    """Whatever it declares. What has reuse changes only by the steps that declare it."""

    async def scenario(w: World) -> None:
        run = await begun(w)
        await run.register("plain")
        await run.register("kept", coverage_reuse=True)
        await run.publish(Capture("plain", 0, "p"), Capture("kept", 0, "k"))
        answer = await run.change("plain", "kept", kind="llm_call", target="model")
        assert answer.resources == (StepResource("plain", 1, False),)
        await run.after(answer)
        assert [(await run.view("plain")).covered, (await run.view("kept", coverage_reuse=True)).covered] == [
            False,
            True,
        ]
        assert [(await run.view("plain")).count, (await run.view("kept", coverage_reuse=True)).count] == [0, 0]
        await run.after(await run.change(target="none"))
        assert (await run.view("plain")).generation == 2
        assert (await run.view("kept", coverage_reuse=True)).covered
        await run.after(await run.change("kept"))
        assert not (await run.view("kept", coverage_reuse=True)).covered

    serve(scenario)


def test_an_unknown_resource_is_refused_before_policy(serve: Scenario) -> None:
    """A step that would start declares what is registered; a replay and a step that waits are answered all the same."""

    async def scenario(w: World) -> None:
        await w.agent(policy=ASKS)
        run = works(await w.begin())
        with pytest.raises(ValidationError):
            await run.change("box")
        assert not await run.told(w, "step.executing", "step.denied")
        await run.register()
        done = await run.work("box", ref="r1", args={"n": 1})
        waits = await run.change("box", target="pay")
        assert waits.kind is AnswerKind.BLOCKED
        blocked = await run.change("unknown", target="later")
        assert blocked.kind is AnswerKind.EXECUTION_BLOCKED
        await w.serving.resolve(waits.approval_id, granted=True, decided_by="ana")
        again = works(await w.run())
        replayed = await again.change("unknown", args={"n": 1})
        assert (replayed.kind, replayed.step_id) == (AnswerKind.REPLAY, done.step_id)
        with pytest.raises(ValidationError):
            await again.change("unknown", target="pay")
        paid = await again.change("box", target="pay")
        assert (paid.kind, paid.resources) == (AnswerKind.PROCEED, (StepResource("box", 2, True),))
        await again.after(paid)

    serve(scenario)


def test_a_rerun_counts_once_and_refuses_the_first_attempts_checkpoint(serve: Scenario) -> None:
    """A safe step that is run again begins a new generation; what was made of the one before is stale."""

    async def scenario(w: World) -> None:
        run = await begun(w)
        await run.register()
        first = await run.change("box")
        w.clock.advance(1000.0)
        again = works(await w.run())
        with pytest.raises(LeaseSuperseded):
            await run.after(first, Capture("box", 1, "late"))
        view = await again.view()
        assert (view.generation, view.count) == (1, 0)
        second = await again.change("box")
        assert (second.step_id, second.resources) == (first.step_id, (StepResource("box", 2, True),))
        await again.after(second, Capture("box", 1, "of the first"))
        assert await again.refusals(w) == ["stale_generation"]
        view = await again.view()
        assert (view.generation, view.count, view.covered) == (2, 1, False)

    serve(scenario)


def test_a_repeated_submission_is_told_the_same(serve: Scenario) -> None:
    """Also by another replica, with the resources of its first answer."""

    async def scenario(w: World) -> None:
        run = await begun(w)
        await run.register(every_steps=2)
        first = await run.change("box", number=1)
        again = await works(run.on(w.replicas[-1])).change("box", number=1)
        assert again == first
        assert (await run.view(every_steps=2)).generation == 1

    serve(scenario)


def test_what_another_replica_registered_is_known(serve: Scenario) -> None:
    """A step that declares it is let in everywhere at once."""

    async def scenario(w: World) -> None:
        run = await begun(w)
        other = works(run.on(w.replicas[-1]))
        await other.after(await other.change(target="first"))
        await run.register()
        await other.after(await other.change("box"))
        await run.bind()
        await other.register("second")
        await run.bind("second", 2)

    serve(scenario)


def test_each_route_is_fenced(serve: Scenario) -> None:
    """After the end, and for an attempt that was replaced."""

    async def scenario(w: World) -> None:
        run = await begun(w)
        await run.register()
        w.clock.advance(1000.0)
        again = works(await w.run())
        for attempt in (run.register(), run.bind(), run.publish(Capture("box", 0, "r"))):
            with pytest.raises(LeaseSuperseded):
                await attempt
        await again.complete()
        for attempt in (again.register(), again.bind(), again.publish(Capture("box", 0, "r"))):
            with pytest.raises(Terminated):
                await attempt

    serve(scenario)


def test_a_subagent_that_settles_a_step_counts(serve: Scenario) -> None:
    """And the step is no writer any more."""

    async def scenario(w: World) -> None:
        await w.agent()
        await w.agent("child")
        run = works(await w.begin())
        await run.register()
        answer = await run.change("box", target="delegate")
        await w.create("child", spawned_by=(run.id, answer.step_id))
        child = await w.run(agent="child")
        assert await run.suspend()
        await child.complete("done")
        again = works(await w.run())
        view = await again.view()
        assert (view.generation, view.count, view.covered) == (1, 1, False)
        await again.publish(Capture("box", 1, "after the child"))
        assert (await again.view()).covered

    serve(scenario)


def test_a_step_without_resources_says_nothing_of_them(serve: Scenario) -> None:
    """The events and the answer of an execution that has none are as they were."""

    async def scenario(w: World) -> None:
        run = await begun(w)
        answer = await run.change()
        await run.after(answer)
        assert answer.resources == ()
        (started,) = await run.told(w, "step.executing")
        assert not {"resources", "generations"} & started.payload.keys()
        points = await w.serving.fork_points(run.id)
        assert (points.resources, points.checkpoints) == ({}, [])

    serve(scenario)
