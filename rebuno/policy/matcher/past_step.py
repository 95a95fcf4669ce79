"""The facts for the `where` of `after` and `count`, and whether its answer depends on the submission."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rebuno.policy.matcher.facts import Evidence, Facts
from rebuno.policy.matcher.paths import many
from rebuno.policy.syntax import tree
from rebuno.policy.values.json_values import MISSING, UNREADABLE, absent

# Roots of the paths in a `where` whose values change with every step.
OF_THE_STEP: Final = frozenset({"args", "result", "target", "definition", "it"})


class PastStep(Facts):
    """The facts for the `where` of a test on history: `args`, `result`, target and definition of an earlier step, and
    `this`, the submission. All other facts are those of the submission."""

    __slots__ = ("result", "this")

    def __init__(self, facts: Facts) -> None:
        super().__init__("", "", None, agent=facts.agent, input=facts.input, history=facts.history, as_of=facts.as_of)
        self.take_execution(facts)
        self.this = {"args": facts.args}
        self.it = MISSING
        self.result: Any = UNREADABLE

    def look_at(self, step: Evidence) -> None:
        """Makes `step` the current step. A step without a result may have had any effect: tests of its result are
        maybe."""
        self.kind, self.target, self.args, self.definition = step.kind, step.target, step.args, step.definition
        self.result = step.result if step.succeeded else UNREADABLE


def depends_on_submission(where: tree.Expr, lists: Mapping[str, Any]) -> bool:
    """Whether the answer for one step depends on the submission: through `this`, or through a `known` set or `turns`,
    which grow. `lists` are the names that hold values."""
    tests = _tests(where)
    sets = [test.right for test in tests if isinstance(test.right, tree.Name) and test.right.text not in lists]
    return bool(sets or _paths(where, "turns") or submission_paths(where))


def submission_paths(where: tree.Expr) -> list[tree.Path]:
    """The paths in a `where` that begin at `this`, the submission."""
    return _paths(where, "this")


def _paths(where: tree.Expr, root: str) -> list[tree.Path]:
    sides = [side for test in _tests(where) for side in (test.operand, test.right)]
    return [path for side in sides if isinstance(side, tree.Operand) for path in side.paths if path.root == root]


def leaves_out(paths: Sequence[tree.Path], past: PastStep) -> bool:
    """Whether a value at one of these paths is absent from the submission."""
    return any(absent(value) for path in paths for value in many(past.this, path.parts))


def _tests(where: tree.Expr) -> list[tree.Test]:
    tests: list[tree.Test] = []
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
            case _:
                pass  # the checker allows no other expression there
    return tests
