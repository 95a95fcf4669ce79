"""What is written besides the journal's batches: places in limits, tombstones, and who leads. Inside a transaction."""

from collections.abc import Sequence
from typing import Any

import apsw

from rebuno.journal.lease import Leases
from rebuno.journal.pot_records import Take
from rebuno.journal.pots import Pots
from rebuno.journal.records import Full, Holder, Spend, Tombstone
from rebuno.journal.rows import Row
from rebuno.journal.sqlite.sql import SQL
from rebuno.model.clock import Clock


class Upkeep:
    """Writes to one connection. Used by one thread."""

    def __init__(self, connection: apsw.Connection, clock: Clock, leases: Leases) -> None:
        self._connection = connection
        self._clock = clock
        self._leases = leases

    def spend(self, step_id: str, spends: Sequence[Spend | Take], instead: Sequence[Spend | Take] = ()) -> Full | None:
        """Takes one place for a step in every window and its amount from every pot, or says what has no room, the first
        of several, and takes nothing. It takes all of this `instead` of what it had."""
        now = round(self._clock.now(), 6)
        windows = [spend for spend in spends if isinstance(spend, Spend)]
        takes = [spend for spend in spends if isinstance(spend, Take)]
        wanted = [spend for spend in windows if not self._has(step_id, spend, now)]
        for spend in wanted:
            if (full := self._full(spend)) is not None:
                return full
        had = [spend for spend in instead if isinstance(spend, Take)]
        if (takes or had) and (full := self._pots(now).take(step_id, takes, had)) is not None:
            return full
        for spend in wanted:
            self._connection.execute(SQL["take-place"], (spend.key, step_id, now))
        for key in {spend.key for spend in instead if isinstance(spend, Spend)} - {spend.key for spend in windows}:
            self._connection.execute(SQL["free-place"], (key, step_id))
        return None

    def _pots(self, now: float) -> Pots:
        def ask(query: str, values: dict[str, Any]) -> list[Row]:
            return self._connection.execute(SQL[query], values).fetchall()

        return Pots(ask, lambda: now)

    def bury(self, tombstone: Tombstone) -> bool:
        """Puts a tombstone in the place of an ended execution; False where there is none."""
        if self._first("ended", tombstone.id) is None:
            return False
        values = {"id": tombstone.id, "at": round(self._clock.now(), 6)}
        for part in ("return-amounts", "disturb-pots", "drop-amounts", "drop-pots"):
            self._connection.execute(SQL[part], values)
        for part in ("drop-places", "drop-approvals", "drop-steps", "drop-events", "drop-contents", "drop-execution"):
            self._connection.execute(SQL[part], (tombstone.id,))
        left = (
            tombstone.id,
            tombstone.agent_id,
            tombstone.key,
            tombstone.status,
            tombstone.output_hash,
            tombstone.head_hash,
            tombstone.ended_at,
        )
        self._connection.execute(SQL["add-tombstone"], left)
        return True

    def lead(self, role: str, seconds: float) -> bool:
        """Takes a role that is nobody's, or keeps it."""
        mine = self._leases.holder
        row = self._first("leader", role)
        if row is not None and row[0] != mine.owner and self._leases.leads(role, Holder(*row[:3]), row[3], seconds):
            return False
        values = (role, mine.owner, mine.host, mine.pid, self._clock.now() + seconds)
        self._connection.execute(SQL["lead"], values)
        return True

    def _has(self, step_id: str, spend: Spend, now: float) -> bool:
        if spend.window is not None:
            self._connection.execute(SQL["forget-places"], (spend.key, now - spend.window))
        return self._first("place", spend.key, step_id) is not None

    def _full(self, spend: Spend) -> Full | None:
        (taken,) = self._first("places", spend.key) or (0,)
        if taken < spend.number:
            return None
        # Where no place is ever given out, none comes free.
        if spend.window is None or spend.number < 1:
            return Full(spend, None)
        # The place that must leave before there is room, from the end that is nearer.
        older, newer = taken - spend.number, spend.number - 1
        if older <= newer:
            leaves = self._first("oldest-place", spend.key, older)
        else:
            leaves = self._first("newest-place", spend.key, newer)
        assert leaves is not None
        return Full(spend, leaves[0] + spend.window)

    def _first(self, query: str, *values: str | int) -> Row | None:
        row: Row | None = self._connection.execute(SQL[query], values).fetchone()
        return row
