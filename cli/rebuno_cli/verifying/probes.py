"""Steps to try the promises with: what a bundle allows, asks about and denies, found in its own cases, in the steps
that a store has recorded, and by asking the bundle about the names in its rules."""

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rebuno.errors import RebunoError
from rebuno.kernel import begin_options, check_name
from rebuno.model import identity
from rebuno.model.decision import Decision, Verdict
from rebuno.model.step import Kind
from rebuno.policy import (
    CASES_SUFFIX,
    Evidence,
    Facts,
    History,
    Policy,
    explain_decision,
    read_cases,
    read_source,
    tree,
)  # fmt: skip
from rebuno_cli.verifying.outcome import DoesNotApplyError

# The agent of the runs of this command, where nothing says otherwise.
AGENT: Final = "rebuno-verify"
# Steps of one rule that are kept.
_MOST_ALIKE: Final = 4
_STRANGE: Final = "rebuno_verify"
# As bundles write them.
_KINDS: Final = {"tool": Kind.TOOL.value, "llm": Kind.LLM.value, "local": Kind.LOCAL.value}
_GLOB: Final = re.compile(r"[*?]+")


@dataclass(frozen=True, slots=True)
class Probe:
    """A step, and the run in which it is submitted: its input, agent and folder. `found` says where it is from, and
    `expected` which verdict a case or a record names; empty where nothing does."""

    kind: str
    target: str
    args: dict[str, Any]
    found: str
    input: Any = None
    agent: str = AGENT
    workdir: str = ""
    expected: str = ""

    def facts(self, now: float) -> Facts:
        """The first step of such a run as a policy sees it."""
        return Facts(
            self.kind, self.target, self.args, agent=self.agent, input=self.input, now=now, workdir=self.workdir
        )

    def with_args(self, args: dict[str, Any]) -> "Probe":
        """The same step with other arguments."""
        return Probe(self.kind, self.target, args, self.found, self.input, self.agent, self.workdir)

    def named(self) -> str:
        """The step in a few words."""
        return f"{self.kind} `{self.target}` ({self.found})"


@dataclass(frozen=True, slots=True)
class JudgedProbe:
    """A probe and what the bundle decides about it."""

    probe: Probe
    decision: Decision

    @property
    def counted(self) -> bool:
        """Whether a limit or a budget has a word in what becomes of the step."""
        return any(each.limit is not None or each.budget is not None for each in self.decision.obligations)


class Probes:
    """The steps that were found, by the verdict of a policy about them; `tried` counts all that were looked at."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.by_verdict: dict[Verdict, list[JudgedProbe]] = {verdict: [] for verdict in Verdict}
        self.tried = 0
        self._alike: Counter[tuple[str, ...]] = Counter()

    def add(self, probe: Probe) -> None:
        """Takes a step in, if there is room for another one of its rule. What it comes to is told by the evaluator of
        traces, so that the matcher, which the kernel asks, is itself put to the test."""
        try:
            # What no run could have, a case may have all the same.
            identity.canonical(probe.args)
            check_name("agent", probe.agent)
            begin_options(pin=False, deadline=None, workdir=probe.workdir)
            first = self.decide(probe)
            self.tried += 1
            # The evaluator takes its time: few of those that are alike are shown to it.
            alike = (probe.expected, first.verdict.value, first.rule_id)
            self._alike[alike] += 1
            if self._alike[alike] > _MOST_ALIKE:
                return
            decision = explain_decision(self.policy, probe.facts(time.time())).decision
        except RebunoError:
            return
        found = self.by_verdict[decision.verdict]
        if all((one.probe.target, one.probe.args) != (probe.target, probe.args) for one in found):
            found.append(JudgedProbe(probe, decision))

    def decide(self, probe: Probe) -> Decision:
        """What the policy decides about a step now."""
        return self.policy.decide(probe.facts(time.time()))

    def has(self, *clauses: type) -> bool:
        """Whether a rule of the policy has a clause of one of these classes."""
        rules = [one for bundle in self.policy.bundles for one in bundle.statements if isinstance(one, tree.Rule)]
        return any(isinstance(clause, clauses) for rule in rules for clause in rule.clauses)

    def allowed(self, times: int) -> Probe:
        """A step that is allowed so many times in one run, without a limit or a budget.

        Raises:
            DoesNotApplyError: none was found.
        """
        for one in self.of(Verdict.ALLOW):
            again = all(self._allows_after(one.probe, before) for before in range(1, times))
            if again and not one.counted:
                return one.probe
        raise DoesNotApplyError(
            f"of the {self.tried} steps that were tried, none is allowed {times} times in a run without a limit"
        )

    def _allows_after(self, probe: Probe, before: int) -> bool:
        now = time.time()
        facts = probe.facts(now)
        facts.history = History(
            [
                Evidence(2 * n, probe.kind, probe.target, probe.args, "done", at=now, ended_at=now, let_in="allowed")
                for n in range(1, before + 1)
            ]
        )
        return self.policy.decide(facts).verdict is Verdict.ALLOW

    def asked(self, most: int) -> list[JudgedProbe]:
        """Steps that a person is asked about, without a limit or a budget.

        Raises:
            DoesNotApplyError: none was found.
        """
        found = [one for one in self.of(Verdict.APPROVAL) if not one.counted]
        if not found:
            raise DoesNotApplyError(
                f"of the {self.tried} steps that were tried, a person is asked about none without a limit"
            )
        return found[:most]

    def of(self, verdict: Verdict) -> list[JudgedProbe]:
        """The steps of this verdict: those without a limit first, tools before all else, one of each rule and then the
        others."""
        seen: Counter[str] = Counter()
        ranked = []
        for one in self.by_verdict[verdict]:
            rule = one.decision.rule_id
            ranked.append(((one.counted, one.probe.kind != Kind.TOOL.value, seen[rule]), one))
            seen[rule] += 1
        return [one for _, one in sorted(ranked, key=lambda pair: pair[0])]


def of_cases(paths: Iterable[Path]) -> Iterator[Probe]:
    """The submissions of the case files beside these bundles that stand at the beginning of a run. A file that cannot
    be read has none."""
    for path in paths:
        beside = path.with_name(path.stem + CASES_SUFFIX)
        if not beside.is_file():
            continue
        try:
            cases = read_cases(read_source(beside)).cases
        except (RebunoError, OSError):
            continue
        for case in cases:
            one = case.submission
            alone = not (one.history or one.parent or one.turns or one.definition) and one.root_input is None
            if alone and one.at is None and isinstance(one.args, dict):
                yield Probe(
                    one.kind.value,
                    one.target,
                    one.args,
                    f"the case `{case.name}`",
                    one.input,
                    one.agent_id or AGENT,
                    one.workdir,
                    case.expect.value if case.expect is not None else "",
                )


def of_rules(bundles: Sequence[tree.Bundle]) -> Iterator[Probe]:
    """A step without arguments for each name in the rules, and one of each kind that no rule names."""
    for bundle in bundles:
        for rule in bundle.statements:
            if isinstance(rule, tree.Rule):
                for kind, pattern in _patterns(rule.subject):
                    yield Probe(kind, _GLOB.sub(_STRANGE, pattern), {}, f"the name in the rule `{rule.id.text}`")
    for each in Kind:
        yield Probe(each.value, _STRANGE, {}, "a name that no rule has")


def _patterns(subject: tree.Subject) -> Iterator[tuple[str, str]]:
    for group in subject.groups:
        for pattern in group.patterns:
            if isinstance(pattern, tree.Literal) and isinstance(pattern.value, str):
                yield _KINDS[group.kind], pattern.value
