"""Pots: what a step takes from limits by amount, by value, by session and with a name, and how events tell of it.

The first event of a step holds all that it takes, `{"bundle", "rule_id", "scope", "amount", "number"}` and what there
is of `per` (seconds), `name`, `of` (the paths of the amount), `owner`, `at_grant` and `step` (the step whose place a
copied one keeps); so a grant, a fork and an import need no bundle.
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from rebuno.errors import ConflictError
from rebuno.journal.pot_records import OWN, CopiedTake, Pot, Take
from rebuno.journal.records import EventRow, ExecutionRow, Full, StepRow
from rebuno.journal.store import Store
from rebuno.model import identity
from rebuno.model.clock import from_rfc3339, rfc3339
from rebuno.model.obligation import Limit, LimitScope, Obligation
from rebuno.policy import Measured

# When a step that a person is asked about takes its amount only when it is granted: where its execution's questions
# hold half of the pot already, it needs room then; over the limit it takes the amount in any case.
ROOM, OVER = "room", "over"


def in_pot(limit: Limit) -> bool:
    """Whether a limit counts in a pot; the others count places in windows."""
    return bool(limit.measure or limit.name) or limit.scope in (LimitScope.SESSION, LimitScope.KEY)


def take_of(rule: Obligation, limit: Limit, execution: ExecutionRow, session: str, measured: Measured) -> Take:
    """What a step of an execution takes by the limit of a rule; its amount is empty where it is over every limit."""
    return _take(
        {
            "bundle": rule.bundle,
            "rule_id": rule.rule_id,
            "scope": limit.scope.value,
            "amount": measured.amount,
            "number": str(limit.number),
            "per": limit.window,
            "name": limit.name,
            "of": [path.text for path in limit.measure],
            "owner": measured.key,
        },
        execution,
        session,
    )


def told(rule: Obligation, limit: Limit, take: Take, at_grant: str = "") -> dict[str, Any]:
    """What the first event of a step says of what it takes."""
    pot = take.pot
    said: dict[str, Any] = {
        "bundle": rule.bundle,
        "rule_id": rule.rule_id,
        "scope": pot.scope,
        "amount": take.amount,
        "number": pot.number,
    }
    more = {
        "per": pot.window,
        "name": limit.name,
        "of": [path.text for path in limit.measure],
        "owner": pot.owner if pot.scope == LimitScope.KEY else "",
        "at_grant": at_grant,
    }
    return said | {name: value for name, value in more.items() if value}


def taken_in(said: dict[str, Any], execution: ExecutionRow, session: str, *, forced: bool = False) -> Take | None:
    """What a step of an execution takes by what its first event says of a limit; None for one that has no pot.

    Raises:
        KeyError, TypeError: the event was damaged.
    """
    return _take(said, execution, session, forced=forced) if "amount" in said else None


def _take(said: dict[str, Any], execution: ExecutionRow, session: str, *, forced: bool = False) -> Take:
    scope = LimitScope(said["scope"])
    name = str(said["name"]) if said.get("name") else f"{OWN}{said['rule_id']}"
    measure = ", ".join(map(str, said.get("of") or ()))
    match scope:
        case LimitScope.EXECUTION:
            owner = execution.id
        case LimitScope.SESSION:
            owner = session or execution.id
        case LimitScope.AGENT:
            owner = execution.agent_id
        case LimitScope.KEY:
            owner = str(said["owner"])
        case LimitScope.GLOBAL:
            owner = ""
    of_agent = execution.agent_id if scope is LimitScope.SESSION else ""
    named = [str(said["bundle"]), name, measure, scope.value, of_agent, owner]
    # INVARIANT: two pots have two keys, whatever the names hold; those of one execution begin with its id.
    own = execution.id if owner == execution.id and scope in (LimitScope.EXECUTION, LimitScope.SESSION) else "pot "
    key = own + sha256(identity.canonical(named).encode("utf-8", "surrogatepass")).hexdigest()
    per = said.get("per")
    pot = Pot(
        key, str(said["bundle"]), name, measure, scope.value, owner, str(said["number"]), int(per) if per else None
    )
    return Take(pot, str(said["amount"]), execution.id, forced=forced)


def is_shared(take: Take) -> bool:
    """Whether several executions take from the pot."""
    return not take.pot.key.startswith(take.execution_id)


async def take_at_grant(store: Store, execution: ExecutionRow, session: str, step: StepRow) -> None:
    """Takes for a step that is about to be granted what its question did not take.

    Raises:
        ConflictError: a pot has no room for it; the question stays open.
        StoreError
    """
    first = await store.events(execution.id, after=step.decided_seq - 1, limit=1)
    waits = [said for said in first[0].payload.get("limits", ()) if said.get("at_grant")] if first else []
    takes = [taken_in(said, execution, session, forced=said["at_grant"] == OVER) for said in waits]
    wanted = [take for take in takes if take is not None]
    if wanted and (full := await store.spend(step.step_id, wanted)) is not None:
        raise ConflictError(no_room(full))


def no_room(full: Full) -> str:
    """Why a question stays open, in words."""
    if not isinstance(full.spend, Take):
        return "a limit has no room for the step"
    pot = full.spend.pot
    when = f"there is room at {rfc3339(full.due)}" if full.due is not None else "there will be none"
    limit = f"limit `{pot.name}`" if not pot.name.startswith(OWN) else f"limit of the {pot.name}"
    return f"the {limit} of `{pot.bundle}` has no room for {full.spend.amount} of {pot.number}; {when}"


class CopiedTakes:
    """What the steps of a copied execution have taken, read from the events of its source in their order."""

    def __init__(self, execution: ExecutionRow, session: str, source: ExecutionRow, source_session: str) -> None:
        self._new = execution, session
        self._source = source, source_session
        self._taken: dict[str, list[CopiedTake]] = {}
        self._asked: dict[str, list[tuple[Take, str]]] = {}
        self._starts: dict[str, int] = {}

    def read(self, event: EventRow, step_id: str) -> list[dict[str, Any]] | None:
        """Takes in an event of the step that has this id in the copy; what the copy of its first event says of limits,
        None where it says nothing.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: the event was damaged.
        """
        at = from_rfc3339(event.occurred_at)
        match event.type:
            case "step.allowed" if "limits" in event.payload:
                # A changed call takes this in the place of what was asked about.
                self._asked.pop(step_id, None)
                self._taken.pop(step_id, None)
            case "step.allowed":
                for take, place in self._asked.pop(step_id, ()):
                    self._taken.setdefault(step_id, []).append(CopiedTake(take, place, at))
            case "step.executing":
                self._starts[step_id] = self._starts.get(step_id, 0) + 1
            case "step.denied" if not self._starts.get(step_id):
                self._taken.pop(step_id, None)
            case "step.failed" if event.payload.get("nothing_done") is True and self._starts.get(step_id) == 1:
                self._taken.pop(step_id, None)
        if "limits" not in event.payload or event.type == "step.denied":
            return None
        return [self._said(said, event, step_id, at) for said in event.payload["limits"]]

    def _said(self, said: dict[str, Any], event: EventRow, step_id: str, at: float) -> dict[str, Any]:
        new, old = taken_in(said, *self._new), taken_in(said, *self._source)
        if new is None or old is None:
            return said
        place = str(said.get("step") or (event.payload["step_id"] if new.pot.key == old.pot.key else step_id))
        if said.get("at_grant"):
            self._asked.setdefault(step_id, []).append((new, place))
        else:
            self._taken.setdefault(step_id, []).append(CopiedTake(new, place, at))
        return said if place == step_id else {**said, "step": place}

    def all(self) -> Iterator[CopiedTake]:
        """What is counted for the copy. A place in a pot that the source counts in too is the source's own."""
        for step_id, takes in self._taken.items():
            for one in takes:
                if one.step_id == step_id:
                    yield one
                else:
                    # Its step is not one of the copy's.
                    take = Take(one.take.pot, one.take.amount, "")
                    yield CopiedTake(take, one.step_id, one.at)
