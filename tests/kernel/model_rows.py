"""What the model keeps: steps, questions about them, and the answers that are due."""

import hashlib
import json
from dataclasses import dataclass, field

from tests.kernel.model_rules import Rule

ENDS = ("succeeded", "failed", "denied", "cancelled")


@dataclass
class Question:
    """What a person is asked. `id` is None until the kernel has told it."""

    step: "Step"
    cause: str
    rule_id: str
    digest: str
    terms: Rule
    asked_at: float
    id: str | None = None
    status: str = "pending"
    scope: str = "once"
    decided_at: float = 0.0
    granters: list[str] = field(default_factory=list)

    def overdue(self, now: float) -> bool:
        """Whether nobody has answered in time."""
        return self.status == "pending" and self.terms.expires is not None and self.asked_at + self.terms.expires < now

    def good(self, wanted: Rule, lasts: float | None, now: float) -> bool:
        """Whether this grant satisfies a rule that asks."""
        counted = [name for name in self.granters if not wanted.approvers or name in wanted.approvers]
        young = lasts is None or -1e-6 < now - self.decided_at <= lasts
        return self.status == "granted" and young and len(counted) >= wanted.quorum


@dataclass
class Step:
    """A step. `digest`, `verdict` and `rule_id` are those of its first decision; `reason` why it was denied."""

    id: str
    target: str
    n: int
    occurrence: int
    once: bool
    parent: str
    digest: str
    verdict: str
    rule_id: str
    status: str
    attempt: int = 0
    started: bool = False
    reason: str = ""
    question: Question | None = None
    result: str | None = None
    error: str | None = None
    tokens: int = 0
    # Whether its start may have been kept in memory alone: of a local step that is safe to repeat.
    held: bool = False

    @property
    def closed(self) -> bool:
        """Whether the end of the execution settled it."""
        return self.status == "cancelled" or self.reason in (
            "execution_completed",
            "execution_failed",
            "execution_cancelled",
        )

    @property
    def why(self) -> str | None:
        """The kernel's own reason of a failure."""
        return json.loads(self.error).get("reason") if self.error else None


@dataclass(frozen=True)
class Expected:
    """The answer that is due."""

    kind: str
    step: Step | None = None
    reason: str = ""
    question: Question | None = None
    due: float | None = None


@dataclass(frozen=True)
class Call:
    """A submission: what it does, and in whose body."""

    target: str
    n: int
    once: bool
    parent: str = ""

    @property
    def args(self) -> str:
        """The arguments as canonical JSON."""
        return f'{{"n":{self.n}}}'


def identity(*parts: object) -> str:
    """A step's id: the arguments stand in it by their hash."""
    scope, kind, target, args, occurrence = map(str, parts)
    hashed = hashlib.sha256(args.encode()).hexdigest()
    fields = (scope, kind, target, hashed, occurrence)
    return hashlib.sha256("".join(f"{len(part.encode())}:{part}" for part in fields).encode()).hexdigest()
