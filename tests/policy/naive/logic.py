"""Answers of tests: yes is True, no is False, maybe is None."""

from collections.abc import Iterable

from rebuno.policy.values.json_values import Tri


def opposite(answer: Tri) -> Tri:
    """`not`."""
    return None if answer is None else not answer


def all_of(answers: Iterable[Tri]) -> Tri:
    """`and`: no if one is no, yes if all are yes."""
    given = list(answers)
    if False in given:
        return False
    return None if None in given else True


def one_of(answers: Iterable[Tri]) -> Tri:
    """`or`: yes if one is yes, no if all are no."""
    given = list(answers)
    if True in given:
        return True
    return None if None in given else False


def at_most_maybe(answer: Tri) -> Tri:
    """The answer, where a yes would claim too much."""
    return None if answer else answer
