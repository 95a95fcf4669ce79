"""Numbers of earlier steps, added exactly: between what is sure and what is possible."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from rebuno.policy.facets.reading import Facet, PathContext
from rebuno.policy.matcher.facts import Evidence
from rebuno.policy.matcher.operands import chain_of, through
from rebuno.policy.matcher.paths import many
from rebuno.policy.syntax import tree
from rebuno.policy.values.json_values import UNREADABLE, Tri, is_number

Number = int | Fraction
# Gives the amount of one earlier step, None for what is no amount.
Amount = Callable[[Evidence], Number | None]
# What is sure, what is possible, and what is possible if a value that the submission leaves out may be any; the last is
# None if that has no bound. The whole is None where nothing is bounded.
Numbers = tuple[Number, Number, Number | None] | None


def exact(value: Any) -> Number | None:
    """The number as it is written in decimal; None for what is no number or is negative."""
    if not is_number(value) or value < 0:
        return None
    return value if type(value) is int else decimal(value)


def decimal(value: float) -> Number:
    """A number as it is written in decimal: 0.1 is a tenth."""
    if type(value) is int:
        return value
    number = Fraction(repr(value))
    return number.numerator if number.denominator == 1 else number


def one_step(step: Evidence) -> Number:
    """The amount of a step for `count`."""
    return 1


def amount_of(ats: Sequence[tree.At], context: PathContext) -> Amount:
    """The reader of the amount of an earlier step: the sum of the numbers at all paths."""
    places = [(at.path.root == "args", at.path.parts, chain_of(at.facets)) for at in ats]

    def amount(step: Evidence) -> Number | None:
        total: Number = 0
        for of_args, parts, chain in places:
            root = step.args if of_args else step.result if step.succeeded else UNREADABLE
            numbers = _numbers(root, parts, chain, context)
            if numbers is None:
                return None
            total += numbers
        return total

    return amount


def _numbers(
    root: Any, parts: Sequence[tree.PathPart], chain: tuple[Facet, ...], context: PathContext
) -> Number | None:
    values = many(root, parts)
    values = through(chain, values, context) if chain else values
    total: Number = 0
    for value in values:
        number = exact(value)
        if number is None:
            return None
        total += number
    return total if values else None


class Tally:
    """What the steps come to that were added. `steps` and `perhaps` count them."""

    __slots__ = ("high", "low", "more", "perhaps", "steps", "unbounded", "unbounded_more")

    def __init__(self) -> None:
        self.low: Number = 0
        self.high: Number = 0
        self.more: Number = 0
        self.steps = 0
        self.perhaps = 0
        # How many steps have an amount that is none.
        self.unbounded = 0
        self.unbounded_more = 0

    def add(self, amount: Number | None, counts: Tri, sign: int = 1) -> None:
        """Adds a step that counts for sure or perhaps; with a sign of -1 takes it out again."""
        if counts is False:
            return
        self.steps += sign
        self.perhaps += 0 if counts else sign
        if amount is None:
            self.unbounded += sign
            return
        amount = amount if sign > 0 else -amount
        self.high += amount
        if counts:
            self.low += amount

    def copy(self) -> "Tally":
        """A tally of its own of the same steps."""
        other = Tally()
        for name in Tally.__slots__:
            setattr(other, name, getattr(self, name))
        return other

    def add_more(self, amount: Number | None) -> None:
        """Adds a step that may be meant, as the submission leaves out what is asked of it."""
        if amount is None:
            self.unbounded_more += 1
        else:
            self.more += amount

    def numbers(self) -> Numbers:
        """What it all comes to."""
        if self.unbounded:
            return None
        return self.low, self.high, None if self.unbounded_more else self.high + self.more


def all_three(one: Tri, other: Tri, third: Tri = True) -> Tri:
    """Kleene's and of three answers."""
    if one is False or other is False or third is False:
        return False
    return None if one is None or other is None or third is None else True


def written(number: Number) -> str:
    """The number in decimal digits; a long one is cut short."""
    if isinstance(number, Fraction):
        digits = 0
        while (number * 10**digits).denominator != 1 and digits < _MOST_DIGITS:
            digits += 1
        scaled = str(abs(round(number * 10**digits))).rjust(digits + 1, "0")
        return f"{'-' if number < 0 else ''}{scaled[:-digits]}.{scaled[-digits:]}" if digits else scaled
    return str(number) if number.bit_length() <= _MOST_BITS else f"an integer of {number.bit_length()} bits"


_MOST_DIGITS = 40
_MOST_BITS = 200
