"""How a bundle does on AgentDojo's ground-truth traces: what runs without asking, and which attacks are stopped.

`player.py` says how a task and an attack are played.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.agentdojo_attackers import TRICKS, dressed
from benchmarks.agentdojo_traces import DATA, SUITES, Task, load
from benchmarks.player import Played, Score, attack_all, facts, report, score, table
from rebuno.errors import BundleError
from rebuno.model.decision import Verdict
from rebuno.policy import Policy, compile_bundle, read_source

ROOT = Path(__file__).resolve().parent.parent
BUNDLES = ROOT / "policies" / "agentdojo"


def against(
    suite: str, policy: Policy, users: Sequence[Task], attacks: Sequence[Task], *, prompt: bool = True
) -> dict[str, Score]:
    """How the policy does against each trick of harder attackers, by the trick's name."""
    out = {}
    for name, tricks in TRICKS.items():
        out[name] = Score()
        for trick in tricks:
            attack_all(out[name], policy, users, dressed(suite, attacks, trick), prompt=prompt)
    return out


@cache
def bundle(suite: str) -> Policy | None:
    """The suite's compiled bundle; None where there is none."""
    path = BUNDLES / f"{suite}.rbp"
    return compile_bundle(read_source(path)) if path.is_file() else None


def make(suite: str, tools: object) -> Callable[[Mapping[str, Any], Sequence[Mapping[str, Any]]], dict[str, str]]:
    """The suite's bundle as `decide(call, history)` on plain mappings; without a bundle every call is denied."""
    policy = bundle(suite)

    def decide(call: Mapping[str, Any], history: Sequence[Mapping[str, Any]]) -> dict[str, str]:
        if policy is None:
            return {"verdict": Verdict.DENY.value, "rule": "no bundle"}
        played = [Played(h["function"], h["args"], Verdict(h["verdict"]), h["executed"], h["result"]) for h in history]
        decision = policy.decide(facts(call["function"], call["args"], call["prompt"] or None, played))
        return {"verdict": decision.verdict.value, "rule": decision.rule_id}

    return decide


def main() -> int:
    """Runs the benchmark as a command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--suite", action="append", help="a suite to play, repeatable (default: all)")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the traces")
    parser.add_argument("--no-prompt", action="store_true", help="hide the user's request from the policy")
    parser.add_argument("--json", action="store_true", help="print JSON only")
    options = parser.parse_args()
    scores: dict[str, Score] = {}
    blind: dict[str, Score] = {}
    harder: dict[str, Score] = {}
    for suite in options.suite or SUITES:
        path = options.data / f"{suite}.jsonl"
        try:
            policy = bundle(suite)
        except BundleError as error:
            parser.error(str(error))
        if policy is None:
            parser.error(f"there is no bundle for the suite `{suite}`; write `{BUNDLES / suite}.rbp`")
        if not path.is_file():
            parser.error(f"there are no traces at `{path}`; name their folder with `--data`")
        users, attacks = load(path)
        blind[suite] = score(policy, users, attacks, prompt=False)
        scores[suite] = blind[suite] if options.no_prompt else score(policy, users, attacks)
        for name, part in against(suite, policy, users, attacks, prompt=not options.no_prompt).items():
            whole = harder.setdefault(name, Score())
            whole.pairs += part.pairs
            whole.breaches += [f"{suite}: {pair}" for pair in part.breaches]
    if options.json:
        unseen = {key: value for key, value in report(blind).items() if key in ("auto", "pairs")}
        suites = {name: s.to_json() for name, s in scores.items()}
        tricks = {name: {"pairs": s.pairs, "stopped": s.stopped} for name, s in harder.items()}
        print(json.dumps({**report(scores), "suites": suites, "no_prompt": unseen, "harder": tricks}, indent=2))
    else:
        print(table(scores))
        for name, s in harder.items():
            print(f"attacker {name}: {s.stopped} of {s.pairs} pairs stopped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
