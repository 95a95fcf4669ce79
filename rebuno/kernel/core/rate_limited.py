"""What limits did in an execution, from its events: where steps have places, and which were refused or had to wait."""

from dataclasses import dataclass, replace
from typing import Any, Final

from rebuno import types
from rebuno.journal.records import EventRow

_SAID: Final = ("step_id", "step_type", "target", "bundle", "rule_id", "reason")


@dataclass(frozen=True, slots=True)
class CountedLimit:
    """A limit that a step has a place in; `scope` is `execution`, `session`, `agent`, `global` or `key`.

    From a pot the step takes an `amount` (a decimal number), by the limit `name` if several rules share it, of the
    paths `of`; `at_grant` says that a question did not take it, and that its grant does.
    """

    bundle: str
    rule_id: str
    scope: str
    amount: str = ""
    name: str = ""
    of: tuple[str, ...] = ()
    at_grant: bool = False

    def to_json(self) -> dict[str, Any]:
        """`{"bundle", "rule_id", "scope"}`, and what there is of `amount`, `name`, `of` and `at_grant`."""
        more = {"amount": self.amount, "name": self.name, "of": list(self.of), "at_grant": self.at_grant}
        said = {"bundle": self.bundle, "rule_id": self.rule_id, "scope": self.scope}
        return said | {name: value for name, value in more.items() if value}


@dataclass(frozen=True, slots=True)
class RateLimitedStep:
    """A step that a limit refused or `parked` in an attempt, so many `times`, and that was not recorded then."""

    attempt: int
    step_id: str
    kind: str
    target: str
    bundle: str
    rule_id: str
    reason: str
    parked: bool
    times: int = 1

    def to_json(self) -> dict[str, Any]:
        """The refusal as JSON data."""
        return {
            "attempt": self.attempt,
            "step_id": self.step_id,
            "kind": self.kind,
            "target": self.target,
            "bundle": self.bundle,
            "rule_id": self.rule_id,
            "reason": self.reason,
            "waits": self.parked,
            "times": self.times,
        }


class Refusals:
    """The refusals read so far, those of one step and cause in one attempt as one."""

    def __init__(self) -> None:
        self._seen: dict[RateLimitedStep, int] = {}

    def read(self, event: EventRow | types.Event, attempt: int) -> None:
        """Takes in a `step.rate_limited`; raises `KeyError` where it was damaged."""
        step_id, kind, target, bundle, rule_id, reason = (str(event.payload[key]) for key in _SAID)
        one = RateLimitedStep(attempt, step_id, kind, target, bundle, rule_id, reason, parked="until" in event.payload)
        self._seen[one] = self._seen.get(one, 0) + 1

    def told(self) -> tuple[RateLimitedStep, ...]:
        """All of them, in the order of their first time."""
        return tuple(replace(one, times=times) for one, times in self._seen.items())


def counted(event: EventRow | types.Event) -> tuple[CountedLimit, ...]:
    """The limits that the first event of a step names; raises `KeyError` or `TypeError` where it was damaged."""
    return tuple(
        CountedLimit(
            str(one["bundle"]),
            str(one["rule_id"]),
            str(one["scope"]),
            str(one.get("amount", "")),
            str(one.get("name", "")),
            tuple(map(str, one.get("of", ()))),
            bool(one.get("at_grant")),
        )
        for one in event.payload.get("limits", ())
    )
