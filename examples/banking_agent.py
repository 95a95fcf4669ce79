"""A banking assistant under `policies/agentdojo/banking.rbp`, whose model and whose bank are a recording.

It makes the calls of one recorded task in their order, and the tools give the recorded answers. With `--attack` the
attacker's goal stands in those answers, and the assistant believes it: it makes the attacker's calls as well, as soon
as it has read it. Nothing else is staged: policy, journal and approvals are the real ones.
"""

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import rebuno

ROOT = Path(__file__).resolve().parent.parent
BUNDLE = ROOT / "policies" / "agentdojo" / "banking.rbp"
TRACES = ROOT / "examples" / "agentdojo" / "banking.jsonl"
READS = ("get_", "read_")

Tool = Callable[..., Awaitable[Any]]


def recording(name: str) -> dict[str, Any]:
    """A recorded task: its `id`, `text` and `calls`."""
    rows = map(json.loads, TRACES.read_text(encoding="utf-8").splitlines())
    found: dict[str, Any] | None = next((row for row in rows if row["id"] == name), None)
    if found is None:
        raise SystemExit(f"there is no recording of `{name}` in `{TRACES}`")
    return found


def planted(answer: Any, text: str) -> Any:
    """A recorded answer with `text` in the places where a stranger can write."""
    if isinstance(answer, str):
        before, *places = answer.split("<<slot:")
        return before + "".join(text + place.partition(">>")[2] for place in places)
    if isinstance(answer, list):
        return [planted(element, text) for element in answer]
    if isinstance(answer, dict):
        return {key: planted(element, text) for key, element in answer.items()}
    return answer


class Bank:
    """The tools of a task. Every body that really runs writes a line to the ledger, and syncs it, before it answers."""

    def __init__(self, task: dict[str, Any], attack: dict[str, Any] | None, ledger: Path) -> None:
        self._ledger = ledger
        self._answers: dict[str, Any] = {}
        for call in [*task["calls"], *(attack["calls"] if attack else ())]:
            answer = planted(call["attacked"], attack["text"]) if attack and call["vectors"] else call["result"]
            self._answers[_key(call["function"], call["args"])] = answer
        self.tools = {function: self._tool(function) for function in {json.loads(key)[0] for key in self._answers}}

    def _tool(self, function: str) -> Tool:
        def body(**args: Any) -> Any:
            line = json.dumps({"pid": os.getpid(), "ran": function, "args": args})
            with self._ledger.open("a", encoding="utf-8") as file:
                print(line, file=file, flush=True)
                os.fsync(file.fileno())
            return self._answers[_key(function, args)]

        # Money that was perhaps sent must not be sent again; a look at the balance may be repeated.
        promise = "safe_to_retry" if function.startswith(READS) else "at_most_once"
        wrapped: Tool = rebuno.tool(function, idempotency=promise)(body)
        return wrapped


def _key(function: str, args: Any) -> str:
    return json.dumps([function, args], sort_keys=True)


def calls(task: dict[str, Any], attack: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    """What the recorded model wants to do, the attacker's calls after each answer that shows the planted text."""
    for call in task["calls"]:
        yield call
        if attack and call["vectors"]:
            yield from attack["calls"]


async def play(task: dict[str, Any], attack: dict[str, Any] | None, options: argparse.Namespace) -> rebuno.Execution:
    """Runs the assistant, or resumes the run of the same id where it stopped."""
    bank = Bank(task, attack, options.ledger)

    async def assistant(request: str) -> dict[str, list[str]]:
        heard: dict[str, list[str]] = {"done": [], "refused": []}
        for number, call in enumerate(calls(task, attack), 1):
            if number == options.pause_before:
                print(json.dumps({"paused_before": number}), flush=True)
                await asyncio.sleep(3600)
            function = call["function"]
            answer = await bank.tools[function](**call["args"])
            if isinstance(answer, str) and answer.startswith(f"{function} not allowed."):
                heard["refused"].append(answer)
            else:
                heard["done"].append(function)
        return heard

    async with rebuno.open(options.db, policy=BUNDLE) as kernel:
        return await kernel.run(assistant, {"request": task["text"]}, id=options.id)


def main() -> int:
    """Runs the assistant as a command; prints how the run ended, as one line of JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("task", help="the recorded task, as `user_task_4`")
    parser.add_argument("--attack", metavar="TASK", help="the recorded attack, as `injection_task_0`")
    parser.add_argument("--db", type=Path, required=True, help="the kernel's file")
    parser.add_argument("--id", required=True, help="the run's name; the same name again resumes it")
    parser.add_argument("--ledger", type=Path, required=True, help="where the tools' bodies say that they ran")
    parser.add_argument("--pause-before", type=int, metavar="N", help="think for an hour before the Nth call")
    options = parser.parse_args()
    attack = recording(options.attack) if options.attack else None
    ended = asyncio.run(play(recording(options.task), attack, options))
    said = {
        "id": ended.id,
        "status": ended.status.value,
        "attempt": ended.attempt,
        "replayed": ended.replayed,
        "output": ended.output,
        "approvals": [question.id for question in ended.approvals],
    }
    print(json.dumps(said), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
