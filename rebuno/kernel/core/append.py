"""Writes what an answer rests on, and waits until it is on the disk, whatever becomes of the caller meanwhile."""

import asyncio
from contextlib import suppress
from functools import partial

from rebuno.errors import Stale
from rebuno.journal.records import Commit
from rebuno.kernel.core import limits
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.effects import Identified, Routed
from rebuno.model.answer import AnswerKind, Unheard
from rebuno.model.step import Idempotency


async def append(attempt: Attempt, step: Identified, routed: Routed, *, heeds_cancel: bool) -> None:
    """Returns once what an answer rests on is committed. With `heeds_cancel` an at_most_once step that was started for
    a caller who is cancelled meanwhile is told as `Unheard`.

    Raises:
        Stale: the log has grown past what the answer rests on; nothing was recorded.
        Unheard: the caller was cancelled, and the step stands started.
        LeaseSuperseded, StoreError
    """
    committed = attempt.append(routed)
    if committed is None:
        return
    answer = routed.answer
    if not answer.step_id:
        committed.add_done_callback(partial(limits.remember, attempt, step.step_id, answer))
    try:
        await committed.wait()
    except Stale:
        attempt.bodies.discard(step.step_id)
        raise
    except asyncio.CancelledError:
        # The caller is gone before it heard the answer.
        if heeds_cancel and answer.kind is AnswerKind.PROCEED and step.idempotency is Idempotency.ONCE:
            with suppress(Stale):
                await _written_at_last(attempt, step, committed)
                raise Unheard(step.step_id) from None
            attempt.bodies.discard(step.step_id)
        else:
            _leave(attempt, step, committed, recorded=bool(answer.step_id))
        raise


async def _written_at_last(attempt: Attempt, step: Identified, committed: Commit) -> None:
    """Waits for a commit whose caller is gone. Raises `Stale` where nothing was recorded, and what a second
    cancellation or the store raises."""
    try:
        await asyncio.shield(committed)
    except Stale:
        raise
    except BaseException:
        _leave(attempt, step, committed, recorded=True)
        raise
    attempt.visit(step.step_id)


def _leave(attempt: Attempt, step: Identified, committed: Commit, *, recorded: bool) -> None:
    """No body runs, the step stays started with no outcome."""
    attempt.bodies.discard(step.step_id)
    if recorded:
        attempt.visit(step.step_id)
        committed.tell(partial(_unheard, attempt, step))


def _unheard(attempt: Attempt, step: Identified, committed: Commit) -> None:
    """A step that nobody waits for any more keeps its number, unless it was not recorded after all."""
    if not committed.cancelled() and isinstance(committed.exception(), Stale):
        attempt.recorded.visited.discard(step.step_id)
        attempt.uncount(step)
