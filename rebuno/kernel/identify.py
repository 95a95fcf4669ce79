"""Who a submission is: its step id, from what it asks and from how often the same was asked before."""

from collections.abc import Callable, Container

from rebuno.errors import ValidationError
from rebuno.kernel.change import Identified
from rebuno.model import identity
from rebuno.model.answer import Submission
from rebuno.model.step import Idempotency, Kind

# In bytes. A target is a name, which stands in every event of its step.
LONGEST_TARGET = 64 * 1024


def identify(
    submission: Submission, execution_id: str, bodies: Container[str], count: Callable[[str, str, str, str], int]
) -> Identified:
    """The submission with its step id. `bodies` are the steps whose bodies run; `count` says how many of one
    scope, kind, target and hash of arguments came before, and counts this one too.

    Raises:
        ValidationError: it is malformed; nothing was counted.
    """
    try:
        kind = Kind(submission.kind)
        idempotency = Idempotency(submission.idempotency)
    except ValueError as error:
        raise ValidationError(f"{error}; kinds are {', '.join(Kind)}, idempotencies {', '.join(Idempotency)}") from None
    if not submission.target:
        raise ValidationError("the target of a step is empty")
    try:
        if len(submission.target.encode()) > LONGEST_TARGET:
            raise ValidationError(f"the target of a step is longer than {LONGEST_TARGET:,} bytes")
    except UnicodeEncodeError:
        raise ValidationError("the target of a step is not valid Unicode") from None
    if submission.parent_id and submission.parent_id not in bodies:
        raise ValidationError("a step was submitted from the body of another one that has ended already")
    scope = submission.parent_id or execution_id
    args_hash = identity.args_hash(submission.args)
    occurrence = count(scope, kind, submission.target, args_hash)
    return Identified(
        scope,
        kind,
        submission.target,
        submission.args,
        args_hash,
        occurrence,
        identity.step_id(scope, kind, submission.target, args_hash, occurrence),
        idempotency,
        submission.parent_id,
    )
