"""A handler that takes another way than its recorded run did: told in the log, and asked about before it does harm."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from rebuno.journal.records import ExecutionRow, NewEvent, StepRow
from rebuno.kernel.core import events
from rebuno.kernel.core.attempt import MOST_FRESH, Attempt
from rebuno.kernel.core.effects import Identified, Need
from rebuno.model.decision import (
    DIVERGED,
    FORK_EFFECT,
    INDETERMINATE_RETRY,
    RESTORED,
    STRICTNESS,
    UNKNOWN_OUTCOME,
    Decision,
    Verdict,
)
from rebuno.model.step import Idempotency, StepStatus

# How much of a step's arguments a person is shown, in characters.
_MOST_SHOWN: Final = 2000
# After so many turns of the event loop in which no recorded step came, none is on its way.
_IDLE_TURNS: Final = 20


def unvisited(attempt: Attempt) -> Iterator[StepRow]:
    """The recorded steps that the handler could have come to again and has not, in the order of the log.

    A step inside another one's body counts once that body runs in this attempt: where the outer step is replayed, or
    was not reached either, nobody could come to it.
    """
    for step_id in attempt.recorded.unvisited:
        step = attempt.steps[step_id]
        if not step.parent_id or step.parent_id in attempt.bodies:
            yield step


@dataclass(slots=True)
class OthersNeeded(Need):
    """A person would be asked about this new step: first the handler's other branches go on as far as they can without
    waiting, for in parallel branches the order of steps is no divergence."""

    step: Identified

    async def meet(self, attempt: Attempt) -> None:
        """Lets them go on until none comes to a recorded step any more."""
        idle = 0
        while idle < _IDLE_TURNS and instead_of(attempt, self.step) is not None:
            seen = len(attempt.recorded.visited)
            await asyncio.sleep(0)
            # They do not stand still while they wait for the log to be read.
            await attempt.current()
            idle = idle + 1 if len(attempt.recorded.visited) == seen and not attempt.recorded.sought else 0
        self.step.others_came = True


def guard(attempt: Attempt, step: Identified, decision: Decision) -> Decision:
    """The policy's decision about a step that the journal does not know, made stricter where the kernel itself asks a
    person: in a fork about each `at_most_once` step, about one that comes instead of a recorded one, and where a host
    wants what may have been done already."""
    if decision.verdict is Verdict.DENY:
        return decision
    if step.idempotency is Idempotency.ONCE and attempt.standing.restored is not None:
        decision = behind_the_world(attempt, decision)
    if attempt.hosted:
        return _guard_hosted(attempt, step, decision)
    missed = instead_of(attempt, step)
    if missed is not None:
        message = (
            f"the recorded run did {_shown(attempt, missed)} and has not come to it again; now it is about to do"
            f" {_shown(attempt, step)}"
        )
        reason = "the run has taken another way than the recorded one"
        return _asked(decision, DIVERGED, reason, f"{decision.message}\n{message}" if decision.message else message)
    if step.idempotency is Idempotency.ONCE and (message := may_be_done(attempt.execution)):
        return _asked(decision, FORK_EFFECT, "an effect of a fork", decision.message or message)
    return decision


def behind_the_world(attempt: Attempt, decision: Decision) -> Decision:
    """The decision about a step that may not run twice, in a store that was restored from a copy."""
    message = "the store was restored from a copy, and this may have been done after the copy was made; may it run?"
    message = f"{decision.message}\n{message}" if decision.message else message
    return _asked(decision, RESTORED, "the store was restored from a copy", message)


def _guard_hosted(attempt: Attempt, step: Identified, decision: Decision) -> Decision:
    # A host repeats nothing by itself, so what is equal is wanted anew: by a model that may not know it was done.
    if step.idempotency is not Idempotency.ONCE or not attempt.recorded.unknown_twin(step):
        return decision
    message = "the same call was started before, and nobody knows whether it was carried out; may it run again?"
    message = f"{decision.message}\n{message}" if decision.message else message
    return _asked(decision, INDETERMINATE_RETRY, UNKNOWN_OUTCOME, message)


def may_be_done(execution: ExecutionRow) -> str:
    """Why what is new in this execution may have been done elsewhere, in words; empty where it was not made from
    another one."""
    if execution.forked_from:
        return f"the execution is a fork of `{execution.forked_from}`, which may have done this already"
    if execution.fork_seq:
        return "the execution was imported, and may have done this already in the store that it is from"
    return ""


def diverged(attempt: Attempt) -> NewEvent | None:
    """What is written at an attempt's end where recorded steps stand unvisited: these, and what came that was new."""
    missed = list(unvisited(attempt))
    if not missed:
        return None
    return events.execution(
        "diverged",
        attempt=attempt.lease.attempt,
        unvisited=[_named(step) for step in missed[:MOST_FRESH]],
        unvisited_count=len(missed),
        fresh=[_named(step) for step in attempt.fresh.values()],
        fresh_count=attempt.fresh_count,
    )


def instead_of(attempt: Attempt, step: Identified) -> StepRow | None:
    """The recorded step in whose place a new one seems to come, where that is a reason to ask. It was submitted in the
    same body, or likewise outside of all: a body that runs again may be long before the steps in it."""
    once = step.idempotency is Idempotency.ONCE
    if not (once or attempt.block_diverged):
        return None
    for recorded in unvisited(attempt):
        # What was denied did nothing, and will not.
        if recorded.parent_id != step.parent_id or recorded.status is StepStatus.DENIED:
            continue
        if attempt.block_diverged:
            return recorded
        if recorded.idempotency is Idempotency.ONCE and (recorded.kind, recorded.target) == (step.kind, step.target):
            return recorded
    return None


def _asked(decision: Decision, rule_id: str, reason: str, message: str) -> Decision:
    asks = STRICTNESS[decision.verdict] >= STRICTNESS[Verdict.APPROVAL]
    return Decision(
        Verdict.APPROVAL,
        decision.rule_id if asks else rule_id,
        decision.reason if asks else reason,
        bundle=decision.bundle,
        digest=decision.digest,
        message=message,
        line=decision.line,
        obligations=decision.obligations,
    )


def _shown(attempt: Attempt, step: StepRow | Identified) -> str:
    # A recorded step far ahead is kept without its arguments.
    args = step.args if attempt.seals is None or not step.args else attempt.seals.args(step)
    args = f"{args[:_MOST_SHOWN]}…" if len(args) > _MOST_SHOWN else args or "…"
    return f"`{step.target}` {args}"


def _named(step: StepRow) -> dict[str, Any]:
    return {
        "step_id": step.step_id,
        "step_type": step.kind.value,
        "target": step.target,
        "args_hash": step.args_hash,
    }
