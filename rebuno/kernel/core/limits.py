"""Limits: a step takes its places in sliding windows before it is recorded, or is kept out, or waits for one."""

import asyncio
import random
from dataclasses import dataclass, replace
from time import monotonic
from typing import Final

from rebuno.errors import LeaseSuperseded, StoreError, Terminated
from rebuno.journal.pot_records import Take
from rebuno.journal.records import NewEvent, Spend
from rebuno.kernel.core import pots
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.effects import Effects, Identified, Need
from rebuno.kernel.core.inheritance import session_of
from rebuno.kernel.core.limit_outcome import EXCEEDED, STRICTEST, UNAVAILABLE, ExceededLimit
from rebuno.kernel.core.windows import window
from rebuno.model import identity
from rebuno.model.answer import Answer, AnswerKind
from rebuno.model.clock import from_rfc3339
from rebuno.model.decision import STOPPED, Decision
from rebuno.model.obligation import Limit, LimitScope, Obligation, Otherwise
from rebuno.model.step import StepStatus
from rebuno.policy import Measured, measured

# How long a parked step sleeps before it looks around again, in seconds: for the policy's clock, a cancellation.
LOOK: Final = 1.0
# So that those who wait for one place do not all come at once: at most this part of the wait, and so many seconds.
_JITTER: Final = 0.1
_MOST_JITTER: Final = 1.0
_LEAST_SLEEP: Final = 0.01


@dataclass(frozen=True, slots=True)
class LimitPlace:
    """What a step needs by a rule's limit: a place in its window, or what it takes from its pot."""

    rule: Obligation
    limit: Limit
    spend: Spend | Take

    @property
    def key(self) -> str:
        """The key of the window or the pot."""
        return self.spend.key if isinstance(self.spend, Spend) else self.spend.pot.key

    @property
    def measured(self) -> bool:
        """Whether the step has the amount that the limit measures; without, it is over every limit."""
        return isinstance(self.spend, Spend) or bool(self.spend.amount)


def places(decision: Decision, attempt: Attempt, step: Identified, turn: "LimitState") -> tuple[LimitPlace, ...]:
    """What a step needs by a decision about it, that of the strictest limits first."""
    found = [
        LimitPlace(rule, rule.limit, _spend(rule, rule.limit, attempt, step, turn))
        for rule in decision.obligations
        if rule.limit is not None
    ]
    return tuple(sorted(found, key=lambda place: STRICTEST.index(place.limit.otherwise)))


def _spend(rule: Obligation, limit: Limit, attempt: Attempt, step: Identified, turn: "LimitState") -> Spend | Take:
    execution = attempt.execution
    if not pots.in_pot(limit):
        key = window(rule.bundle, rule.rule_id, limit.scope, execution)
        return Spend(key, int(limit.number), limit.window)
    values = turn.measured.get(limit)
    if values is None:
        # Once: it may stand in long arguments.
        looks = limit.measure or limit.key
        values = measured(limit, attempt.first_facts(step, attempt.past)) if looks else Measured("1")
        if attempt.seals is not None:
            values = attempt.seals.measured(limit, values, step.kind, step.target)
        turn.measured[limit] = values
    return pots.take_of(rule, limit, execution, attempt.session or "", values)


@dataclass(frozen=True, slots=True)
class Park:
    """A wait for a place: when to ask again, and until when to wait at most. Seconds since 1970."""

    due: float
    until: float


class LimitState:
    """What the limits have said to one submission so far: which windows were full a moment ago, which places are taken.

    All by the keys of windows and pots. `measured` is what limits measure of the step. `put_off` are the pots of which
    the questions of the execution hold half: a question takes nothing more of them. `unavailable` says that the store
    could not count; `began` is when the submission first waited, by a clock that nobody sets. `places` are those that
    the step needs as it was decided about last, `asks` the rules that ask a person because a limit or a budget is used
    up. `tokens` are those that the session has used beside this execution, None where nobody looked.
    """

    __slots__ = ("asks", "began", "full", "measured", "places", "put_off", "taken", "tokens", "unavailable")

    def __init__(self) -> None:
        self.full: dict[str, float | None] = {}
        self.measured: dict[Limit, Measured] = {}
        self.put_off: set[str] = set()
        self.taken: frozenset[str] = frozenset()
        self.tokens: int | None = None
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
            ExceededLimit(place.rule, place.limit.otherwise, EXCEEDED, place.limit.wait, self.full.get(place.key))
            for place in self.places
            if place.key in self.full or not place.measured
        ]

    def lacks(self, *, asks: bool, granted: bool) -> list[Spend | Take]:
        """What must be taken before the step can be recorded. A person is asked about it (`asks`), or has allowed it by
        an earlier grant (`granted`), which lets it past what is full."""
        if self.unavailable:
            return []
        wanted: dict[str, Spend | Take] = {}
        for place in self.places:
            spend = place.spend
            if isinstance(spend, Take):
                forced = granted and place.key in self.full
                waits = (place.key in self.full and not forced) or (asks and place.key in self.put_off)
                if waits or not place.measured:
                    continue
                spend = replace(spend, asks=asks and pots.is_shared(spend), forced=forced)
            elif place.key in self.full:
                continue
            wanted.setdefault(place.key, spend)
        return [] if self.taken.issuperset(wanted) else list(wanted.values())

    async def ask(self, attempt: Attempt, step_id: str, wanted: list[Spend | Take]) -> None:
        """Takes all of it; or nothing, and learns what is full."""
        try:
            full = await attempt.store.spend(step_id, wanted)
        except StoreError:
            # A limiter that fails does not end the attempt: what then becomes of the step is for its rule to say.
            self.unavailable = True
            return
        if full is None:
            self.taken = frozenset(key_of(spend) for spend in wanted)
            return
        if full.asks:
            self.put_off.add(key_of(full.spend))
            return
        self.full[key_of(full.spend)] = full.due
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
        """The effects, their first event saying in which windows the step has a place, and what it takes from pots,
        now or when a person grants it."""
        asks = effects.steps[0].step.status is StepStatus.AWAITING
        taken = [said for place in self.places if (said := self._told(place, asks=asks)) is not None]
        if not taken:
            return effects
        first, *rest = effects.events
        said = identity.parse(first.payload) if isinstance(first.payload, str) else first.payload
        return replace(effects, events=(NewEvent(first.type, {**said, "limits": taken}), *rest))

    def _told(self, place: LimitPlace, *, asks: bool) -> dict[str, object] | None:
        is_taken = place.key in self.taken
        if isinstance(place.spend, Spend):
            rule, scope = place.rule, place.limit.scope.value
            return {"bundle": rule.bundle, "rule_id": rule.rule_id, "scope": scope} if is_taken else None
        if is_taken:
            return pots.told(place.rule, place.limit, place.spend)
        if not asks or self.unavailable or not place.measured:
            return None
        return pots.told(place.rule, place.limit, place.spend, pots.OVER if place.key in self.full else pots.ROOM)


def key_of(spend: Spend | Take) -> str:
    """The key of a window or a pot."""
    return spend.key if isinstance(spend, Spend) else spend.pot.key


@dataclass(slots=True)
class PlacesNeeded(Need):
    """The limits must be asked before a step can be recorded."""

    turn: LimitState
    step_id: str
    wanted: list[Spend | Take]

    async def meet(self, attempt: Attempt) -> None:
        """Takes what is wanted, or learns what is full."""
        await self.turn.ask(attempt, self.step_id, self.wanted)


@dataclass(slots=True)
class SessionNeeded(Need):
    """The session of the execution must be known, or what it has used (`tokens`), before a step can be recorded."""

    turn: LimitState
    tokens: bool

    async def meet(self, attempt: Attempt) -> None:
        """Looks it up."""
        if attempt.session is None:
            attempt.session = await session_of(attempt.store, attempt.execution)
        if self.tokens:
            execution, session = attempt.execution, attempt.session
            used = attempt.store.session_tokens(execution.agent_id, session, execution.id) if session else None
            self.turn.tokens = await used if used is not None else 0


def session_needed(attempt: Attempt, turn: LimitState, decision: Decision) -> SessionNeeded | None:
    """A Need where rules ask about the session, and it is not known yet."""
    by_session = [rule for rule in decision.obligations if _is_by_session(rule)]
    if not by_session:
        return None
    tokens = turn.tokens is None and any(
        rule.budget is not None and rule.budget.scope is LimitScope.SESSION for rule in by_session
    )
    return SessionNeeded(turn, tokens) if tokens or attempt.session is None else None


def _is_by_session(rule: Obligation) -> bool:
    return any(one is not None and one.scope is LimitScope.SESSION for one in (rule.limit, rule.budget))


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
    if committed.cancelled() or committed.exception() is not None:
        return
    if answer.rule_id == STOPPED:
        # It waits for no place.
        attempt.held_back.add(step_id)
        return
    if attempt.parked is None:
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
            if event.type == "step.rate_limited" and event.payload.get("rule_id") != STOPPED:
                step_id = str(event.payload.get("step_id"))
                if "until" in event.payload:
                    parked.setdefault(step_id, from_rfc3339(event.occurred_at))
                else:
                    parked.pop(step_id, None)
        after = page[-1].event_seq
    return parked
