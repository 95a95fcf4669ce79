"""Decides recorded steps again by another policy, and groups the differences by the rules that decide."""

from collections.abc import Iterable
from dataclasses import field
from typing import Any, Final

from rebuno.model.dataclass import dataclass
from rebuno.model.decision import STRICTNESS, Decision, Verdict
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.matcher.policy import Policy

# The number of example steps in each group.
EXAMPLES: Final = 3


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """A step with the facts of its first submission and its decision. `by_kernel` is true if the kernel itself refused
    the step or asked about it, and no policy decided. `where` names the step for people."""

    facts: Facts
    verdict: Verdict
    rule_id: str
    where: str
    by_kernel: bool = False


@dataclass(frozen=True, slots=True)
class BacktestExample:
    """One step of a group. `args` is a JSON value, `reason` is the reason of the new decision."""

    where: str
    kind: str
    target: str
    args: Any
    reason: str


@dataclass(frozen=True, slots=True)
class BacktestGroup:
    """The steps that have the same recorded rule and the same new rule."""

    old: Verdict
    old_rule: str
    new: Verdict
    new_rule: str
    count: int
    examples: tuple[BacktestExample, ...]

    @property
    def differs(self) -> bool:
        """Whether the verdict has changed, not only the rule."""
        return self.old is not self.new

    @property
    def wider(self) -> bool:
        """Whether the new verdict is less strict than the recorded one."""
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
    """The number of steps, the number of those that the kernel itself decided (they are left out), and the groups whose
    verdict or rule changed: less strict verdicts first, then other verdicts, then other rules, the largest group first.
    """

    steps: int
    by_kernel: int
    groups: tuple[BacktestGroup, ...]

    @property
    def differing(self) -> int:
        """The number of steps that get another verdict."""
        return sum(group.count for group in self.groups if group.differs)

    @property
    def widened(self) -> int:
        """The number of steps that get a less strict verdict."""
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
class BacktestTally:
    """Counts decisions one by one, so that a store of any size needs little memory."""

    _steps: int = 0
    _by_kernel: int = 0
    _counts: dict[tuple[Verdict, str, Verdict, str], int] = field(default_factory=dict)
    _examples: dict[tuple[Verdict, str, Verdict, str], list[BacktestExample]] = field(default_factory=dict)

    def left_out(self) -> None:
        """Counts a step that the kernel itself decided."""
        self._by_kernel += 1

    def add(self, where: str, facts: Facts, old: tuple[Verdict, str], new: Decision) -> None:
        """Counts a step with its recorded decision and its new one."""
        self._steps += 1
        if old == (new.verdict, new.rule_id):
            return
        key = (*old, new.verdict, new.rule_id)
        self._counts[key] = self._counts.get(key, 0) + 1
        kept = self._examples.setdefault(key, [])
        if len(kept) < EXAMPLES:
            kept.append(BacktestExample(where, facts.kind, facts.target, facts.args, new.reason))

    def result(self) -> Backtest:
        """The counts so far."""
        groups = [BacktestGroup(*key, count, tuple(self._examples[key])) for key, count in self._counts.items()]
        groups.sort(key=lambda group: (not group.wider, not group.differs, -group.count))
        return Backtest(self._steps, self._by_kernel, tuple(groups))


def backtest_against_record(tally: BacktestTally, policy: Policy, steps: Iterable[RecordedStep]) -> None:
    """Compares the decision of `policy` on each step with the recorded one. Steps that the kernel itself decided are
    left out, because no policy decided them."""
    for step in steps:
        if step.by_kernel:
            tally.left_out()
        else:
            tally.add(step.where, step.facts, (step.verdict, step.rule_id), policy.decide(step.facts))


def backtest_against_policy(tally: BacktestTally, old: Policy, new: Policy, steps: Iterable[tuple[str, Facts]]) -> None:
    """Compares the decision of `new` on each step with that of `old`. Each step comes with its name for people."""
    for where, facts in steps:
        then = old.decide(facts)
        tally.add(where, facts, (then.verdict, then.rule_id), new.decide(facts))
