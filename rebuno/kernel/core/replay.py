"""The short way of a replay: most of what a resumed handler asks for is in memory already, and nothing is awaited."""

from typing import Any, Final

from rebuno.errors import ValidationError
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.effects import Need
from rebuno.kernel.core.identify import identified_as
from rebuno.kernel.core.submit import route_row
from rebuno.model import identity
from rebuno.model.answer import Answer, AnswerKind, CallKey
from rebuno.model.step import StepStatus

_ENDED: Final = (StepStatus.SUCCEEDED, StepStatus.FAILED)


def recorded(attempt: Attempt, call_key: CallKey) -> tuple[Any] | Answer | None:
    """What the recorded result of the step of which this is said reads as, or the answer that tells its failure, where
    its row has been read and today's policy does not deny it; what `submit` would say after a turn of the event loop.
    None, and nothing is counted, where `submit` must be asked.

    INVARIANT: only a step that was submitted in this very way has this id, so what `submit` checks was checked then. A
    page ahead holds nothing but successes that were decided under today's bundle (`Recorded._fits`), and of those the
    table of `settle` says to replay them: they are not routed again.
    """
    if not attempt.undisturbed():
        return None
    return attempt.take_next(call_key) or _counted(attempt, call_key)


def _counted(attempt: Attempt, call_key: CallKey) -> tuple[Any] | Answer | None:
    """The same for a step that does not come in the recorded order, or is not the first of its kind."""
    if attempt.at_end():
        return None
    parent_id, kind, target, args = call_key
    known = attempt.recorded.expected(call_key)
    # INVARIANT: equal arguments have equal hashes, and what is equal down to its number has the same id.
    args_hash = known.args_hash if known is not None else (attempt.seals or identity).args_hash(args)
    key = (parent_id or attempt.execution.id, kind, target, args_hash)
    try:
        occurrence = attempt.next_number(key)
        if (success := attempt.recorded.success(call_key, str(occurrence))) is not None:
            value = _read(success[3])
            if value is not None:
                attempt.take_number(key)
                attempt.replayed += 1
                attempt.recorded.take(success)
            return value
        if known is None or known.occurrence != occurrence:
            known = attempt.steps.get((attempt.seals or identity).step_id(*key, occurrence))
    except UnicodeEncodeError:
        # The target is no text that a step could have.
        return None
    # Arguments that are not the same are damaged, or were not kept: then the row is read again.
    # What a person has changed is told to the handler.
    if known is None or known.args != args or known.status not in _ENDED or known.ran_args:
        return None
    routed = route_row(attempt, identified_as(known), known)
    if isinstance(routed, Need) or routed.effects is not None or routed.answer.kind is not AnswerKind.REPLAY:
        return None
    answer = _read(known.result) if known.status is StepStatus.SUCCEEDED else routed.answer
    if answer is not None:
        attempt.take_number(key)
        attempt.replayed += 1
        attempt.visit(known.step_id)
    return answer


def _read(result: str | None) -> tuple[Any] | None:
    """What a recorded result reads as; None where it is damaged."""
    try:
        return (identity.reread("null" if result is None else result),)
    except ValidationError:
        return None
