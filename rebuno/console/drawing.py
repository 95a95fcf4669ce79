"""Places the steps of a run in time: an attempt is a column, what lies between two attempts a narrow gap, and each step
has bars for the time that it waited and that it ran."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rebuno.journal.overview import RunLine, StepLine
from rebuno.journal.records import EventRow
from rebuno.model.clock import from_rfc3339
from rebuno.model.step import StepStatus

# The width of the picture in its own units, that of a gap, and of the narrowest column and bar.
WIDTH: Final = 1000
_GAP: Final = 26
_NARROWEST: Final = 40
_BAR: Final = 3
# Older attempts share the first column.
MOST_COLUMNS: Final = 10
_ENDINGS: Final = ("blocked", "completed", "failed", "cancelled")
_OPEN: Final = (StepStatus.PROPOSED, StepStatus.AWAITING, StepStatus.ALLOWED)


@dataclass(slots=True)
class ShownAttempt:
    """An attempt: from when to when (None: it runs, or nothing says how it ended), and how many steps were replayed."""

    number: int
    began: float
    seq: int
    ended: float | None = None
    ending: str = "running"
    replayed: int = 0


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the picture: `x` and `width` in its units, `attempts` the numbers of those that it shows."""

    x: float
    width: float
    start: float
    end: float
    attempts: tuple[int, ...]
    ending: str

    @property
    def name(self) -> str:
        """Its attempts in words."""
        first, last = self.attempts[0], self.attempts[-1]
        return f"attempt {last}" if first == last else f"attempts {first} to {last}"


@dataclass(frozen=True, slots=True)
class TimeBar:
    """A bar: `what` is `wait`, `run` or `again` (the step was answered from the journal)."""

    what: str
    x: int
    width: int


@dataclass(frozen=True, slots=True)
class StepRowView:
    """A step, or with `child` a subagent, as a row of the picture."""

    depth: int
    bars: tuple[TimeBar, ...]
    seconds: float | None
    step: StepLine | None = None
    child: RunLine | None = None


@dataclass(frozen=True, slots=True)
class Picture:
    """The columns and the rows."""

    columns: tuple[Column, ...]
    rows: tuple[StepRowView, ...] = ()


def attempts_of(events: Sequence[EventRow]) -> list[ShownAttempt]:
    """The attempts that the events of a run tell of."""
    found: list[ShownAttempt] = []
    for event in events:
        what = event.type.partition(".")[2]
        at = from_rfc3339(event.occurred_at)
        last = found[-1] if found else None
        if what == "started":
            if last is not None and last.ended is None:
                last.ended, last.ending = at, "cut off"
            number = event.payload.get("attempt")
            found.append(ShownAttempt(number if isinstance(number, int) else len(found) + 1, at, event.event_seq))
        elif last is not None and last.ended is None and (what in _ENDINGS or what == "resumed"):
            last.ended, last.ending = at, "blocked" if what == "resumed" else what
            replayed = event.payload.get("replayed")
            last.replayed = replayed if isinstance(replayed, int) else 0
    return found


def drawn(
    attempts: Sequence[ShownAttempt],
    steps: Sequence[StepLine],
    children: Sequence[RunLine],
    *,
    began: float,
    now: float,
    first: int = 0,
) -> Picture:
    """The picture of these steps, the first of which is number `first` of the run.

    It begins with the first of them and ends with the last, so that a page of a long run is as wide as a short one. Of
    an attempt the log has only how many steps were replayed; they are taken to be the first ones, as in a handler that
    does the same again.
    """
    if not steps:
        return Picture(_columns(attempts, began, now, began, now))
    start = min(step.decided_at for step in steps)
    end = max(_end(step, now) for step in steps)
    scale = _Scale(_columns(attempts, start, max(end, start + 0.001), began, now))
    by_step: dict[str, list[RunLine]] = {}
    for child in children:
        by_step.setdefault(child.spawned_step_id, []).append(child)
    depths: dict[str, int] = {}
    rows: list[StepRowView] = []
    rank = first
    for step in steps:
        depth = depths[step.step_id] = min(depths.get(step.parent_id, 0) + 1, 6) if step.parent_id else 0
        rows.append(StepRowView(depth, tuple(_bars(step, attempts, scale, now, rank)), _seconds(step, now), step=step))
        rank += not step.parent_id and step.status != StepStatus.DENIED
        for child in by_step.get(step.step_id, ()):
            bar = scale.bar("run", child.created_at, child.ended_at or now)
            seconds = (child.ended_at or now) - child.created_at
            rows.append(StepRowView(min(depth + 1, 6), (bar,), seconds, child=child))
    return Picture(scale.columns, tuple(rows))


def _columns(
    attempts: Sequence[ShownAttempt], start: float, end: float, began: float, now: float
) -> tuple[Column, ...]:
    """The columns for what lies between `start` and `end`."""
    spans: list[tuple[float, float, tuple[int, ...], str]] = []
    for attempt in attempts:
        until = attempt.ended if attempt.ended is not None else max(now, attempt.began)
        first, last = max(attempt.began, start), min(until, end)
        if last >= first or not spans:
            spans.append((min(first, end), max(last, min(first, end)), (attempt.number,), attempt.ending))
    if not spans:
        spans = [(start, end, (1,), "running")]
    if len(spans) > MOST_COLUMNS:
        older = spans[: len(spans) - MOST_COLUMNS + 1]
        numbers = tuple(number for span in older for number in span[2])
        spans = [(older[0][0], older[-1][1], numbers, older[-1][3]), *spans[len(older) :]]
    # A question may have been asked before the first attempt of this page, or answered after the last.
    spans[0] = (min(spans[0][0], start), *spans[0][1:])
    free = WIDTH - _GAP * (len(spans) - 1) - _NARROWEST * len(spans)
    total = sum(span[1] - span[0] for span in spans) or 1.0
    columns, x = [], 0.0
    for first, last, numbers, ending in spans:
        width = _NARROWEST + free * (last - first) / total
        columns.append(Column(round(x, 1), round(width, 1), first, last, numbers, ending))
        x += width + _GAP
    return tuple(columns)


@dataclass(slots=True)
class _Scale:
    columns: tuple[Column, ...]

    def x(self, at: float) -> float:
        """Where a time stands."""
        before: Column | None = None
        for column in self.columns:
            if at < column.start:
                # Between two attempts.
                return column.x - _GAP / 2 if before is not None else 0.0
            if at <= column.end:
                length = column.end - column.start
                return column.x + (column.width * (at - column.start) / length if length > 0 else 0.0)
            before = column
        return float(WIDTH)

    def bar(self, what: str, start: float, end: float) -> TimeBar:
        """A bar from one time to another, wide enough to be seen."""
        first, last = self.x(start), self.x(max(end, start))
        width = max(last - first, _BAR)
        return TimeBar(what, round(min(first, WIDTH - width)), max(round(width), _BAR))


def _bars(step: StepLine, attempts: Sequence[ShownAttempt], scale: _Scale, now: float, rank: int) -> list[TimeBar]:
    bars: list[TimeBar] = []
    asked = step.approval_id or step.status in _OPEN
    begun = step.started_at if step.started_seq else 0.0
    if asked:
        bars.append(scale.bar("wait", step.decided_at, begun or step.completed_at or now))
    if begun:
        bars.append(scale.bar("run", begun, step.completed_at or _cut(attempts, begun, now)))
    elif not asked:
        bars.append(scale.bar("run", step.decided_at, step.completed_at or step.decided_at))
    # The steps inside a step whose outcome is known are not submitted again.
    if step.outcome_seq and not step.parent_id and step.status in (StepStatus.SUCCEEDED, StepStatus.FAILED):
        for column in scale.columns:
            later = [one for one in attempts if one.number in column.attempts and one.seq > step.outcome_seq]
            if later and any(one.replayed > rank for one in later):
                bars.append(TimeBar("again", round(column.x), 6))
    return bars


def _cut(attempts: Sequence[ShownAttempt], begun: float, now: float) -> float:
    """When a step that has not ended was cut off: with the attempt that it ran in."""
    for attempt in attempts:
        if attempt.ended is not None and attempt.began <= begun <= attempt.ended:
            return attempt.ended
    return now


def _end(step: StepLine, now: float) -> float:
    return step.completed_at or (now if step.status in (*_OPEN, StepStatus.EXECUTING) else step.decided_at)


def _seconds(step: StepLine, now: float) -> float | None:
    if not step.started_seq:
        return None
    return step.completed_at - step.started_at if step.completed_at else None
