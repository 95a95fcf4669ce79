"""Notices of questions: what is owed, what is due, and what came of it."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from rebuno.journal.notices import NoticeRow, notice
from rebuno.journal.postgres.pipeline import PreparedConnection
from rebuno.journal.postgres.sql import SQL
from rebuno.journal.postgres.texts import asked
from rebuno.journal.rows import Row

T = TypeVar("T")


class PostgresNotices:
    """The part of the store that keeps notices; see `Store` for what the methods promise."""

    def now(self) -> float:
        """The server's time, in seconds since 1970."""
        raise NotImplementedError

    async def _ask(self, run: Callable[[PreparedConnection], T], about: str | None = None) -> T:
        raise NotImplementedError

    async def _rows(
        self, record: Callable[[Row], T], query: str, about: str | None = None, /, **values: Any
    ) -> list[T]:
        raise NotImplementedError

    async def notices_owed(self, target: str) -> list[NoticeRow]:
        """What a target is to be told and has no row yet, 100 at most."""
        return await self._rows(notice, "notices-owed", "", target=target, now=self.now())

    async def notice_due(self, target: str) -> NoticeRow | None:
        """The first notice that a target is to be told now."""
        found = await self._rows(notice, "notices-due", "", target=target, now=self.now())
        return found[0] if found else None

    async def notices_seen(self, target: str) -> float | None:
        """Up to when a target has its notices."""
        found = await self._rows(lambda row: float(row[0]), "notices-seen", "", target=target)
        return found[0] if found else None

    async def add_notices(self, target: str, notices: Sequence[NoticeRow], seen_at: float | None) -> None:
        """Adds these, and moves on up to when the target has seen everything (None: not)."""

        def add(connection: PreparedConnection) -> None:
            with connection.transaction():
                for one in notices:
                    values = {"approval_id": one.approval_id, "target": target, "stage": int(one.stage)}
                    connection.execute(SQL["add-notice"], asked({**values, "now": one.created_at}))
                if seen_at is not None:
                    connection.execute(SQL["see-notices"], asked({"target": target, "at": seen_at}))

        await self._ask(add, "")

    async def settle_notice(self, settled: NoticeRow) -> None:
        """Keeps what a try came to."""
        values = {
            "approval_id": settled.approval_id,
            "target": settled.target,
            "stage": int(settled.stage),
            "attempts": settled.attempts,
            "due_at": settled.due_at,
            "done_at": settled.done_at,
        }

        def settle(connection: PreparedConnection) -> None:
            connection.execute(SQL["settle-notice"], asked(values))

        await self._ask(settle, "")
