"""The queue of pending writes and reads, in the order that the store guarantees. Callers hold its lock."""

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from rebuno.journal.postgres.group import ChangeGroup, GroupChange, together
from rebuno.journal.postgres.work import ReadRequest

# So many executions are written to in one round trip at most.
MOST_LANES: Final = 16


@dataclass(slots=True)
class Lane:
    """The changes of one execution. `taken` is the number of the first of those that are being written (None: none
    are), `ready` whether the lane stands in line."""

    changes: deque[GroupChange] = field(default_factory=deque)
    taken: int | None = None
    ready: bool = False

    @property
    def oldest(self) -> int:
        return self.changes[0].number if self.taken is None else self.taken


class Queue:
    """INVARIANT: of one execution one group at a time is being written, and groups go in the order of `add`; a question
    goes when everything that was handed over before it, and that it may be about, is answered."""

    def __init__(self) -> None:
        self._lanes: dict[str, Lane] = {}
        self._ready: deque[str] = deque()
        self._waiting: dict[str, float] = {}
        self._behind: dict[str, float] = {}
        self._asks: deque[ReadRequest] = deque()
        self._handed: deque[ChangeGroup] = deque()
        self._number = 0

    @property
    def empty(self) -> bool:
        return not self._lanes and not self._asks

    @property
    def due(self) -> float:
        """When the first deferred change must go, on the monotonic clock (infinity: none waits)."""
        # All wait equally long, so the first to come is the first to go.
        return next(iter(self._waiting.values()), math.inf)

    @property
    def runnable(self) -> int:
        """About how many workers could find something to do."""
        return len(self._ready) + len(self._asks) + len(self._handed)

    @property
    def takeable(self) -> int:
        """How many things a worker could begin now."""
        may = sum(map(self._may, self._asks)) if self._asks else 0
        return len(self._ready) + len(self._handed) + may

    @property
    def behind(self) -> float:
        """When the first deferred change must go that waits for what is being written before it (infinity: none)."""
        return next(iter(self._behind.values()), math.inf)

    def add(self, change: GroupChange) -> None:
        """A change takes its place; it wakes what of its execution was deferred, unless it is deferred itself."""
        self._number += 1
        change.number = self._number
        id = change.batch.execution_id
        lane = self._lanes.get(id)
        if lane is None:
            lane = self._lanes[id] = Lane()
        lane.changes.append(change)
        if change.due is None:
            self._line_up(id, lane)
        elif lane.taken is not None:
            self._behind.setdefault(id, change.due)
        elif not lane.ready:
            self._waiting.setdefault(id, change.due)

    def ask(self, ask: ReadRequest) -> None:
        """A question takes its place; what it waits for waits no longer."""
        self._number += 1
        ask.number = self._number
        if ask.execution_id is None:
            self.release(math.inf)
        elif (lane := self._lanes.get(ask.execution_id)) is not None:
            self._line_up(ask.execution_id, lane)
        self._asks.append(ask)

    def release(self, now: float) -> None:
        """Lets deferred changes go whose time has come."""
        for id in [id for id, due in self._waiting.items() if due <= now]:
            self._line_up(id, self._lanes[id])

    def hand(self, group: ChangeGroup) -> None:
        """A group that was taken is left to a worker."""
        self._handed.append(group)

    def take_lane(self, execution_id: str) -> list[GroupChange] | None:
        """The next group of one execution; None where it has none in line."""
        lane = self._lanes.get(execution_id)
        if lane is None or not lane.ready:
            return None
        self._ready.remove(execution_id)
        return self._group(lane)

    def take(self, workers: int) -> "ReadRequest | ChangeGroup | list[list[GroupChange]] | None":
        """What one of so many workers does next: a group that was taken, a question, or a new group of each of some
        executions; None where there is nothing that may be done now."""
        if self._handed:
            return self._handed.popleft()
        for ask in self._asks:
            if self._may(ask):
                self._asks.remove(ask)
                return ask
        share = -(-len(self._ready) // workers)
        return [self._group(self._lanes[self._ready.popleft()]) for _ in range(min(share, MOST_LANES))] or None

    def _group(self, lane: Lane) -> list[GroupChange]:
        lane.ready = False
        lane.taken = lane.changes[0].number
        count = together(lane.changes)
        return [lane.changes.popleft() for _ in range(count)]

    def done(self, execution_id: str) -> None:
        """What was taken of an execution is answered."""
        lane = self._lanes.get(execution_id)
        if lane is None:
            # Everything was drained meanwhile.
            return
        lane.taken = None
        self._behind.pop(execution_id, None)
        if not lane.changes:
            del self._lanes[execution_id]
        elif any(change.due is None for change in lane.changes) or self._asked(execution_id):
            self._line_up(execution_id, lane)
        else:
            self._waiting[execution_id] = lane.changes[0].due or 0.0

    def drain(self) -> tuple[list[GroupChange], list[ReadRequest]]:
        """Everything that nobody will do any more."""
        changes = [change for group in self._handed for change in group.changes]
        changes += [change for lane in self._lanes.values() for change in lane.changes]
        asks = list(self._asks)
        self._handed.clear()
        self._lanes.clear()
        self._ready.clear()
        self._waiting.clear()
        self._behind.clear()
        self._asks.clear()
        return changes, asks

    def _line_up(self, id: str, lane: Lane) -> None:
        self._waiting.pop(id, None)
        if lane.taken is None and not lane.ready:
            lane.ready = True
            self._ready.append(id)

    def _may(self, ask: ReadRequest) -> bool:
        if ask.execution_id is not None:
            lane = self._lanes.get(ask.execution_id)
            return lane is None or lane.oldest > ask.number
        return all(lane.oldest > ask.number for lane in self._lanes.values())

    def _asked(self, execution_id: str) -> bool:
        return any(ask.execution_id in (None, execution_id) for ask in self._asks)
