"""Finds the rules that match a kind and a target. The index makes thousands of rules cost no more than ten."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from rebuno.model.step import Kind
from rebuno.policy.matcher.tables import ArgumentTable, LiteralTest
from rebuno.policy.syntax.tree import Literal, Name, Subject
from rebuno.policy.values.globs import Glob, glob

KINDS: Final[dict[str, str]] = {"tool": Kind.TOOL.value, "llm": Kind.LLM.value, "local": Kind.LOCAL.value}

# The number of targets, and of choices by arguments, that the index of a kind caches.
MAX_TARGETS: Final = 4096
# From this number on, rules with the same subject that test the same argument are found by its value.
MIN_TABLE_RULES: Final = 8

Lists = Mapping[str, Sequence[object]]


class SubjectPattern:
    """One pattern of a subject: a kind and a glob. `kind` is a wire kind, or None for `any step`."""

    __slots__ = ("glob", "kind")

    def __init__(self, kind: str | None, pattern: Glob) -> None:
        self.kind = kind
        self.glob = pattern

    def matches(self, kind: str, target: str) -> bool:
        """Whether the pattern matches a step of this kind and target."""
        return self.kind in (None, kind) and self.glob.matches(target)


def subject_patterns(subject: Subject, lists: Lists) -> tuple[SubjectPattern, ...]:
    """The patterns of a subject, with the lists that it names expanded.

    Raises:
        GlobError: a pattern cannot be read. The checker refuses such a pattern earlier.
    """
    if not subject.groups:
        return (SubjectPattern(None, glob("*")),)
    return tuple(
        SubjectPattern(KINDS[group.kind], glob(text))
        for group in subject.groups
        for item in group.patterns
        for text in _texts(item, lists)
    )


def _texts(item: Literal | Name, lists: Lists) -> Iterator[str]:
    for value in lists[item.text] if isinstance(item, Name) else (item.value,):
        if isinstance(value, str):
            yield value


def matches_any(subject: Sequence[SubjectPattern], kind: str, target: str) -> bool:
    """Whether one of the patterns matches the step."""
    return any(pattern.matches(kind, target) for pattern in subject)


R = TypeVar("R")
K = TypeVar("K")
V = TypeVar("V")


class IndexedRule(NamedTuple, Generic[R]):
    """A rule as an entry of the index: the patterns for the kind of the index, the rule, whether the rule always
    decides once its subject matches, and the literal test that it begins with, if it has one."""

    subject: Sequence[SubjectPattern]
    rule: R
    final: bool
    literal_test: LiteralTest | None = None


class _OpenCandidates:
    """The candidates of a target before the arguments are known: the positions that are candidates for any arguments,
    in order, and the tables that give the others. No position from `end` on is a candidate. `chosen` caches the
    complete lists."""

    __slots__ = ("chosen", "end", "positions", "tables")

    def __init__(self, positions: Sequence[int], tables: Sequence[ArgumentTable], end: int) -> None:
        self.positions = positions
        self.tables = tables
        self.end = end
        self.chosen: dict[object, tuple[Any, ...]] = {}


class RuleIndex(Generic[R]):
    """An index of the rules for steps of one kind, by target and, if many rules test one argument, by its value.

    `rows` are the rules in the order of the file. No rule after the first one that always decides is a candidate.
    `last` ends every list of candidates. A hash table finds names without wildcards, and prefixes find the globs. Rules
    with one subject that begin with a literal test of the same argument cost one look-up together.
    """

    __slots__ = ("_choices", "_exact", "_globs", "_lengths", "_open", "_rules", "_seen", "_tables", "last")

    def __init__(self, rows: Sequence[IndexedRule[R]], last: R) -> None:
        self._rules = tuple((row.rule, row.final) for row in rows)
        self.last = last
        self._exact: dict[str, list[int]] = {}
        self._globs: dict[str, list[tuple[int, Glob]]] = {}
        self._tables: list[tuple[Sequence[SubjectPattern], ArgumentTable]] = []
        tests_by_key: dict[tuple[str, ...], list[tuple[int, LiteralTest]]] = {}
        for position, row in enumerate(rows):
            if row.literal_test is not None:
                tests_by_key.setdefault(_table_key(row.subject, row.literal_test), []).append(
                    (position, row.literal_test)
                )
        in_tables: set[int] = set()
        for group in tests_by_key.values():
            if len(group) >= MIN_TABLE_RULES:
                self._tables.append((rows[group[0][0]].subject, ArgumentTable(group[0][1].key, group)))
                in_tables.update(position for position, _ in group)
        for position, row in enumerate(rows):
            for pattern in () if position in in_tables else row.subject:
                if pattern.glob.literal is not None:
                    self._exact.setdefault(pattern.glob.literal, []).append(position)
                else:
                    self._globs.setdefault(pattern.glob.prefix, []).append((position, pattern.glob))
        self._lengths = sorted({len(prefix) for prefix in self._globs})
        self._seen: dict[str, tuple[R, ...] | _OpenCandidates] = {}
        self._open: dict[tuple[int, ...], _OpenCandidates] = {}
        self._choices = 0

    def candidates(self, target: str, args: Any) -> tuple[R, ...]:
        """The rules that may match `target` and these arguments, in the order of the file, up to the first one that
        always decides; then `last`. No rule that is left out can match."""
        found = self._seen.get(target)
        if found is None:
            found = self._find(target)
            _keep(self._seen, target, found)
        if isinstance(found, tuple):
            return found
        # INVARIANT: a list that a table gives lives as long as the table, so its `id` stands for that list only.
        tables = found.tables
        key: object = id(tables[0].find(args)) if len(tables) == 1 else tuple([id(t.find(args)) for t in tables])
        kept: tuple[R, ...] | None = found.chosen.get(key)
        return self._choose(found, args, key) if kept is None else kept

    def _find(self, target: str) -> tuple[R, ...] | _OpenCandidates:
        positions = set(self._exact.get(target, ()))
        for length in self._lengths:
            if length > len(target):
                break
            for position, pattern in self._globs.get(target[:length], ()):
                if position not in positions and pattern.matches(target):
                    positions.add(position)
        end = min((position for position in positions if self._rules[position][1]), default=len(self._rules))
        ordered = sorted(position for position in positions if position <= end)
        tables = [
            (number, table)
            for number, (subject, table) in enumerate(self._tables)
            if any(pattern.glob.matches(target) for pattern in subject)
        ]
        if not tables:
            return self._listed(ordered)
        # Targets with the same candidates share one object, and with it the lists that are chosen by arguments.
        key = (*ordered, -1, *(number for number, _ in tables))
        found = self._open.get(key)
        if found is None:
            found = _OpenCandidates(ordered, [table for _, table in tables], end)
            _keep(self._open, key, found)
        return found

    def _choose(self, found: _OpenCandidates, args: Any, key: object) -> tuple[R, ...]:
        others = {position for table in found.tables for position in table.find(args) if position < found.end}
        self._choices += 1
        if self._choices > MAX_TARGETS:
            self._seen.clear()
            self._open.clear()
            self._choices = 1
        chosen = found.chosen[key] = self._listed(sorted({*found.positions, *others}))
        return chosen

    def _listed(self, positions: Sequence[int]) -> tuple[R, ...]:
        rules = [self._rules[position][0] for position in positions]
        final = bool(positions) and self._rules[positions[-1]][1]
        return tuple(rules) if final else (*rules, self.last)


def _table_key(subject: Sequence[SubjectPattern], literal_test: LiteralTest) -> tuple[str, ...]:
    return (literal_test.key, *(pattern.glob.pattern for pattern in subject))


def _keep(kept: dict[K, V], key: K, value: V) -> None:
    # A full cache is cleared, so that invented names cannot make it grow.
    if len(kept) >= MAX_TARGETS:
        kept.clear()
    kept[key] = value
