"""How a bundle does on a company's written policy: the calls of every task must be allowed, the forbidden ones not.

The traces come from the benchmark tau2. Each recorded call is executed whatever was decided, so that one refusal does
not hide the next; a forbidden call is asked about after what had happened `before` it. No model runs, and no person
answers: a question counts as not allowed.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.player import percent
from rebuno.errors import BundleError
from rebuno.model.decision import Verdict
from rebuno.model.step import Kind, StepStatus
from rebuno.policy import Evidence, Facts, History, Policy, compile_bundle, read_source

ROOT: Final = Path(__file__).resolve().parent.parent
DATA: Final = ROOT / "examples" / "tau2" / "retail.jsonl"
BUNDLE: Final = ROOT / "policies" / "retail.rbp"


@dataclass(slots=True)
class Count:
    """How many forbidden calls of one kind were tried, and how many were stopped."""

    tried: int = 0
    stopped: int = 0


@dataclass(slots=True)
class Result:
    """What was counted. `refused` has the calls of each task that were not allowed."""

    tasks: int = 0
    refused: dict[str, list[str]] = field(default_factory=dict)
    by: dict[str, Count] = field(default_factory=dict)
    passed: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The counts as one JSON object."""
        return {
            "tasks": self.tasks,
            "allowed": self.tasks - len(self.refused),
            "forbidden": sum(count.tried for count in self.by.values()),
            "stopped": sum(count.stopped for count in self.by.values()),
            "by": {what: {"n": c.tried, "stopped": c.stopped} for what, c in sorted(self.by.items())},
            "refused": self.refused,
        }


def past(seq: int, call: Mapping[str, Any]) -> Evidence:
    """An earlier call as a policy sees it: allowed, and failed where the tool answered with an error."""
    error = call.get("error")
    if error is None:
        return Evidence(seq, Kind.TOOL.value, call["function"], call["args"], call["result"], let_in="allowed")
    return Evidence(
        seq,
        Kind.TOOL.value,
        call["function"],
        call["args"],
        status=StepStatus.FAILED,
        error={"type": "ToolError", "message": str(error)},
        nothing_done=None,
        let_in="allowed",
    )


def verdict(policy: Policy, call: Mapping[str, Any], history: Iterable[Mapping[str, Any]]) -> Verdict:
    """The verdict on a call after the calls of `history`."""
    evidence = [past(seq, done) for seq, done in enumerate(history)]
    facts = Facts(Kind.TOOL.value, call["function"], call["args"], agent="assistant", history=History(evidence))
    return policy.decide(facts).verdict


def play(policy: Policy, rows: Iterable[Mapping[str, Any]]) -> Result:
    """Asks about every call of every task, and about every forbidden call."""
    out = Result()
    for row in rows:
        out.tasks += 1
        for number, call in enumerate(row["calls"]):
            answer = verdict(policy, call, row["calls"][:number])
            if answer is not Verdict.ALLOW:
                out.refused.setdefault(str(row["id"]), []).append(f"{call['function']}: {answer.value}")
        for call in row["forbidden"]:
            before = [row["calls"][each] if isinstance(each, int) else each for each in call["before"]]
            count = out.by.setdefault(call["what"], Count())
            count.tried += 1
            if verdict(policy, call, before) is Verdict.ALLOW:
                out.passed.append(f"{row['id']}: {call['what']}: {call['function']} {json.dumps(call['args'])}")
            else:
                count.stopped += 1
    return out


def main() -> int:
    """Runs the benchmark as a command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="the traces, one task a line")
    parser.add_argument("--bundle", type=Path, default=BUNDLE, help="the bundle to ask")
    parser.add_argument("--json", action="store_true", help="print JSON only")
    parser.add_argument("--details", action="store_true", help="name each call that went wrong")
    options = parser.parse_args()
    for path in (options.data, options.bundle):
        if not path.is_file():
            parser.error(f"there is no file `{path}`")
    try:
        policy = compile_bundle(read_source(options.bundle))
    except BundleError as error:
        parser.error(str(error))
    with options.data.open(encoding="utf-8") as lines:
        result = play(policy, map(json.loads, lines))
    found = result.to_json()
    if options.json:
        print(json.dumps(found, indent=2))
        return 0
    allowed, stopped = (found["allowed"], found["tasks"]), (found["stopped"], found["forbidden"])
    print(f"tasks allowed: {allowed[0]} of {allowed[1]} ({percent(*allowed):.1f} %)")
    print(f"forbidden calls stopped: {stopped[0]} of {stopped[1]} ({percent(*stopped):.1f} %)")
    for what, count in found["by"].items():
        print(f"  {what}: {count['stopped']} of {count['n']}")
    if options.details:
        for task, calls in result.refused.items():
            print(f"task {task} is refused {', '.join(calls)}")
        for call in result.passed:
            print(f"let through: {call}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
