"""Counts what steps take from the pots of limits, exactly, inside a transaction of a store that holds their rows."""

from collections.abc import Callable, Iterable, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact
from itertools import groupby
from typing import Any, Final

from rebuno.journal.pot_records import PotState, Take
from rebuno.journal.records import Full
from rebuno.journal.rows import Row
from rebuno.model import identity

# Runs a named query of `pots.sql`; the rows that it gives.
ReadRequest = Callable[[str, dict[str, Any]], Sequence[Row]]

# Sums of amounts of at most 40 digits, before and behind the point.
_EXACT: Final = Context(prec=200, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact])
_WAITING: Final = ("proposed", "awaiting_approval")


class Pots:
    """The pots as one transaction sees them.

    INVARIANT: a pot is locked before its row is read, and pots are locked in the order of their keys.
    """

    def __init__(self, ask: ReadRequest, clock: Callable[[], float]) -> None:
        self._ask = ask
        self._clock = clock

    def take(self, step_id: str, takes: Sequence[Take], instead: Sequence[Take] = ()) -> Full | None:
        """Takes all of it for a step, or says which pot has no room, the first of several, and takes nothing.

        A step keeps what it has in a pot; but where all of this comes `instead` of what it had, it has this amount
        then, and gives back what it had elsewhere.
        """
        for take in sorted((*instead, *takes), key=lambda one: one.pot.key):
            self._ask("put-pot", declared(take))
        # Only now: amounts are taken in the order of their times.
        now = self._clock()
        wanted: dict[str, tuple[Take, Decimal, float]] = {}
        for take in takes:
            key = take.pot.key
            total, since = self._slid(take, now)
            own = self._own(key, step_id, since)
            if key in wanted or (own is not None and not instead):
                continue
            amount, number = Decimal(take.amount), Decimal(take.pot.number)
            more = _EXACT.subtract(amount, own or Decimal(0))
            if not take.forced:
                if _sum((total, more)) > number:
                    total = self._reclaimed(key, total, since, now)
                    more = _EXACT.subtract(amount, self._own(key, step_id, since) or Decimal(0))
                if _sum((total, more)) > number:
                    return Full(take, self._due(take, total, since))
                if take.asks and 2 * _sum((self._asked(key, take.execution_id), amount)) > number:
                    return Full(take, None, asks=True)
            wanted[key] = take, _sum((total, more)), since
        for key, (take, total, since) in wanted.items():
            values = {"execution_id": take.execution_id, "at": now, "amount": take.amount}
            self._ask("take-amount", {"key": key, "step_id": step_id, **values})
            self._set(key, total, since)
        for take in {one.pot.key: one for one in instead if one.pot.key not in wanted}.values():
            self._give_back(step_id, take, now)
        return None

    def _own(self, key: str, step_id: str, since: float) -> Decimal | None:
        """What the step itself has taken within the window; None: nothing."""
        row = self._one("amount", key=key, step_id=step_id)
        return Decimal(row[1]) if row is not None and not row[2] and row[0] > since else None

    def _give_back(self, step_id: str, take: Take, now: float) -> None:
        total, since = self._slid(take, now)
        own = self._own(take.pot.key, step_id, since)
        self._ask("return-amount", {"key": take.pot.key, "step_id": step_id, "at": now})
        if own is not None:
            self._set(take.pot.key, _EXACT.subtract(total, own), since)

    def _slid(self, take: Take, now: float) -> tuple[Decimal, float]:
        """What is taken within the window that ends now, and when that begins."""
        key, window = take.pot.key, take.pot.window
        row = self._one("pot", key=key)
        assert row is not None
        taken, before, per = row
        since = 0.0 if window is None else max(now - window, 0.0)
        if not taken:
            total = _sum(Decimal(amount) for _, amount in self._ask("amounts-since", {"key": key, "after": since}))
        elif since == before:
            return Decimal(taken), since
        else:
            span = {"key": key, "after": min(since, before), "until": max(since, before)}
            moved = _sum(Decimal(amount) for (amount,) in self._ask("amounts-between", span))
            # A clock that was set back, or a longer window, brings back what had left.
            total = (_EXACT.subtract if since > before else _EXACT.add)(Decimal(taken), moved)
        if per is not None:
            self._ask("forget-amounts", {"key": key, "before": now - per})
        self._set(key, total, since)
        return total, since

    def _reclaimed(self, key: str, total: Decimal, since: float, now: float) -> Decimal:
        """What is taken once that is given back which certainly came to nothing, see `_nothing`."""
        self._ask("settle-amounts", {"key": key})
        for step_id, at, amount, _, *state in self._ask("unsure-amounts", {"key": key}):
            which = {"key": key, "step_id": step_id}
            if _nothing(*state):
                self._ask("return-amount", {**which, "at": now})
                total = _EXACT.subtract(total, Decimal(amount)) if at > since else total
            elif state[0] == "failed":
                self._ask("set-sure", which)
        self._set(key, total, since)
        return total

    def _asked(self, key: str, execution_id: str) -> Decimal:
        """What the unanswered questions of an execution hold of a pot."""
        return _sum(
            Decimal(amount)
            for _, _, amount, owner, status, started, *_ in self._ask("unsure-amounts", {"key": key})
            if owner == execution_id and not started and (status is None or status in _WAITING)
        )

    def _due(self, take: Take, total: Decimal, since: float) -> float | None:
        """When enough has left the window; None: never."""
        amount, number = Decimal(take.amount), Decimal(take.pot.number)
        if take.pot.window is None or amount > number:
            return None
        for at, taken in self._ask("amounts-since", {"key": take.pot.key, "after": since}):
            total = _EXACT.subtract(total, Decimal(taken))
            if _sum((total, amount)) <= number:
                return float(at) + take.pot.window
        return None

    def _set(self, key: str, total: Decimal, since: float) -> None:
        self._ask("set-pot", {"key": key, "taken": format(total, "f"), "since": since})

    def _one(self, query: str, **values: Any) -> Row | None:
        rows = self._ask(query, values)
        return rows[0] if rows else None


def states(rows: Iterable[Row], now: float) -> list[PotState]:
    """The pots of a page of the query `pots`, as they stand now."""
    found = []
    for key, group in groupby(rows, key=lambda row: row[0]):
        amounts = list(group)
        _, bundle, name, measure, scope, owner, number, seconds = amounts[0][:8]
        since = 0.0 if seconds is None else now - seconds
        inside = [
            (at, Decimal(amount), status)
            for at, amount, sure, status, *state in (row[8:] for row in amounts)
            if at is not None and at > since and (sure or not _nothing(status, *state))
        ]
        asked = _sum(amount for _, amount, status in inside if status in _WAITING)
        found.append(
            PotState(
                key, bundle, name, measure, scope, owner, number, None if seconds is None else int(seconds),
                taken=format(_sum(amount for _, amount, _ in inside), "f"),
                asked=format(asked, "f"),
                places=len(inside),
                frees_at=inside[0][0] + seconds if inside and seconds is not None else None,
            )
        )  # fmt: skip
    return found


def _nothing(status: str | None, started: int, ended: float, failure: str | None, starts: int) -> bool:
    """Whether it is certain that nothing happened: the step was denied before it started, its execution has ended
    without it, or its tool says so of its only start."""
    if status is None:
        return bool(ended)
    if status == "denied":
        return not started
    return failure is not None and starts == 1 and identity.parse(failure).get("nothing_done") is True


def declared(take: Take) -> dict[str, Any]:
    """The values of the query `put-pot`."""
    pot = take.pot
    return {
        "key": pot.key,
        "bundle": pot.bundle,
        "name": pot.name,
        "measure": pot.measure,
        "scope": pot.scope,
        "owner": pot.owner,
        "number": pot.number,
        "seconds": None if pot.window is None else float(pot.window),
    }


def _sum(amounts: Iterable[Decimal]) -> Decimal:
    total = Decimal(0)
    for amount in amounts:
        total = _EXACT.add(total, amount)
    return total
