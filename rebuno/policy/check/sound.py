"""The part of a bundle without errors, so that an error in one rule hides no diagnostic about another."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace

from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.diagnostics import Diagnostic, Severity
from rebuno.policy.values.spans import Span


def sound(bundle: s.Bundle, findings: Sequence[Diagnostic]) -> s.Bundle:
    """The bundle without the statements that have an error or name a faulty or unknown definition."""
    places = [found.span for found in findings if found.severity is Severity.ERROR]
    kept = [one for one in bundle.statements if not isinstance(one, s.Use) and not _faulty(one, places)]
    # A statement that names a faulty statement is faulty too.
    named = [_names(one) for one in kept]
    users: dict[str, list[int]] = {}
    for at, names in enumerate(named):
        for name in names:
            users.setdefault(name, []).append(at)
    definitions = Counter(one.name.text for one in kept if isinstance(one, s.Let | s.Known | s.Condition))
    out: set[int] = set()
    lost = [name for name in users if not definitions[name]]
    while lost:
        for at in users.get(lost.pop(), ()):
            if at in out:
                continue
            out.add(at)
            one = kept[at]
            if isinstance(one, s.Let | s.Known | s.Condition):
                definitions[one.name.text] -= 1
                lost += [] if definitions[one.name.text] else [one.name.text]
    return replace(bundle, statements=tuple([one for at, one in enumerate(kept) if at not in out]))


def _faulty(statement: s.Statement, places: Sequence[Span]) -> bool:
    if isinstance(statement, s.Let) and isinstance(statement.value, s.FileValue):
        return True
    if isinstance(statement, s.EffectTables) and isinstance(statement.source, s.Literal) and statement.text is None:
        return True
    own = statement.span
    return any(own.path == span.path and own.start <= span.start < max(own.end, own.start + 1) for span in places)


def _names(statement: s.Statement) -> set[str]:
    """The `let`, `known` and `condition` names that a statement uses."""
    if isinstance(statement, s.BundleLine | s.Default | s.Workdir | s.Home | s.Zone | s.EffectTables | s.Use):
        return set()
    if isinstance(statement, s.Never | s.Secret):
        return {name.text for name in _walk(statement)}
    own = statement.id if isinstance(statement, s.Rule) else statement.name
    return {name.text for name in _walk(statement) if name is not own}


def _walk(node: object) -> Iterator[s.Name]:
    stack = [node]
    while stack:
        found = stack.pop()
        if isinstance(found, s.Name):
            yield found
        elif isinstance(found, s.Operand):
            # Names of facets are not defined in the bundle.
            continue
        elif isinstance(found, tuple):
            stack.extend(found)
        elif is_dataclass(found) and not isinstance(found, type):
            stack.extend(getattr(found, field.name) for field in fields(found))
