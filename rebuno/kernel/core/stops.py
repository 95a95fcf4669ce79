"""What operators say of a whole store: what is stopped starts nothing any more, on every kernel of the store, until
that is lifted; and whether it was restored from a copy."""

import asyncio
from dataclasses import dataclass
from fnmatch import fnmatchcase
from time import monotonic
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from rebuno.journal.records import StepRow
from rebuno.journal.stops import Restoration, StopRow
from rebuno.journal.store import Store
from rebuno.kernel.core import events
from rebuno.kernel.core.effects import Effects, Identified, Need, Routed
from rebuno.kernel.core.sealed import plain
from rebuno.model.answer import Answer, AnswerKind
from rebuno.model.decision import STOPPED
from rebuno.model.step import Idempotency, Kind, StepStatus

if TYPE_CHECKING:
    from rebuno.kernel.core.attempt import Attempt

# INVARIANT: under a second, the time in which every kernel obeys. In seconds.
FRESH: Final = 0.5
# After so many seconds a stopped step looks again whether it was lifted.
LOOK: Final = 1.0


@dataclass(slots=True, weakref_slot=True)
class StandingStops:
    """What is stopped in a store, and whether it was restored from a copy, as this process read it last. From
    `due` on, on the monotonic clock, it must be read anew."""

    stops: tuple[StopRow, ...] = ()
    restored: Restoration | None = None
    # The agents that grants let start steps beyond the runs that they were given in.
    granted: frozenset[str] = frozenset()
    due: float = float("-inf")
    # The reading that is under way, and when it began, on the same clock.
    reading: "asyncio.Task[bool] | None" = None
    began: float = 0.0

    def fresh(self) -> bool:
        """Whether it was read a moment ago."""
        return monotonic() < self.due


_known: WeakKeyDictionary[Store, StandingStops] = WeakKeyDictionary()


def of(store: Store) -> StandingStops:
    """What this process knows to be stopped in a store: the same object for the same store."""
    store = plain(store)
    found = _known.get(store)
    if found is None:
        found = _known[store] = StandingStops()
    return found


async def look(store: Store) -> None:
    """Reads what is stopped, unless that was read a moment ago. Many ask at once where their executions run side by
    side: they share one reading. Raises a `StoreError`."""
    standing = of(store)
    while not standing.fresh():
        reading, recent = standing.reading, monotonic() - standing.began <= FRESH
        if reading is None or reading.get_loop() is not asyncio.get_running_loop():
            standing.began, recent = monotonic(), True
            reading = standing.reading = asyncio.create_task(_read(store, standing))
            reading.add_done_callback(_heard)
        # INVARIANT: what is told here was read later than it was asked for, or began `FRESH` before that at most.
        if await asyncio.shield(reading) and recent:
            return


async def _read(store: Store, standing: StandingStops) -> bool:
    """Whether what was read is kept: it was not forgotten meanwhile."""
    own, began = asyncio.current_task(), standing.began
    try:
        stops, restored = tuple(await store.stops()), await store.restored()
        granted = frozenset(grant.agent_id for grant in await store.standing_grants(now=store.now()))
        if standing.reading is not own:
            return False
        standing.stops, standing.restored, standing.granted = stops, restored, granted
        standing.due = began + FRESH
        return True
    finally:
        if standing.reading is own:
            standing.reading = None


def _heard(reading: "asyncio.Task[bool]") -> None:
    # Where all who asked have gone, nobody else hears of its failure.
    if not reading.cancelled():
        reading.exception()


def forget(store: Store) -> None:
    """Has all of it read anew: this process has changed it."""
    standing = of(store)
    standing.due = float("-inf")
    standing.reading = None


@dataclass(slots=True)
class StopsNeeded(Need):
    """What is stopped must be read anew."""

    step: Identified

    async def meet(self, attempt: "Attempt") -> None:
        """Reads it."""
        await look(attempt.store)
        # However long it took.
        self.step.stops_read = True
        # What was decided before an await is decided again, so that it rests on the end of the log.
        await attempt.current()


def held_back(attempt: "Attempt", step: Identified, known: StepRow | None) -> Routed | Need | None:
    """The answer to a step that was let in and would start though it is stopped: it is not recorded, and waits until
    that is lifted. None where it is not stopped, or where nothing would start: what is recorded replays."""
    if known is not None and not _starts(known):
        return None
    standing = attempt.standing
    if not step.stops_read and not standing.fresh():
        return StopsNeeded(step)
    if not standing.stops:
        return None
    stop = next((stop for stop in standing.stops if _stops(stop, attempt, step)), None)
    if stop is None:
        return None
    # It asks again later.
    step.stops_read = False
    reason = f"stopped by {stop.created_by}" + (f": {stop.reason}" if stop.reason else "")
    answer = Answer(AnswerKind.PARKED, reason=reason, rule_id=STOPPED, due=attempt.store.now() + LOOK)
    if step.step_id in attempt.held_back:
        return Routed(answer)
    return Routed(answer, Effects((events.stopped(step, reason, digest=attempt.policy.digest, stop_id=stop.id),), ()))


def _starts(known: StepRow) -> bool:
    # One that was granted, or was cut off and may run again.
    if known.status is StepStatus.ALLOWED:
        return True
    return known.status is StepStatus.EXECUTING and known.idempotency is Idempotency.SAFE


def _stops(stop: StopRow, attempt: "Attempt", step: Identified) -> bool:
    if stop.agent:
        return stop.agent == attempt.execution.agent_id
    return not stop.tool or (step.kind is Kind.TOOL and fnmatchcase(step.target, stop.tool))
