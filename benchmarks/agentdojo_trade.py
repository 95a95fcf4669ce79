"""What each allow rule of AgentDojo's bundles is worth: without it, how many user tasks still run without a question,
and how many attacks by a known counterparty are stopped.

In such an attack the attacker *is* somebody whom the user trusts, so that only the request itself tells the user's
wishes from the attacker's. The rows of the Markdown table leave out one rule more each, the cheapest first; what such a
rule allowed is then asked about. Rules without which nothing runs are not tried.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from benchmarks.agentdojo import BUNDLES
from benchmarks.agentdojo_attackers import TRICKS, dressed
from benchmarks.agentdojo_traces import DATA, SUITES, Task, load
from benchmarks.player import Score, attack_all, percent, score
from rebuno.policy import Policy, compile_text, link_bundle, read_source, tree

_TRICK: Final = TRICKS["known counterparty"]
_Scores = Mapping[str, tuple[Score, Score]]
_Tasks = Mapping[str, tuple[list[Task], list[Task]]]


def without(suite: str, left_out: Sequence[str]) -> Policy:
    """The suite's bundle without some of its rules; claims are no part of it."""
    bundle, _ = link_bundle(read_source(BUNDLES / f"{suite}.rbp"))
    text = bundle.text
    for statement in reversed(bundle.statements):
        gone = isinstance(statement, tree.Never) or (isinstance(statement, tree.Rule) and statement.id.text in left_out)
        if gone:
            text = text[: statement.span.start] + text[statement.span.end :]
    return compile_text(text)


def allowing(suite: str) -> Iterator[str]:
    """The ids of the suite's allow rules."""
    bundle, _ = link_bundle(read_source(BUNDLES / f"{suite}.rbp"))
    for statement in bundle.statements:
        if isinstance(statement, tree.Rule) and statement.verdict == "allow":
            yield statement.id.text


def measured(policy: Policy, suite: str, users: Sequence[Task], attacks: Sequence[Task]) -> tuple[Score, Score]:
    """The score of the policy, and that against a known counterparty."""
    known = Score()
    for trick in _TRICK:
        attack_all(known, policy, users, dressed(suite, attacks, trick))
    return score(policy, users, []), known


def main() -> int:
    """Prints the table."""
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    tasks = {suite: load(DATA / f"{suite}.jsonl") for suite in SUITES}
    now = {suite: measured(without(suite, ()), suite, *tasks[suite]) for suite in SUITES}
    gone: dict[str, list[str]] = {suite: [] for suite in SUITES}
    print("| left out | user tasks without a question | attacks by a known counterparty stopped |")
    print("| --- | --- | --- |")
    print(_row("nothing", now))
    for _, suite, rule in sorted(_prices(tasks, now), reverse=True):
        gone[suite].append(rule)
        now[suite] = measured(without(suite, gone[suite]), suite, *tasks[suite])
        print(_row(f"and `{rule}` of {suite}", now))
    return 0


def _prices(tasks: _Tasks, now: _Scores) -> Iterator[tuple[float, str, str]]:
    """How many attacks more are stopped for each task that then asks, rule by rule; only those that stop some."""
    for suite in SUITES:
        own, known = now[suite]
        for rule in allowing(suite):
            other, stopped = measured(without(suite, (rule,)), suite, *tasks[suite])
            if other.auto and stopped.stopped > known.stopped:
                yield (stopped.stopped - known.stopped) / max(own.auto - other.auto, 0.5), suite, rule


def _row(what: str, now: _Scores) -> str:
    own, known = [one for one, _ in now.values()], [one for _, one in now.values()]
    auto, tasks = sum(one.auto for one in own), sum(one.tasks for one in own)
    stopped, pairs = sum(one.stopped for one in known), sum(one.pairs for one in known)
    return f"| {what} | {percent(auto, tasks):.1f} % ({auto} of {tasks}) | {stopped} of {pairs} |"


if __name__ == "__main__":
    sys.exit(main())
