"""What limits did in an execution, from its events: where steps have places, and which were refused or had to wait."""

from dataclasses import dataclass, replace
from typing import Any, Final

from rebuno.journal.records import Event

_SAID: Final = ("step_id", "step_type", "target", "bundle", "rule_id", "reason")


@dataclass(frozen=True, slots=True)
class CountedLimit:
    """A limit that a step has a place in; `scope` is `execution`, `agent` or `global`."""

    bundle: str
    rule_id: str
    scope: str

    def to_json(self) -> dict[str, Any]:
        """`{"bundle", "rule_id", "scope"}`."""
        return {"bundle": self.bundle, "rule_id": self.rule_id, "scope": self.scope}


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
            "parked": self.parked,
            "times": self.times,
        }


class Refusals:
    """The refusals read so far, those of one step and cause in one attempt as one."""

    def __init__(self) -> None:
        self._seen: dict[RateLimitedStep, int] = {}

    def read(self, event: Event, attempt: int) -> None:
        """Takes in a `step.rate_limited`; raises `KeyError` where it was damaged."""
        step_id, kind, target, bundle, rule_id, reason = (str(event.payload[key]) for key in _SAID)
        one = RateLimitedStep(attempt, step_id, kind, target, bundle, rule_id, reason, parked="until" in event.payload)
        self._seen[one] = self._seen.get(one, 0) + 1

    def told(self) -> tuple[RateLimitedStep, ...]:
        """All of them, in the order of their first time."""
        return tuple(replace(one, times=times) for one, times in self._seen.items())


def counted(event: Event) -> tuple[CountedLimit, ...]:
    """The limits that the first event of a step names; raises `KeyError` or `TypeError` where it was damaged."""
    return tuple(
        CountedLimit(str(one["bundle"]), str(one["rule_id"]), str(one["scope"]))
        for one in event.payload.get("limits", ())
    )
