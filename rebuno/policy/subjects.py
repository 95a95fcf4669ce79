"""Which rules are about a step: names and globs, indexed so that thousands of rules cost no more than ten."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Generic, TypeVar

from rebuno.model.step import Kind
from rebuno.policy.globs import Glob, glob
from rebuno.policy.syntax import Literal, Name, Subject
from rebuno.policy.values import Tri

KINDS: Final[dict[str, str]] = {"tool": Kind.TOOL.value, "llm": Kind.LLM.value, "local": Kind.LOCAL.value}

# Targets whose candidates are remembered, for each kind; when it is full it starts anew.
MAX_TARGETS: Final = 4096

Lists = Mapping[str, Sequence[object]]


class Pattern:
    """One pattern of a subject: a kind and a glob. `kind` is a wire kind, or None for `any step`."""

    __slots__ = ("glob", "kind")

    def __init__(self, kind: str | None, pattern: Glob) -> None:
        self.kind = kind
        self.glob = pattern

    def matches(self, kind: str, target: str) -> bool:
        """Whether a step of this kind and name is meant."""
        return self.kind in (None, kind) and self.glob.matches(target)


def patterns(subject: Subject, lists: Lists) -> tuple[Pattern, ...]:
    """The patterns of a subject, the lists that it names written out.

    Raises:
        GlobError: a pattern cannot be read (`check` has refused it before).
    """
    if not subject.groups:
        return (Pattern(None, glob("*")),)
    return tuple(
        Pattern(KINDS[group.kind], glob(text))
        for group in subject.groups
        for item in group.patterns
        for text in _texts(item, lists)
    )


def _texts(item: Literal | Name, lists: Lists) -> Iterator[str]:
    for value in lists[item.text] if isinstance(item, Name) else (item.value,):
        if isinstance(value, str):
            yield value


def about(subject: Sequence[Pattern], kind: str, target: str) -> bool:
    """Whether one of the patterns means the step."""
    return any(pattern.matches(kind, target) for pattern in subject)


R = TypeVar("R")


class Index(Generic[R]):
    """The rules about steps of one kind, found by target.

    `rules` are pairs of the patterns that count for this kind and the rule, in the order of the file; `final` tells
    which rules always match once their subject does: nothing after the first such rule is a candidate. `last` ends
    every list. Names without wildcards are looked up, globs are found through what they begin with.
    """

    __slots__ = ("_exact", "_globs", "_lengths", "_rules", "_seen", "last")

    def __init__(self, rules: Sequence[tuple[Sequence[Pattern], R, bool]], last: R) -> None:
        self._rules = tuple((rule, final) for _, rule, final in rules)
        self.last = last
        self._exact: dict[str, list[int]] = {}
        self._globs: dict[str, list[tuple[int, Glob]]] = {}
        for position, (subject, _, _) in enumerate(rules):
            for pattern in subject:
                if pattern.glob.literal is not None:
                    self._exact.setdefault(pattern.glob.literal, []).append(position)
                else:
                    self._globs.setdefault(pattern.glob.prefix, []).append((position, pattern.glob))
        self._lengths = sorted({len(prefix) for prefix in self._globs})
        self._seen: dict[str, tuple[R, ...]] = {}

    def candidates(self, target: str) -> tuple[R, ...]:
        """The rules about `target` in the order of the file, up to the first that always matches; then `last`."""
        found = self._seen.get(target)
        if found is None:
            found = self._find(target)
            if len(self._seen) >= MAX_TARGETS:
                self._seen.clear()
            self._seen[target] = found
        return found

    def _find(self, target: str) -> tuple[R, ...]:
        positions = set(self._exact.get(target, ()))
        for length in self._lengths:
            if length > len(target):
                break
            for position, pattern in self._globs.get(target[:length], ()):
                if position not in positions and pattern.matches(target):
                    positions.add(position)
        out: list[R] = []
        for position in sorted(positions):
            rule, final = self._rules[position]
            out.append(rule)
            if final:
                return tuple(out)
        out.append(self.last)
        return tuple(out)


def settled(answer: Tri, allows: bool) -> bool:
    """Whether a rule matches on this answer: an allow rule only on yes, every other on yes and on maybe."""
    return answer is True or (answer is None and not allows)
