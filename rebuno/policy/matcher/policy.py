"""The hot path: finds the prepared decision for the facts of one submission."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import lru_cache
from itertools import chain
from typing import Final

from rebuno.model.decision import STRICTNESS, Decision, Verdict
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.matcher.fast_tests import Check
from rebuno.policy.matcher.filled import FilledDecision
from rebuno.policy.matcher.index import RuleIndex
from rebuno.policy.syntax.source import Source
from rebuno.policy.syntax.tree import Bundle

# A rule whose subject matches: its condition (None if it always decides), whether it allows, and its decision.
Ruling = tuple[Check | None, bool, Decision]

# The number of folders of sessions whose policies a layer keeps.
MOST_FOLDERS: Final = 256

# The number of combined decisions in the cache; a full cache is cleared.
MOST_COMBINED: Final = 10_000


class Policy(ABC):
    """A compiled policy. It is read-only, and threads can share it.

    `name` is the name of the bundle; the names of several layers are joined by ` + `. `digest` is the hex SHA-256 of
    the sources. `sources` are the texts of the bundles and of the files that they use, `bundles` the linked trees, and
    `layers` the policies of the single bundles. `shadows` are bundles that are tried beside it: each sees every
    submission, and none decides anything.
    """

    __slots__ = ("bundles", "digest", "layers", "name", "readers", "reads", "secrets", "shadows", "sources")

    def __init__(
        self, name: str, digest: str, sources: Sequence[Source], bundles: Sequence[Bundle], layers: "Sequence[Layer]"
    ) -> None:
        self.name = name
        self.digest = digest
        self.sources = tuple(sources)
        self.bundles = tuple(bundles)
        self.layers = tuple(layers)
        self.shadows: tuple[Layer, ...] = ()
        self.readers: tuple[Callable[[str], object], ...] | None = None  # see `read_ahead`
        self.reads: bool | None = None  # see `read_ahead`
        self.secrets: object = None  # see `seals`

    @abstractmethod
    def decide(self, facts: Facts) -> Decision:
        """The decision on one submission: total, deterministic, without I/O."""

    def with_shadows(self, shadows: "Sequence[Layer]") -> "Policy":
        """The same policy with these bundles beside it. It has the same digest."""
        if not shadows:
            return self
        beside = copy(self)
        beside.shadows = tuple(shadows)
        beside.readers = beside.reads = None
        return beside

    def __repr__(self) -> str:
        return f"Policy({self.name!r}, digest={self.digest[:12]!r})"


class Layer(Policy):
    """The policy of one bundle, or the permissive policy, which has no bundle."""

    __slots__ = ("_kinds", "_other")

    def __init__(
        self,
        name: str,
        digest: str,
        sources: Sequence[Source],
        bundles: Sequence[Bundle],
        kinds: Mapping[str, RuleIndex[Ruling]],
        other: RuleIndex[Ruling],
    ) -> None:
        super().__init__(name, digest, sources, bundles, (self,))
        self._kinds = dict(kinds)
        self._other = other

    def decide(self, facts: Facts) -> Decision:
        """The decision on one submission. `facts.tests` is reset and counts the element tests.

        The first rule that matches decides. An allow rule matches only on yes; a deny or approval rule matches on yes
        and on maybe. An unknown kind matches only `any step` and `default`.
        """
        facts.tests = 0
        facts.readings = None
        rules = self._kinds.get(facts.kind, self._other)
        for condition, allows, decision in rules.candidates(facts.target, facts.args):
            if condition is None:
                return decision
            answer = condition(facts)
            if answer:
                return decision
            if answer is None and not allows:
                facts.doubted = (*facts.doubted, decision)
                return decision
        raise AssertionError("the last candidate has no condition")


class FillingLayer(Layer):
    """The policy of a bundle with a rule whose texts have values of the submission in them."""

    __slots__ = ("_filled",)

    def __init__(
        self,
        name: str,
        digest: str,
        sources: Sequence[Source],
        bundles: Sequence[Bundle],
        kinds: Mapping[str, RuleIndex[Ruling]],
        other: RuleIndex[Ruling],
        filled: Sequence[FilledDecision],
    ) -> None:
        super().__init__(name, digest, sources, bundles, kinds, other)
        self._filled = {decision.plain: decision for decision in filled}

    def decide(self, facts: Facts) -> Decision:
        """The decision on one submission, its texts filled."""
        plain = super().decide(facts)
        filled = self._filled.get(plain)
        return plain if filled is None else filled.fill(facts)


class SessionLayer(Layer):
    """The policy of a bundle with `workdir session`: for each folder the policy of the same bundle with that folder.

    `plain` is the policy without a `workdir`, for a session without a folder. `build` makes the policy of a folder;
    those of the folders that were asked for last are kept.
    """

    __slots__ = ("_of_folder", "plain")

    def __init__(self, plain: Layer, build: Callable[[str], Layer | None]) -> None:
        super().__init__(plain.name, plain.digest, plain.sources, plain.bundles, plain._kinds, plain._other)
        self.plain = plain
        self._of_folder = lru_cache(maxsize=MOST_FOLDERS)(lambda folder: build(folder) or plain)

    def decide(self, facts: Facts) -> Decision:
        """The decision on one submission, relative paths read from the folder of its session."""
        folder = facts.workdir
        return (self._of_folder(folder) if folder else self.plain).decide(facts)


class Layers(Policy):
    """The policy of several bundles, outermost first. The strictest decision wins."""

    __slots__ = ("_combined",)

    def __init__(self, layers: Sequence[Layer]) -> None:
        super().__init__(
            " + ".join(layer.name for layer in layers),
            layers[0].digest,
            [source for layer in layers for source in layer.sources],
            [bundle for layer in layers for bundle in layer.bundles],
            layers,
        )
        self._combined: dict[tuple[Decision, ...], Decision] = {}

    def decide(self, facts: Facts) -> Decision:
        """The strictest of the layers' decisions on one submission; each layer counts in `facts.tests` from 0."""
        decisions = tuple([layer.decide(facts) for layer in self.layers])
        found = self._combined.get(decisions)
        if found is None:
            if len(self._combined) >= MOST_COMBINED:
                self._combined.clear()
            found = self._combined[decisions] = strictest(decisions)
        return found


class FillingLayers(Layers):
    """The policy of several bundles, one of them with texts that the submission fills: no decision comes twice."""

    __slots__ = ()

    def decide(self, facts: Facts) -> Decision:
        """The strictest of the layers' decisions on one submission; each layer counts in `facts.tests` from 0."""
        return strictest([layer.decide(facts) for layer in self.layers])


def strictest(decisions: Sequence[Decision]) -> Decision:
    """The strictest of the decisions of the layers; of equally strict ones the first.

    Unless it denies, it carries the obligations of the deciding rule of every layer.
    """
    winner = max(decisions, key=lambda decision: STRICTNESS[decision.verdict])
    denies = winner.verdict is Verdict.DENY
    obligations = () if denies else tuple(chain.from_iterable(decision.obligations for decision in decisions))
    if obligations == winner.obligations:
        return winner
    return Decision(
        winner.verdict,
        winner.rule_id,
        winner.reason,
        bundle=winner.bundle,
        digest=winner.digest,
        message=winner.message,
        line=winner.line,
        obligations=obligations,
    )
