"""What a bundle that was tried beside a policy would have done, by its rules."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final

from rebuno.model.dataclass import dataclass
from rebuno.model.decision import STRICTNESS, Verdict

# The number of sample steps in each group.
SAMPLES: Final = 3
# What would have become of a step, in the order in which groups are listed.
_ORDER: Final = ("wider", "asked", "stopped", "same")


@dataclass(frozen=True, slots=True)
class ShadowedStep:
    """A recorded step with what a shadow said of it: `said` is an entry of `shadow` in the step's first event, `args` a
    JSON value. `verdict` and `rule_id` are what was recorded; `where` names the step for people."""

    where: str
    kind: str
    target: str
    args: Any
    verdict: Verdict
    rule_id: str
    said: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ShadowGroup:
    """The steps that one rule of the shadow would have decided alike, and that had one recorded verdict.

    `effect` is `wider` (let through more than was), `asked`, `stopped` or `same`. `doubtful` of the `count` steps came
    to it on doubt; at `limited` a limit or a budget would have been asked as well.
    """

    rule_id: str
    verdict: Verdict
    recorded: Verdict
    effect: str
    count: int
    doubtful: int
    limited: int
    samples: tuple[ShadowedStep, ...]

    def to_json(self) -> dict[str, Any]:
        """The group as JSON data."""
        return {
            "rule_id": self.rule_id,
            "effect": self.effect,
            "decision": self.verdict.value,
            "recorded": self.recorded.value,
            "count": self.count,
            "on_doubt": self.doubtful,
            "limited": self.limited,
            "samples": [_sample(step) for step in self.samples],
        }


def _sample(step: ShadowedStep) -> dict[str, Any]:
    out = {"step": step.where, "kind": step.kind, "target": step.target, "args": step.args, "rule_id": step.rule_id}
    return out | ({"doubt": step.said["doubt"]} if "doubt" in step.said else {})


@dataclass(frozen=True, slots=True)
class ShadowReport:
    """What one version of a bundle would have done. `others` are steps at which another version of it was tried, and
    `by_kernel` those that the kernel itself decided; both are left out."""

    bundle: str
    digest: str
    steps: int
    others: int
    by_kernel: int
    groups: tuple[ShadowGroup, ...]

    @property
    def wider(self) -> int:
        """The number of steps that it would have let through, or asked about, where they were treated more strictly."""
        return sum(group.count for group in self.groups if group.effect == "wider")

    def to_json(self) -> dict[str, Any]:
        """`{"bundle", "digest", "steps", "other_versions", "by_kernel", "wider", "rules": […]}`."""
        return {
            "bundle": self.bundle,
            "digest": self.digest,
            "steps": self.steps,
            "other_versions": self.others,
            "by_kernel": self.by_kernel,
            "wider": self.wider,
            "rules": [group.to_json() for group in self.groups],
        }


_Key = tuple[str, Verdict, Verdict]


@dataclass(slots=True)
class ShadowTally:
    """Counts steps one by one. `digest` is that of the bundle as it is now."""

    bundle: str
    digest: str
    _steps: int = 0
    _others: int = 0
    _by_kernel: int = 0
    _counts: dict[_Key, list[int]] = field(default_factory=dict)
    _samples: dict[_Key, list[ShadowedStep]] = field(default_factory=dict)

    def add(self, step: ShadowedStep) -> None:
        """Counts a step, if this bundle was tried at it."""
        said = step.said
        if said.get("bundle") != self.bundle:
            return
        if said.get("digest") != self.digest:
            self._others += 1
        elif step.rule_id.startswith("__"):
            self._by_kernel += 1
        else:
            self._steps += 1
            key = (str(said.get("rule_id", "")), Verdict(str(said["verdict"])), step.verdict)
            counts = self._counts.setdefault(key, [0, 0, 0])
            for at, counted in enumerate((True, "doubt" in said, "limited" in said)):
                counts[at] += counted
            kept = self._samples.setdefault(key, [])
            if len(kept) < SAMPLES:
                kept.append(step)

    def result(self) -> ShadowReport:
        """The counts so far: what is wider first, then what was asked, stopped, and decided alike; the largest group
        first."""
        groups = []
        for key, (count, doubtful, limited) in self._counts.items():
            effect, samples = _effect(key[1], key[2]), tuple(self._samples[key])
            groups.append(ShadowGroup(*key, effect, count, doubtful, limited, samples))
        groups.sort(key=lambda group: (_ORDER.index(group.effect), -group.count, group.rule_id))
        return ShadowReport(self.bundle, self.digest, self._steps, self._others, self._by_kernel, tuple(groups))


def _effect(verdict: Verdict, recorded: Verdict) -> str:
    if STRICTNESS[verdict] < STRICTNESS[recorded]:
        return "wider"
    if verdict is recorded:
        return "same"
    return "stopped" if verdict is Verdict.DENY else "asked"
