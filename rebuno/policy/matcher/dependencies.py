"""Finds the earlier steps that a policy can ask about, so that a long run keeps only those in memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from rebuno.policy.matcher.build import names_of
from rebuno.policy.matcher.index import SubjectPattern, matches_any, subject_patterns
from rebuno.policy.matcher.policy import Policy
from rebuno.policy.syntax import tree
from rebuno.policy.syntax.parts import nodes_in


@dataclass(frozen=True, slots=True)
class StepFactsNeeded:
    """What a policy may ask about a step beside its kind, target, arguments and result: its tool's definition, how it
    failed, and when it ran."""

    definitions: bool
    failures: bool
    times: bool

    def __bool__(self) -> bool:
        return self.definitions or self.failures or self.times


ALL_STEP_FACTS: Final = StepFactsNeeded(definitions=True, failures=True, times=True)


# The nodes whose subject is that of earlier steps.
_ASK_ABOUT_STEPS: Final = (
    tree.After,
    tree.Count,
    tree.Sum,
    tree.Since,
    tree.ResultSource,
    tree.ApprovedSource,
)


class HistoryDependencies:
    """The subjects of all tests of a policy on history. A step that matches no subject never changes a decision, so the
    history may leave it out."""

    __slots__ = ("_known", "_subjects", "needed", "origin", "turns", "workdir", "zone")

    def __init__(self, policy: Policy) -> None:
        self._subjects = _patterns(policy)
        self.needed = step_facts_needed(policy)
        asked = _words(policy)
        # Whether a rule may ask for what the user wrote later, for who began the execution, and for when its texts were
        # written.
        self.turns = "turns" in asked
        self.origin = not asked.isdisjoint(("parent", "input", "turns"))
        self.zone = "zone" in asked
        # Whether relative paths start in the folder of the session.
        self.workdir = "workdir" in asked
        self._known: dict[tuple[str, str], bool] = {}

    def __bool__(self) -> bool:
        """Whether the policy has a test on history."""
        return bool(self._subjects)

    def about(self, kind: str, target: str) -> bool:
        """Whether a test may ask about steps of this kind and target."""
        if not self._subjects:
            return False
        key = (kind, target)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = matches_any(self._subjects, kind, target)
        return found


# Many executions share one policy, and a walk through a hundred rules costs as much as a hundred steps.
@lru_cache(maxsize=16)
def _patterns(policy: Policy) -> list[SubjectPattern]:
    found: list[SubjectPattern] = []
    for bundle in _bundles(policy):
        subjects = list(_subjects(bundle.statements))
        if subjects:
            values = names_of(bundle).values
            for subject in subjects:
                found += subject_patterns(subject, values)
    return found


@lru_cache(maxsize=16)
def _words(policy: Policy) -> frozenset[str]:
    # The roots `turns` and `parent` where a path begins at them, the roots of sources, `zone` if there is one, and
    # `workdir` for `workdir session`.
    found: set[str] = set()
    for node in (node for bundle in _bundles(policy) for node in _nodes(bundle.statements)):
        if isinstance(node, tree.Path) and node.root in ("turns", "parent"):
            found.add(node.root)
        elif isinstance(node, tree.InputSource):
            found.add(node.path.root)
        elif isinstance(node, tree.Zone):
            found.add("zone")
        elif isinstance(node, tree.Workdir) and node.path is None:
            found.add("workdir")
    return frozenset(found)


@lru_cache(maxsize=16)
def step_facts_needed(policy: Policy) -> StepFactsNeeded:
    """What the tests of a policy ask about steps."""
    roots: set[str] = set()
    times = False
    for node in (node for bundle in _bundles(policy) for node in _nodes(bundle.statements)):
        if isinstance(node, tree.Path):
            roots.add(node.root)
        times = times or getattr(node, "within", None) is not None
    return StepFactsNeeded("definition" in roots, "error" in roots, times)


def _bundles(policy: Policy) -> Iterator[tree.Bundle]:
    # What is tried beside the policy sees the same facts.
    yield from policy.bundles
    for shadow in policy.shadows:
        yield from shadow.bundles


def _subjects(statements: Any) -> Iterator[tree.Subject]:
    for node in _nodes(statements):
        if isinstance(node, _ASK_ABOUT_STEPS):
            yield node.subject


def _nodes(statements: Any) -> Iterator[Any]:
    # A claim decides nothing, so no run has to remember anything for it.
    return nodes_in(statements, without=tree.Never)
