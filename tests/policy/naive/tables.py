"""The examples and verdict tables of the second edition's contract, for the plain evaluator and for the compiler.

A table names the constructs that it needs, a bundle, and rows of a name, a submission, the answer of the rule and the
rule that decides.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Final

from rebuno.model.step import StepStatus
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.values.json_values import Tri

TOOL: Final = "tool_call"
YES, NO, MAYBE = True, False, None
RAN, FAILED, RUNNING, CANCELLED = StepStatus.SUCCEEDED, StepStatus.FAILED, StepStatus.EXECUTING, StepStatus.CANCELLED
NOW: Final = 1_000_000.0
HOUR: Final = 3600.0

Row = tuple[str, Facts, str, Tri, str]


@dataclass(frozen=True)
class VerdictTable:
    """One bundle and what it says. A row is its name, the submission, a rule, that rule's answer, and the rule that
    decides."""

    name: str
    needs: Sequence[str]
    bundle: str
    rows: Sequence[Row]


def past(*steps: Sequence[Evidence]) -> History:
    """Steps one after the other: of each the start and, unless it is running, the end."""
    seq = 0
    evidence: list[Evidence] = []
    for number, step in enumerate(steps):
        submitted = seq + 1
        for one in step:
            seq += 1
            piece = copy(one)
            piece.seq, piece.step, piece.submitted = seq, f"s{number}", submitted
            evidence.append(piece)
    return History(evidence)


def step(target: str, args: Any = None, result: Any = None, status: StepStatus = RAN, **more: Any) -> list[Evidence]:
    """An earlier step: its start, and how it ended; `let_in` is `allowed` where nothing else is said."""
    more = {"let_in": "allowed", "at": NOW - 60, **more}
    given = {} if args is None else args
    start = {name: value for name, value in more.items() if name not in ("error", "nothing_done")}
    pieces = [Evidence(0, TOOL, target, given, status=RUNNING, **start)]
    if status is not RUNNING:
        pieces.append(Evidence(0, TOOL, target, given, result, status=status, **more))
    return pieces


def call(target: str, args: Any = None, *steps: Sequence[Evidence], **more: Any) -> Facts:
    """The submission after some steps."""
    return Facts(TOOL, target, {} if args is None else args, history=past(*steps), **{"now": NOW, **more})
