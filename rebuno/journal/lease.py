"""Whether the holder of a lease is alive: by the operating system if it can tell, else by the lease's own time."""

import time
from collections.abc import Callable
from typing import Final

from rebuno.journal.liveness import Owner
from rebuno.journal.records import ExecutionRow, Holder
from rebuno.model.clock import Clock

LEASE_SECONDS: Final = 30.0
# Each is a few hundred bytes.
_MOST_SEEN: Final = 10_000


class Leases:
    """Judges leases for one open store.

    INVARIANT: a lease that was seen and not renewed since ends after its length, however far the clock is set back.
    """

    def __init__(self, owner: Owner, clock: Clock, elapsed: Callable[[], float] = time.monotonic) -> None:
        """`elapsed`: seconds on a clock that nobody sets."""
        self._owner = owner
        self._clock = clock
        self._elapsed = elapsed
        # What was leased: until when the row said, and when it was first seen to say so.
        self._seen: dict[tuple[str, str], tuple[float, float]] = {}

    @property
    def holder(self) -> Holder:
        """Who this open store is."""
        return self._owner.holder

    def alive(self, execution: ExecutionRow) -> bool:
        """Whether the holder of an execution's lease lives."""
        if execution.holder is None:
            return False
        lives = self._owner.alive(execution.holder)
        return self._runs(("execution", execution.id), execution.lease_until, LEASE_SECONDS) if lives is None else lives

    def leads(self, role: str, holder: Holder, until: float, seconds: float) -> bool:
        """Whether `holder`, who was given a role for so many seconds, still has it."""
        return self._owner.alive(holder) is not False and self._runs(("role", role), until, seconds)

    def _runs(self, what: tuple[str, str], until: float, seconds: float) -> bool:
        now = self._elapsed()
        if until <= self._clock.now():
            return False
        seen = self._seen.get(what)
        if seen is not None and seen[0] == until:
            return now - seen[1] < seconds
        if len(self._seen) >= _MOST_SEEN:
            self._seen.clear()
        self._seen[what] = (until, now)
        return True
