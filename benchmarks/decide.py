"""What one decision costs with 10 to 10,000 rules, beside a plain scan over the same rules in the same run.

Times are nanoseconds for making the facts and deciding on them, each the worst of an early, a late and no match.
"""

import argparse
import fnmatch
import gc
import json
import random
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter_ns, thread_time_ns
from typing import Any

from rebuno.policy.compile import compile_text
from rebuno.policy.decide import Policy
from rebuno.policy.facts import Facts

SIZES = (10, 100, 1_000, 10_000)
BATCHES, CALLS = 60, 200  # medians are over batches of calls
SINGLES = 5_000  # calls timed one by one, the timer included
COLD = 1_000  # targets never seen before

# A target and its arguments; every engine answers with the id of the rule that decides.
Engine = Callable[[str, dict[str, Any]], str]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule in the words of every engine: `argument` is empty, `==`, `in` or `<=`."""

    id: str
    verdict: str
    pattern: str
    argument: str

    def text(self) -> str:
        """The rule as a bundle writes it."""
        test = {
            "": "",
            "==": 'when args.to == "bob"',
            "in": 'when args.to in ["ann", "bob"]',
            "<=": "when args.n <= 10",
        }
        return f'rule {self.id} {{\n  {self.verdict} tool "{self.pattern}"\n  {test[self.argument]}\n}}'


@dataclass(frozen=True, slots=True)
class Request:
    """A submission and the rule that must decide it."""

    target: str
    args: dict[str, Any]
    expected: str


def make_rules(count: int) -> list[Rule]:
    """60 % exact names, 20 % globs, 20 % with a condition on an argument, mixed evenly; all targets differ."""
    rules = []
    for n in range(count):
        verdict = "deny" if n % 3 else "allow"
        shape = n % 5
        pattern = f"group{n}_*" if shape == 1 else f"tool{n}_run"
        argument = ("==", "in", "<=")[n // 5 % 3] if shape == 3 else ""
        rules.append(Rule(f"r{n}", verdict, pattern, argument))
    return rules


def request_for(rule: Rule) -> Request:
    """A submission that this rule decides."""
    return Request(rule.pattern.replace("*", "send"), {"to": "bob", "n": 5, "text": "hello"}, rule.id)


def make_requests(rules: Sequence[Rule]) -> dict[str, list[Request]]:
    """Early, late and no match, each with every shape of rule."""
    return {
        "early": [request_for(rule) for rule in rules[:5]],
        "late": [request_for(rule) for rule in rules[-5:]],
        "none": [
            Request("unheard_of", {"to": "bob", "n": 5}, "default"),
            Request("group_", {}, "default"),
            Request(rules[-2].pattern, {"to": "eve", "n": 50}, "default"),
        ],
    }


def compiled_engine(policy: Policy) -> Engine:
    """Ours: facts are made for each call, as the kernel does."""
    decide = policy.decide
    return lambda target, args: decide(Facts("tool_call", target, args)).rule_id


def scanning_engine(rules: Sequence[Rule]) -> Engine:
    """The plain scan: every rule prepared once, tried in order until one matches."""
    checks: dict[str, Callable[[dict[str, Any]], bool] | None] = {
        "": None,
        "==": lambda args: args.get("to") == "bob",
        "in": lambda args: args.get("to") in ("ann", "bob"),
        "<=": lambda args: isinstance(args.get("n"), int) and args["n"] <= 10,
    }
    prepared = []
    for rule in rules:
        glob = re.compile(fnmatch.translate(rule.pattern)).match if "*" in rule.pattern else None
        prepared.append((rule.pattern, glob, checks[rule.argument], rule.id))

    def decide(target: str, args: dict[str, Any]) -> str:
        for name, glob, check, id in prepared:
            if (glob(target) if glob else target == name) and (check is None or check(args)):
                return id
        return "default"

    return decide


def verify(engine: Engine, rules: Sequence[Rule], requests: dict[str, list[Request]]) -> None:
    """Stops unless the engine gives the answer known beforehand, for a sample of rules and every timed request."""
    sample = random.Random(7).sample(rules, min(len(rules), 300))
    for request in [request_for(rule) for rule in sample] + [r for some in requests.values() for r in some]:
        found = engine(request.target, request.args)
        if found != request.expected:
            raise SystemExit(f"wrong answer for {request.target}: {found} instead of {request.expected}")


def median_ns(engine: Engine, requests: Sequence[Request], batches: int, calls: int) -> float:
    """The median over batches of one call's processor time, which other programs on the machine leave alone."""
    calls_to_make = [(r.target, r.args) for r in requests] * max(1, calls // len(requests))
    times = []
    for _ in range(batches):
        start = thread_time_ns()
        for target, args in calls_to_make:
            engine(target, args)
        times.append((thread_time_ns() - start) / len(calls_to_make))
    return statistics.median(times)


def single_ns(engine: Engine, requests: Sequence[Request]) -> list[int]:
    """The time of each call on its own by the clock on the wall, sorted."""
    times = []
    for request in requests:
        start = perf_counter_ns()
        engine(request.target, request.args)
        times.append(perf_counter_ns() - start)
    return sorted(times)


def measure(count: int) -> dict[str, Any]:
    """Every figure for one number of rules."""
    rules = make_rules(count)
    requests = make_requests(rules)
    policy = compile_text("default deny\n" + "\n".join(rule.text() for rule in rules))
    ours, scan = compiled_engine(policy), scanning_engine(rules)
    for engine in (ours, scan):
        verify(engine, rules, requests)
    # A scan of thousands of rules takes long enough to be timed in few calls.
    few = max(10, CALLS // max(1, count // 50))
    gc.collect()
    gc.disable()
    mine = max(median_ns(ours, some, BATCHES, CALLS) for some in requests.values())
    theirs = max(median_ns(scan, some, 10, few) for some in requests.values())
    p99 = max(single_ns(ours, some * (SINGLES // len(some)))[-SINGLES // 100] for some in requests.values())
    unseen = [Request(f"group{n * 5 + 1}_new", {}, "") if n % 2 else Request(f"new{n}", {}, "") for n in range(COLD)]
    cold = statistics.median(single_ns(ours, unseen))
    gc.enable()
    return {
        "rebuno_ns": round(mine),
        "p99_ns": p99,
        "cold_ns": round(cold),
        "peers": {"plain_scan": round(theirs)},
        "times_best_peer": round(theirs / mine, 2),
    }


def main() -> None:
    """Prints a table, or with `--json` one object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON only")
    options = parser.parse_args()
    figures = {str(count): measure(count) for count in SIZES}
    if options.json:
        print(json.dumps({"n": figures}))
        return
    print("nanoseconds a decision, facts included; the worst of an early, a late and no match")
    print(f"{'rules':>8} {'rebuno':>9} {'p99':>9} {'cold':>9} {'plain scan':>12} {'times':>7}")
    for count, row in figures.items():
        peer = row["peers"]["plain_scan"]
        print(
            f"{count:>8} {row['rebuno_ns']:>9,} {row['p99_ns']:>9,} {row['cold_ns']:>9,} {peer:>12,} "
            f"{row['times_best_peer']:>7,}"
        )


if __name__ == "__main__":
    main()
