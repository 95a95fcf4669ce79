"""Notices of questions: what is owed, what is due, and what came of it."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import apsw

from rebuno.journal.notices import NoticeRow, notice
from rebuno.journal.rows import Row
from rebuno.journal.sqlite.sql import SQL

T = TypeVar("T")


class SQLiteNotices:
    """The part of the store that keeps notices; see `Store` for what the methods promise."""

    _connection: apsw.Connection

    def now(self) -> float:
        """The time by the clock that this store stamps its rows with, in seconds since 1970."""
        raise NotImplementedError

    async def _change(self, run: Callable[[], T]) -> T:
        raise NotImplementedError

    async def _rows(self, record: Callable[[Row], T], query: str, *values: str | float | bytes | None) -> list[T]:
        raise NotImplementedError

    async def notices_owed(self, target: str) -> list[NoticeRow]:
        """What a target is to be told and has no row yet, 100 at most."""
        return await self._rows(notice, "notices-owed", target, self.now())

    async def notice_due(self, target: str) -> NoticeRow | None:
        """The first notice that a target is to be told now."""
        found = await self._rows(notice, "notices-due", target, self.now())
        return found[0] if found else None

    async def notices_seen(self, target: str) -> float | None:
        """Up to when a target has its notices."""
        found = await self._rows(lambda row: float(row[0]), "notices-seen", target)
        return found[0] if found else None

    async def add_notices(self, target: str, notices: Sequence[NoticeRow], seen_at: float | None) -> None:
        """Adds these, and moves on up to when the target has seen everything (None: not)."""

        def add() -> None:
            for one in notices:
                self._connection.execute(SQL["add-notice"], (one.approval_id, target, int(one.stage), one.created_at))
            if seen_at is not None:
                self._connection.execute(SQL["see-notices"], (target, seen_at))

        await self._change(add)

    async def settle_notice(self, settled: NoticeRow) -> None:
        """Keeps what a try came to."""
        key = (settled.approval_id, settled.target, int(settled.stage))
        values = (*key, settled.attempts, settled.due_at, settled.done_at)

        def settle() -> None:
            self._connection.execute(SQL["settle-notice"], values)

        await self._change(settle)
