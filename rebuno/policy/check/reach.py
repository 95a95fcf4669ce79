"""Rules that can never decide because earlier ones always do, and neighbours whose order may surprise."""

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rebuno.policy.analysis.formulas import Formulas
from rebuno.policy.analysis.glob_sets import overlap, within
from rebuno.policy.analysis.implication import Asked, implied
from rebuno.policy.facets.reading import Surroundings
from rebuno.policy.matcher.index import Pattern, patterns
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.diagnostics import Code, Report, line_of

# Earlier rules that a pattern of a rule is compared with: the nearest ones, and all without a condition.
_MOST: Final = 32


class _Ruling:
    """A rule with its patterns and what it asks; `always` where it asks nothing."""

    __slots__ = ("_asked", "_formulas", "always", "at", "patterns", "rule")

    def __init__(self, at: int, rule: s.Rule, formulas: Formulas) -> None:
        self.at = at
        self.rule = rule
        self.patterns = patterns(rule.subject, _lists(formulas.values))
        self.always = not any(isinstance(clause, s.When | s.Unless) for clause in rule.clauses)
        self._formulas = formulas
        self._asked: Asked | None = None

    @property
    def asked(self) -> Asked:
        """What it asks. Few rules are compared with others, so it is taken apart only where one is."""
        if self._asked is None:
            self._asked = Asked(self._formulas.rule(self.rule), sure=self.rule.verdict == "allow")
        return self._asked


def check_reach(bundle: s.Bundle, formulas: Formulas, report: Report, *, warn: bool = True) -> None:
    """Reports rules that never decide, and with `warn` exceptions that stand on the wrong side of what they except.

    The bundle has no error so far.
    """
    earlier = _Shelves(_Earlier(), _Earlier())
    rules = [statement for statement in bundle.statements if isinstance(statement, s.Rule)]
    for at, rule in enumerate(rules):
        ruling = _Ruling(at, rule, formulas)
        hiding = _hiding(ruling, earlier, formulas.around)
        if hiding is not None:
            _unreachable(ruling, hiding, report)
        elif warn:
            _order(ruling, earlier, formulas, report)
        (earlier.always if ruling.always else earlier.asking).add(ruling)


def _lists(values: Mapping[str, Any]) -> Mapping[str, Sequence[object]]:
    return {name: value if isinstance(value, list) else [value] for name, value in values.items()}


class _Earlier:
    """Some of the rules so far, found by what their patterns begin with."""

    __slots__ = ("_globs", "_lengths", "_literals", "_prefixes", "_texts")

    def __init__(self) -> None:
        self._literals: dict[str, list[tuple[Pattern, _Ruling]]] = {}
        self._globs: dict[str, list[tuple[Pattern, _Ruling]]] = {}
        self._lengths: list[int] = []
        # The keys in order: those that begin alike stand together.
        self._texts: list[str] = []
        self._prefixes: list[str] = []

    def add(self, ruling: _Ruling) -> None:
        """Takes in the next rule."""
        for pattern in ruling.patterns:
            key = pattern.glob.prefix
            if pattern.glob.literal is not None:
                if key not in self._literals:
                    insort(self._texts, key)
                self._literals.setdefault(key, []).append((pattern, ruling))
            else:
                if key not in self._globs:
                    insort(self._prefixes, key)
                    self._lengths = sorted({*self._lengths, len(key)})
                self._globs.setdefault(key, []).append((pattern, ruling))

    def covering(self, pattern: Pattern) -> list[_Ruling]:
        """The nearest rules that are about everything that the pattern means, in the order of the file."""
        prefix = pattern.glob.prefix
        found = self._literals.get(prefix, [])[-_MOST:] if pattern.glob.literal is not None else []
        for length in self._lengths:
            if length <= len(prefix):
                found = [*found, *self._globs.get(prefix[:length], [])[-_MOST:]]
        covering = [one for other, one in found if _covers(other, pattern)]
        return sorted(covering, key=lambda one: one.at)[-_MOST:]

    def overlapping(self, pattern: Pattern) -> Iterator[_Ruling]:
        """The nearest rules that are about something that the pattern means, too."""
        prefix = pattern.glob.prefix
        groups = [self._globs.get(prefix[:length], []) for length in self._lengths if length < len(prefix)]
        if pattern.glob.literal is not None:
            groups += [self._globs.get(prefix, []), self._literals.get(prefix, [])]
        else:
            groups += [self._globs[text] for text in _beginning(self._prefixes, prefix)]
            groups += [self._literals[text] for text in _beginning(self._texts, prefix)]
        for group in groups:
            for other, one in group[-_MOST:]:
                if _same_kind(other, pattern) and overlap(other.glob.pattern, pattern.glob.pattern):
                    yield one


def _beginning(ordered: list[str], prefix: str) -> Iterator[str]:
    for at in range(bisect_left(ordered, prefix), len(ordered)):
        if not ordered[at].startswith(prefix):
            return
        yield ordered[at]


def _same_kind(one: Pattern, other: Pattern) -> bool:
    return one.kind is None or other.kind is None or one.kind == other.kind


def _covers(outer: Pattern, inner: Pattern) -> bool:
    return outer.kind in (None, inner.kind) and within(inner.glob.pattern, outer.glob.pattern)


@dataclass(frozen=True, slots=True)
class _Shelves:
    """The rules so far: those without a condition and the others."""

    always: _Earlier
    asking: _Earlier


# ---------------------------------------------------------------- rules that never decide


def _hiding(ruling: _Ruling, earlier: _Shelves, around: Surroundings) -> list[_Ruling] | None:
    """The earlier rules that between them decide whatever the rule would; None where there are none for sure."""
    hiding: dict[int, _Ruling] = {}
    for pattern in ruling.patterns:
        if always := earlier.always.covering(pattern):
            hiding[always[0].at] = always[0]
            continue
        asking = earlier.asking.covering(pattern)
        used = implied(ruling.asked, [one.asked for one in asking], around) if asking else None
        if used is None:
            return None
        hiding.update((asking[at].at, asking[at]) for at in used)
    return [hiding[at] for at in sorted(hiding)] or None


def _unreachable(ruling: _Ruling, hiding: Sequence[_Ruling], report: Report) -> None:
    rule, span = ruling.rule, ruling.rule.head_span
    named = " and ".join(f"`{one.rule.id.text}` ({line_of(one.rule.span, span)})" for one in hiding)
    if len(hiding) > 1:
        reason, them = "between them they match first whenever it would", "them"
    elif hiding[0].always:
        reason, them = "it has no condition and stands first", "it"
    else:
        reason, them = "its condition holds wherever this one's does, and it stands first", "it"
    message = f"the rule `{rule.id.text}` can never decide because of {named}: {reason}"
    spans = tuple(one.rule.head_span for one in hiding)
    report.error(Code.UNREACHABLE, message, span, f"put it above {them}, or remove it", spans)


# ---------------------------------------------------------------- rules whose order may surprise


def _order(ruling: _Ruling, earlier: _Shelves, formulas: Formulas, report: Report) -> None:
    rule, span = ruling.rule, ruling.rule.head_span
    if rule.verdict == "allow":
        return
    asks = rule.verdict == "require_approval"
    seen: set[int] = set()
    never = None if ruling.always else Asked(formulas.rule(rule, negated=True), sure=True)
    for pattern in ruling.patterns:
        for one in (*earlier.always.overlapping(pattern), *earlier.asking.overlapping(pattern)):
            if one.rule.verdict == "deny" or one.at in seen or (asks and one.rule.verdict != "allow"):
                continue
            seen.add(one.at)
            if len(seen) > _MOST:
                return
            if _otherwise(ruling, one) or _exclusive(one, never, formulas.around):
                continue
            # A rule that asks about all of its subject is what the rules above it leave over, unless one is wider.
            if asks and ruling.always and not any(_covers(outer, pattern) for outer in one.patterns):
                continue
            if asks:
                upper = f"`{one.rule.id.text}` ({line_of(one.rule.span, span)})"
                message = f"the rule `{rule.id.text}` does not ask about what {upper} allows: that stands first"
                help = "put the rule that asks above it, if it is to hold for everything"
                report.warning(Code.LATE_APPROVAL, message, span, help, (one.rule.head_span,))
                return
            does = "allows" if one.rule.verdict == "allow" else "asks about"
            upper = f"`{one.rule.id.text}` ({line_of(one.rule.span, span)})"
            message = f"the rule `{rule.id.text}` does not stop what {upper} {does}: that stands first"
            help = "put the deny rule above it, if it is to hold for everything"
            report.warning(Code.LATE_DENY, message, span, help, (one.rule.head_span,))
            return


def _otherwise(ruling: _Ruling, one: _Ruling) -> bool:
    # A deny for all that a rule above it leaves over is its `else`.
    return ruling.always and all(any(_covers(outer, inner) for outer in ruling.patterns) for inner in one.patterns)


def _exclusive(one: _Ruling, never: Asked | None, around: Surroundings) -> bool:
    # Wherever the upper rule decides, the answer to the deny rule's condition is no.
    return never is not None and not one.always and implied(one.asked, [never], around) is not None
