"""Tells where a kill fell, from what it left in the journal, the notes and the provider's requests."""

from rebuno.types import Step
from tests.acceptance.killing.program import OUTER, WAYS, Way
from tests.acceptance.killing.trail import Trail, effect


def point(trail: Trail, pid: int) -> str:
    """Where the execution stood when the process `pid`, which ran it, was killed."""
    if trail.ended:
        return "after the end"
    if trail.first_start(pid) is None:
        return _not_begun(trail)
    if waits := _waiting(trail):
        return waits
    executing = {effect(step): step for step in trail.steps if _runs(trail, step)}
    begun = {mark.i for mark in trail.marks if mark.pid == pid and mark.at == "start"} - {OUTER}
    done = {mark.i for mark in trail.marks if mark.pid == pid and mark.at == "end"}
    settled = {effect(step) for step in trail.steps if step.status in ("succeeded", "failed")}
    asked = {mark.i for mark in trail.asked.values() if mark.pid == pid}
    if begun - done:
        return "inside a body"
    if (done & executing.keys()) or (done - settled - {OUTER}):
        return "after a body, before its outcome"
    if calls := [i for i in executing if i in asked]:
        return "during a stream" if any(WAYS[i] is Way.STREAM for i in calls) else "inside an LLM call"
    if executing.keys() - {OUTER}:
        return "after an intent, before its body"
    return "between steps" if trail.steps else "before the first step"


def noted(trail: Trail, pid: int) -> str:
    """The same for a server that was killed under a process that went on, as far as its bodies tell."""
    begun = {mark.i for mark in trail.marks if mark.pid == pid and mark.at == "start"}
    done = {mark.i for mark in trail.marks if mark.pid == pid and mark.at == "end"}
    return "inside a body" if begun - done - {OUTER} else "outside of bodies"


def _not_begun(trail: Trail) -> str:
    if trail.execution is None:
        return "before the first step"
    return _waiting(trail) or "before a resume"


def _waiting(trail: Trail) -> str:
    """What stands between a question and the run after its answer."""
    kinds = [event.type for event in trail.events if event.type in _TURNS]
    match kinds[-1] if kinds else "":
        case "approval.requested":
            return "while waiting for approval"
        case "approval.granted":
            return "between grant and resume"
    return ""


_TURNS = ("approval.requested", "approval.granted", "execution.started")


def _runs(trail: Trail, step: Step) -> bool:
    """Whether the attempt that was killed had started the step and not settled it."""
    return trail.execution is not None and step.status == "executing" and step.attempt == trail.execution.attempt
