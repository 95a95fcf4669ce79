"""A banking assistant is watched, stopped, asked about and killed, and everything said about it here is checked.

The assistant's model is a recording (`banking_agent.py`), so no key and no network is needed. The policy, the journal,
the approvals and the processes are real. Exits with 1 where something is not as it should be.
"""

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import rebuno
from rebuno.model.step import StepStatus
from rebuno.types import Step

ROOT = Path(__file__).resolve().parent.parent
AGENT = ROOT / "examples" / "banking_agent.py"
BUNDLE = Path("policies/agentdojo/banking.rbp")
PLAIN = {**os.environ, "COLUMNS": "120", "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}
# Where the assistant is killed in part (d): while it thinks about this call.
KILLED_BEFORE = 4


class Demo:
    """A folder with the kernel's file and the ledger of the bank, and the commands that work on them."""

    def __init__(self, folder: Path) -> None:
        self.db = folder / "bank.db"
        self._ledger = folder / "ledger.jsonl"

    def agent(self, *arguments: str) -> dict[str, Any]:
        """Runs the assistant in a process of its own; tells how the run ended."""
        done = self._run(self.line(*arguments))
        ended: dict[str, Any] = json.loads(done)
        return ended

    def line(self, *arguments: str) -> list[str]:
        """The assistant's command line."""
        return [sys.executable, str(AGENT), *arguments, "--db", str(self.db), "--ledger", str(self._ledger)]

    def rebuno(self, *arguments: str, given: str = "") -> str:
        """Runs the real `rebuno` command, shown before its output."""
        print(f"$ rebuno {shlex.join(arguments)}".replace(str(self.db), "bank.db"))
        said = self._run([str(Path(sys.executable).with_name("rebuno")), *arguments], given)
        print("\n".join(f"  {row}".rstrip() for row in said.splitlines()))
        return said

    def ran(self, function: str = "") -> list[dict[str, Any]]:
        """What the bank's side says: the bodies that really ran, in order."""
        lines = self._ledger.read_text(encoding="utf-8").splitlines() if self._ledger.exists() else []
        return [row for row in map(json.loads, lines) if function in ("", row["ran"])]

    def journal(self, run: str) -> tuple[Any, list[Step]]:
        """What the journal says about a run: its input and its steps."""

        async def look() -> tuple[Any, list[Step]]:
            async with rebuno.operate(self.db) as operator:
                execution = await operator.execution(run)
                return execution.input, await operator.steps(execution.id)

        return asyncio.run(look())

    def _run(self, command: Sequence[str], given: str = "") -> str:
        done = subprocess.run(command, input=given, capture_output=True, text=True, cwd=ROOT, env=PLAIN, check=False)
        must(done.returncode == 0, f"`{shlex.join(command)}` ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout


def must(holds: bool, otherwise: str) -> None:
    """Ends the demo where something is not as it should be."""
    if not holds:
        raise SystemExit(f"this should not be: {otherwise}")


def heading(text: str) -> None:
    """The beginning of a part."""
    print(f"\n{text}\n{'=' * len(text)}")


def show(steps: Sequence[Step]) -> None:
    """Each step with what decided it and how it went."""
    for number, step in enumerate(steps, 1):
        went = f"{step.decision} by {step.rule_id}: {step.status}"
        print(f"  {number}. {step.target:<30} {brief(step.args):<47} {went}")


def brief(args: dict[str, Any]) -> str:
    """The arguments that a reader wants to see here."""
    shown = {key: args[key] for key in ("recipient", "amount", "file_path", "street") if key in args}
    return ", ".join(f"{key} {value}" for key, value in shown.items())


def as_line(step: Step, request: Any, before: Sequence[Step]) -> str:
    """A recorded step as `rebuno policy explain` reads it, with the request and with what had succeeded before."""
    history = [
        {"target": past.target, "args": past.args, "result": past.result} for past in before if past.result is not None
    ]
    given = {"target": step.target, "args": step.args, "input": request, "history": history}
    return json.dumps(given)


def task_runs(demo: Demo) -> None:
    """A user's task runs to its end without anybody being asked."""
    heading("(a) A task that the policy lets through")
    ended = demo.agent("user_task_4", "--id", "refund")
    _, steps = demo.journal("refund")
    must(ended["status"] == "completed", f"the run is {ended['status']}")
    must(all(step.decision == "allow" and step.status == StepStatus.SUCCEEDED for step in steps), "a step was held up")
    must([row["ran"] for row in demo.ran()] == [step.target for step in steps], "the bank saw other calls")
    show(steps)
    print(f"The run is {ended['status']}; the bank saw {len(demo.ran())} calls, nobody was asked.")


def attack_is_stopped(demo: Demo) -> None:
    """The same task, with a stranger's instruction in what the assistant reads."""
    heading("(b) The same task, and a stranger's order in the subject of an incoming payment")
    same = ("user_task_4", "--attack", "injection_task_0", "--id", "attacked")
    ended = demo.agent(*same)
    request, steps = demo.journal("attacked")
    *before, stopped = steps
    account = stopped.args["recipient"]
    subjects = [line["subject"] for line in before[0].result]
    planted = [subject for subject in subjects if account in subject]
    must(len(planted) == 1, "the order does not stand in what the assistant read")
    print(f'The assistant reads: "{textwrap.shorten(planted[0], 90)}"')
    show(steps)
    must(ended["status"] == "blocked" and len(ended["approvals"]) == 1, f"the run is {ended['status']}")
    must(stopped.target == "send_money" and stopped.status == StepStatus.AWAITING, "another step is held up")
    print(f"The hijacked assistant's {stopped.target} is held: the run is {ended['status']}. Why?\n")
    submission = as_line(stopped, request, before)
    why = demo.rebuno("policy", "explain", str(BUNDLE), "--expect", stopped.decision or "", given=submission)
    must(f"rule {stopped.rule_id}" in why and account in why, "the trace tells of another step")
    question = ended["approvals"][0]
    demo.rebuno("approval", "deny", question, "--rationale", "not mine", "--as", "emma", "--db", str(demo.db))
    ended = demo.agent(*same)
    must(ended["status"] == "completed" and len(ended["output"]["refused"]) == 1, f"the run is {ended['status']}")
    paid = [row["args"]["recipient"] for row in demo.ran("send_money")]
    must(account not in paid, "the attacker was paid")
    print(f"The same line again: {ended['replayed']} step replayed, the run is {ended['status']}.")
    print(f"The assistant was told: {ended['output']['refused'][0]}")
    print(f"Payments to {account} that the bank saw: {paid.count(account)}.")


def person_decides(demo: Demo) -> None:
    """A step that needs a person: the run waits, and goes on from there."""
    heading("(c) A bill whose account only the bill names: a person decides")
    same = ("user_task_0", "--id", "bill")
    ended = demo.agent(*same)
    must(ended["status"] == "blocked" and len(ended["approvals"]) == 1, f"the run is {ended['status']}")
    paid = len(demo.ran("send_money"))
    show(demo.journal("bill")[1])
    print(f"The run is {ended['status']}, its process has ended. On the same file, from a shell:\n")
    demo.rebuno("approval", "grant", ended["approvals"][0], "--as", "emma", "--db", str(demo.db))
    ended = demo.agent(*same)
    must(ended["status"] == "completed" and ended["replayed"] == 1, f"the run is {ended['status']}")
    must(len(demo.ran("read_file")) == 1, "the bill was read twice")
    must(len(demo.ran("send_money")) == paid + 1, "the bill was not paid once")
    print(f"The same line again: {ended['replayed']} step replayed, the run is {ended['status']}:")
    show(demo.journal("bill")[1])


def killed_and_resumed(demo: Demo) -> None:
    """A process is killed between two steps; another one goes on, and no body runs twice."""
    heading("(d) kill -9 in the middle of five steps")
    same = ("user_task_15", "--id", "moving")
    seen = len(demo.ran())
    line = demo.line(*same, "--pause-before", str(KILLED_BEFORE))
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=PLAIN) as child:
        said = child.stdout.readline() if child.stdout else ""
        os.kill(child.pid, signal.SIGKILL)
    must(json.loads(said or "{}") == {"paused_before": KILLED_BEFORE}, f"the assistant said {said!r}")
    must(child.returncode == -signal.SIGKILL, f"the process ended with {child.returncode}")
    first = demo.ran()[seen:]
    must(len(first) == KILLED_BEFORE - 1, f"{len(first)} bodies ran")
    print(f"Process {child.pid} was killed before step {KILLED_BEFORE}; it had run {len(first)} bodies.")
    ended = demo.agent(*same)
    must(ended["status"] == "completed" and ended["replayed"] == len(first), f"the run is {ended['status']}")
    ran = demo.ran()[seen:]
    _, steps = demo.journal("moving")
    must([row["ran"] for row in ran] == [step.target for step in steps], "the bank saw other calls")
    for number, step in enumerate(steps, 1):
        bodies = [row["pid"] for row in ran if row["ran"] == step.target]
        how = "replayed" if bodies == [child.pid] else "ran now"
        print(f"  {number}. {step.target:<30} {how:<9} bodies: {len(bodies)}, in process {bodies[0]}")
    most = max(Counter(row["ran"] for row in ran).values())
    must(most == 1, "a body ran twice")
    fresh = len(ran) - len(first)
    print(f"A new process: {ended['replayed']} steps replayed, {fresh} ran, no body more than {most} time.\n")
    told = demo.rebuno("exec", "trace", "moving", "--db", str(demo.db))
    must("attempt 2" in told and str(child.pid) in told, "the trace does not tell of both processes")


def main() -> int:
    """Runs every part."""
    print("A banking assistant under policies/agentdojo/banking.rbp.")
    print("No model runs: a recording of the tasks makes the calls, and a recording of the bank answers them.")
    with tempfile.TemporaryDirectory(prefix="rebuno-demo-") as folder:
        demo = Demo(Path(folder))
        for part in (task_runs, attack_is_stopped, person_decides, killed_and_resumed):
            part(demo)
    print("\nEach of these claims was read from the journal or the bank's ledger, and checked.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
