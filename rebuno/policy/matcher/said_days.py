"""The day on which the user wrote a text: what *today* and *tomorrow* in it are counted from."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from math import floor
from typing import Any

from rebuno.policy.facets.reading import PathContext
from rebuno.policy.matcher.schedule import time_zone
from rebuno.policy.syntax import tree
from rebuno.policy.values.json_values import UNREADABLE

# The roots of paths to what the user wrote.
SAID = frozenset({"input", "turns"})


@lru_cache(maxsize=1024)
def said_at(context: PathContext, at: float | None) -> PathContext:
    """The context of a text that the user wrote at a time, in seconds since 1970; None for an unknown time. Without a
    time zone it is the context itself."""
    if context.zone is None:
        return context
    try:
        day = UNREADABLE if at is None else datetime.fromtimestamp(floor(at), time_zone(context.zone)).date()
    except (OverflowError, OSError, ValueError):
        day = UNREADABLE
    return replace(context, today=day)


def time_of_turn(times: Sequence[float | None], position: int) -> float | None:
    """The time of a turn, None where it is unknown."""
    return times[position] if position < len(times) else None


def said_contexts(operand: tree.Operand, facts: Any, context: PathContext, count: int) -> list[PathContext]:
    """The contexts of the values of an operand: one for all of them, or one for each of `count` values. What is not the
    user's has no day; several texts of the user without a day of their own have an unknown one."""
    if context.zone is None or all(path.root not in SAID for path in operand.paths):
        return [context]
    if all(path.root == "input" for path in operand.paths):
        return [said_at(context, facts.input_at)]
    parts = operand.paths[0].parts
    if len(operand.paths) == 1 and facts.turns:
        if parts and isinstance(parts[0], tree.Index):
            return [said_at(context, time_of_turn(facts.turn_times, parts[0].position))]
        if count == len(facts.turns) and parts in ((), (tree.Each(),)):
            return [said_at(context, time_of_turn(facts.turn_times, position)) for position in range(count)]
    return [said_at(context, None)]
