"""The earlier steps that match a subject, as they stood at one moment of a history."""

from collections.abc import Sequence

from rebuno.policy.matcher.facts import Evidence, History
from rebuno.policy.matcher.index import SubjectPattern, matches_any
from rebuno.policy.values.json_values import Tri


class Run:
    """An earlier step that started: what is told of its start, and the last that is told of it."""

    __slots__ = ("first", "last")

    def __init__(self, step: Evidence) -> None:
        self.first = step
        self.last = step

    @property
    def outcome(self) -> int | None:
        """The number of the event with which the step ended, None while it runs."""
        return self.last.seq if self.last.status.terminal else None


class Runs:
    """The steps of one history that match a subject, as they stood before one event.

    `runs` are in the order of their start, `ended` in the order of their outcomes, `open` are those without one.
    `changes` names the step of every piece of evidence in turn, so that what is derived from the steps can follow.
    """

    __slots__ = ("_by_step", "_newest", "_read", "_subject", "changes", "ended", "open", "runs")

    def __init__(self, subject: Sequence[SubjectPattern]) -> None:
        self.runs: list[Run] = []
        self.ended: list[Run] = []
        self.open: dict[Run, None] = {}
        self.changes: list[Run] = []
        self._subject = subject
        self._by_step: dict[str, Run] = {}
        self._read = 0
        self._newest: int | None = None

    def reached(self, before: int | None) -> bool:
        """Whether the steps as they stood before an event can be had by reading on."""
        return before is None or self._newest is None or self._newest < before

    def read_on(self, history: History, before: int | None) -> None:
        """Reads the evidence before an event that was not read yet."""
        evidence = history.evidence
        while self._read < len(evidence):
            step = evidence[self._read]
            if before is not None and step.seq >= before:
                return
            self._read += 1
            if counts_step(self._subject, step):
                self._add(step)

    def _add(self, step: Evidence) -> None:
        self._newest = step.seq
        run = self._by_step.get(step.step) if step.step else None
        if run is None:
            run = Run(step)
            self.runs.append(run)
            if step.step:
                self._by_step[step.step] = run
        else:
            run.last = step
        self.changes.append(run)
        if step.status.terminal:
            self.open.pop(run, None)
            self.ended.append(run)
        else:
            self.open[run] = None


def runs_of(history: History, subject: tuple[SubjectPattern, ...], before: int | None) -> Runs:
    """The steps that match a subject as they stood before an event. Equal subjects share them.

    Reading on is cheap; going back to an earlier event reads the history anew.
    """
    key = (Runs, tuple((pattern.kind, pattern.glob.pattern) for pattern in subject))
    runs: Runs | None = history.indexes.get(key)
    if runs is None or not runs.reached(before):
        runs = history.indexes[key] = Runs(subject)
    runs.read_on(history, before)
    return runs


def counts_step(subject: Sequence[SubjectPattern], step: Evidence) -> bool:
    """Whether the evidence counts: its step matches the subject, and it is more than an approval."""
    return not step.approved and matches_any(subject, step.kind, step.target)


def inside(step: Evidence, now: float | None, seconds: int) -> Tri:
    """`within`: whether a step began at most so long before `now`, both ends included; `step` is the evidence of its
    start.

    The answer is maybe without a clock, for a start at an unknown time or later than now, and if only the start or only
    the submission lies inside.
    """
    start, submitted = step.at, step.submitted_at
    if now is None or start is None or submitted is None or not (start <= now and submitted <= now):
        return None
    within = (now <= start + seconds) + (now <= submitted + seconds)
    return True if within == 2 else None if within else False


def next_change(step: Evidence, now: float, seconds: int) -> float | None:
    """The time from which the answer of `inside` may be another one than it is `now`; None for never."""
    times = [time for time in (step.at, step.submitted_at) if time is not None]
    later = [one for time in times for one in (time, time + seconds) if one >= now]
    return min(later) if len(times) == 2 and later else None
