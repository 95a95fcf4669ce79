"""Limits: a step takes its places in sliding windows before it is recorded, or is kept out, or waits for one."""

import asyncio
import random
from dataclasses import dataclass, replace
from time import monotonic
from typing import Final

from rebuno.errors import LeaseSuperseded, StoreError, Terminated
from rebuno.journal.records import ExecutionRow, NewEvent, Spend
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.effects import Effects, Identified, Need
from rebuno.kernel.core.limit_outcome import EXCEEDED, STRICTEST, UNAVAILABLE, ExceededLimit
from rebuno.model import identity
from rebuno.model.answer import Answer, AnswerKind
from rebuno.model.clock import from_rfc3339
from rebuno.model.decision import Decision
from rebuno.model.obligation import Limit, LimitScope, Obligation, Otherwise

# How long a parked step sleeps before it looks around again, in seconds: for the policy's clock, a cancellation.
LOOK: Final = 1.0
# So that those who wait for one place do not all come at once: at most this part of the wait, and so many seconds.
_JITTER: Final = 0.1
_MOST_JITTER: Final = 1.0
_LEAST_SLEEP: Final = 0.01


@dataclass(frozen=True, slots=True)
class LimitPlace:
    """A place that a step needs in the window of a rule's limit."""

    rule: Obligation
    limit: Limit
    spend: Spend


def places(decision: Decision, execution: ExecutionRow) -> tuple[LimitPlace, ...]:
    """The places that a decision asks for, those of the strictest limits first."""
    found = [
        LimitPlace(rule, rule.limit, Spend(_key(rule, rule.limit, execution), rule.limit.number, rule.limit.window))
        for rule in decision.obligations
        if rule.limit is not None
    ]
    return tuple(sorted(found, key=lambda place: STRICTEST.index(place.limit.otherwise)))


def _key(rule: Obligation, limit: Limit, execution: ExecutionRow) -> str:
    return window(rule.bundle, rule.rule_id, limit.scope, execution)


def window(bundle: str, rule_id: str, scope: LimitScope, execution: ExecutionRow) -> str:
    """The key of the window in which the limit of a rule counts a step of this execution."""
    # INVARIANT: two windows have two keys, whatever the names hold; those of one execution begin with its id.
    match scope:
        case LimitScope.EXECUTION:
            return execution.id + identity.canonical([bundle, rule_id])
        case LimitScope.AGENT:
            return identity.canonical(["agent", bundle, rule_id, execution.agent_id])
        case LimitScope.GLOBAL:
            return identity.canonical(["all", bundle, rule_id])


@dataclass(frozen=True, slots=True)
class Park:
    """A wait for a place: when to ask again, and until when to wait at most. Seconds since 1970."""

    due: float
    until: float


class LimitState:
    """What the limits have said to one submission so far: which windows were full a moment ago, which places are taken.

    `unavailable` says that the store could not count; `began` is when the submission first waited, by a clock that
    nobody sets. `places` are those that the step needs as it was decided about last, `asks` the rules that ask a person
    because a limit or a budget is used up.
    """

    __slots__ = ("asks", "began", "full", "places", "taken", "unavailable")

    def __init__(self) -> None:
        self.full: dict[Spend, float | None] = {}
        self.taken: frozenset[Spend] = frozenset()
        self.unavailable = False
        self.began: float | None = None
        self.places: tuple[LimitPlace, ...] = ()
        self.asks: tuple[Obligation, ...] = ()

    def over(self) -> list[ExceededLimit]:
        """The limits that the step is over, as far as they were asked."""
        if self.unavailable:
            return [
                ExceededLimit(place.rule, Otherwise.RATE_LIMITED, UNAVAILABLE)
                for place in self.places
                if not place.limit.unavailable_allows
            ]
        return [
            ExceededLimit(place.rule, place.limit.otherwise, EXCEEDED, place.limit.wait, self.full[place.spend])
            for place in self.places
            if place.spend in self.full
        ]

    def lacks(self) -> list[Spend]:
        """The places that must be asked for before the step can be recorded."""
        if self.unavailable:
            return []
        wanted = [place.spend for place in self.places if place.spend not in self.full]
        return [] if self.taken.issuperset(wanted) else wanted

    async def ask(self, attempt: Attempt, step_id: str) -> None:
        """Takes all the places that are lacking; or none, and learns which window is full."""
        wanted = self.lacks()
        try:
            full = await attempt.store.spend(step_id, wanted)
        except StoreError:
            # A limiter that fails does not end the attempt: what then becomes of the step is for its rule to say.
            self.unavailable = True
            return
        if full is None:
            self.taken = frozenset(wanted)
            return
        self.full[full.spend] = full.due
        if attempt.parked is None:
            attempt.parked = await _parked(attempt)

    def park(self, attempt: Attempt, step_id: str, over: ExceededLimit | None) -> Park | None:
        """The wait of a step that may wait; None where no place comes free within it."""
        if over is None or over.otherwise is not Otherwise.WAIT or over.due is None:
            return None
        now = attempt.store.now()
        waited = now - (attempt.parked or {}).get(step_id, now)
        if self.began is not None:
            # INVARIANT: a clock set back does not lengthen the wait.
            waited = max(waited, monotonic() - self.began)
        until = now + over.wait - max(waited, 0.0)
        if over.due > until or now >= until:
            return None
        jitter = random.uniform(0, min(_MOST_JITTER, _JITTER * max(over.due - now, 0.0)))
        return Park(min(over.due + jitter, until), until)

    def named(self, effects: Effects) -> Effects:
        """The effects, their first event saying in which windows the step has a place."""
        taken = [
            {"bundle": place.rule.bundle, "rule_id": place.rule.rule_id, "scope": place.limit.scope.value}
            for place in self.places
            if place.spend in self.taken
        ]
        if not taken:
            return effects
        first, *rest = effects.events
        said = identity.parse(first.payload) if isinstance(first.payload, str) else first.payload
        return replace(effects, events=(NewEvent(first.type, {**said, "limits": taken}), *rest))


@dataclass(slots=True)
class PlacesNeeded(Need):
    """The limits must be asked before a step can be recorded."""

    turn: LimitState
    step_id: str

    async def meet(self, attempt: Attempt) -> None:
        """Takes the places, or learns which window is full."""
        await self.turn.ask(attempt, self.step_id)


async def rest(attempt: Attempt, step: Identified, due: float) -> None:
    """Sleeps until a place should be free for a parked step, or for a moment.

    Raises:
        Terminated, LeaseSuperseded, StoreError: the execution has ended meanwhile, or somebody else runs it.
    """
    turn = step.turn
    if turn is not None and turn.began is None:
        turn.began = monotonic()
    left = due - attempt.store.now()
    await asyncio.sleep(min(max(left, _LEAST_SLEEP), LOOK))
    if turn is not None and left <= LOOK:
        turn.full.clear()
    execution = await attempt.store.execution(attempt.execution.id)
    if execution.status.terminal:
        raise Terminated
    if execution.attempt != attempt.lease.attempt:
        raise LeaseSuperseded


def remember(attempt: Attempt, step_id: str, answer: Answer, committed: "asyncio.Future[int]") -> None:
    """Keeps in mind, once that is on the disk, that a step was parked, or that it was refused and may begin anew."""
    if committed.cancelled() or committed.exception() is not None or attempt.parked is None:
        return
    if answer.kind is AnswerKind.PARKED:
        attempt.parked[step_id] = attempt.store.now()
    else:
        attempt.parked.pop(step_id, None)


async def _parked(attempt: Attempt) -> dict[str, float]:
    """Since when steps have been parked, from the log: a new attempt does not begin the wait anew."""
    parked: dict[str, float] = {}
    after = 0
    # The first attempt finds nothing that it did not write itself.
    while attempt.lease.attempt > 1 and (page := await attempt.store.events(attempt.execution.id, after=after)):
        for event in page:
            if event.type == "step.rate_limited":
                step_id = str(event.payload.get("step_id"))
                if "until" in event.payload:
                    parked.setdefault(step_id, from_rfc3339(event.occurred_at))
                else:
                    parked.pop(step_id, None)
        after = page[-1].event_seq
    return parked
