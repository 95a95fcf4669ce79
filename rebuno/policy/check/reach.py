"""Finds rules that never decide because earlier rules always do, and rules whose order may surprise."""

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rebuno.policy.analysis.formulas import Formulas
from rebuno.policy.analysis.glob_sets import overlap, within
from rebuno.policy.analysis.implication import CountedCondition, implied
from rebuno.policy.facets.reading import PathContext
from rebuno.policy.matcher.index import SubjectPattern, subject_patterns
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.diagnostics import Code, DiagnosticReport, line_of

# The number of earlier rules that a pattern is compared with: the nearest ones, and all without a condition.
_MOST: Final = 32


class _ReachedRule:
    """A rule with its patterns and its condition. `always` is true for a rule without a condition."""

    __slots__ = ("_asked", "_formulas", "always", "at", "patterns", "rule")

    def __init__(self, at: int, rule: s.Rule, formulas: Formulas) -> None:
        self.at = at
        self.rule = rule
        self.patterns = subject_patterns(rule.subject, _lists(formulas.values))
        self.always = not any(isinstance(clause, s.When | s.Unless) for clause in rule.clauses)
        self._formulas = formulas
        self._asked: CountedCondition | None = None

    @property
    def asked(self) -> CountedCondition:
        """What it asks. Few rules are compared with others, so it is taken apart only where one is."""
        if self._asked is None:
            self._asked = CountedCondition(self._formulas.rule(self.rule), sure=self.rule.verdict == "allow")
        return self._asked


def check_reach(bundle: s.Bundle, formulas: Formulas, report: DiagnosticReport, *, warn: bool = True) -> None:
    """Reports rules that never decide and, with `warn`, exceptions that come after the rule that they except from.

    The bundle must have no error.
    """
    earlier = _RulesSoFar(_EarlierRules(), _EarlierRules())
    rules = [statement for statement in bundle.statements if isinstance(statement, s.Rule)]
    for at, rule in enumerate(rules):
        ruling = _ReachedRule(at, rule, formulas)
        hiding = _hiding(ruling, earlier, formulas.context)
        if hiding is not None:
            _unreachable(ruling, hiding, report)
        elif warn:
            _order(ruling, earlier, formulas, report)
        (earlier.always if ruling.always else earlier.asking).add(ruling)


def _lists(values: Mapping[str, Any]) -> Mapping[str, Sequence[object]]:
    return {name: value if isinstance(value, list) else [value] for name, value in values.items()}


class _EarlierRules:
    """A set of earlier rules, indexed by the prefixes of their patterns."""

    __slots__ = ("_globs", "_lengths", "_literals", "_prefixes", "_texts")

    def __init__(self) -> None:
        self._literals: dict[str, list[tuple[SubjectPattern, _ReachedRule]]] = {}
        self._globs: dict[str, list[tuple[SubjectPattern, _ReachedRule]]] = {}
        self._lengths: list[int] = []
        # The keys in order, so that keys with a common prefix are neighbours.
        self._texts: list[str] = []
        self._prefixes: list[str] = []

    def add(self, ruling: _ReachedRule) -> None:
        """Adds the next rule."""
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

    def covering(self, pattern: SubjectPattern) -> list[_ReachedRule]:
        """The nearest rules that match every step that the pattern matches, in the order of the file."""
        prefix = pattern.glob.prefix
        found = self._literals.get(prefix, [])[-_MOST:] if pattern.glob.literal is not None else []
        for length in self._lengths:
            if length <= len(prefix):
                found = [*found, *self._globs.get(prefix[:length], [])[-_MOST:]]
        covering = [one for other, one in found if _covers(other, pattern)]
        return sorted(covering, key=lambda one: one.at)[-_MOST:]

    def overlapping(self, pattern: SubjectPattern) -> Iterator[_ReachedRule]:
        """The nearest rules that match a step that the pattern matches."""
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


def _same_kind(one: SubjectPattern, other: SubjectPattern) -> bool:
    return one.kind is None or other.kind is None or one.kind == other.kind


def _covers(outer: SubjectPattern, inner: SubjectPattern) -> bool:
    return outer.kind in (None, inner.kind) and within(inner.glob.pattern, outer.glob.pattern)


@dataclass(frozen=True, slots=True)
class _RulesSoFar:
    """The rules so far: `always` without a condition, `asking` with one."""

    always: _EarlierRules
    asking: _EarlierRules


# ---------------------------------------------------------------- rules that never decide


def _hiding(ruling: _ReachedRule, earlier: _RulesSoFar, context: PathContext) -> list[_ReachedRule] | None:
    """The earlier rules that together decide every step that the rule would decide; None if that is not certain."""
    hiding: dict[int, _ReachedRule] = {}
    for pattern in ruling.patterns:
        if always := earlier.always.covering(pattern):
            hiding[always[0].at] = always[0]
            continue
        asking = earlier.asking.covering(pattern)
        used = implied(ruling.asked, [one.asked for one in asking], context) if asking else None
        if used is None:
            return None
        hiding.update((asking[at].at, asking[at]) for at in used)
    return [hiding[at] for at in sorted(hiding)] or None


def _unreachable(ruling: _ReachedRule, hiding: Sequence[_ReachedRule], report: DiagnosticReport) -> None:
    rule, span = ruling.rule, ruling.rule.head_span
    named = " and ".join(f"`{one.rule.id.text}` ({line_of(one.rule.span, span)})" for one in hiding)
    if len(hiding) > 1:
        reason, them = "together they match first whenever it would match", "them"
    elif hiding[0].always:
        reason, them = "it has no condition and comes first", "it"
    else:
        reason, them = "its condition holds whenever this rule's condition holds, and it comes first", "it"
    message = f"the rule `{rule.id.text}` can never decide because of {named}: {reason}"
    spans = tuple(one.rule.head_span for one in hiding)
    report.error(Code.UNREACHABLE, message, span, f"put it above {them}, or remove it", spans)


# ---------------------------------------------------------------- rules whose order may surprise


def _order(ruling: _ReachedRule, earlier: _RulesSoFar, formulas: Formulas, report: DiagnosticReport) -> None:
    rule, span = ruling.rule, ruling.rule.head_span
    if rule.verdict == "allow":
        return
    asks = rule.verdict == "require_approval"
    seen: set[int] = set()
    never = None if ruling.always else CountedCondition(formulas.rule(rule, negated=True), sure=True)
    for pattern in ruling.patterns:
        for one in (*earlier.always.overlapping(pattern), *earlier.asking.overlapping(pattern)):
            if one.rule.verdict == "deny" or one.at in seen or (asks and one.rule.verdict != "allow"):
                continue
            seen.add(one.at)
            if len(seen) > _MOST:
                return
            if _otherwise(ruling, one) or _exclusive(one, never, formulas.context):
                continue
            if asks and _narrower(one, ruling, formulas.context):
                continue
            # A rule that asks without a condition is meant for the steps that the rules above leave, unless one of them
            # is wider.
            if asks and ruling.always and not any(_covers(outer, pattern) for outer in one.patterns):
                continue
            if asks:
                upper = f"`{one.rule.id.text}` ({line_of(one.rule.span, span)})"
                asked = f"the rule `{rule.id.text}` does not ask about steps that {upper} allows"
                message = f"{asked}: that rule comes first"
                help = "put the rule that asks above it if it must hold for everything"
                report.warning(Code.LATE_APPROVAL, message, span, help, (one.rule.head_span,))
                return
            does = "allows" if one.rule.verdict == "allow" else "asks about"
            upper = f"`{one.rule.id.text}` ({line_of(one.rule.span, span)})"
            message = f"the rule `{rule.id.text}` does not stop steps that {upper} {does}: that rule comes first"
            help = "put the deny rule above it if it must hold for everything"
            report.warning(Code.LATE_DENY, message, span, help, (one.rule.head_span,))
            return


def _otherwise(ruling: _ReachedRule, one: _ReachedRule) -> bool:
    # A deny rule for the steps that the rule above leaves is the `else` of that rule.
    return ruling.always and all(any(_covers(outer, inner) for outer in ruling.patterns) for inner in one.patterns)


def _narrower(one: _ReachedRule, ruling: _ReachedRule, context: PathContext) -> bool:
    # Wherever the upper rule allows, the condition of the asking rule holds too: the two say "in this case no
    # question".
    asks_always = one.always or ruling.always
    return not asks_always and implied(one.asked, [ruling.asked], context) is not None


def _exclusive(one: _ReachedRule, never: CountedCondition | None, context: PathContext) -> bool:
    # Wherever the upper rule decides, the answer to the deny rule's condition is no.
    return never is not None and not one.always and implied(one.asked, [never], context) is not None
