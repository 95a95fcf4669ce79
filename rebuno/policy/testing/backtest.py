"""What another policy would have said of recorded steps, the differences grouped by the rules that decide."""

from collections.abc import Iterable
from dataclasses import field
from typing import Any, Final

from rebuno.model.dataclass import dataclass
from rebuno.model.decision import STRICTNESS, Decision, Verdict
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.matcher.policy import Policy

# How many steps of each group are kept to show.
EXAMPLES: Final = 3


@dataclass(frozen=True, slots=True)
class Judged:
    """A step with the facts of its first submission and what decided about it then. `by_kernel` says that no policy
    did: the kernel itself refused it, or asked. `where` tells people which one it is."""

    facts: Facts
    verdict: Verdict
    rule_id: str
    where: str
    by_kernel: bool = False


@dataclass(frozen=True, slots=True)
class Example:
    """One step of a group. `args` is a JSON value, `reason` what is said of it now."""

    where: str
    kind: str
    target: str
    args: Any
    reason: str


@dataclass(frozen=True, slots=True)
class Group:
    """The steps that one rule decided then and one decides now."""

    old: Verdict
    old_rule: str
    new: Verdict
    new_rule: str
    count: int
    examples: tuple[Example, ...]

    @property
    def differs(self) -> bool:
        """Whether the verdict is another one, and not only the rule."""
        return self.old is not self.new

    @property
    def wider(self) -> bool:
        """Whether the steps may do more now than then."""
        return STRICTNESS[self.new] < STRICTNESS[self.old]

    def to_json(self) -> dict[str, Any]:
        """The group as JSON data."""
        return {
            "old": {"decision": self.old.value, "rule_id": self.old_rule},
            "new": {"decision": self.new.value, "rule_id": self.new_rule},
            "wider": self.wider,
            "count": self.count,
            "examples": [
                {"step": e.where, "kind": e.kind, "target": e.target, "args": e.args, "reason": e.reason}
                for e in self.examples
            ],
        }


@dataclass(frozen=True, slots=True)
class Backtest:
    """How many steps were judged, how many of them the kernel itself had decided (they are left out), and the groups
    whose verdict or rule changed: widened ones first, then other verdicts, then other rules, the largest first."""

    steps: int
    by_kernel: int
    groups: tuple[Group, ...]

    @property
    def differing(self) -> int:
        """How many steps get another verdict."""
        return sum(group.count for group in self.groups if group.differs)

    @property
    def widened(self) -> int:
        """How many steps may do more now."""
        return sum(group.count for group in self.groups if group.wider)

    def to_json(self) -> dict[str, Any]:
        """`{"steps", "by_kernel", "differing", "widened", "groups": […]}`."""
        return {
            "steps": self.steps,
            "by_kernel": self.by_kernel,
            "differing": self.differing,
            "widened": self.widened,
            "groups": [group.to_json() for group in self.groups],
        }


@dataclass(slots=True)
class Tally:
    """Counts decisions as they come, so that a store of any size is judged in little room."""

    _steps: int = 0
    _by_kernel: int = 0
    _counts: dict[tuple[Verdict, str, Verdict, str], int] = field(default_factory=dict)
    _examples: dict[tuple[Verdict, str, Verdict, str], list[Example]] = field(default_factory=dict)

    def left_out(self) -> None:
        """Counts a step that the kernel itself decided."""
        self._by_kernel += 1

    def add(self, where: str, facts: Facts, old: tuple[Verdict, str], new: Decision) -> None:
        """Counts a step with what was decided about it and what is decided now."""
        self._steps += 1
        if old == (new.verdict, new.rule_id):
            return
        key = (*old, new.verdict, new.rule_id)
        self._counts[key] = self._counts.get(key, 0) + 1
        kept = self._examples.setdefault(key, [])
        if len(kept) < EXAMPLES:
            kept.append(Example(where, facts.kind, facts.target, facts.args, new.reason))

    def result(self) -> Backtest:
        """All of it so far."""
        groups = [Group(*key, count, tuple(self._examples[key])) for key, count in self._counts.items()]
        groups.sort(key=lambda group: (not group.wider, not group.differs, -group.count))
        return Backtest(self._steps, self._by_kernel, tuple(groups))


def against_record(tally: Tally, policy: Policy, steps: Iterable[Judged]) -> None:
    """Counts what `policy` says of each step against what was recorded. Steps that the kernel itself decided are left
    out: no policy was to blame."""
    for step in steps:
        if step.by_kernel:
            tally.left_out()
        else:
            tally.add(step.where, step.facts, (step.verdict, step.rule_id), policy.decide(step.facts))


def against_policy(tally: Tally, old: Policy, new: Policy, steps: Iterable[tuple[str, Facts]]) -> None:
    """Counts what `new` says of each step against what `old` says of it; each comes with the words that tell people
    which one it is."""
    for where, facts in steps:
        then = old.decide(facts)
        tally.add(where, facts, (then.verdict, then.rule_id), new.decide(facts))
