"""The counters of the program that kills: each sees what it is there to see, on a real run that is then falsified."""

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rebuno
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import StepStatus
from tests.acceptance.killing.checks import Count
from tests.acceptance.killing.killer import Killer
from tests.acceptance.killing.points import point
from tests.acceptance.killing.trail import Mark, Trail, effect, follow
from tests.llm.provider import provider

PROMISES = ("double_runs", "at_most_once_doubles", "gaps", "broken_chains", "wrong_outputs")
# A process that is not the one of the run.
OTHER = 1


@pytest.fixture(scope="module")
def trail() -> Iterator[Trail]:
    """What a run leaves that nobody has killed."""

    async def play(folder: Path) -> Trail:
        with provider() as stub:
            async with rebuno.operate(folder / "kill.db", create=True) as operator:
                killer = Killer(str(folder / "kill.db"), folder, operator, stub, None)
                await killer.round(0)
                assert (killer.count.executions, killer.count.broken) == (3, 0)
                run = killer.runs[0]
                return await follow(operator, *run, folder, enumerate(stub.requests, 1))

    with tempfile.TemporaryDirectory() as folder:
        yield asyncio.run(play(Path(folder)))


def pid(trail: Trail) -> int:
    return trail.marks[0].pid


def begun(trail: Trail, i: int, by: int) -> Trail:
    return replace(trail, marks=(*trail.marks, Mark(i, "start", by)))


def resumed(trail: Trail) -> Trail:
    """Another process has taken the run over after its end."""
    event = next(e for e in trail.events if e.type == "execution.started")
    later = replace(event, event_seq=len(trail.events) + 1, payload=event.payload | {"pid": OTHER})
    return replace(trail, events=(*trail.events, later))


def result(trail: Trail, i: int, value: Any) -> Trail:
    return replace(trail, steps=tuple(replace(s, result=value) if effect(s) == i else s for s in trail.steps))


def other_event(trail: Trail) -> Trail:
    first, *rest = trail.events
    return replace(trail, events=(replace(first, payload=first.payload | {"key": "another"}), *rest))


def row(trail: Trail, status: ExecutionStatus | None = None, output: Any = None) -> Trail:
    assert trail.execution is not None
    found = trail.execution
    return replace(trail, execution=replace(found, status=status or found.status, output=output or found.output))


# What is falsified, and which counters say so.
FALSE: list[tuple[str, Callable[[Trail], Trail], set[str]]] = [
    ("nothing", lambda t: t, set()),
    ("a safe body began twice", lambda t: begun(t, 0, pid(t)), {"double_runs"}),
    ("a once body began twice", lambda t: begun(t, 1, pid(t)), {"double_runs", "at_most_once_doubles"}),
    ("a body began after its outcome", lambda t: begun(resumed(t), 0, OTHER), {"double_runs", "gaps", "broken_chains"}),
    ("a call was made twice", lambda t: replace(t, asked=t.asked | {999: Mark(4, "start", pid(t))}), {"double_runs"}),
    ("a body of no attempt", lambda t: begun(t, 0, OTHER), {"gaps"}),
    ("an event is gone", lambda t: replace(t, events=t.events[:5] + t.events[6:]), {"gaps", "broken_chains"}),
    ("the newest event is gone", lambda t: replace(t, events=t.events[:-1]), {"gaps", "broken_chains"}),
    ("an event is there twice", lambda t: replace(t, events=(*t.events, t.events[-1])), {"gaps", "broken_chains"}),
    ("an event was rewritten", other_event, {"gaps", "broken_chains"}),
    ("the log and the rows differ", lambda t: replace(t, fault="a hash of an outcome"), {"broken_chains"}),
    ("the run failed", lambda t: row(t, status=ExecutionStatus.FAILED), {"wrong_outputs"}),
    ("another output", lambda t: row(t, output={"acc": 1, "chosen": 1}), {"wrong_outputs"}),
    ("another random number", lambda t: result(t, 21, -1), {"wrong_outputs"}),
    ("an answer that was not given", lambda t: replace(t, asked={}), {"wrong_outputs"}),
    ("a step that is not there", lambda t: replace(t, steps=t.steps[1:]), {"wrong_outputs"}),
    ("an outcome without a body", lambda t: replace(t, marks=t.marks[2:]), {"wrong_outputs"}),
]


@pytest.mark.parametrize(("change", "seen"), [row[1:] for row in FALSE], ids=[row[0] for row in FALSE])
def test_what_is_broken_is_counted(trail: Trail, change: Callable[[Trail], Trail], seen: set[str]) -> None:
    """By the counters that are meant, and by no others."""
    count = Count()
    changed = change(trail)
    count.on_the_way(changed, trail.events)
    count.at_the_end(changed)
    assert {name for name in PROMISES if getattr(count, name)} == seen


def cut(trail: Trail, type: str, i: int | None = None) -> Trail:
    """The run as it stood at the first event of this type, or that of this effect's step; no body of that effect has
    said anything, nor of a later one."""
    ids = {step.step_id for step in trail.steps if i in (None, effect(step))}
    last = next(e.event_seq for e in trail.events if e.type == type and e.payload["step_id"] in ids)
    steps = tuple(
        replace(step, status=StepStatus.EXECUTING) if step.outcome_seq > last else step
        for step in trail.steps
        if step.decided_seq <= last
    )
    assert trail.execution is not None
    attempt = max(step.attempt for step in steps)
    execution = replace(trail.execution, status=ExecutionStatus.RUNNING, attempt=attempt)
    settled = {effect(step) for step in steps if step.status == "succeeded"}
    marks = tuple(mark for mark in trail.marks if mark.i in settled)
    return replace(trail, execution=execution, events=trail.events[:last], steps=steps, marks=marks, asked={})


def said(trail: Trail, i: int, *what: str) -> Trail:
    return replace(trail, marks=(*trail.marks, *(Mark(i, at, pid(trail)) for at in what)))


def asked(trail: Trail, i: int) -> Trail:
    return replace(trail, asked={1: Mark(i, "start", pid(trail))})


POINTS: list[tuple[str, Callable[[Trail], Trail]]] = [
    ("before the first step", lambda t: replace(t, execution=None, events=())),
    ("after an intent, before its body", lambda t: cut(t, "step.executing", 1)),
    ("inside a body", lambda t: said(cut(t, "step.executing", 1), 1, "start")),
    ("after a body, before its outcome", lambda t: said(cut(t, "step.executing", 1), 1, "start", "end")),
    ("between steps", lambda t: cut(t, "step.succeeded", 1)),
    ("inside an LLM call", lambda t: asked(cut(t, "step.executing", 4), 4)),
    ("during a stream", lambda t: asked(cut(t, "step.executing", 5), 5)),
    ("while waiting for approval", lambda t: cut(t, "approval.requested")),
    ("between grant and resume", lambda t: cut(t, "approval.granted")),
    ("after the end", lambda t: t),
]


@pytest.mark.parametrize(("name", "stands"), POINTS, ids=[row[0] for row in POINTS])
def test_a_kill_is_told_by_what_it_left(trail: Trail, name: str, stands: Callable[[Trail], Trail]) -> None:
    """From the journal, the notes and the requests alone."""
    assert point(stands(trail), pid(trail)) == name


def test_a_kill_before_a_process_took_a_run_over(trail: Trail) -> None:
    """The process is named by the events of the log."""
    assert point(cut(trail, "step.succeeded", 1), OTHER) == "before a resume"
