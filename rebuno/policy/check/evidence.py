"""Warnings about `known` sets that trust more than they seem to: results of calls that a person let in, and names that
nothing ties to an address."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rebuno.policy.analysis.formulas import Formulas
from rebuno.policy.analysis.glob_sets import overlap, within
from rebuno.policy.matcher.index import SubjectPattern, subject_patterns
from rebuno.policy.matcher.standing import tests_in, with_named
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.diagnostics import Code, DiagnosticReport

# Where an item of a tool says who wrote it: anybody can write that.
SENDERS: Final = frozenset({"sender", "from"})


def check_evidence(bundle: s.Bundle, formulas: Formulas, report: DiagnosticReport) -> None:
    """Warns about the sources of the sets of a bundle without errors."""
    rules = [
        (rule, pattern)
        for rule in bundle.statements
        if isinstance(rule, s.Rule)
        for pattern in _patterns(rule.subject, formulas)
    ]
    sources = list(results_in(bundle))
    sets = {line.name.text: line for line in bundle.statements if isinstance(line, s.Known)}
    signed = [pattern for source in sources if _names_sender(source) for pattern in _patterns(source.subject, formulas)]
    for source in sources:
        patterns = _patterns(source.subject, formulas)
        if not source.who:
            _laundered(source, patterns, rules, report)
        if any(_overlaps(one, other) for one in patterns for other in signed):
            warn_untied(source, sets, report)


def results_in(bundle: s.Bundle) -> Iterator[s.ResultSource]:
    """The results of tools that the sets of a bundle take."""
    for line in bundle.statements:
        if isinstance(line, s.Known):
            yield from (source for source in line.sources if isinstance(source, s.ResultSource))


def _laundered(
    source: s.ResultSource,
    patterns: Sequence[SubjectPattern],
    rules: Sequence[tuple[s.Rule, SubjectPattern]],
    report: DiagnosticReport,
) -> None:
    for mine in patterns:
        for rule, pattern in rules:
            if rule.verdict == "require_approval" and _overlaps(mine, pattern):
                message = (
                    f"a person may let a call in by `{rule.id.text}`, and what it gives is then trusted everywhere"
                )
                help = "write `result of allowed …` for calls that no person was asked about, or `approved …`"
                report.warning(Code.LAUNDERED, message, source.span, help)
                return
            always = rule.verdict != "require_approval" and not any(
                isinstance(c, s.When | s.Unless) for c in rule.clauses
            )
            if always and pattern.kind in (None, mine.kind) and within(mine.glob.pattern, pattern.glob.pattern):
                break  # no later rule decides


def _patterns(subject: s.Subject, formulas: Formulas) -> tuple[SubjectPattern, ...]:
    lists = {name: value if isinstance(value, list) else [value] for name, value in formulas.values.items()}
    return tuple(subject_patterns(subject, lists))


def _overlaps(one: SubjectPattern, other: SubjectPattern) -> bool:
    return (one.kind is None or other.kind in (None, one.kind)) and overlap(one.glob.pattern, other.glob.pattern)


# ---------------------------------------------------------------- names


def warn_untied(source: s.ResultSource, sets: Mapping[str, s.Known], report: DiagnosticReport) -> None:
    """Warns about a source in items with a sender whose `where` asks only whether words of the item stand in what the
    user wrote."""
    tests = [] if source.where is None else list(tests_in(source.where))
    if tests and all(_by_words(test, sets) for test in tests):
        message = "anybody can write a name that the user wrote: nothing ties this item to who is meant"
        help = "ask whether the sender is in a `known` that an address book gave"
        report.warning(Code.UNTIED_NAME, message, tests[0].span, help)


def _by_words(test: s.Test, sets: Mapping[str, s.Known]) -> bool:
    operand, right = test.operand, test.right
    words = any(facet.text == "word" for facet in operand.facets) and all(path.root == "item" for path in operand.paths)
    if isinstance(right, s.Operand):
        return words and all(path.root in ("input", "turns") for path in right.paths)
    known = sets.get(right.text) if isinstance(right, s.Name) else None
    return words and known is not None and any(isinstance(one, s.InputSource) for _, one in with_named(known, sets))


def _names_sender(source: s.ResultSource) -> bool:
    # Whether a path of the source says that items have a sender.
    paths = [at.path for at in source.ats]
    for test in tests_in(source.where) if source.where is not None else ():
        paths += [path for path in test.operand.paths if path.root in ("item", "result")]
        paths += [path for path in getattr(test.right, "paths", ()) if path.root in ("item", "result")]
    return any(isinstance(part, s.Key) and part.name in SENDERS for path in paths for part in path.parts)
