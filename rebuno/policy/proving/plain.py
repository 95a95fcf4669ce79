"""What a test asks of one value, where its right side stands in the bundle."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import z3

from rebuno.policy.proving.values import (
    MAYBE,
    NO,
    YES,
    ModelAnswer,
    Sort,
    Value,
    exactly,
    glob_formula,
    inverted,
    number_value,
    readable,
    text_value,
    where,
)
from rebuno.policy.syntax.tree import Op
from rebuno.policy.values.json_values import is_number, valid

# Gives the answer to a question about a value of which nothing is known: the same for the same value.
AnyAnswer = Callable[[], ModelAnswer]

_TYPES: Final = {
    "null": (Sort.NULL,),
    "boolean": (Sort.TRUE, Sort.FALSE),
    "number": (Sort.NUMBER,),
    "string": (Sort.TEXT,),
    "list": (Sort.LIST, Sort.EMPTY),
    "object": (Sort.OBJECT,),
}
_ORDER: Final = {Op.LT: lambda a, b: a < b, Op.LE: lambda a, b: a <= b, Op.GT: lambda a, b: a > b}
_ORDERED: Final[dict[Op, Callable[[Any, Any], Any]]] = {**_ORDER, Op.GE: lambda a, b: a >= b}
_PARTS: Final = (Op.CONTAINS, Op.CONTAINS_ANY, Op.STARTS, Op.ENDS, Op.LIKE, Op.MATCHES)


def with_value(value: Value, answer: ModelAnswer, negated: bool) -> ModelAnswer:
    """A test that is asked of a value if that is there and can be read: absence is no, and maybe for the negation."""
    asked = inverted(answer) if negated else answer
    return where(value.absent, MAYBE if negated else NO, where(value.is_(Sort.UNREADABLE), MAYBE, asked))


def given(value: Value, any_answer: AnyAnswer) -> ModelAnswer:
    """`given`."""
    odd = where(value.is_(Sort.ODD), any_answer(), YES)
    return where(value.absent, NO, where(value.is_(Sort.UNREADABLE), MAYBE, odd))


def is_type(value: Value, name: str, negated: bool, any_answer: AnyAnswer) -> ModelAnswer:
    """`is NAME`."""
    if name == "integer":
        of_type = z3.And(value.is_(Sort.NUMBER), z3.IsInt(value.number))
    elif name in _TYPES:
        of_type = value.is_(*_TYPES[name])
    else:
        return any_answer()
    found = where(
        value.is_(Sort.UNREADABLE),
        MAYBE,
        where(value.is_(Sort.READING, Sort.ODD), any_answer(), exactly(of_type)),
    )
    return where(value.is_(Sort.MISSING), MAYBE if negated else NO, inverted(found) if negated else found)


def plain_answer(
    value: Value, op: Op, right: Any, fold: bool, any_answer: AnyAnswer, *, doubtful: bool = False
) -> ModelAnswer:
    """The answer of a plain predicate against a constant, for a value that is there and can be read. With `doubtful`
    what a facet reads is a plain value, or one of which every test is maybe."""
    found = _of_json(value, op, right, fold, any_answer)
    if found is None:
        return any_answer()
    # What is no strict JSON is compared with nothing; with an empty list there is nothing to compare.
    odd = any_answer() if right == [] else MAYBE
    reading = MAYBE if doubtful and right != [] else any_answer()
    return where(value.is_(Sort.READING), reading, where(value.is_(Sort.ODD), odd, found))


def _of_json(value: Value, op: Op, right: Any, fold: bool, any_answer: AnyAnswer) -> ModelAnswer | None:
    if op is Op.EQ and type(right) is not list:
        return _among(value, [right], fold, any_answer)
    if op is Op.IN and type(right) is list:
        return _among(value, right, fold, any_answer) if right else NO
    if op in _ORDERED:
        if not is_number(right):
            return None
        return where(value.is_(Sort.NUMBER), exactly(_ORDERED[op](value.number, number_value(right))), MAYBE)
    if op in _PARTS:
        return _texts(value, op, right, fold, any_answer)
    return None


def _among(value: Value, options: Sequence[Any], fold: bool, any_answer: AnyAnswer) -> ModelAnswer | None:
    # A value is compared with the options of its type; without one it is maybe.
    answer = MAYBE
    texts = [one for one in options if type(one) is str]
    numbers = [one for one in options if is_number(one)]
    truths = [one for one in options if type(one) is bool]
    if len(texts) + len(numbers) + len(truths) < len(options):
        return None
    if texts:
        known = not fold and all(valid(text) and readable(text) for text in texts)
        same = exactly(z3.Or([value.text == text_value(text) for text in texts])) if known else any_answer()
        answer = where(value.is_(Sort.TEXT), same, answer)
    if numbers:
        same = exactly(z3.Or([value.number == number_value(number) for number in numbers]))
        answer = where(value.is_(Sort.NUMBER), same, answer)
    if truths:
        sorts = [Sort.TRUE if one else Sort.FALSE for one in truths]
        answer = where(value.is_(Sort.TRUE, Sort.FALSE), exactly(value.is_(*sorts)), answer)
    return answer


def _texts(value: Value, op: Op, right: Any, fold: bool, any_answer: AnyAnswer) -> ModelAnswer | None:
    if op is Op.CONTAINS_ANY and type(right) is not list:
        return None
    if op is Op.CONTAINS and type(right) is list:
        return None
    options = right if type(right) is list else [right]
    formulas = [_text_formula(value.text, op, option, fold) for option in options]
    known = [formula for formula in formulas if formula is not None]
    of_text = exactly(z3.Or(known)) if len(known) == len(formulas) else any_answer()
    searched = op in (Op.CONTAINS, Op.CONTAINS_ANY)
    rest = where(value.is_(Sort.LIST), any_answer(), MAYBE) if searched else MAYBE
    if searched and any(type(option) is not str for option in options):
        return where(value.is_(Sort.LIST, Sort.TEXT), any_answer(), MAYBE)
    if op is Op.CONTAINS_ANY and not options:
        return NO
    return where(value.is_(Sort.TEXT), of_text, rest)


def _text_formula(text: Any, op: Op, option: Any, fold: bool) -> Any | None:
    if type(option) is not str or fold or op is Op.MATCHES or not (valid(option) and readable(option)):
        return None
    if op is Op.LIKE:
        return glob_formula(option, text)
    constant = text_value(option)
    if op is Op.STARTS:
        return z3.PrefixOf(constant, text)
    if op is Op.ENDS:
        return z3.SuffixOf(constant, text)
    return z3.Contains(text, constant)
