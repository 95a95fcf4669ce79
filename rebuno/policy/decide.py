"""The hot path: from one submission's facts to the decision that was made when the bundle was compiled."""

from collections.abc import Mapping, Sequence

from rebuno.model.decision import Decision
from rebuno.policy.facts import Facts
from rebuno.policy.matchers import Check
from rebuno.policy.source import Source
from rebuno.policy.subjects import Index
from rebuno.policy.syntax import Bundle

# A rule once its subject matches: its condition (None: always), whether it allows, and what it decides.
Ruling = tuple[Check | None, bool, Decision]


class Policy:
    """A compiled policy. Read-only once made, and safe to share between threads.

    `name` is the bundle's, `digest` the hex SHA-256 of what it was compiled from, `sources` are the texts and
    `bundles` their trees.
    """

    __slots__ = ("_kinds", "_other", "bundles", "digest", "name", "sources")

    def __init__(
        self,
        name: str,
        digest: str,
        sources: Sequence[Source],
        bundles: Sequence[Bundle],
        kinds: Mapping[str, Index[Ruling]],
        other: Index[Ruling],
    ) -> None:
        self.name = name
        self.digest = digest
        self.sources = tuple(sources)
        self.bundles = tuple(bundles)
        self._kinds = dict(kinds)
        self._other = other

    def decide(self, facts: Facts) -> Decision:
        """The decision on one submission: total, deterministic, without I/O. It resets `facts.tests` and counts there.

        An allow rule matches only on yes, a deny or approval rule on yes and on maybe; the first that matches decides.
        A kind that is none of the wire's is met by `any step` and by `default` only.
        """
        facts.tests = 0
        for condition, allows, decision in self._kinds.get(facts.kind, self._other).candidates(facts.target):
            if condition is None:
                return decision
            answer = condition(facts)
            if answer or (answer is None and not allows):
                return decision
        raise AssertionError("the last candidate has no condition")

    def __repr__(self) -> str:
        return f"Policy({self.name!r}, digest={self.digest[:12]!r})"
