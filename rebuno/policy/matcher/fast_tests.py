"""Predicates with a constant right side, prepared once. They give the same answers as `predicates`, but faster."""

from collections.abc import Callable
from operator import ge, gt, le, lt
from typing import Any, Final

from rebuno.policy.facets.predicates import Predicate, predicate
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.syntax.tree import Key, Op, Operand
from rebuno.policy.values.globs import Glob, Matcher
from rebuno.policy.values.json_values import Tri, is_number, key_of, type_name, valid
from rebuno.policy.values.regexes import regex

_ORDER: Final[dict[Op, Callable[[Any, Any], bool]]] = {Op.LT: lt, Op.LE: le, Op.GT: gt, Op.GE: ge}


def constant_predicate(op: Op, right: Any, fold: bool) -> Predicate:
    """The predicate of `op` against the constant `right`.

    Raises:
        GlobError, re2.error: a pattern cannot be read. The checker refuses such a pattern earlier.
    """
    if op is Op.IN and type(right) is list and all(key_of(item) is not None for item in right):
        return _among(right, fold)
    if op in (Op.LIKE, Op.MATCHES):
        patterns = right if type(right) is list else [right]
        if all(type(pattern) is str and valid(pattern) for pattern in patterns):
            if op is Op.LIKE:
                return _texts([Glob(pattern, fold=fold).matches for pattern in patterns], fold)
            return _texts([regex(pattern, fold) for pattern in patterns], False)
    return predicate(op, fold)


def _among(right: list[Any], fold: bool) -> Predicate:
    keys = frozenset(key_of(item, fold) for item in right)
    types = frozenset(type_name(item) for item in right)

    def answer(value: Any, _: Any) -> Tri:
        name = type_name(value)
        if name not in types:
            return None if types or not name else False
        key = key_of(value, fold)
        return None if key is None else key in keys

    return answer


def _texts(matchers: list[Matcher], fold: bool) -> Predicate:
    def answer(value: Any, _: Any) -> Tri:
        if type(value) is not str or not valid(value):
            return None
        text = value.casefold() if fold else value
        return any(matches(text) for matches in matchers)

    return answer


Check = Callable[[Facts], Tri]


def fast_test(operand: Operand, op: Op, right: Any, negated: bool, slow: Check) -> Check:
    """A short cut for a test of `args.key` against a string, a number or a list. `slow` answers for all other
    values."""
    path = operand.paths[0]
    if path.root != "args" or len(path.parts) != 1 or not isinstance(path.parts[0], Key):
        return slow
    key = path.parts[0].name
    if op is Op.EQ and type(right) is str and valid(right):
        return _text_is(key, right, negated, slow)
    if op is Op.IN and type(right) is list:
        texts = frozenset(item for item in right if type(item) is str and valid(item))
        return _text_among(key, texts, negated, slow) if texts else slow
    if op in _ORDER and is_number(right):
        return _integer(key, _ORDER[op], right, negated, slow)
    return slow


def _text_is(key: str, right: str, negated: bool, slow: Check) -> Check:
    def check(facts: Facts) -> Tri:
        args = facts.args
        if type(args) is dict:
            value = args.get(key)
            if type(value) is str and value.isascii():
                return (value == right) is not negated
        return slow(facts)

    return check


def _text_among(key: str, right: frozenset[str], negated: bool, slow: Check) -> Check:
    def check(facts: Facts) -> Tri:
        args = facts.args
        if type(args) is dict:
            value = args.get(key)
            if type(value) is str and value.isascii():
                return (value in right) is not negated
        return slow(facts)

    return check


def _integer(key: str, compare: Callable[[Any, Any], bool], right: Any, negated: bool, slow: Check) -> Check:
    def check(facts: Facts) -> Tri:
        args = facts.args
        if type(args) is dict:
            value = args.get(key)
            if type(value) is int:
                return compare(value, right) is not negated
        return slow(facts)

    return check
