"""The short way of a replay: most of what a resumed handler asks for is in memory already, and nothing is awaited."""

from typing import Final

from rebuno.errors import ValidationError
from rebuno.kernel.attempt import Attempt
from rebuno.model import identity
from rebuno.model.answer import Answer, Say, Submission
from rebuno.model.decision import Verdict
from rebuno.model.step import StepStatus

# An attribute of an enum's class is looked up in Python, and these for every step.
_SUCCEEDED: Final = StepStatus.SUCCEEDED
_REPLAY: Final = Say.REPLAY


def recorded(attempt: Attempt, submission: Submission) -> Answer | None:
    """The recorded end of the step that this is, where its row has been read and today's policy does not deny it; what
    `submit` would say after a turn of the event loop. None, and nothing is counted, where `submit` must be asked.

    INVARIANT: only a step that was submitted in this very way has this id, so what `submit` checks was checked then.
    """
    if not attempt.undisturbed():
        return None
    kind, target, args = submission.kind, submission.target, submission.args
    said = (submission.parent_id, kind, target, args)
    known = attempt.recorded.expected(said)
    # INVARIANT: equal arguments have equal hashes, and what is equal down to its number has the same id.
    args_hash = known.args_hash if known is not None else identity.args_hash(args)
    scope = submission.parent_id or attempt.execution.id
    key = (scope, kind, target, args_hash)
    occurrence = attempt.next_number(key)
    if known is None or known.occurrence != occurrence:
        try:
            known = attempt.steps.get(identity.step_id(scope, kind, target, args_hash, occurrence))
        except UnicodeEncodeError:
            return None
        # Arguments that are not the same are damaged, or were not kept: then the row is read again.
        if known is None or known.args != args:
            return None
    step_id = known.step_id
    if known.status is _SUCCEEDED:
        try:
            read = identity.reread("null" if known.result is None else known.result)
        except ValidationError:
            return None
        answer = Answer(_REPLAY, step_id, known.result, read=(read,))
    elif known.status is StepStatus.FAILED and known.error is not None and "policy_revoked" not in known.error:
        answer = Answer(_REPLAY, step_id, None, known.error)
    else:
        return None
    # The recorded verdict let it run, and stands while the digest does.
    if known.digest != attempt.policy.digest and attempt.today(known).verdict is Verdict.DENY:
        return None
    attempt.take_number(key)
    attempt.replayed += 1
    attempt.visit(step_id)
    return answer
