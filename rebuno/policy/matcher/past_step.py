"""The facts for the `where` of `after` and `count`, and whether its answer depends on the submission."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rebuno.model.step import StepStatus
from rebuno.policy.matcher.facts import Evidence, Facts
from rebuno.policy.matcher.paths import many
from rebuno.policy.syntax import tree
from rebuno.policy.values.json_values import MISSING, UNREADABLE, Tri, absent

# Roots of the paths in a `where` whose values change with every step.
OF_THE_STEP: Final = frozenset({"args", "result", "target", "definition", "error", "it"})

# Roots of the paths in a `where` whose values change from one submission, or from one enclosing step, to the next.
_CHANGING: Final = frozenset({"this", "outer", "turns"})

# Types of the errors that the kernel records itself. They do not tell what the step did.
_OF_THE_KERNEL: Final = re.compile(
    r"indeterminate|cancelled|policy_revoked|dispatch_exhausted|deadline_exceeded|subagent_\w+"
)


class PastStep(Facts):
    """The facts for the `where` of a test on history: `args`, `result`, `error`, target and definition of an earlier
    step, and `this`, the submission. In the `where` of a joined step, `outer` is the step of the enclosing test. All
    other facts are those of the submission."""

    __slots__ = ("error", "outer", "result", "this")

    def __init__(self, facts: Facts) -> None:
        super().__init__("", "", None, agent=facts.agent, input=facts.input, history=facts.history, as_of=facts.as_of)
        self.take_execution(facts)
        self.now = facts.now
        self.this: Any
        self.outer: Any = MISSING
        if isinstance(facts, PastStep):
            self.this = facts.this
            self.outer = {"args": facts.args, "result": facts.result, "target": facts.target}
        else:
            self.this = {"args": facts.args}
        self.it = MISSING
        self.result: Any = UNREADABLE
        self.error: Any = UNREADABLE

    def look_at(self, step: Evidence) -> None:
        """Makes `step` the current step. A step without a result may have had any effect: tests of its result are
        maybe."""
        self.kind, self.target, self.args, self.definition = step.kind, step.target, step.args, step.definition
        self.result = step.result if step.succeeded else UNREADABLE
        self.error = MISSING if step.succeeded else error_of(step)


def error_of(step: Evidence) -> Any:
    """The error of a step that did not succeed: `{"type", "message", "nothing_done"}`. `UNREADABLE` if the step did not
    fail, if nobody recorded an error, or if the kernel recorded it: then what the step did is not known."""
    error = step.error
    if step.status is not StepStatus.FAILED or type(error) is not dict or "reason" in error:
        return UNREADABLE
    kind = error.get("type")
    if type(kind) is str and _OF_THE_KERNEL.fullmatch(kind):
        return UNREADABLE
    done = UNREADABLE if step.nothing_done is None else step.nothing_done
    return {"type": kind, "message": error.get("message"), "nothing_done": done}


def let_in(step: Evidence, who: str) -> Tri:
    """Whether the step is one of those that `who` (`allowed`, `approved` or empty for both) names. A step that ran
    though nothing let it in is maybe one of all."""
    if step.let_in == "":
        return None
    if not who:
        return True
    return None if step.let_in is None else step.let_in == who


def depends_on_submission(where: tree.Expr, lists: Mapping[str, Any]) -> bool:
    """Whether the answer for one step depends on the submission: through `this` or the step of the enclosing test, or
    through what grows: the user's turns, a `known` set, other steps. `lists` are the names that hold values."""
    tests, pasts = _parts(where)
    sets = [test.right for test in tests if isinstance(test.right, tree.Name) and test.right.text not in lists]
    return bool(pasts or sets) or any(path.root in _CHANGING for path in _paths(tests))


def submission_paths(where: tree.Expr) -> list[tree.Path]:
    """The paths in a `where` that begin at `this`, the submission; also those in a joined step's."""
    return [path for path in _paths(_parts(where)[0]) if path.root == "this"]


def leaves_out(paths: Sequence[tree.Path], past: PastStep) -> bool:
    """Whether a value at one of these paths is absent from the submission."""
    return any(absent(value) for path in paths for value in many(past.this, path.parts))


def _paths(tests: Sequence[tree.Test]) -> list[tree.Path]:
    sides = [side for test in tests for side in (test.operand, test.right)]
    return [path for side in sides if isinstance(side, tree.Operand) for path in side.paths]


def _parts(where: tree.Expr) -> tuple[list[tree.Test], list[tree.Past]]:
    """The tests in a `where`, also those of joined steps, and its tests on history."""
    tests: list[tree.Test] = []
    pasts: list[tree.Past] = []
    waiting = [where]
    while waiting:
        expr = waiting.pop()
        match expr:
            case tree.And(items) | tree.Or(items):
                waiting += items
            case tree.Not(item):
                waiting.append(item)
            case tree.Test(block=block):
                tests.append(expr)
                waiting += [] if block is None else [block]
            case tree.After() | tree.Count() | tree.Sum():
                pasts.append(expr)
                waiting += wheres(expr)
            case _:
                pass  # the checker allows no other expression there
    return tests, pasts


def wheres(expr: tree.Past) -> list[tree.Expr]:
    """The conditions of a test on history: its own and that of its `since`."""
    both = (expr.where, expr.since.where if expr.since is not None else None)
    return [where for where in both if where is not None]
