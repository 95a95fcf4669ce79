"""The handler's view of the execution that it runs in."""

from dataclasses import dataclass
from typing import Any

from rebuno.sdk.calls import EditedStep
from rebuno.sdk.context import current_step, required


@dataclass(frozen=True, slots=True)
class Running:
    """The running execution. `input` is its input as a JSON value. `step_id` is the step whose body runs, to use as an
    idempotency key outside; it is empty in the handler itself. `edited` are the calls so far whose arguments an
    approver has changed, each with what was submitted (`args`) and what ran (`ran_args`): the same on every replay."""

    id: str
    agent_id: str
    input: Any
    step_id: str
    edited: tuple[EditedStep, ...] = ()


def execution() -> Running:
    """The execution that the handler, tool or step runs in.

    Raises:
        RuntimeError: outside an execution.
    """
    context = required("execution()")
    return Running(context.id, context.agent_id, context.input, current_step(), context.edited)
