"""Checks `secret` statements: where their paths start, and whether a text or an argument shows what they seal."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from rebuno.policy.analysis.formulas import Formulas, atoms
from rebuno.policy.analysis.glob_sets import overlap
from rebuno.policy.matcher.index import SubjectPattern, subject_patterns
from rebuno.policy.matcher.policy import Policy
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.diagnostics import Code, Diagnostic, DiagnosticReport
from rebuno.policy.syntax.keywords import did_you_mean
from rebuno.policy.syntax.shown import shown_path

_OF_STEP: Final = ("args", "result")


def check_secret(secret: s.Secret, check: Callable[[s.Subject], None], report: DiagnosticReport) -> None:
    """Checks one statement: its subject, by `check`, and its paths."""
    if secret.subject is not None:
        check(secret.subject)
    roots = ("input",) if secret.subject is None else _OF_STEP
    for path in secret.paths:
        if path.root in roots:
            continue
        if secret.subject is None and path.root in _OF_STEP:
            help = f'say of which tool: `secret tool "…" at {shown_path(path)}`'
        elif secret.subject is not None and path.root == "input":
            help = f"the input belongs to no step: write `secret {shown_path(path)}`"
        else:
            help = did_you_mean(path.root, roots) or f"here a path starts at {' or '.join(f'`{one}`' for one in roots)}"
        report.error(Code.BAD_PATH, f"`{shown_path(path)}` is no place that can be sealed here", path.span, help)


# ---------------------------------------------------------------- texts that show a sealed value


def check_shown(bundle: s.Bundle, layers: Sequence[s.Bundle], report: DiagnosticReport) -> None:
    """Reports each `f"…"` and each measured amount of a bundle that names a place which a `secret` of it or of its
    `layers` seals."""
    limits = {line.name.text: line.limit for line in bundle.statements if isinstance(line, s.NamedLimit)}
    told = [(rule, list(_told(rule, limits))) for rule in bundle.statements if isinstance(rule, s.Rule)]
    told = [(rule, paths) for rule, paths in told if paths]
    if not told:
        return
    sealed = [(one, _patterns(one, layer)) for layer in (bundle, *layers) for one in secrets_in(layer)]
    for rule, paths in told if sealed else ():
        own = _of_subject(rule.subject, _lists(bundle))
        for path, span, help in paths:
            found = next((p for secret, theirs in sealed for p in secret.paths if _shows(path, own, p, theirs)), None)
            if found is not None:
                message = f"`{shown_path(path)}` shows a sealed value: `{shown_path(found)}` is a `secret`"
                report.error(Code.SECRET_SHOWN, message, span, help)


def shown_by_others(bundle: s.Bundle, layers: Sequence[s.Bundle]) -> list[Diagnostic]:
    """The errors of `check_shown` about what other layers than the bundle's own seal."""
    report = DiagnosticReport(bundle.path)
    check_shown(bundle, [layer for layer in layers if layer is not bundle and secrets_in(layer)], report)
    return report.findings


def without_key_ring(policy: Policy) -> list[Diagnostic]:
    """The error of each bundle of a policy with a `secret`, where there is no key ring to seal values with."""
    message = "the bundle has a `secret`, and there is no key ring to seal values with"
    return [
        Diagnostic(Code.NO_KEY_RING, message, secrets_in(bundle)[0].span, bundle.path, "start it with `--key-ring`")
        for bundle in policy.bundles
        if secrets_in(bundle)
    ]


def secrets_in(bundle: s.Bundle) -> list[s.Secret]:
    """The `secret` statements of a bundle."""
    return [statement for statement in bundle.statements if isinstance(statement, s.Secret)]


def _told(rule: s.Rule, limits: Mapping[str, s.LimitClause]) -> Iterator[tuple[s.Path, s.Span, str]]:
    """The places of a submission that a rule tells people or the log, each with where it is named and a hint."""
    for clause in rule.clauses:
        if isinstance(clause, s.Because | s.Message) and isinstance(clause.text, s.Filled):
            for part in clause.text.parts:
                if isinstance(part, s.Path):
                    yield part, part.span, "leave it out of the text"
        elif isinstance(clause, s.LimitClause):
            quantity = limits.get(clause.named.text) if clause.named is not None else clause
            for path in quantity.measure if quantity is not None else ():
                yield path, clause.span, "the log says how much a step takes: count the steps, or leave it unsealed"


def _shows(
    path: s.Path, own: Sequence[SubjectPattern], sealed: s.Path, theirs: Sequence[SubjectPattern] | None
) -> bool:
    if path.root != sealed.root or not all(map(_may_be_same, path.parts, sealed.parts)):
        return False
    return theirs is None or any(_overlaps(one, other) for one in own for other in theirs)


def _may_be_same(one: s.PathPart, other: s.PathPart) -> bool:
    # `[]` and `.*` stand for any place.
    if isinstance(one, s.Key) and isinstance(other, s.Key):
        return one.name == other.name
    return one == other or not (isinstance(one, s.Index) and isinstance(other, s.Index))


def _patterns(secret: s.Secret, bundle: s.Bundle) -> Sequence[SubjectPattern] | None:
    return None if secret.subject is None else _of_subject(secret.subject, _lists(bundle))


def _of_subject(subject: s.Subject, lists: dict[str, list[object]]) -> Sequence[SubjectPattern]:
    return subject_patterns(subject, lists)


def _lists(bundle: s.Bundle) -> dict[str, list[object]]:
    return {name: value if isinstance(value, list) else [value] for name, value in Formulas(bundle).values.items()}


def _overlaps(one: SubjectPattern, other: SubjectPattern) -> bool:
    same = one.kind is None or other.kind is None or one.kind == other.kind
    return same and overlap(one.glob.pattern, other.glob.pattern)


# ---------------------------------------------------------------- values that were written before they were sealed


def check_late(
    bundle: s.Bundle, formulas: Formulas, taken_by: Callable[[s.Subject], Iterable[str]], report: DiagnosticReport
) -> None:
    """Warns about a `secret` at a result whose tool takes the same value as an argument, which was written before.
    `taken_by` gives the names of the arguments that the tools of a subject take."""
    sealed = secrets_in(bundle)
    for secret in sealed:
        if secret.subject is None:
            continue
        own = _of_subject(secret.subject, _lists(bundle))
        for path in secret.paths:
            last = next((part.name for part in reversed(path.parts) if isinstance(part, s.Key)), None)
            if path.root != "result" or last is None:
                continue
            taken = {*taken_by(secret.subject), *_asked_about(own, bundle, formulas)}
            if last in taken and not _sealed_too(last, own, sealed, bundle):
                argument = shown_path(s.Path("args", (s.Key(last),)))
                message = f"the tool takes `{argument}` too, and an argument is written before the result is sealed"
                help = f"seal both: `{argument}, {shown_path(path)}`"
                report.warning(Code.LATE_SECRET, message, path.span, help)


def _asked_about(own: Sequence[SubjectPattern], bundle: s.Bundle, formulas: Formulas) -> Iterator[str]:
    # The arguments that rules about these tools look at.
    for rule in bundle.statements:
        if not isinstance(rule, s.Rule):
            continue
        if not any(_overlaps(one, other) for one in own for other in _of_subject(rule.subject, _lists(bundle))):
            continue
        for atom in atoms(formulas.rule(rule)):
            for path in atom.test.operand.paths if isinstance(atom.test, s.Test) else ():
                if path.root == "args" and path.parts and isinstance(path.parts[0], s.Key):
                    yield path.parts[0].name


def _sealed_too(name: str, own: Sequence[SubjectPattern], sealed: Sequence[s.Secret], bundle: s.Bundle) -> bool:
    for secret in sealed:
        theirs = _patterns(secret, bundle)
        if theirs is None or not any(_overlaps(one, other) for one in own for other in theirs):
            continue
        for path in secret.paths:
            if path.root == "args" and (not path.parts or not _is_other(path.parts[0], name)):
                return True
    return False


def _is_other(part: s.PathPart, name: str) -> bool:
    return isinstance(part, s.Key) and part.name != name
