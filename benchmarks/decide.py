"""What one decision costs with 10 to 10,000 rules, beside a plain scan and other engines over the same rules.

Times are nanoseconds of processor time for making the facts and deciding on them, each the worst of an early, a late
and no match. Every engine is checked against the answers known beforehand before it is timed.
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
from time import perf_counter_ns, process_time_ns
from typing import Any

from benchmarks.peers import PEERS, Engine, Peer, Rule
from rebuno.policy import Facts, Policy, compile_text

SIZES = (10, 100, 1_000, 10_000)
BATCHES, CALLS = 60, 200  # medians are over batches of calls
SINGLES = 5_000  # calls timed one by one, the timer included
COLD = 1_000  # targets never seen before
WIDE = 2_000  # rules about any step that ask one argument, beside all others

PEER_NS = 400_000_000  # for the batches of a peer's calls, and again for its single ones
PEER_SINGLES = 1_000
ROWS = (
    ("rebuno", "rebuno_ns"),
    ("rebuno, 99th percentile", "p99_ns"),
    ("rebuno, a target not seen before", "cold_ns"),
    (f"rebuno, {WIDE:,} rules of any step", "wide_ns"),
    ("a plain scan in Python", "plain_scan"),
    ("times the best peer", "times_best_peer"),
    ("times the plain scan", "times_plain_scan"),
)


@dataclass(frozen=True, slots=True)
class Request:
    """A submission and the rule that must decide it; `by_args` where only its arguments keep another from doing so."""

    target: str
    args: dict[str, Any]
    expected: str
    by_args: bool = False


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
            Request(rules[-2].pattern, {"to": "eve", "n": 50}, "default", by_args=True),
        ],
    }


def wide_requests(requests: dict[str, list[Request]]) -> dict[str, list[Request]]:
    """The same submissions with an account that no rule of any step names, and one with an account that one does."""
    some = {
        name: [Request(r.target, {**r.args, "account": "none"}, r.expected) for r in of_kind]
        for name, of_kind in requests.items()
    }
    hit = f"w{WIDE // 2}"
    some["hit"] = [Request("unheard_of", {"to": "bob", "n": 5, "account": f"account{WIDE // 2}"}, hit)]
    return some


def wide_rules() -> str:
    """Rules about any step, each for one account."""
    return "\n".join(f'rule w{n} {{\n  deny any step\n  when args.account == "account{n}"\n}}' for n in range(WIDE))


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


def wrong(engine: Engine, rules: Sequence[Rule], requests: dict[str, list[Request]]) -> str:
    """What the engine answers otherwise than known beforehand, for a sample of rules and every timed request; empty if
    it is right."""
    sample = random.Random(7).sample(rules, min(len(rules), 300))
    for request in [request_for(rule) for rule in sample] + [r for some in requests.values() for r in some]:
        found = engine(request.target, request.args)
        if found != request.expected:
            return f"wrong answer for {request.target}: {found} instead of {request.expected}"
    return ""


def median_ns(engine: Engine, requests: Sequence[Request], batches: int, calls: int) -> float:
    """The median over batches of one call's processor time, that of all threads of this process: other programs on the
    machine leave it alone."""
    calls_to_make = [(r.target, r.args) for r in requests] * max(1, calls // len(requests))
    times = []
    for _ in range(batches):
        start = process_time_ns()
        for target, args in calls_to_make:
            engine(target, args)
        times.append((process_time_ns() - start) / len(calls_to_make))
    return statistics.median(times)


def single_ns(engine: Engine, requests: Sequence[Request]) -> list[int]:
    """The time of each call on its own by the clock on the wall, sorted."""
    times = []
    for request in requests:
        start = perf_counter_ns()
        engine(request.target, request.args)
        times.append(perf_counter_ns() - start)
    return sorted(times)


def peer_ns(peer: Peer, rules: Sequence[Rule], requests: dict[str, list[Request]]) -> tuple[float, int] | str:
    """The peer's median and 99th percentile, in fewer calls where each takes long; or why there are none."""
    try:
        engine = peer.make(rules)
    except ImportError:
        return "not installed: `pip install --group peers`"
    except (RuntimeError, ValueError, RecursionError) as error:
        return f"does not take {len(rules)} rules: {error}"[:300]
    if peer.partly:
        requests = {name: [r for r in some if not r.by_args] for name, some in requests.items()}
    if mistake := wrong(engine, rules, requests):
        return mistake
    medians, p99s = [], []
    for some in requests.values():
        once = max(1, single_ns(engine, some)[len(some) // 2])
        batches = max(3, min(BATCHES, PEER_NS // once // len(some)))
        calls = max(len(some), min(CALLS, PEER_NS // once // batches))
        medians.append(median_ns(engine, some, batches, calls))
        singles = single_ns(engine, some * max(1, min(PEER_SINGLES, PEER_NS // once) // len(some)))
        p99s.append(singles[len(singles) * 99 // 100])
    return max(medians), max(p99s)


def wide_ns(text: str, rules: Sequence[Rule], requests: dict[str, list[Request]]) -> float:
    """The worst median where rules about any step stand before all others and ask for an argument."""
    engine = compiled_engine(compile_text(f"default deny\n{wide_rules()}\n{text}"))
    some = wide_requests(requests)
    if mistake := wrong(engine, rules, some):
        raise SystemExit(mistake)
    return max(median_ns(engine, of_kind, BATCHES, CALLS) for of_kind in some.values())


def measure(count: int, peers: Sequence[Peer], left_out: dict[str, str]) -> dict[str, Any]:
    """Every figure for one number of rules; peers without figures are put into `left_out` with the reason."""
    rules = make_rules(count)
    requests = make_requests(rules)
    policy = compile_text("default deny\n" + "\n".join(rule.text() for rule in rules))
    ours, scan = compiled_engine(policy), scanning_engine(rules)
    for engine in (ours, scan):
        if mistake := wrong(engine, rules, requests):
            raise SystemExit(mistake)
    # A scan of thousands of rules takes long enough to be timed in few calls.
    few = max(10, CALLS // max(1, count // 50))
    gc.collect()
    gc.disable()
    mine = max(median_ns(ours, some, BATCHES, CALLS) for some in requests.values())
    plain = max(median_ns(scan, some, 10, few) for some in requests.values())
    p99 = max(single_ns(ours, some * (SINGLES // len(some)))[-SINGLES // 100] for some in requests.values())
    unseen = [Request(f"group{n * 5 + 1}_new", {}, "") if n % 2 else Request(f"new{n}", {}, "") for n in range(COLD)]
    cold = statistics.median(single_ns(ours, unseen))
    wide = wide_ns("\n".join(rule.text() for rule in rules), rules, requests)
    gc.enable()
    theirs: dict[str, tuple[float, int]] = {}
    for peer in peers:
        found = peer_ns(peer, rules, requests)
        if isinstance(found, str):
            left_out[peer.name] = found
        else:
            theirs[peer.name] = found
    best = min((median for median, _ in theirs.values()), default=None)
    return {
        "rebuno_ns": round(mine),
        "p99_ns": p99,
        "cold_ns": round(cold),
        "wide_ns": round(wide),
        "peers": {name: round(median) for name, (median, _) in theirs.items()},
        "peers_p99": {name: p99 for name, (_, p99) in theirs.items()},
        "plain_scan": round(plain),
        "times_best_peer": None if best is None else round(best / mine, 1),
        "times_plain_scan": round(plain / mine, 2),
    }


def table(figures: dict[str, dict[str, Any]]) -> str:
    """The figures for a person, a column a number of rules."""
    lines = ["nanoseconds a decision; the worst of an early, a late and no match"]
    lines.append(f"{'rules':<32}" + "".join(f"{int(count):>13,}" for count in figures))
    rows = [(label, [row[key] for row in figures.values()]) for label, key in ROWS]
    names = [peer.name for peer in PEERS if any(peer.name in row["peers"] for row in figures.values())]
    rows[4:4] = [(name, [row["peers"].get(name) for row in figures.values()]) for name in names]
    return "\n".join(
        lines
        + [f"{label:<32}" + "".join(f"{'-' if n is None else format(n, ','):>13}" for n in row) for label, row in rows]
    )


def main() -> None:
    """Prints a table, or with `--json` one object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-peers", action="store_true", help="leave the other engines out")
    parser.add_argument("--json", action="store_true", help="print JSON only")
    options = parser.parse_args()
    left_out: dict[str, str] = {}
    peers = () if options.no_peers else PEERS
    figures = {str(count): measure(count, peers, left_out) for count in SIZES}
    partly = {peer.name: peer.partly for peer in peers if peer.partly and peer.name not in left_out}
    if options.json:
        print(json.dumps({"n": figures, "left_out": left_out, "partly": partly}))
        return
    print(table(figures))
    for word, said in (("left out", left_out), ("in part", partly)):
        for name, why in said.items():
            print(f"{word}: {name}: {why}")


if __name__ == "__main__":
    main()
