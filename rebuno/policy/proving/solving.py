"""Asks the solver for a step, and looks whether a real step is one."""

import time
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, Final

import z3

from rebuno.policy.proving.model import ModelStep
from rebuno.policy.testing.claims import Violation

# Solutions of the model that are tried as steps.
_MOST_WITNESSES: Final = 8


class Proof(StrEnum):
    """What became of a question whether there is no such step."""

    PROVED = "proved"
    REFUTED = "refuted"
    NOT_SHOWN = "not shown"


# The answer, the step that refutes, and why nothing was shown.
Outcome = tuple[Proof, Violation | None, str]


def solve(step: ModelStep, asked: Sequence[Any], until: float, replay: Callable[[Any], Violation | None]) -> Outcome:
    """Whether the model has a step of which all this holds; `replay` makes real steps of a solution and says which of
    them is one."""
    solver = z3.Solver()
    solver.add(*step.rules, *asked)
    for number in range(_MOST_WITNESSES):
        left = until - time.monotonic()
        if left <= 0:
            return Proof.NOT_SHOWN, None, "there was no time left"
        solver.set("timeout", max(1, int(left * 1000)))
        answer = solver.check()
        if answer == z3.unsat and number == 0:
            return Proof.PROVED, None, ""
        if answer != z3.sat:
            reason = "the solver gave up" if number == 0 else _NO_STEP
            return Proof.NOT_SHOWN, None, reason
        model = solver.model()
        found = replay(model)
        if found is not None:
            return Proof.REFUTED, found, ""
        solver.add(_another(step, model))
    return Proof.NOT_SHOWN, None, _NO_STEP


_NO_STEP: Final = "a step may break it as far as the model can tell, and none was found that does"


def _another(step: ModelStep, model: Any) -> Any:
    """A formula: not the same sorts and answers as in this solution."""
    same = (
        [value.sort == model.eval(value.sort) for value in step.roots["args"].keys.values()]
        if "args" in step.roots
        else []
    )
    same += [answer.yes == model.eval(answer.yes) for _, answer in step.answers.values()]
    return z3.Not(z3.And(same)) if same else z3.BoolVal(False)
