"""What became of a promise that was put to the test."""

from dataclasses import dataclass, field
from typing import Any


class DoesNotApplyError(Exception):
    """A promise that this bundle or this store has no use for; the text says why."""


@dataclass(slots=True)
class Findings:
    """What a check has seen: `tried` are the things that it did, `faults` those that broke the promise."""

    tried: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def expect(self, kept: bool, fault: str) -> None:
        """Notes the fault unless the promise was kept."""
        if not kept:
            self.faults.append(fault)


@dataclass(frozen=True, slots=True)
class PromiseOutcome:
    """A promise by its id and in words, and what became of it: `holds`, `fails`, or `does_not_apply` for the reason
    `why`."""

    id: str
    promise: str
    outcome: str
    why: str = ""
    tried: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The outcome as JSON data."""
        return {
            "id": self.id,
            "promise": self.promise,
            "outcome": self.outcome,
            "why": self.why or None,
            "tried": list(self.tried),
            "faults": list(self.faults),
        }
