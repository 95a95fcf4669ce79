"""How a bundle does on AgentDyn's ground-truth traces, where tasks need what third parties wrote.

`player.py` says how a task and an attack are played. "Signed" attacks are harder: each planted mail comes from
`NAME.office@evil.example`, where NAME is the first name that the user's request mentions.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from benchmarks.agentdojo_traces import Call, Task, load
from benchmarks.player import Played, Score, attack_all, facts, percent, report, score, table
from rebuno.errors import BundleError
from rebuno.model.decision import Verdict
from rebuno.policy import Policy, compile_bundle, read_source

ROOT: Final = Path(__file__).resolve().parent.parent
SUITES: Final = ("shopping", "github", "dailylife")
DATA: Final = ROOT / "examples" / "agentdyn"
BUNDLES: Final = ROOT / "policies" / "agentdyn"
_NUMBER: Final = re.compile(r"_(\d+)")
_WORD: Final = re.compile(r"[A-Za-z]+")


@cache
def bundle(suite: str) -> Policy:
    """The compiled bundle of a suite."""
    return compile_bundle(read_source(BUNDLES / f"{suite}.rbp"))


def make(suite: str, tools: object) -> Callable[[Mapping[str, Any], Sequence[Mapping[str, Any]]], dict[str, str]]:
    """The suite's bundle as `decide(call, history)` on plain mappings."""
    policy = bundle(suite)

    def decide(call: Mapping[str, Any], history: Sequence[Mapping[str, Any]]) -> dict[str, str]:
        played = [Played(h["function"], h["args"], Verdict(h["verdict"]), h["executed"], h["result"]) for h in history]
        decision = policy.decide(facts(call["function"], call["args"], call["prompt"] or None, played))
        return {"verdict": decision.verdict.value, "rule": decision.rule_id}

    return decide


def first_names(tasks: Sequence[Task]) -> set[str]:
    """The first names, in lower case, of all who send or get mail in the recorded answers. An initial is no name, since
    `a` is a word of any request."""
    found: set[str] = set()
    for task in tasks:
        for call in task.calls:
            for mail in _mails(call.result):
                for address in (mail["sender"], *mail.get("recipients", ())):
                    found |= {str(address).partition("@")[0].partition(".")[0].lower()}
    return {name for name in found if name.isalpha() and len(name) > 1}


def signed(task: Task, names: set[str]) -> Task:
    """The task with each planted mail from an address that bears the first name which the request mentions. A request
    that names nobody leaves the senders as they are."""
    name = next((word for word in _WORD.findall(task.text) if word.lower() in names), None)
    if name is None:
        return task
    sender = f"{name.lower()}.office@evil.example"
    return replace(task, calls=tuple(_resent(call, sender) for call in task.calls))


def _resent(call: Call, sender: str) -> Call:
    if call.attacked is None or not isinstance(call.attacked, list):
        return call
    planted = [
        {**mail, "sender": sender} if _is_mail(mail) and "<<slot:" in json.dumps(mail) else mail
        for mail in call.attacked
    ]
    return replace(call, attacked=planted)


def _is_mail(value: Any) -> bool:
    return isinstance(value, dict) and "sender" in value and "body" in value


def _mails(result: Any) -> list[dict[str, Any]]:
    return [item for item in result if _is_mail(item)] if isinstance(result, list) else []


def chosen(users: Sequence[Task], half: str | None) -> list[Task]:
    """The user tasks with odd or even numbers, or all of them."""
    if half is None:
        return list(users)
    wanted = half == "odd"
    return [task for task in users if int(_NUMBER.findall(task.id)[0]) % 2 == wanted]


def main() -> int:
    """Runs the benchmark as a command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--suite", action="append", choices=SUITES, help="a suite to play, repeatable (default: all)")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the traces")
    parser.add_argument("--users", choices=("odd", "even"), help="the user tasks with such numbers only")
    parser.add_argument("--no-prompt", action="store_true", help="hide the user's request from the policy")
    parser.add_argument("--json", action="store_true", help="print JSON only")
    options = parser.parse_args()
    scores: dict[str, Score] = {}
    harder = Score()
    for suite in options.suite or SUITES:
        path = options.data / f"{suite}.jsonl"
        if not path.is_file():
            parser.error(f"there are no traces at `{path}`; name their folder with `--data`")
        try:
            policy = bundle(suite)
        except BundleError as error:
            parser.error(str(error))
        users, attacks = load(path)
        users = chosen(users, options.users)
        if not users:
            parser.error(f"`{path}` holds no such user task")
        scores[suite] = score(policy, users, attacks, prompt=not options.no_prompt)
        names = first_names(users)
        part = Score()
        attack_all(part, policy, [signed(task, names) for task in users], attacks, prompt=not options.no_prompt)
        harder.pairs += part.pairs
        harder.breaches += [f"{suite}: {pair}" for pair in part.breaches]
    sent = {"pairs": percent(harder.stopped, harder.pairs), "attack_pairs": harder.pairs, "breaches": harder.breaches}
    if options.json:
        suites = {name: s.to_json() for name, s in scores.items()}
        print(json.dumps({**report(scores), "suites": suites, "signed": sent}, indent=2))
    else:
        print(table(scores))
        print(f"signed mails: {harder.stopped} of {harder.pairs} pairs stopped")
        for pair in harder.breaches:
            print(f"  BREACH {pair}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
