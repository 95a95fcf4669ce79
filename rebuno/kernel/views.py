"""What a program is told of a run: how it ended, and what a person is asked."""

from dataclasses import dataclass
from typing import Any

from rebuno.journal import records
from rebuno.kernel.operator import Operator
from rebuno.model import identity
from rebuno.model.execution import ExecutionStatus


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked: the approval's `id`, and the step that it is about. `args` is a JSON value, `message`
    what the rule says to show, `cause` is `policy`, or `revoked`: the step is done, and today's bundle denies it."""

    id: str
    step_id: str
    kind: str
    target: str
    args: Any
    message: str
    rule_id: str
    reason: str
    cause: str


@dataclass(frozen=True, slots=True)
class Execution:
    """How a run ended. `key` is the caller's own id, `output` a JSON value (None unless completed), `approvals` what it
    waits for, `replayed` how many recorded steps this call answered from the journal, `head_hash` the hex hash of the
    newest event. `failure` tells the exception that its handler ended with: `{"type", "message", "file", "line",
    "function", "traceback"}`, as `rebuno.model.raised` does; None where there is none."""

    id: str
    agent_id: str
    key: str | None
    status: ExecutionStatus
    input: Any
    output: Any
    failure_reason: str
    attempt: int
    approvals: tuple[Question, ...]
    replayed: int
    head_hash: str
    failure: dict[str, Any] | None = None


async def view(operator: Operator, row: records.ExecutionRow, replayed: int) -> Execution:
    """An execution with its open questions. `replayed` is how many recorded steps its run answered from the journal."""
    questions = []
    if row.status is ExecutionStatus.BLOCKED:
        steps = {step.step_id: step for step in await operator.steps(row.id)}
        for asked in await operator.approvals(status="pending", execution_id=row.id):
            step = steps[asked.step_id]
            questions.append(
                Question(
                    asked.id,
                    asked.step_id,
                    step.kind.value,
                    step.target,
                    identity.parse(step.args),
                    asked.message,
                    asked.rule_id,
                    step.reason,
                    asked.cause,
                )
            )
    return Execution(
        row.id,
        row.agent_id,
        row.key,
        row.status,
        identity.parse(row.input),
        identity.parse(row.output) if row.output is not None else None,
        row.failure_reason,
        row.attempt,
        tuple(questions),
        replayed,
        row.head_hash.hex(),
        await operator.failure(row),
    )
