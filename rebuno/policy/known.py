"""`known` sets: values from lists, from the execution's input, and from what earlier steps left behind."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from rebuno.policy.facts import Evidence, Facts, History
from rebuno.policy.paths import Parts, many, one, split_at_each
from rebuno.policy.subjects import Pattern, about
from rebuno.policy.tokens import Texts
from rebuno.policy.values import Tri, absent, key_of

# Beyond it, what is not found is maybe.
MAX_VALUES: Final = 100_000


class Item(Facts):
    """What a `where` looks at: an earlier step's `kind`, `target` and `args`, its whole `result`, and the `item` on
    the path. `agent` and `input` are the execution's. It counts its element tests for itself, a step at a time."""

    __slots__ = ("item", "result")

    def __init__(self, step: Evidence, facts: Facts) -> None:
        super().__init__(step.kind, step.target, step.args, agent=facts.agent, input=facts.input)
        self.result = step.result
        self.item: Any = step.result


Where = Callable[[Item], Tri]


class FromInput:
    """`input`, or `input.path`: the texts and numbers of the execution's input."""

    __slots__ = ("parts",)

    def __init__(self, parts: Parts) -> None:
        self.parts = parts

    def texts(self, facts: Facts) -> Texts:
        """The input's texts, read once for each history."""
        history = facts.history
        if history is None:
            return self.read(facts.input)
        kept = history.indexes.get(self)
        if kept is None or kept[0] is not facts.input:
            kept = (facts.input, self.read(facts.input))
            history.indexes[self] = kept
        texts: Texts = kept[1]
        return texts

    def read(self, value: Any) -> Texts:
        """The texts of an input."""
        found = many(value, self.parts)
        return Texts([element for element in found if not absent(element)])


class FromSteps:
    """`result of … at … where`, or with `approved` the arguments that a person approved."""

    __slots__ = ("approved", "paths", "subject", "where")

    def __init__(
        self, subject: Sequence[Pattern], paths: Sequence[Parts], *, approved: bool, where: Where | None = None
    ) -> None:
        self.subject = tuple(subject)
        self.paths = tuple((split_at_each(parts) or ((), parts)) for parts in paths)
        self.approved = approved
        self.where = where

    def values(self, step: Evidence, item: Item) -> Iterator[tuple[Any, Tri]]:
        """The scalars that one step gives, each with whether `where` holds (yes or maybe).

        `item` is the step's; it is used up. What does not fit the path, null, lists and objects give nothing.
        """
        if step.approved is not self.approved or not about(self.subject, step.kind, step.target):
            return
        root = step.args if self.approved else step.result
        for prefix, rest in self.paths:
            for item.item in many(root, prefix):
                value = one(item.item, rest)
                if key_of(value) is None:
                    continue
                answer = True if self.where is None else self.where(item)
                if answer is not False:
                    yield value, answer


class _Seen:
    """What one history gave so far. `sure` and `possible` map a value's key to the first event that gave it."""

    __slots__ = ("agent", "full_at", "input", "possible", "read", "size", "sure")

    def __init__(self, facts: Facts) -> None:
        self.agent = facts.agent
        self.input = facts.input
        self.read = 0
        self.size = 0
        self.sure: dict[Any, int] = {}
        self.possible: dict[Any, int] = {}
        # The event from which on a miss is maybe.
        self.full_at: int | None = None


class Known:
    """One `known`: Kleene's or over its sources. `fold` makes it the set that `in NAME ignoring case` asks."""

    __slots__ = ("fold", "inputs", "listed", "name", "steps")

    def __init__(
        self,
        name: str,
        *,
        listed: Sequence[Any] = (),
        inputs: Sequence[FromInput] = (),
        steps: Sequence[FromSteps] = (),
        fold: bool = False,
    ) -> None:
        self.name = name
        self.listed = frozenset(key_of(value, fold) for value in listed)
        self.inputs = tuple(inputs)
        self.steps = tuple(steps)
        self.fold = fold

    def contains(self, value: Any, facts: Facts) -> Tri:
        """Whether the value, which is there, is in the set as of the submission.

        Lists and objects, text that is not valid Unicode and what is no JSON are maybe; so is a truth value that only
        the input could hold.
        """
        key = key_of(value, self.fold)
        if key is None:
            return None
        if key in self.listed:
            return True
        answer: Tri = False
        if self.steps and facts.history is not None:
            answer = self._earlier(key, facts, facts.history)
            if answer:
                return True
        for source in self.inputs:
            found = None if type(value) is bool else source.texts(facts).find(value, fold=self.fold)
            if found:
                return True
            if found is None:
                answer = None
        return answer

    def _earlier(self, key: Any, facts: Facts, history: History) -> Tri:
        seen = self._read(facts, history)
        before = facts.as_of
        first = seen.sure.get(key)
        if first is not None and (before is None or first < before):
            return True
        for doubt in (seen.possible.get(key), seen.full_at):
            if doubt is not None and (before is None or doubt < before):
                return None
        return False

    def _read(self, facts: Facts, history: History) -> _Seen:
        seen: _Seen | None = history.indexes.get(self)
        # A `where` may look at the execution's input and agent; one history has one of each, as a rule.
        if seen is None or seen.input is not facts.input or seen.agent != facts.agent:
            seen = history.indexes[self] = _Seen(facts)
        evidence = history.evidence
        while seen.read < len(evidence):
            self._add(evidence[seen.read], facts, seen)
            seen.read += 1
        return seen

    def _add(self, step: Evidence, facts: Facts, seen: _Seen) -> None:
        item = Item(step, facts)
        for source in self.steps:
            for value, sure in source.values(step, item):
                key = key_of(value, self.fold)
                if key not in seen.sure and key not in seen.possible:
                    if seen.size >= MAX_VALUES:
                        if seen.full_at is None:
                            seen.full_at = step.seq
                        continue
                    seen.size += 1
                (seen.sure if sure else seen.possible).setdefault(key, step.seq)
