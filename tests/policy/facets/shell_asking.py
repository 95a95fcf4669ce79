"""Asks the shell facets as a rule would."""

from collections.abc import Callable
from typing import Any

from rebuno.policy.facets.reading import PathContext
from rebuno.policy.facets.shell import facets
from rebuno.policy.syntax.tree import Op
from rebuno.policy.values.json_values import UNREADABLE, Tri

COMMAND, PROGRAM, REDIRECT = facets.FACETS
AROUND = PathContext(workdir="/proj", home="/home/bot")


def any_of(found: Any, test: Callable[[Any], Tri]) -> Tri:
    """`any`, as a rule asks it."""
    answers = [None] if found is UNREADABLE else [test(one) for one in found]
    return True if True in answers else None if None in answers else False


def every(found: Any, test: Callable[[Any], Tri]) -> Tri:
    """`every`, as a rule asks it."""
    answers = [None] if found is UNREADABLE else [test(one) for one in found]
    return False if False in answers else None if None in answers else True


def like(pattern: str) -> Callable[[Any], Tri]:
    """`like`, for a command."""
    assert COMMAND.pattern
    right = COMMAND.pattern(pattern, AROUND)
    return lambda one: one.text_test(Op.LIKE, right, False)


def equals(literal: str) -> Callable[[Any], Tri]:
    """`==`, for a program's name."""
    right = PROGRAM.literal(literal, AROUND)
    return lambda one: one.equals(right, False)
