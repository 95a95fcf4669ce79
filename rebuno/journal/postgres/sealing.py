"""The wrapped data keys of executions, and how they are destroyed."""

import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from psycopg.errors import Diagnostic

from rebuno.errors import StoreBusy, StoreError
from rebuno.journal.data_keys import DataKeyRow, SealedText, data_key
from rebuno.journal.postgres.pipeline import PreparedConnection
from rebuno.journal.postgres.sql import SQL
from rebuno.journal.postgres.texts import asked, held
from rebuno.journal.rows import Row
from rebuno.journal.sealed_by import WithoutRing

T = TypeVar("T")

# For how long transactions are waited for that were open before, in seconds, and how often they are looked for.
_PATIENCE: Final = 20.0
_PAUSE: Final = 0.05


class PostgresSealing(WithoutRing):
    """The part of the store that keeps data keys; see `Store` for what the methods promise."""

    name: str

    def now(self) -> float:
        """The server's time, in seconds since 1970."""
        raise NotImplementedError

    async def _ask(self, run: Callable[[PreparedConnection], T], about: str | None = None) -> T:
        raise NotImplementedError

    async def _rows(
        self, record: Callable[[Row], T], query: str, about: str | None = None, /, **values: Any
    ) -> list[T]:
        raise NotImplementedError

    async def data_key(self, execution_id: str) -> DataKeyRow | None:
        """The wrapped data key of an execution, if it has one."""
        found = await self._rows(data_key, "data-key", execution_id, id=execution_id)
        return found[0] if found else None

    async def sealed_texts(self, execution_id: str, slots: Sequence[str]) -> list[SealedText]:
        """What is kept of an execution as ciphertext in these slots."""
        return await self._rows(_sealed_text, "sealed-texts", execution_id, id=execution_id, slots=list(slots))

    async def sealed_beginning(self, execution_id: str, beginning: str) -> list[SealedText]:
        """The same in the slots that begin so."""
        return await self._rows(_sealed_text, "sealed-beginning", execution_id, id=execution_id, beginning=beginning)

    async def has_data_keys(self) -> bool:
        """Whether anything in the store is sealed."""
        ((has,),) = await self._rows(tuple, "has-data-keys", "")
        return bool(has)

    async def key_ids(self) -> list[tuple[str, int, int]]:
        """Under which keys of a ring executions are sealed, how many, and how many of them were erased."""
        return [(row[0], row[1], row[2]) for row in await self._rows(tuple, "key-ids", "")]

    async def of_person(self, on_behalf_of: str) -> list[str]:
        """The ids of the executions that belong to one person, oldest first."""
        return [row[0] for row in await self._rows(tuple, "of-person", "", person=on_behalf_of)]

    async def derived(self, execution_id: str) -> list[str]:
        """The ids of the executions that hold copies of what stands in this one."""
        return [row[0] for row in await self._rows(tuple, "derived", "", id=execution_id)]

    async def erase(self, execution_ids: Sequence[str], by: str) -> int:
        """Destroys the data keys of executions that have ended, how many."""
        return await self._ask(partial(_erase, execution_ids=execution_ids, by=by, at=self.now()), "")

    async def purge(self) -> int:
        """Sees to it that no byte of the table's files holds a data key that was erased. The server's own log of writes
        (WAL) holds it for as long as the server keeps that."""
        ((waiting,),) = await self._rows(tuple, "unpurged", "")
        if waiting:
            await self._ask(partial(_purge, name=self.name), "")
        return int(waiting)


def _erase(connection: PreparedConnection, execution_ids: Sequence[str], by: str, at: float) -> int:
    erased = 0
    with connection.transaction():
        for execution_id in execution_ids:
            values = asked({"id": execution_id, "by": held(by), "at": at})
            erased += connection.execute(SQL["erase-data-key"], values).rowcount
    return erased


def _purge(connection: PreparedConnection, name: str) -> None:
    before = _first(connection, "server-time")
    # What a transaction that is open could see when it began is kept for it, in the new file too.
    until = time.monotonic() + _PATIENCE
    while _first(connection, "older-transactions", before=before):
        if time.monotonic() >= until:
            raise StoreBusy(
                f"the data keys in the store `{name}` are destroyed, and a transaction that began before that keeps"
                " their bytes; end it, and erase again",
                path=name,
            )
        time.sleep(_PAUSE)
    _rewrite(connection, name)
    connection.execute(SQL["purged"], {"at": _first(connection, "server-time"), "until": before})


def _rewrite(connection: PreparedConnection, name: str) -> None:
    """Writes the table of data keys anew. What the server tells of it is the only proof that it did: a role that does
    not own the table gets a warning, and what somebody may still see (a transaction of another role, a replica) is
    copied."""
    told: list[tuple[str, str]] = []

    def listen(notice: Diagnostic) -> None:
        told.append((notice.severity_nonlocalized or "", notice.message_detail or ""))

    connection.add_notice_handler(listen)
    try:
        connection.execute(SQL["rewrite-data-keys"])
    finally:
        connection.remove_notice_handler(listen)
    # Its first number counts the dead rows that had to be kept.
    kept = [found[0] for severity, detail in told if severity == "INFO" and (found := re.search(r"\d+", detail))]
    if not kept:
        raise StoreError(
            f"the data keys in the store `{name}` are destroyed, and this role may not write their table anew, so that"
            " its files still hold them; erase again as the owner of `rebuno.data_keys`",
            path=name,
        )
    if any(int(count) for count in kept):
        raise StoreBusy(
            f"the data keys in the store `{name}` are destroyed, and a transaction or a replica keeps their bytes; end"
            " it, and erase again",
            path=name,
        )


def _first(connection: PreparedConnection, query: str, **values: Any) -> Any:
    row = connection.execute(SQL[query], values).fetchone()
    assert row is not None
    return row[0]


def _sealed_text(row: Row) -> SealedText:
    return SealedText(*row)
