"""The writes beside the journal's batches: places in limits, tombstones, the leader, the sources of policies.

Each is a unit of work that may be repeated after it was done.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, Final

import uuid_utils

from rebuno.journal.postgres.pipeline import PreparedConnection
from rebuno.journal.postgres.sql import SQL
from rebuno.journal.postgres.texts import asked, held
from rebuno.journal.pot_records import Take
from rebuno.journal.pots import Pots
from rebuno.journal.records import Full, Spend, Tombstone
from rebuno.journal.rows import Row
from rebuno.journal.standing import StandingGrantRow
from rebuno.journal.stops import StopRow

# How the roles begin that stand for writes, and for how long one whose answer was lost is known, in seconds: much
# longer than anybody sends it again.
_WRITE: Final = "write "
_KNOWN_SECONDS: Final = 3600.0


def spend(
    connection: PreparedConnection,
    step_id: str,
    spends: Sequence[Spend | Take],
    instead: Sequence[Spend | Take],
    clock: Callable[[], float],
) -> Full | None:
    """Takes one place for a step in every window and its amount from every pot, or says what is the first that has no
    room, and takes nothing. It takes all of this `instead` of what it had."""
    windows = [one for one in spends if isinstance(one, Spend)]
    takes = [one for one in spends if isinstance(one, Take)]
    freed = [one for one in instead if isinstance(one, Spend)]
    had = [one for one in instead if isinstance(one, Take)]
    with connection.transaction():
        # INVARIANT: who counts places holds the limit's lock, so two that count at once never take the same one. Those
        # of windows come before those of pots.
        if windows or freed:
            keys = sorted({held(spend.key) for spend in (*windows, *freed)})
            connection.execute(SQL["lock-windows"], {"keys": keys})
        # Only now: places are taken in the order of their times.
        now = clock()
        wanted = []
        for each in windows:
            key = {"key": each.key}
            if each.window is not None:
                connection.execute(SQL["forget-places"], asked({**key, "before": now - each.window}))
            values = asked({**key, "step_id": step_id, "number": each.number})
            row = connection.execute(SQL["place"], values).fetchone()
            assert row is not None
            has, taken, leaves = row
            if has:
                continue
            if taken >= each.number:
                # Where no place is ever given out, none comes free.
                never = each.window is None or each.number < 1
                return Full(each, None if never else leaves + each.window)
            wanted.append(each)
        if (takes or had) and (full := _pots(connection, clock).take(step_id, takes, had)) is not None:
            return full
        for each in wanted:
            connection.execute(SQL["take-place"], asked({"key": each.key, "step_id": step_id, "at": now}))
        for left in {each.key for each in freed} - {each.key for each in windows}:
            connection.execute(SQL["free-place"], asked({"key": left, "step_id": step_id}))
    return None


def _pots(connection: PreparedConnection, clock: Callable[[], float]) -> Pots:
    def ask(query: str, values: dict[str, Any]) -> list[Row]:
        done = connection.execute(SQL[query], asked(values))
        return done.fetchall() if done.description else []

    return Pots(ask, clock)


class Burial:
    """Puts a tombstone in the place of an ended execution; called, it says whether it did, or False where there was
    none to bury."""

    def __init__(self, tombstone: Tombstone) -> None:
        self._values = asked(
            {
                "id": tombstone.id,
                "status": tombstone.status.value,
                "output_hash": tombstone.output_hash,
                "head_hash": tombstone.head_hash,
                "ended_at": tombstone.ended_at,
            }
        )
        self._tried = False

    def __call__(self, connection: PreparedConnection) -> bool:
        again, self._tried = self._tried, True
        if connection.execute(SQL["bury"], self._values).fetchone() is not None:
            return True
        # The answer to the call before may have been lost.
        return again and connection.execute(SQL["buried"], self._values).fetchone() is not None


class Once:
    """A statement that is carried out once, however often it is sent; called, it says how many rows it changed, or what
    the one that it gives back holds.

    INVARIANT: its number is written in its transaction, so that a reader who finds the number finds the change; of two
    that bear it the second waits for the first.
    """

    def __init__(self, query: str, values: dict[str, Any], now: float) -> None:
        self._query = SQL[query]
        self._values = values
        self._now = now
        self._role = f"{_WRITE}{uuid_utils.uuid7()}"

    def __call__(self, connection: PreparedConnection) -> int:
        with connection.transaction():
            number = {"role": self._role, "until": self._now + _KNOWN_SECONDS}
            if connection.execute(SQL["number-write"], number).fetchone() is None:
                found = connection.execute(SQL["numbered-write"], {"role": self._role}).fetchone()
                return int(found[0]) if found is not None else 0
            done = connection.execute(self._query, self._values)
            row = done.fetchone() if done.description else None
            came_to = int(row[0]) if row is not None else done.rowcount
            connection.execute(SQL["answer-write"], {"role": self._role, "answer": str(came_to)})
            connection.execute(SQL["forget-writes"], {"begins": _WRITE, "now": self._now})
        return came_to


def touch(connection: PreparedConnection, owner: str, now: float) -> None:
    """Writes something that nobody reads, to see that it can be."""
    lead(connection, f"{_WRITE}ready {owner}", owner, now, _KNOWN_SECONDS)


def lead(connection: PreparedConnection, role: str, owner: str, now: float, seconds: float) -> bool:
    """Takes a role that is nobody's, or keeps it."""
    values = {"role": role, "owner": owner, "now": now, "until": now + seconds}
    return connection.execute(SQL["lead"], asked(values)).fetchone() is not None


def resign(connection: PreparedConnection, owner: str) -> None:
    """Gives up all roles of a store."""
    connection.execute(SQL["resign"], {"owner": owner})


def save_bundle(connection: PreparedConnection, digest: str, sources: Sequence[tuple[str, str]]) -> None:
    """Keeps a policy's files."""
    paths, texts = [held(path) for path, _ in sources], [held(text) for _, text in sources]
    connection.execute(SQL["add-sources"], {"digest": digest, "paths": paths, "texts": texts})


def save_definition(connection: PreparedConnection, digest: str, text: str) -> None:
    """Keeps what a server says of a tool."""
    connection.execute(SQL["add-definition"], {"digest": digest, "text": held(text)})


def add_stop(connection: PreparedConnection, stop: StopRow) -> None:
    """Adds a standing denial."""
    texts = {name: held(getattr(stop, name)) for name in ("id", "agent", "tool", "reason", "created_by")}
    connection.execute(SQL["add-stop"], {**texts, "created_at": stop.created_at})


def lift_stop(connection: PreparedConnection, stop_id: str, by: str, at: float) -> None:
    """Ends one."""
    connection.execute(SQL["lift-stop"], {"id": held(stop_id), "by": held(by), "at": at})


def add_standing_grant(connection: PreparedConnection, grant: StandingGrantRow) -> None:
    """Adds a grant that outlives its execution."""
    connection.execute(SQL["add-standing-grant"], asked(asdict(grant)))


def revoke_standing_grant(connection: PreparedConnection, grant_id: str, by: str, at: float) -> None:
    """Ends one."""
    connection.execute(SQL["revoke-standing-grant"], {"id": held(grant_id), "by": held(by), "at": at})


def mark_restored(connection: PreparedConnection, at: float, by: str) -> None:
    """Says that this is a copy."""
    connection.execute(SQL["add-restoration"], {"at": at, "by": held(by)})


def accept_restored(connection: PreparedConnection, at: float, by: str) -> None:
    """Accepts that."""
    connection.execute(SQL["accept-restorations"], {"at": at, "by": held(by)})
