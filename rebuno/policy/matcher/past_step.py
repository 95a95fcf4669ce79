"""What the `where` of `after` and `count` looks at, and what its answer depends on."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rebuno.policy.matcher.facts import Evidence, Facts
from rebuno.policy.matcher.paths import many
from rebuno.policy.syntax import tree
from rebuno.policy.values.json_values import MISSING, UNREADABLE, absent

# Paths of a `where` that lead somewhere else with every step.
OF_THE_STEP: Final = frozenset({"args", "result", "target", "it"})


class PastStep(Facts):
    """What the `where` of a test on history looks at: the `args`, the `result` and the name of an earlier step, and
    `this`, the step being judged. Everything else is that step's."""

    __slots__ = ("result", "this")

    def __init__(self, facts: Facts) -> None:
        super().__init__("", "", None, agent=facts.agent, input=facts.input, history=facts.history, as_of=facts.as_of)
        self.parent = facts.parent
        self.this = {"args": facts.args}
        self.it = MISSING
        self.result: Any = UNREADABLE

    def look_at(self, step: Evidence) -> None:
        """Goes on to a step. What gave no result may have done anything: tests of its result are maybe."""
        self.kind, self.target, self.args = step.kind, step.target, step.args
        self.result = step.result if step.succeeded else UNREADABLE


def depends_on_submission(where: tree.Expr, lists: Mapping[str, Any]) -> bool:
    """Whether the answer about one and the same step depends on the submission: through `this`, or through a `known`,
    which grows. `lists` are the names that hold values."""
    tests = _tests(where)
    sets = [test.right for test in tests if isinstance(test.right, tree.Name) and test.right.text not in lists]
    return bool(sets or submission_paths(where))


def submission_paths(where: tree.Expr) -> list[tree.Path]:
    """The paths of a `where` that lead into the step being judged."""
    sides = [side for test in _tests(where) for side in (test.operand, test.right)]
    return [path for side in sides if isinstance(side, tree.Operand) for path in side.paths if path.root == "this"]


def leaves_out(paths: Sequence[tree.Path], past: PastStep) -> bool:
    """Whether the submission leaves out something that these paths lead to."""
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
                pass  # `check` lets nothing else stand there
    return tests
