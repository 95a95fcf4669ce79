"""What a decision about earlier steps costs after 10 to 10,000 of them, beside Dogwood on the same rule.

`live_us`: the history is in memory, and one step was added since the last decision. `cold_us`: the history is read
anew. Times are microseconds of processor time, medians. Both engines are checked against the answers that a plain loop
over the steps gives, for submissions that must pass and submissions that must not.

Dogwood (`pip install --group peers` brings `dogwood-py`) evaluates with the interpreter of its Python package, which
keeps its events in memory; the durable engine written in Rust has no Python package. A short history is fed to it event
by event and each decision is timed; a long one would take hours to feed, so it is replayed from a text of events, once
with and once without the submissions, and the difference is the time of those.
"""

import argparse
import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import repeat
from time import process_time
from typing import Any

from rebuno.policy import Evidence, Facts, History, Policy, compile_text

SIZES = (10, 100, 1_000, 10_000)
ROUNDS, COLD_ROUNDS = 200, 5
# Steps share a value with four others, and an amount of 1 each.
SHARED = 5
_SECOND = 1_000_000.0
# After more steps than this a submission may take Dogwood seconds: two are checked, and each text is replayed once.
_LONG = 1_000
# An execution has one input, which is read once.
INPUT = {"name": "n1"}


@dataclass(frozen=True, slots=True)
class Step:
    """An earlier step, or a submission."""

    tool: str
    args: dict[str, Any]
    result: Any = None


@dataclass(frozen=True, slots=True)
class Workload:
    """A rule as a bundle and as a Dogwood policy, with its history and the submissions after it.

    `submissions` gives submissions that the rule allows and that it does not, by `expected`, a plain loop. `fed` is the
    longest history that Dogwood is fed event by event; `asked` is how many submissions are timed after a replay.
    `names` are the definitions that the rule needs.
    """

    name: str
    rule: str
    dogwood: str
    steps: Callable[[int], list[Step]]
    submissions: Callable[[int], list[Step]]
    expected: Callable[[Sequence[Step], Step], bool]
    fed: int
    asked: int
    names: str = ""


def loads(count: int) -> list[Step]:
    """Loads of a charge, five of each."""
    return [Step("load", {"charge": f"c{n // SHARED}", "amount": 1}) for n in range(count)]


def refunds(count: int) -> list[Step]:
    """Refunds of a charge that was loaded early, of one that was loaded late, and of one that was not."""
    last = (count - 1) // SHARED
    return [Step("refund", {"charge": charge, "amount": 1}) for charge in ("c0", f"c{last}", "unheard of")]


def pages(count: int) -> list[Step]:
    """Entries of an address book, and mails with a day from some of the addresses in it and from others, in turn."""
    return [
        Step("search", {}, {"name": f"n{n % SHARED}", "email": f"e{n}@c.example"})
        if n % 2
        else Step("mail", {}, {"sender": f"e{n + 1 if n % 3 else n}@c.example", "day": f"d{n}"})
        for n in range(count)
    ]


def bookings(count: int) -> list[Step]:
    """A day from a sender whose entry has the name asked for, days from others, and a day that nobody wrote."""
    days = [f"d{n}" for n in range(0, count, 2)]
    return [Step("book", {"name": "n1", "day": day}) for day in (*days[:6], days[-1], "unheard of")]


def loaded(past: Sequence[Step], asked: Step) -> int:
    """How many loads of the submission's charge there were."""
    return sum(step.tool == "load" and step.args["charge"] == asked.args["charge"] for step in past)


def named(past: Sequence[Step], asked: Step) -> bool:
    """Whether the day was written by somebody whose entry has the name asked for."""
    emails = {step.result["email"] for step in past if step.tool == "search" and step.result["name"] == "n1"}
    days = {step.result["day"] for step in past if step.tool == "mail" and step.result["sender"] in emails}
    return asked.args["day"] in days


_PERMIT = 'permit(principal, action == Shop::Action::"{}", resource)\nwhen temporal {{\n  {}\n}};'
_COUNTED = """exists (n: Long). ((count for (t: Timepoint). where (formerly within 24h
    (Shop::Action::"load"::KIND{ input.charge: context.input.charge } && tp(t)))) == n && n >= 5)"""
_SUMMED = """exists (total: Long). ((sum a for (a: Long), (t: Timepoint). where (formerly within 24h
    (Shop::Action::"load"::KIND{ input.amount: a } && tp(t)))) == total && total <= 500)"""
_NESTED = """exists (s: String). (
    formerly within 24h Shop::Action::"search"::response{ output.name: context.input.name, output.email: s }
    && formerly within 24h Shop::Action::"mail"::response{ output.sender: s, output.day: context.input.day })"""

_KNOWN = """known asked = input.name
known named = result of tool "search" at email where (item.name in asked)
known said = result of tool "mail" at day where (item.sender in named)
"""

WORKLOADS = (
    Workload(
        "after_eq",
        'allow tool "refund" when after tool "load" where (args.charge == this.args.charge) within 24h',
        _PERMIT.format(
            "refund", 'formerly within 24h Shop::Action::"load"::KIND{ input.charge: context.input.charge }'
        ),
        loads,
        refunds,
        lambda past, asked: loaded(past, asked) > 0,
        10_000,
        20,
    ),
    Workload(
        "count_eq",
        'allow tool "refund" when count(tool "load" where (args.charge == this.args.charge) within 24h) >= 5',
        _PERMIT.format("refund", _COUNTED),
        loads,
        refunds,
        lambda past, asked: loaded(past, asked) >= SHARED,
        1_000,
        3,
    ),
    Workload(
        "sum",
        'allow tool "refund" when sum(tool "load" at args.amount within 24h) <= 500',
        _PERMIT.format("refund", _SUMMED),
        loads,
        refunds,
        lambda past, asked: sum(step.args["amount"] for step in past) <= 500,
        100,
        1,
    ),
    Workload(
        "nested_known",
        'allow tool "book" when args.day in said',
        _PERMIT.format("book", _NESTED),
        pages,
        bookings,
        named,
        0,
        1,
        _KNOWN,
    ),
)


def evidence(steps: Sequence[Step]) -> list[Evidence]:
    """The steps as a journal tells them, one a second."""
    return [
        Evidence(n + 1, "tool_call", step.tool, step.args, step.result, at=float(n), let_in="allowed")
        for n, step in enumerate(steps)
    ]


def facts(asked: Step, history: History) -> Facts:
    """The submission one second after the last step."""
    now = float(len(history.evidence))
    return Facts("tool_call", asked.tool, asked.args, input=INPUT, history=history, now=now)


def policy_of(work: Workload) -> Policy:
    """The policy of a rule."""
    return compile_text(f"bundle b\ndefault deny\n{work.names}rule r {{\n  {work.rule}\n}}\n")


def measure(work: Workload, count: int) -> dict[str, Any]:
    """The times after so many steps.

    Raises:
        AssertionError: an answer is not that of the plain loop.
    """
    policy = policy_of(work)
    steps = work.steps(count + ROUNDS)
    past = steps[:count]
    asked = work.submissions(count)
    told = evidence(steps)
    for one in asked:
        decided = policy.decide(facts(one, History(told[:count]))).rule_id == "r"
        assert decided == work.expected(past, one), (work.name, count, one)
    history = History(told[:count])
    policy.decide(facts(asked[0], history))
    live = []
    for n, added in enumerate(told[count:]):
        history.append(added)
        submission = facts(asked[n % len(asked)], history)
        started = process_time()
        policy.decide(submission)
        live.append(process_time() - started)
    cold = []
    for n in range(COLD_ROUNDS):
        submission = facts(asked[n % len(asked)], History(told[:count]))
        started = process_time()
        policy.decide(submission)
        cold.append(process_time() - started)
    row = {"live_us": statistics.median(live) * _SECOND, "cold_us": statistics.median(cold) * _SECOND}
    return {name: round(value, 1) for name, value in row.items()}


# ---------------------------------------------------------------- Dogwood

_ACTION = """  action "{}" appliesTo {{
    principal: [User], resource: [Gateway], context: {{ input: Args, output?: Result }}
  }};
"""
_SCHEMA = f"""namespace Shop {{
  type Args = {{ charge: String, amount: Long, name: String, day: String }};
  type Result = {{ name: String, email: String, sender: String, day: String }};
  entity Gateway;
  entity User;
{"".join(map(_ACTION.format, ("load", "refund", "search", "mail", "book")))}}}
"""
_WHO, _WHERE = 'Shop::User::"u"', 'Shop::Gateway::"g"'


def dogwood_us(work: Workload, count: int) -> float:
    """The time of a decision of Dogwood after so many steps, in microseconds.

    Raises:
        ImportError: `dogwood-py` is not installed.
        AssertionError: an answer is not that of the plain loop.
    """
    native = import_module("dogwood.native")
    past, asked = work.steps(count), work.submissions(count)
    expected = [work.expected(past, one) for one in asked]
    if count <= work.fed:
        engine = native.NativeAuthorizer(work.dogwood.replace("KIND", "request"), _SCHEMA)

        def ask(step: Step) -> bool:
            return bool(engine.authorize_request(f"Shop::Action::{step.tool}", _WHO, _WHERE, _full(step)) == "Allow")

        for step in past:
            ask(step)
        times = []
        for one, answer in zip(asked * 10, expected * 10, strict=True):
            started = process_time()
            decided = ask(one)
            times.append(process_time() - started)
            assert decided == answer, (work.name, count, one)
        return statistics.median(times) * _SECOND
    policy = work.dogwood.replace("KIND", "response")
    before = "".join(_line(n, step, "response") for n, step in enumerate(past))
    few = count > _LONG
    checked = list(zip(asked, expected, strict=True))
    for one, answer in checked[:1] + checked[-1:] if few else checked:
        said = native.replay(policy, _SCHEMA, before + _line(count, one, "request"))
        assert said.strip().endswith(str(answer).lower()), (work.name, count, one, said)
    after = before + "".join(_line(count, one, "request") for one in (asked * work.asked)[: work.asked])
    rounds = 1 if few else max(3, _LONG // count)
    times = [_replayed(native, policy, text) for _ in repeat(None, rounds) for text in (before, after)]
    return max(min(times[1::2]) - min(times[::2]), 0.0) / work.asked * _SECOND


def _replayed(native: Any, policy: str, text: str) -> float:
    started = process_time()
    native.replay(policy, _SCHEMA, text)
    return process_time() - started


def _full(step: Step) -> dict[str, Any]:
    return {"charge": "", "amount": 0, "name": "", "day": "", **step.args}


def _line(second: int, step: Step, kind: str) -> str:
    args = _record(_full(step))
    result = {"name": "", "email": "", "sender": "", "day": "", **(step.result or {})}
    output = f", output: {_record(result)}" if kind == "response" else ""
    scope = f"scope(principal: {_WHO}, resource: {_WHERE}) request_context(input: {args}) " if kind == "request" else ""
    who = f"callerPrincipal: {_WHO}, callerResource: {_WHERE}"
    said = f'input: {args}{output}, {who}, requestId: "q{second}", sessionId: "s"'
    return f'@{second} {scope}Shop::Action::"{step.tool}"::{kind}({said})\n'


def _record(values: dict[str, Any]) -> str:
    return f"{{ {', '.join(f'{name}: {json.dumps(value)}' for name, value in values.items())} }}"


def main() -> None:
    """Runs the benchmark and prints a table, or with `--json` one object."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--no-peers", action="store_true", help="leave Dogwood out")
    parser.add_argument("--only", nargs="+", choices=[work.name for work in WORKLOADS], help="some of the rules")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="lengths of the history")
    given = parser.parse_args()
    results: dict[str, dict[str, dict[str, Any]]] = {}
    for work in WORKLOADS:
        if given.only and work.name not in given.only:
            continue
        for count in given.sizes:
            row = results.setdefault(work.name, {})[str(count)] = measure(work, count)
            if not given.no_peers:
                row |= _beside(work, count, row["live_us"])
            if not given.json:
                shown = "  ".join(f"{name} {value}" for name, value in row.items())
                print(f"{work.name:13} {count:>6,} steps  {shown}", flush=True)
    if given.json:
        print(json.dumps(results, indent=2))


def _beside(work: Workload, count: int, live: float) -> dict[str, Any]:
    try:
        peer = dogwood_us(work, count)
    except ImportError:
        return {"dogwood_us": None, "times_dogwood": None}
    return {"dogwood_us": round(peer, 1), "times_dogwood": round(live / peer, 5) if peer else None}


if __name__ == "__main__":
    main()
