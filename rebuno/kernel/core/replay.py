"""The short way of a replay: most of what a resumed handler asks for is in memory already, and nothing is awaited."""

from typing import Any, Final

from rebuno.errors import ValidationError
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.heavy import lacks_judgement
from rebuno.model import identity
from rebuno.model.answer import Answer, Said, Say
from rebuno.model.decision import Verdict
from rebuno.model.step import StepStatus

# An attribute of an enum's class is looked up in Python, and this one for every step.
_SUCCEEDED: Final = StepStatus.SUCCEEDED


def recorded(attempt: Attempt, said: Said) -> tuple[Any] | Answer | None:
    """What the recorded result of the step of which this is said reads as, or the answer that tells its failure, where
    its row has been read and today's policy does not deny it; what `submit` would say after a turn of the event loop.
    None, and nothing is counted, where `submit` must be asked.

    INVARIANT: only a step that was submitted in this very way has this id, so what `submit` checks was checked then.
    """
    if not attempt.undisturbed():
        return None
    return attempt.take_next(said) or _counted(attempt, said)


def _counted(attempt: Attempt, said: Said) -> tuple[Any] | Answer | None:
    """The same for a step that does not come in the recorded order, or is not the first of its kind."""
    if attempt.at_end():
        return None
    parent_id, kind, target, args = said
    known = attempt.recorded.expected(said)
    # INVARIANT: equal arguments have equal hashes, and what is equal down to its number has the same id.
    args_hash = known.args_hash if known is not None else identity.args_hash(args)
    key = (parent_id or attempt.execution.id, kind, target, args_hash)
    answer: tuple[Any] | Answer | None
    try:
        occurrence = attempt.next_number(key)
        if (success := attempt.recorded.success(said, str(occurrence))) is not None:
            answer = _read(success[3])
            if answer is not None:
                attempt.take_number(key)
                attempt.replayed += 1
                attempt.recorded.take(success)
            return answer
        if known is None or known.occurrence != occurrence:
            known = attempt.steps.get(identity.step_id(*key, occurrence))
    except UnicodeEncodeError:
        # The target is no text that a step could have.
        return None
    # Arguments that are not the same are damaged, or were not kept: then the row is read again.
    if known is None or known.args != args:
        return None
    if known.status is _SUCCEEDED:
        answer = _read(known.result)
    elif known.status is StepStatus.FAILED and known.error is not None and "policy_revoked" not in known.error:
        answer = Answer(Say.REPLAY, known.step_id, None, known.error)
    else:
        return None
    # The recorded verdict let it run, and stands while the digest does.
    if lacks_judgement(attempt, known):
        return None
    if known.digest != attempt.policy.digest and attempt.today(known).verdict is Verdict.DENY:
        return None
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
