"""What the user writes into a run after it began: a client's or the program's affair, never the handler's."""

from typing import Final

from rebuno.errors import ConflictError, Stale, Terminated, ValidationError
from rebuno.journal.store import Store
from rebuno.journal.words import TurnRow, TurnWrite
from rebuno.kernel.core import events as new_event
from rebuno.kernel.core.effects import ExecutionChanges
from rebuno.kernel.core.names import check_name
from rebuno.kernel.core.origins import began_by
from rebuno.kernel.core.sealed import opened
from rebuno.kernel.core.transact import transact, write

# In bytes of UTF-8: of one turn, and of all turns of an execution. A policy finds nothing for sure in a longer text.
LONGEST_TURN: Final = 65_536
LONGEST_TURNS: Final = 1 << 20
MOST_TURNS: Final = 1_000


async def say(store: Store, execution_id: str, text: str, *, by: str = "") -> TurnRow:
    """Adds what the user wrote to an execution; it counts for the steps that are submitted after it. Committed when
    this returns. `by` is the name of a key or of a person.

    Raises:
        NotFoundError: there is no such execution.
        ValidationError: the text is blank, no valid Unicode, or longer than 65,536 bytes; or `by` is no name.
        ConflictError: the execution has ended, another execution began it, or it has 1,000 turns or 1 MiB of them.
        StoreError
    """
    size = _check(text)
    check_name("name of who says it", by)

    async def one_try(_: int) -> TurnRow:
        execution = await store.execution(execution_id)
        if execution.status.terminal:
            raise ConflictError(f"the execution `{execution_id}` has ended: it is {execution.status.value}")
        if parent := await began_by(store, execution):
            raise ConflictError(
                f"the execution `{execution_id}` has no user of its own: `{parent}` began it; say it there"
            )
        turns = await store.turns(execution_id)
        if len(turns) >= MOST_TURNS:
            raise ConflictError(f"the execution `{execution_id}` has {MOST_TURNS:,} turns, and takes no more")
        if size + sum(len(turn.text.encode()) for turn in turns) > LONGEST_TURNS:
            raise ConflictError(f"the turns of the execution `{execution_id}` have {LONGEST_TURNS:,} bytes at most")
        number = turns[-1].number + 1 if turns else 1
        turn = TurnRow(execution_id, number, 0, 0.0, by, text)
        changes = ExecutionChanges(events=[new_event.said(number, text, by)])
        try:
            view = await opened(store, execution)
            await write(view, execution_id, changes, turns=(TurnWrite(turn, said=0),))
        except Terminated as error:
            raise Stale("it has ended") from error
        return next(one for one in await store.turns(execution_id) if one.number == number)

    return await transact(one_try)


def _check(text: object) -> int:
    if not isinstance(text, str) or not text.strip():
        raise ValidationError("a turn is a text that says something")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise ValidationError("a turn is valid Unicode; this text holds half a surrogate pair") from None
    if size > LONGEST_TURN:
        raise ValidationError(f"a turn has at most {LONGEST_TURN:,} bytes, and this one {size:,}; say it in several")
    return size
