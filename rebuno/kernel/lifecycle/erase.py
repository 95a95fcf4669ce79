"""Erasure: the data keys of executions are destroyed, so that nobody can read what was sealed in them. Their events,
verdicts and hashes stay."""

from collections.abc import Sequence

from rebuno.errors import ConflictError
from rebuno.journal.records import ExecutionRow
from rebuno.journal.served import ServedStore
from rebuno.journal.store import Store
from rebuno.kernel.core.names import check_name
from rebuno.kernel.lifecycle.cancel import cancel
from rebuno.types import ErasedExecutions


async def erase(store: Store, execution_ids: Sequence[str], *, by: str, end: bool = False) -> ErasedExecutions:
    """Destroys the data keys of executions. When this returns, no byte of the store's own files holds one of them.
    Asked again, it completes what was interrupted. With `end` those that have not ended are cancelled first.

    Raises:
        NotFoundError: there is no such execution; nothing was erased.
        ConflictError: one has not ended; nothing was erased.
        StoreBusy: the keys are destroyed, and others keep bytes of them in the files for the moment.
        StoreError
    """
    done = ErasedExecutions()
    wanted: list[str] = []
    for execution_id in execution_ids:
        execution = await store.execution(execution_id)
        key = await store.data_key(execution.id)
        if key is None:
            done.not_sealed.append(execution.id)
        elif key.wrapped is None:
            done.erased_before.append(execution.id)
        elif execution.status.terminal or end:
            wanted.append(execution.id)
        else:
            raise ConflictError(
                f"the execution `{execution.id}` has not ended: it is {execution.status.value}; cancel it first"
            )
    for execution_id in wanted:
        if not (await store.execution(execution_id)).status.terminal:
            await cancel(store, execution_id, reason="cancelled")
    await store.erase(wanted, by)
    await store.purge()
    done.erased = wanted
    done.copies = await _copies(store, execution_ids)
    return done


async def _copies(store: Store, execution_ids: Sequence[str]) -> list[str]:
    """The executions that hold copies of what stood in these, and were not erased."""
    seen, found = set(execution_ids), []
    left = list(execution_ids)
    while left:
        for derived in await store.derived(left.pop()):
            if derived in seen:
                continue
            seen.add(derived)
            left.append(derived)
            key = await store.data_key(derived)
            if key is None or key.wrapped is not None:
                found.append(derived)
    return found


class ErasingOperator:
    """What an operator may erase, and under which keys executions are sealed."""

    _store: ServedStore

    async def _row(self, ref: str) -> ExecutionRow:
        raise NotImplementedError

    async def erase(self, ref: str, *, by: str, end: bool = False) -> ErasedExecutions:
        """Destroys the data key of an execution; see `erase`. `by` is who does so."""
        check_name("name of who erases it", by)
        return await erase(self._store, [(await self._row(ref)).id], by=by, end=end)

    async def erase_person(self, on_behalf_of: str, *, by: str, end: bool = False) -> ErasedExecutions:
        """The same for all executions on behalf of a person."""
        check_name("name of who erases it", by)
        check_name("person", on_behalf_of)
        return await erase(self._store, await self._store.of_person(on_behalf_of), by=by, end=end)

    async def seal_keys(self) -> list[tuple[str, int, int]]:
        """The names of the keys that executions are sealed under, with how many of them, and how many were erased."""
        return await self._store.key_ids()
