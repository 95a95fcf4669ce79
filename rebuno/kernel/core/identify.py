"""Who a submission is: its step id, from what it asks and from how often the same was asked before."""

from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Final

from rebuno.errors import ValidationError
from rebuno.journal.records import StepRow
from rebuno.kernel.core.effects import Identified
from rebuno.model import identity
from rebuno.model.answer import Submission
from rebuno.model.step import Idempotency, Kind

if TYPE_CHECKING:
    from rebuno.kernel.core.seals import Seals

# In bytes. A target is a name, which stands in every event of its step.
LONGEST_TARGET = 64 * 1024
# Looked up in a tenth of the time that an enum's class takes.
_KINDS: Final = {kind.value: kind for kind in Kind}
_IDEMPOTENCIES: Final = {idempotency.value: idempotency for idempotency in Idempotency}


def identify(
    submission: Submission,
    execution_id: str,
    bodies: Container[str],
    count: Callable[[str, str, str, str], int],
    seals: "Seals | None" = None,
) -> Identified:
    """The submission with its step id. `bodies` are the steps whose bodies run; `count` says how many of one
    scope, kind, target and hash of arguments came before, and counts this one too. `seals` is what is sealed in the
    execution.

    Raises:
        ValidationError: it is malformed; nothing was counted.
    """
    kind = _KINDS.get(submission.kind)
    idempotency = _IDEMPOTENCIES.get(submission.idempotency)
    if kind is None or idempotency is None:
        wrong, what = (submission.kind, "Kind") if kind is None else (submission.idempotency, "Idempotency")
        raise ValidationError(
            f"{wrong!r} is not a valid {what}; kinds are {', '.join(Kind)}, idempotencies {', '.join(Idempotency)}"
        )
    target, args, parent_id = submission.target, submission.args, submission.parent_id
    if not target:
        raise ValidationError("the target of a step is empty")
    if not (target.isascii() and len(target) <= LONGEST_TARGET):
        _check_target(target)
    if parent_id and parent_id not in bodies:
        raise ValidationError("a step was submitted from the body of another one that has ended already")
    scope = parent_id or execution_id
    named = identity if seals is None else seals
    args_hash = named.args_hash(args)
    occurrence = count(scope, kind, target, args_hash)
    step_id = named.step_id(scope, kind, target, args_hash, occurrence)
    step = Identified(
        scope,
        kind,
        target,
        args,
        args_hash,
        occurrence,
        step_id,
        idempotency,
        parent_id,
        submission.definition,
        resources=submission.resources,
    )
    step.edits = submission.edits
    return step


def _check_target(target: str) -> None:
    try:
        if len(target.encode()) > LONGEST_TARGET:
            raise ValidationError(f"the target of a step is longer than {LONGEST_TARGET:,} bytes")
    except UnicodeEncodeError:
        raise ValidationError("the target of a step is not valid Unicode") from None


def identified_as(known: StepRow) -> Identified:
    """The submission that a recorded step was."""
    scope = known.parent_id or known.execution_id
    return Identified(
        scope,
        known.kind,
        known.target,
        known.args,
        known.args_hash,
        known.occurrence,
        known.step_id,
        known.idempotency,
        known.parent_id,
        edits=bool(known.ran_args),
    )
