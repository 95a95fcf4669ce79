"""How often each rule has decided since a time: zeros included, by verdict, on yes and on maybe."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from rebuno import types
from rebuno.journal.records import EventRow

_VERDICTS: Final = {
    "step.executing": "allow",
    "step.denied": "deny",
    "step.awaiting_approval": "require_approval",
}


@dataclass(slots=True)
class RuleCount:
    """How often a rule has decided: on `yes` and on `maybe`; of its questions those that were granted and denied."""

    bundle: str
    rule_id: str
    verdict: str
    yes: int = 0
    maybe: int = 0
    granted: int = 0
    denied: int = 0

    def to_json(self) -> dict[str, Any]:
        """The count as JSON data."""
        names = ("bundle", "rule_id", "verdict", "yes", "maybe", "granted", "denied")
        return {name: getattr(self, name) for name in names}


class RuleStats:
    """Counts the decisions about steps, from the events of executions."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, str], RuleCount] = {}
        self.steps = 0
        self.executions = 0

    def expect(self, bundle: str, rule_id: str, verdict: str) -> None:
        """There is such a rule, whether it decides or not."""
        self._of(bundle, rule_id, verdict)

    def read(self, events: Iterable[EventRow | types.Event]) -> None:
        """Counts what an execution's events say, all of them in their order."""
        self.executions += 1
        decided: dict[str, RuleCount] = {}
        doubts: dict[str, bool] = {}
        for event in events:
            said = event.payload
            step_id = said.get("step_id")
            if not isinstance(step_id, str):
                continue
            if event.type.startswith("step.") and "args_hash" in said and event.type != "step.rate_limited":
                doubts[step_id] = bool(said.get("doubt"))
            if event.type in _VERDICTS and "rule_id" in said and step_id not in decided:
                verdict = _VERDICTS[event.type]
                if event.type == "step.executing":
                    verdict = str(said.get("observed", "require_approval" if "approval_id" in said else "allow"))
                count = decided[step_id] = self._of(str(said.get("bundle", "")), str(said["rule_id"]), verdict)
                self.steps += 1
                if doubts.get(step_id):
                    count.maybe += 1
                else:
                    count.yes += 1
            elif event.type in ("approval.granted", "approval.denied") and step_id in decided:
                if event.type == "approval.granted":
                    decided[step_id].granted += 1
                else:
                    decided[step_id].denied += 1

    def counts(self) -> list[RuleCount]:
        """All of them, those that were expected first, in the order in which they came."""
        return list(self._counts.values())

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON data."""
        rules = [one.to_json() for one in self.counts()]
        return {"executions": self.executions, "steps": self.steps, "rules": rules}

    def _of(self, bundle: str, rule_id: str, verdict: str) -> RuleCount:
        key = (bundle, rule_id, verdict)
        if key not in self._counts:
            self._counts[key] = RuleCount(bundle, rule_id, verdict)
        return self._counts[key]
