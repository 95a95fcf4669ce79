"""Finds the earlier steps that a policy can ask about, so that a long run keeps only those in memory."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

from rebuno.policy.matcher.build import names_of
from rebuno.policy.matcher.index import SubjectPattern, matches_any, subject_patterns
from rebuno.policy.matcher.policy import Policy
from rebuno.policy.syntax import tree


class HistoryDependencies:
    """The subjects of all tests of a policy on history. A step that matches no subject never changes a decision, so the
    history may leave it out."""

    __slots__ = ("_known", "_subjects")

    def __init__(self, policy: Policy) -> None:
        self._subjects = _patterns(policy)
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
    for bundle in (*policy.bundles, *(one for shadow in policy.shadows for one in shadow.bundles)):
        subjects = list(_subjects(bundle.statements))
        if subjects:
            values = names_of(bundle).values
            for subject in subjects:
                found += subject_patterns(subject, values)
    return found


def _subjects(statements: Any) -> Iterator[tree.Subject]:
    stack: list[Any] = [statements]
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            stack.extend(node)
        elif isinstance(node, tree.Never):
            continue  # a claim decides nothing, so no run has to remember anything for it
        elif is_dataclass(node):
            if isinstance(node, tree.After | tree.Count | tree.ResultSource | tree.ApprovedSource):
                yield node.subject
            stack.extend(getattr(node, field.name) for field in fields(node))
