"""The wrapped data keys of executions, and how they are destroyed so that no byte of the file holds them."""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import TypeVar

import apsw

from rebuno.errors import StoreBusy
from rebuno.journal.data_keys import DataKeyRow, SealedText, data_key
from rebuno.journal.rows import Row
from rebuno.journal.sealed_by import WithoutRing
from rebuno.journal.sqlite.jobs import ReadJob
from rebuno.journal.sqlite.marks import Marks
from rebuno.journal.sqlite.sql import SQL
from rebuno.journal.sqlite.writer import Writer

T = TypeVar("T")


class SQLiteSealing(WithoutRing):
    """The part of the store that keeps data keys; see `Store` for what the methods promise."""

    path: str
    _connection: apsw.Connection
    _writer: Writer
    _marks: Marks

    def _check(self) -> None:
        raise NotImplementedError

    def now(self) -> float:
        """The time by the clock that this store stamps its rows with, in seconds since 1970."""
        raise NotImplementedError

    async def _change(self, run: Callable[[], T]) -> T:
        raise NotImplementedError

    async def _rows(self, record: Callable[[Row], T], query: str, *values: str | float | bytes | None) -> list[T]:
        raise NotImplementedError

    async def data_key(self, execution_id: str) -> DataKeyRow | None:
        """The wrapped data key of an execution, if it has one."""
        found = await self._rows(data_key, "data-key", execution_id)
        return found[0] if found else None

    async def sealed_texts(self, execution_id: str, slots: Sequence[str]) -> list[SealedText]:
        """What is kept of an execution as ciphertext in these slots."""
        return await self._rows(_sealed_text, "sealed-texts", execution_id, json.dumps(list(slots)))

    async def sealed_beginning(self, execution_id: str, beginning: str) -> list[SealedText]:
        """The same in the slots that begin so."""
        return await self._rows(_sealed_text, "sealed-beginning", execution_id, beginning)

    async def has_data_keys(self) -> bool:
        """Whether anything in the store is sealed."""
        ((has,),) = await self._rows(tuple, "has-data-keys")
        return bool(has)

    async def key_ids(self) -> list[tuple[str, int, int]]:
        """Under which keys of a ring executions are sealed, how many, and how many of them were erased."""
        return [(row[0], row[1], row[2]) for row in await self._rows(tuple, "key-ids")]

    async def of_person(self, on_behalf_of: str) -> list[str]:
        """The ids of the executions that belong to one person, oldest first."""
        return [row[0] for row in await self._rows(tuple, "of-person", on_behalf_of)]

    async def derived(self, execution_id: str) -> list[str]:
        """The ids of the executions that hold copies of what stands in this one."""
        return [row[0] for row in await self._rows(tuple, "derived", execution_id)]

    async def erase(self, execution_ids: Sequence[str], by: str) -> int:
        """Destroys the data keys of executions that have ended, how many."""
        at = self.now()

        def run() -> int:
            # What takes less room afterwards is overwritten with zeros in its page.
            self._connection.pragma("secure_delete", True)
            erased = 0
            for execution_id in execution_ids:
                self._connection.execute(SQL["erase-data-key"], (execution_id, at, by))
                erased += self._connection.changes()
            return erased

        return await self._change(run)

    async def purge(self) -> int:
        """Sees to it that no byte of the file or of its log holds a data key that was erased."""
        ((waiting,),) = await self._rows(tuple, "unpurged")
        if not waiting:
            return 0
        until = self.now()
        self._check()
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # Outside any transaction, and in the thread that has the connection.
        self._writer.submit(ReadJob(self._rewrite, answer))
        await answer
        await self._change(lambda: self._connection.execute(SQL["purged"], (self.now(), until)).fetchall())
        return int(waiting)

    def _rewrite(self) -> None:
        """Writes the whole file anew and empties the log: pages that are free, and what is left of cells that were
        moved, are in neither afterwards."""
        self._connection.pragma("secure_delete", True)
        self._marks.seal()
        try:
            self._connection.execute("VACUUM")
            # VACUUM wrote all of it to the log: it goes into the file, and the log is cut to nothing.
            self._marks.seal()
            long, done = self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            if long or done:
                raise StoreBusy(f"the log of the store `{self.path}` is being read; purge it again", path=self.path)
        finally:
            self._marks.copied(whole=True)


def _sealed_text(row: Row) -> SealedText:
    return SealedText(*row)
