"""Builds a policy from a checked tree: one closure for each condition, one prepared decision for each rule."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rebuno.errors import BundleError
from rebuno.model.decision import DEFAULT, LOCAL, Decision, Verdict
from rebuno.model.step import Kind
from rebuno.policy.facets.registry import facet_packages, packaged_facets
from rebuno.policy.matcher.conditions import BundleNames, ConditionTooLargeError, all_of, compile_expr
from rebuno.policy.matcher.fast_tests import Check
from rebuno.policy.matcher.filled import FilledDecision, filled_texts
from rebuno.policy.matcher.index import IndexedRule, RuleIndex, SubjectPattern
from rebuno.policy.matcher.index import subject_patterns as patterns
from rebuno.policy.matcher.known_sets import KnownSets
from rebuno.policy.matcher.obligations import named_limits, obligation_of
from rebuno.policy.matcher.operands import literal, path_context
from rebuno.policy.matcher.policy import FillingLayer, Layer, Ruling, SessionLayer
from rebuno.policy.matcher.read_ahead import facets_in
from rebuno.policy.matcher.sessions import in_session, of_session
from rebuno.policy.matcher.tables import LiteralTest, first_literal_test
from rebuno.policy.syntax import tree
from rebuno.policy.syntax.diagnostics import Code, Diagnostic
from rebuno.policy.syntax.source import Source

LANGUAGE = "rbp 1"


def policy_digest(layers: Sequence[tuple[Source, Sequence[tree.File]]], packages: Sequence[str] = ()) -> str:
    """The digest of a policy: a hex SHA-256 over the language version, the facet packages in use and the texts of each
    layer.

    The hash takes a sequence of texts, each as its byte length, a colon and its UTF-8 bytes. The first text is the
    language version, followed by the name and version of each package (`rbp 1; bank-facets 2.0`). Then each layer gives
    the number of files that it uses, its own text, and for each file the path from the bundle's folder and the text.
    """
    hashed = hashlib.sha256()
    texts = ["; ".join([LANGUAGE, *packages])]
    for source, files in layers:
        texts += [str(len(files)), source.text, *(part for file in files for part in (file.name, file.text))]
    for text in texts:
        data = text.encode()
        hashed.update(b"%d:" % len(data))
        hashed.update(data)
    return hashed.hexdigest()


_FEW: Final = 200


_EFFECTS: Final = re.compile(r"\b(?:(?:read|written|removed)_path|contacted_host|executed|unread)\s+of\b")


def packages_of(bundles: Sequence[tree.Bundle]) -> tuple[str, ...]:
    """The packages, by name and version, that the facets in these trees come from; and the tables of programs, with
    their digest, if they are looked up."""
    return (*_tables(bundles), *_packages(bundles))


def _tables(bundles: Sequence[tree.Bundle]) -> tuple[str, ...]:
    texts = [text for bundle in bundles for text in (bundle.text, *(file.text for file in bundle.files))]
    if not any(map(_EFFECTS.search, texts)):
        return ()
    # Few bundles look at effects, and the digest is that of a hundred files.
    from rebuno.policy.facets.shell.effects.found import EFFECT_FACETS
    from rebuno.policy.facets.shell.effects.table_set import builtin_digest

    return (f"effects {builtin_digest()}",) if facets_in(bundles) & EFFECT_FACETS else ()


def _packages(bundles: Sequence[tree.Bundle]) -> tuple[str, ...]:
    # To look up what is installed takes as long as to look through so many statements; it is done once.
    looked_up = packaged_facets.cache_info().currsize > 0
    if (looked_up or sum(len(bundle.statements) for bundle in bundles) > _FEW) and not packaged_facets():
        return ()
    return facet_packages(facets_in(bundles))


def from_tree(bundle: tree.Bundle, source: Source, stamp: str = "") -> Layer:
    """The policy of a linked tree without errors. `stamp` is the digest of the whole policy, if that has more layers
    than this one.

    Raises:
        BundleError: a condition is too large to be evaluated.
    """
    stamp = stamp or policy_digest([(source, bundle.files)], packages_of([bundle]))
    plain = _layer(bundle, source, stamp)
    if not of_session(bundle):
        return plain

    def build(folder: str) -> Layer | None:
        found = in_session(bundle, folder)
        return None if found is bundle else _layer(found, source, stamp)

    return SessionLayer(plain, build)


def _layer(bundle: tree.Bundle, source: Source, stamp: str) -> Layer:
    names = names_of(bundle)
    limits = named_limits(bundle)
    rules = [s for s in bundle.statements if isinstance(s, tree.Rule)]
    try:
        values = names.values
        ruled = [
            (
                patterns(rule.subject, values),
                _ruling(rule, names, limits, bundle.name, stamp),
                first_literal_test(rule, values),
            )
            for rule in rules
        ]
    except ConditionTooLargeError as error:
        path = error.span.path or bundle.path
        raise BundleError([Diagnostic(Code.TOO_DEEP, str(error), error.span, path, "split the rule")]) from None
    local = Decision(Verdict.ALLOW, LOCAL, bundle=bundle.name, digest=stamp)
    default = _default(bundle, stamp)
    kinds = {
        kind.value: _index(kind.value, ruled, local if kind is Kind.LOCAL else default)
        for kind in (Kind.TOOL, Kind.LLM, Kind.LOCAL)
    }
    sources = [source, *(Source(file.text, file.path) for file in bundle.files)]
    parts = (bundle.name, stamp, sources, (bundle,), kinds, _index("", ruled, default))
    filled = [
        FilledDecision(ruling[2], rule) for rule, (_, ruling, _) in zip(rules, ruled, strict=True) if filled_texts(rule)
    ]
    return FillingLayer(*parts, filled) if filled else Layer(*parts)


def _index(
    kind: str, ruled: Sequence[tuple[Sequence[SubjectPattern], Ruling, LiteralTest | None]], last: Decision
) -> RuleIndex[Ruling]:
    rows = []
    for subject, ruling, literal_test in ruled:
        mine = [pattern for pattern in subject if pattern.kind in (None, kind)]
        if mine:
            rows.append(IndexedRule(mine, ruling, ruling[0] is None, literal_test))
    return RuleIndex(rows, (None, True, last))


def _default(bundle: tree.Bundle, stamp: str) -> Decision:
    for statement in bundle.statements:
        if isinstance(statement, tree.Default):
            reason = str(statement.because.value) if statement.because else ""
            verdict = Verdict(statement.verdict)
            line = statement.span.line
            return Decision(verdict, DEFAULT, reason, bundle=bundle.name, digest=stamp, line=line)
    return Decision(Verdict.DENY, DEFAULT, bundle=bundle.name, digest=stamp)


def _ruling(
    rule: tree.Rule, names: BundleNames, limits: Mapping[str, tree.LimitClause], bundle: str, stamp: str
) -> Ruling:
    checks: list[Check] = []
    reason = message = ""
    for clause in rule.clauses:
        match clause:
            case tree.When(expr):
                checks.append(compile_expr(expr, names))
            case tree.Unless(expr):
                checks.append(compile_expr(expr, names, negated=True))
            case tree.Because(text):
                reason = str(text.value) if isinstance(text, tree.Literal) else ""
            case tree.Message(text):
                message = str(text.value) if isinstance(text, tree.Literal) else ""
            case _:
                pass  # part of the obligation
    obligation = obligation_of(rule, bundle, names.values, limits)
    decision = Decision(
        Verdict(rule.verdict),
        rule.id.text,
        reason,
        bundle=bundle,
        digest=stamp,
        message=message,
        line=rule.span.line,
        obligations=(obligation,) if obligation else (),
    )
    return (all_of(checks) if checks else None, decision.verdict is Verdict.ALLOW, decision)


# ---------------------------------------------------------------- names


def names_of(bundle: tree.Bundle) -> BundleNames:
    """The names of a bundle, ready for the compilation of its conditions."""
    values: dict[str, Any] = {}
    context = path_context(bundle)
    conditions: dict[str, tree.Expr] = {}
    sets: dict[str, tree.Known] = {}
    for statement in bundle.statements:
        match statement:
            case tree.Let(name, value):
                values[name.text] = literal(value, values)
            case tree.Condition(name, expr):
                conditions[name.text] = expr
            case tree.Known(name):
                sets[name.text] = statement
    known = KnownSets(sets, values, context)
    return BundleNames(values, known.find, context, conditions=conditions)
