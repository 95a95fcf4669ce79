"""`known` sets: made anew whenever one is asked for."""

from typing import Any

from rebuno.policy.syntax import tree
from rebuno.policy.syntax.tree import Op
from rebuno.policy.values.json_values import MISSING, UNREADABLE, Tri, absent
from tests.policy.naive import expressions
from tests.policy.naive.logic import all_of, at_most_maybe, one_of
from tests.policy.naive.mentions import mentioned
from tests.policy.naive.paths import follow, item_and_rest, through
from tests.policy.naive.scope import Scope, delegated, is_about, let_in, outermost
from tests.policy.naive.steps import PastStep, seen
from tests.policy.naive.texts import holds_value, holds_word
from tests.policy.naive.values import equal, scalar, text

# A value, whether it is there for sure (True) or perhaps (None), and whether it is a text to be read word by word.
Entry = tuple[Any, Tri, bool]


def look(op: Op, name: str, value: Any, scope: Scope, *, fold: bool, facets: list[str]) -> Tri:
    """`in NAME` or `contains any NAME` for a value that is there."""
    # A `known` stands outside of blocks and of a `where`.
    scope = outermost(scope.names, scope.facts)
    if op is Op.IN:
        return contains(name, value, scope, fold=fold, facets=facets)
    if op is Op.CONTAINS_ANY:
        if not text(value):
            return None
        return mentioned(value, [(entry, sure) for entry, sure, words in values(name, scope) if not words])
    raise NotImplementedError(op)


def contains(name: str, value: Any, scope: Scope, *, fold: bool, facets: list[str]) -> Tri:
    """Whether the value is in the set: in one of its sources."""
    if not scalar(value):
        return None
    by_word = facets[:1] == ["word"]
    answers: list[Tri] = []
    for source in scope.names.knowns[name].sources:
        if isinstance(source, tree.InputSource):
            answers.append(_in_input(source.path, value, scope, fold=fold, by_word=by_word))
        elif _named(source, scope):
            answers.append(contains(_named(source, scope), value, scope, fold=fold, facets=facets))
        else:
            for entry, sure, words in _entries(source, scope):
                found = _matches(value, entry, words=words, fold=fold, by_word=by_word)
                answers.append(all_of([found, sure]))
    return one_of(answers)


def _matches(value: Any, entry: Any, *, words: bool, fold: bool, by_word: bool) -> Tri:
    if by_word:
        return holds_word([entry], value)
    if words:
        return holds_value([entry], value, fold)
    return equal(value, entry, fold) or False


def values(name: str, scope: Scope) -> list[Entry]:
    """What a set holds, but for the words of `input` and `turns`."""
    found: list[Entry] = []
    for source in scope.names.knowns[name].sources:
        if _named(source, scope):
            found += values(_named(source, scope), scope)
        elif not isinstance(source, tree.InputSource):
            found += _entries(source, scope)
    return found


def _named(source: tree.KnownSource, scope: Scope) -> str:
    """The name of the `known` that is a source, else empty."""
    if isinstance(source, tree.ListSource) and isinstance(source.value, tree.Name):
        return source.value.text if source.value.text in scope.names.knowns else ""
    return ""


def _entries(source: tree.KnownSource, scope: Scope) -> list[Entry]:
    if isinstance(source, tree.ListSource):
        return [(value, True, False) for value in _listed(source, scope)]
    if isinstance(source, tree.ApprovedSource):
        given = [one for one in seen(scope.facts) if one.approved]
        return [
            (value, True, False)
            for one in given
            if is_about(source.subject, one.kind, one.target, scope.names)
            for at in source.ats
            for value in _fitting(follow(one.args, at.path.parts), at.facets)
        ]
    assert isinstance(source, tree.ResultSource)
    found: list[Entry] = []
    for step in scope.steps:
        if step.succeeded and is_about(source.subject, step.kind, step.target, scope.names):
            # A result is evidence whatever let the step in, unless the source says who.
            who = let_in(source.who, step) if source.who else True
            found += [(value, all_of([who, sure]), source.words) for value, sure in _given(source, step, scope)]
    return [entry for entry in found if entry[1] is not False]


def _given(source: tree.ResultSource, step: PastStep, scope: Scope) -> list[tuple[Any, Tri]]:
    """The values at the paths in a result, each with the answer of `where` about its item."""
    found: list[tuple[Any, Tri]] = []
    for at in source.ats:
        head, rest = item_and_rest(at.path.parts)
        for item in follow(step.result, head):
            if item is UNREADABLE or absent(item):
                continue
            there = follow(item, rest)
            kept = _there(there) if source.words else _fitting(there, at.facets)
            if kept and source.where is not None:
                inside = scope.about(step, item=item)
                answer = expressions.evaluate(source.where, inside)
            else:
                answer = True
            found += [(value, answer) for value in kept]
    return found


def _there(found: list[Any]) -> list[Any]:
    return [value for value in found if value is not UNREADABLE and not absent(value)]


def _fitting(found: list[Any], facets: tuple[tree.FacetName, ...]) -> list[Any]:
    return [value for value in through([facet.text for facet in facets], found) if scalar(value)]


def _listed(source: tree.ListSource, scope: Scope) -> list[Any]:
    value = source.value
    if isinstance(value, tree.ListLiteral):
        return expressions.literals(value)
    listed = scope.names.lets[value.text] if isinstance(value, tree.Name) else value.value
    return listed if isinstance(listed, list) else [listed]


# ---------------------------------------------------------------- what the user wrote


def _in_input(path: tree.Path, value: Any, scope: Scope, *, fold: bool, by_word: bool) -> Tri:
    """Whether the user wrote the value at this path of the input, or in a turn."""

    def stands(root: Any, parts: tuple[tree.PathPart, ...]) -> Tri:
        if root is UNREADABLE:
            return None
        there = [one for one in follow(root, parts) if not absent(one)]
        return holds_word(there, value) if by_word else holds_value(there, value, fold)

    answer = stands(scope.roots[path.root], path.parts)
    if not answer or not delegated(scope.facts):
        return answer
    # Another execution wrote this input: it is the user's word only where the user wrote it too.
    facts = scope.facts
    read = [] if facts.read_args is MISSING else [stands(facts.read_args, ())]
    turns = stands(facts.root_turns, ())
    return True if one_of([stands(facts.root_input, path.parts), turns, *read]) else at_most_maybe(answer)
